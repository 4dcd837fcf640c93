"""Read a time series from whatever a user has, choose columns, and say what was done with what is missing.

- `read`: `read_series`, of a file, of standard input, or of an object with labels (pandas, polars, xarray)
- `text`: CSV and other tables of text: separators, decimal commas, headers, dates
- `binary`: .npy, .npz and HDF5
- `labelled`: objects with labels
- `table`: columns, and how one of them is chosen
- `times`: the rate from a column of times; positions in samples or seconds
- `missing`: missing values and gaps: refused, cut out or filled in
"""

from quantify.series_files.read import Series, read_series, series_of, split_source
from quantify.series_files.table import find_column, find_columns
from quantify.series_files.times import Position, cut

__all__ = [
    "Position",
    "Series",
    "cut",
    "find_column",
    "find_columns",
    "read_series",
    "series_of",
    "split_source",
]
