"""Reading any series: CSV, text, arrays, HDF5."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from quantify import QuantifyError
from quantify.series_files import read_series, split_source


def table_file(folder: Path, text: str, name: str = "data.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(
    ("text", "column", "name", "expected"),
    [
        ("1\n2\n3\n", "", "0", [1, 2, 3]),
        ("x\n1\n2\n", "", "x", [1, 2]),
        ("t,x\n0,5\n1,6\n", "x", "x", [5, 6]),
        ("t;x\n0;5\n1;6\n", "1", "x", [5, 6]),
        ('"t a","x"\n0,5\n1,6\n', "t a", "t a", [0, 1]),
        ("# made by hand\n\n1e-3 5\n  2   6\n", "1", "1", [5, 6]),
        ("t\tx\n0\t-5\n1\t.5\n", "x", "x", [-5, 0.5]),
    ],
)
def test_tables_of_text(tmp_path: Path, text: str, column: str, name: str, expected: list[float]) -> None:
    series = read_series(table_file(tmp_path, text), column)
    assert series.name == name and series.values.dtype == np.float64
    assert series.values.tolist() == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", "", "is empty"),
        ("# nothing\n", "", "holds no numbers"),
        ("x,y\n", "x", "holds a header, but no numbers"),
        ("1,2\n3,4\n", "", "has 2 columns; choose one with --sensor: 0 to 1"),
        ("a,b\n3,4\n", "", "choose one with --sensor: 0 a, 1 b"),
        ("1,2\n3,4\n", "2", "beyond 0 to 1"),
        ("1,2\n3,4\n", "b", "have no names"),
        ("left,right\n3,4\n", "rihgt", "did you mean 'right'"),
        ("1\nfoo\n3\n", "", "not a table of numbers"),
        ("1,2\n3\n", "0", "not a table of numbers"),
        ("1\nnan\n3\n", "", "value 1 of column '0' is nan, and 1 of 3 are not finite"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, text: str, column: str, message: str) -> None:
    with pytest.raises(QuantifyError, match=message):
        read_series(table_file(tmp_path, text), column)


def test_arrays_and_hdf5(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(6, 2)
    np.save(tmp_path / "a.npy", values.astype(np.int16))
    assert read_series(str(tmp_path / "a.npy"), "1").values.tolist() == values[:, 1].tolist()
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["g/x"] = values
        file["g/x"].attrs["names"] = ["left", "right"]
    path = f"{tmp_path}/d.h5"
    for source, column in ((path, "right"), (f"{path}:/g/x", "1"), (f"{path}:g/x", "right")):
        assert read_series(source, column).values.tolist() == values[:, 1].tolist()
    with h5py.File(path, "a") as file:
        file["g/y"] = values
    for source, message in (
        (path, "holds 2 datasets of numbers; name one"),
        (f"{path}:/g/z", "no dataset '/g/z'; did you mean '/g/"),
        (f"{path}:/g", "no dataset '/g'"),
    ):
        with pytest.raises(QuantifyError, match=message):
            read_series(source, "0")
    np.save(tmp_path / "c.npy", np.array([1j]))
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY")
    for name, message in (("c.npy", "not real numbers"), ("b.npy", "not a readable .npy")):
        with pytest.raises(QuantifyError, match=message):
            read_series(str(tmp_path / name))


def test_a_colon_belongs_to_the_path_where_such_a_file_exists(tmp_path: Path) -> None:
    odd = tmp_path / "a:b.csv"
    odd.write_text("1\n2\n")
    assert split_source(str(odd)) == (odd, "")
    assert split_source("data.h5:/g/x") == (Path("data.h5"), "/g/x")
    assert split_source("data.csv") == (Path("data.csv"), "")


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes("\ufeff1\n2\n3\n".encode())
    assert read_series(str(tmp_path / "n.csv")).values.tolist() == [1, 2, 3]
    (tmp_path / "h.csv").write_bytes("\ufeffa,b\n1,2\n".encode())
    assert read_series(str(tmp_path / "h.csv"), "a").values.tolist() == [1]


def test_a_first_row_of_numbers_and_words_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,missing\n2,3\n")
    with pytest.raises(QuantifyError, match="first row holds 'missing' beside numbers"):
        read_series(str(tmp_path / "x.csv"), "1")


def test_rows_that_are_not_there_are_not_read_as_numbers(tmp_path: Path) -> None:
    layout = h5py.VirtualLayout((5,), "f8")
    layout[:] = h5py.VirtualSource("gone.h5", "x", (5,))
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_virtual_dataset("x", layout)
    with pytest.raises(QuantifyError, match=r"gone.h5, which does not exist"):
        read_series(f"{tmp_path}/v.h5:/x")
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["learning/sensors"], file["commit"] = [[1.0], [0.0]], [1, 0, 1, 0]
        file["learning/sensors"].attrs["every"] = 1
    with pytest.raises(QuantifyError, match="not finished"):
        read_series(f"{tmp_path}/g.h5:/learning/sensors")
