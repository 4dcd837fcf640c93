"""Objects with labels: data frames and series of pandas or polars, arrays and datasets of xarray.

They are known by what they can do, so that none of these libraries has to be there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quantify.aliases import Floats
from quantify.errors import QuantifyError
from quantify.series_files.binary import seconds, table_of_array, table_of_arrays
from quantify.series_files.table import Table

FRAME, ARRAY, DATASET = "a data frame", "a labelled array", "a labelled dataset"


def is_labelled(given: object) -> bool:
    """Whether this is more than an array: it names columns or times."""
    return any(
        hasattr(given, mark) for mark in ("columns", "data_vars", "dims", "to_numpy")
    ) and not isinstance(given, np.ndarray | list | tuple | str | bytes)


def table_of(given: Any) -> Table:
    """A labelled object as a table; its index, if it holds times, gives the rate."""
    if hasattr(given, "data_vars"):
        return _of_dataset(given)
    if hasattr(given, "dims"):
        return _of_labelled_array(given)
    index = _times(getattr(given, "index", None))
    if hasattr(given, "columns"):
        names = [str(name) for name in given.columns]
        arrays = {}
        for i, name in enumerate(names):
            column = given.iloc[:, i] if hasattr(given, "iloc") else given[name]
            arrays[name if name not in arrays else f"{name} ({i})"] = _plain(column)
        return _with_index(table_of_arrays(arrays, FRAME), index)
    own = getattr(given, "name", None)
    found = table_of_array(_plain(given), () if own is None else (str(own),), FRAME)
    return _with_index(found, index)


def _with_index(table: Table, index: Floats | None) -> Table:
    return Table(table.width, table.names, table.source, table.read, index)


def _plain(column: Any) -> NDArray[Any]:
    """A column as a plain array; NaN for what is missing."""
    values = np.asarray(column)
    if values.dtype.kind != "O":
        return values
    for kind in (float, "datetime64[us]"):
        try:
            # pandas has a value of its own for what is missing, which numpy cannot take for a number.
            return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
        except (TypeError, ValueError, AttributeError):
            continue
    return values


def _times(index: Any) -> Floats | None:
    """Times of an index of dates or durations, in seconds; None if it holds something else."""
    if index is None or callable(index):
        return None
    values = _plain(index)
    return seconds(values) if values.dtype.kind in "mM" else None


def _of_labelled_array(given: Any) -> Table:
    if len(given.dims) not in (1, 2):
        raise QuantifyError(
            f"the labelled array has the dimensions {', '.join(map(str, given.dims))}; one for time and at "
            "most one for the columns are needed: choose with .sel or .isel"
        )
    if len(given.dims) == 2 and given.dims[1] == "time":
        given = given.transpose()
    names: tuple[str, ...] = (str(given.name),) if given.name is not None else ()
    if len(given.dims) == 2:
        other = given.dims[1]
        names = tuple(map(str, np.asarray(given.coords[other]))) if other in given.coords else ()
    return _with_index(table_of_array(np.asarray(given), names, ARRAY), _coordinate(given, given.dims[0]))


def _of_dataset(given: Any) -> Table:
    arrays = {str(name): given[name] for name in given.data_vars if len(given[name].dims) == 1}
    dims = {array.dims[0] for array in arrays.values()}
    if len(dims) != 1:
        raise QuantifyError(
            f"the labelled dataset has variables along {', '.join(map(str, dims)) or 'no single dimension'}; "
            "give one of its variables, or some that share one dimension"
        )
    columns = {name: np.asarray(array) for name, array in arrays.items()}
    return _with_index(table_of_arrays(columns, DATASET), _coordinate(given, dims.pop()))


def _coordinate(given: Any, dim: Any) -> Floats | None:
    """Times along a dimension: dates or durations, or numbers if it is called time."""
    if dim not in given.coords:
        return None
    values = np.asarray(given.coords[dim])
    if values.dtype.kind in "mM":
        return seconds(values)
    return values.astype(np.float64) if values.dtype.kind in "fiu" and str(dim) in ("time", "t") else None
