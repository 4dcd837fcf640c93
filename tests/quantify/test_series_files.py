"""Reading any series: CSV, text, arrays, HDF5."""

import io
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from quantify import QuantifyError
from quantify.series_files import read_series, split_source
from quantify.series_files.missing import treat


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
        # What people have: ids, dates, decimal commas, marks at the end of rows, titles, units in names.
        ("ant,when,speed\nA,2024-01-01 10:00:00,5\nA,2024-01-01 10:00:01,6\n", "speed", "speed", [5, 6]),
        ("t;x\n0,5;-1,5e3\n1,5;,25\n", "x", "x", [-1500, 0.25]),
        ("speed\n1,5\n2,5\n", "", "speed", [1.5, 2.5]),
        ("a;b;\n1;2;\n3;4;\n", "b", "b", [2, 4]),
        ('name,x\n"Smith, A",5\n"Lee",6\n', "x", "x", [5, 6]),
        ("Logger 7\nmade today, by me\nt,x,y\n0,5,1\n1,6,2\n2,7,4\n", "y", "y", [1, 2, 4]),
        ("# t,x\n0,5\n1,6\n", "x", "x", [5, 6]),
        ("walking speed\n1.5\n2.5\n", "", "walking speed", [1.5, 2.5]),
        (",0,1\n0,5,7\n1,6,9\n", "1", "1", [7, 9]),
        ("a|b\n1|2\n3|4\n", "a", "a", [1, 3]),
        ('"x, left",y\n1,2\n3,4\n', "x, left", "x, left", [1, 3]),
        # The one column of numbers that is neither time nor a count of the rows needs no name.
        (",time,x\n0,0.0,5\n1,0.1,6\n2,0.2,8\n", "", "x", [5, 6, 8]),
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
        ("1,2\n3\n", "0", "line 2 has 1 cells where the first row has 2"),
        ("1\nnan\n3\n", "", r"missing in 1 of 3 samples \(1 of 0\), first in sample 1; --missing split"),
        ("a,a\n3,4\n5,7\n", "a", "2 columns called 'a'; --sensor takes an index, too: 0, 1"),
        ("a,b\n3,4\n5,7\n", "a,b,a", "names a column of .* twice"),
        ("id,x\nA,4\nB,7\n", "id", "column 'id' holds 'A' in line 2, where numbers are needed"),
        ("id,x\nA,4\nB,7 m\n", "x", "column 'x' holds '7 m' in line 3"),
        ("id,day\nA,2024-01-01\n", "", r"no column of numbers .*: id \(text\), day \(text\)"),
        ('x\nNA\n""\n', "", "all 2 values of x are missing"),
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


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8"])
def test_what_spreadsheets_write(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_bytes("Zeit;Höhe\r\n0,0;1,5\r\n0,1;2,5\r\n0,2;0,5\r\n".encode(encoding))
    series = read_series(tmp_path / "x.csv", "Höhe")
    assert series.values.tolist() == [1.5, 2.5, 0.5] and series.rate == pytest.approx(10)


def test_all_columns_of_numbers_and_several(tmp_path: Path) -> None:
    text = "n,id,time [ms],x,y\n0,A,0,1,5\n1,A,20,3,7\n2,B,40,2,9\n"
    both = read_series(table_file(tmp_path, text), "all")
    assert both.names == ("x", "y") and both.values.tolist() == [[1, 5], [3, 7], [2, 9]]
    assert both.rate == pytest.approx(50) and both.time is not None and both.time.tolist() == [0, 0.02, 0.04]
    assert both.notes == ("Columns left out: n (counts the rows), id (text), time [ms] (times).",)
    assert [one.values.tolist() for one in both.each()] == [[1, 3, 2], [5, 7, 9]]
    several = read_series(table_file(tmp_path, text), "y, x")
    assert several.names == ("y", "x") and several.name == "y, x" and several.notes == ()
    assert read_series(table_file(tmp_path, text), ["y"]).values.tolist() == [5, 7, 9]


@pytest.mark.parametrize(
    ("header", "times", "rate"),
    [
        ("time", [10.0, 10.5, 11.0], 2),
        ("t_ms", [0, 20, 40], 50),
        ("timestamp", [1700000000000, 1700000000500, 1700000001000], 2),
        ("Date", ["2024-01-01T00:00:00Z", "2024-01-01T00:00:10Z", "2024-01-01T00:00:20Z"], 0.1),
        ("date", ["31.12.2023 23:59:59", "01.01.2024 00:00:00", "1.1.2024 0:00:01"], 1),
        ("time", ["9:59:59.5", "10:00:00", "10:00:00.5"], 2),
        ("t", [5, 3, 4], None),  # goes back: some sensor, not the time
        ("time", ["0", "NA", "2"], None),
        ("moment", [0, 1, 2], None),
        ("time_utc", ["2024-01-01 10:00", "2024-01-01 10:01", "2024-01-01 10:02"], 1 / 60),
        ("Datum", ["1.5.2024 10:00:00", "1.5.2024 10:00:01", "1.5.2024 10:00:02"], 1),
    ],
)
def test_the_rate_comes_from_a_column_of_times(tmp_path: Path, header: str, times: list, rate: float) -> None:
    rows = "".join(f"{t};{x}\n" for t, x in zip(times, (4, 7, 5), strict=True))
    found = read_series(table_file(tmp_path, f"{header};x\n{rows}"), "x").rate
    assert found == (None if rate is None else pytest.approx(rate, rel=1e-5))  # six digits


def test_a_column_of_times_that_is_asked_for_must_be_one(tmp_path: Path) -> None:
    path = table_file(tmp_path, "moment,x\n0,4\n.1,9\n.2,5\n")
    assert read_series(path, "x", time="moment").rate == pytest.approx(10)
    for column, time in (("x", "x"), ("moment", "x")):
        with pytest.raises(QuantifyError, match="column of times must hold"):
            read_series(path, column, time=time)


GAPPY = "t,x,y\n0,1,1\n1,NA,2\n2,3,1\n3,4,2\n4,5,1\n8,6,2\n9,7,1\n10,,2\n11,9,1\n"


def test_missing_values_are_refused_cut_out_or_filled_in(tmp_path: Path) -> None:
    path = table_file(tmp_path, GAPPY)
    with pytest.raises(QuantifyError, match=r"missing in 2 of 9 samples \(2 of x\), first in sample 1; "):
        read_series(path, "x")
    # Nothing is missing in y; the gap in time is for `look_over` to tell.
    assert read_series(path, "y").values.size == 9
    split = read_series(path, "x", missing="split")
    assert split.values.tolist() == [3, 4, 5] and split.time is not None and split.time.tolist() == [2, 3, 4]
    (said,) = split.notes
    assert "cut at 2 samples with missing values and 1 break in time. Of 4 stretches" in said
    assert "samples 2 to 4, 33 % of all" in said
    assert read_series(path, "x,y", missing="split").values.tolist() == [[3, 1], [4, 2], [5, 1]]
    filled = read_series(path, "x", missing="interpolate")
    # On even steps of time: seconds 1, 5, 6, 7 and 10 are straight lines.
    expected = [1, 2, 3, 4, 5, 5.25, 5.5, 5.75, 6, 7, 8, 9]
    assert filled.values == pytest.approx(np.array(expected)) and filled.time is not None
    assert filled.time.tolist() == list(range(12))
    assert "2 samples had missing values; 5 of 12 samples are straight lines" in filled.notes[0]


def test_without_times_straight_lines_go_from_sample_to_sample(tmp_path: Path) -> None:
    path = table_file(tmp_path, 'x\n1\nNA\n""\n4\ninf\n2\n')
    assert read_series(path, missing="interpolate").values.tolist() == [1, 2, 3, 4, 3, 2]
    assert read_series(path, missing="split").values.tolist() == [1]
    with pytest.raises(QuantifyError, match="must be one of refuse, split, interpolate"):
        read_series(path, missing="drop")  # type: ignore[arg-type]


def test_more_is_not_invented_than_was_measured(tmp_path: Path) -> None:
    path = table_file(tmp_path, "t,x\n0,1\n1,2\n2,4\n1e9,3\n")
    with pytest.raises(QuantifyError, match="more invented than seen: use --missing split"):
        read_series(path, "x", missing="interpolate")
    assert read_series(path, "x", missing="split").values.tolist() == [1, 2, 4]


def test_no_delay_vector_reaches_over_a_gap() -> None:
    """Every stretch is whole: what is kept of a series with holes occurs in it, sample by sample."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        x = np.arange(60.0)
        x[rng.random(60) < 0.2] = np.nan
        t = np.cumsum(np.where(rng.random(60) < 0.1, 5.0, 1.0))
        kept = treat(x[:, None], t, "split", "x", ["x"])
        whole = kept.values[:, 0]
        assert (np.diff(whole) == 1).all() and kept.t is not None and (np.diff(kept.t) == 1).all()
        # And it is the longest such stretch, found sample by sample.
        longest = run = 0
        for i in range(60):
            run = 0 if np.isnan(x[i]) else run + 1 if i and t[i] - t[i - 1] == 1 and run else 1
            longest = max(longest, run)
        assert len(whole) == longest


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (2, None, [2, 6]),
        ("2", "4", [2, 4]),
        ("1s", None, [2, 6]),
        (0, "1.5s", [0, 3]),
        ("0.01min", 6, [2, 6]),
    ],
)
def test_a_part_in_samples_or_seconds(tmp_path: Path, start: int, stop: int, expected: list[int]) -> None:
    path = table_file(tmp_path, "time,x\n" + "".join(f"{0.5 * i},{i * i}\n" for i in range(6)))
    found = read_series(path, "x", start=start, stop=stop)
    assert found.values.tolist() == [i * i for i in range(*expected)]


def test_seconds_follow_the_times_over_a_gap(tmp_path: Path) -> None:
    path = table_file(tmp_path, "t,x\n0,0\n1,1\n2,4\n10,9\n11,16\n")
    assert read_series(path, "x", start="9s").values.tolist() == [9, 16]
    # What is cut off need not be whole.
    path = table_file(tmp_path, "t,x\n0,NA\n1,1\n2,4\n3,9\n")
    assert read_series(path, "x", start=1).values.tolist() == [1, 4, 9]


@pytest.mark.parametrize(
    ("start", "stop", "message"),
    [
        (6, None, "--start 6 is beyond the 4 samples"),
        (3, 2, "--start 3 and --stop 2 leave none of the 4 samples"),
        ("2s", None, "how many samples there are in a second is not known"),
        ("soon", None, "--start is 'soon'; give a number of samples"),
        ("-1", None, "--start is '-1'"),
        (0, "1.5", "--stop is '1.5'"),
    ],
)
def test_parts_that_are_not_there(tmp_path: Path, start: int, stop: int, message: str) -> None:
    with pytest.raises(QuantifyError, match=message):
        read_series(table_file(tmp_path, "1\n4\n9\n16\n"), start=start, stop=stop)
    with pytest.raises(QuantifyError, match="--rate is -1"):
        read_series(table_file(tmp_path, "1\n4\n9\n16\n"), rate=-1)
    assert read_series(table_file(tmp_path, "1\n4\n9\n16\n"), rate=2, start="1s").values.tolist() == [9, 16]


def test_archives_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, t=np.arange(5) / 10, x=np.arange(5) ** 2)
    series = read_series(path)
    assert (
        series.name == "x" and series.values.tolist() == [0, 1, 4, 9, 16] and series.rate == pytest.approx(10)
    )
    assert (
        read_series(f"{path}:x").values.tolist()
        == read_series(f"{path}:/x").values.tolist()
        == [0, 1, 4, 9, 16]
    )
    np.savez(path, x=np.arange(8.0).reshape(4, 2), note=np.array("hello"))
    with pytest.raises(QuantifyError, match=r"2 arrays; name one as .*a.npz:NAME: x \(4, 2\), note \(\)"):
        read_series(path)
    assert read_series(f"{path}:x", "1").values.tolist() == [1, 3, 5, 7]
    with pytest.raises(QuantifyError, match="holds no array 'y'"):
        read_series(f"{path}:y")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(QuantifyError, match=r"not a readable \.npz"):
        read_series(path)
    table = np.array([(0.0, 5), (0.1, 7), (0.2, 4)], dtype=[("time", float), ("x", int)])
    np.save(tmp_path / "s.npy", table)
    assert read_series(tmp_path / "s.npy").values.tolist() == [5, 7, 4]


def test_standard_input_holds_what_a_file_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.array([1.0, 4, 9]))
    np.savez(tmp_path / "a.npz", x=np.array([1.0, 4, 9]))
    (tmp_path / "a.csv").write_text("x\n1\n4\n9\n")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = [1.0, 4, 9]
    for name in ("a.npy", "a.npz", "a.csv", "a.h5"):
        stream = io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes()))
        monkeypatch.setattr("sys.stdin", stream)
        found = read_series("-")
        assert found.values.tolist() == [1, 4, 9] and found.source.startswith("standard input"), name
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(QuantifyError, match="standard input is empty"):
        read_series("-")


def test_frames_and_labelled_arrays() -> None:
    x = np.array([1.0, np.nan, 4.0, 9.0, 7.0])
    when = pd.date_range("2024-01-01", periods=5, freq="20ms")
    frame = pd.DataFrame(
        {"ant": list("AABBB"), "x": x, "y": pd.array([1, 2, None, 4, 5], dtype="Int64")}, when
    )
    found = read_series(frame, "x", missing="split")
    assert found.values.tolist() == [4, 9, 7] and found.rate == pytest.approx(50)
    assert read_series(frame, "all", missing="interpolate").names == ("x", "y")
    with pytest.raises(QuantifyError, match=r"missing in 2 of 5 samples \(1 of x, 1 of y\)"):
        read_series(frame, "all")
    assert read_series(frame["x"], start=2).name == "x"
    array = xr.DataArray(
        [[1.0, 2, 4], [5, 6, 9]], dims=("sensor", "time"), coords={"sensor": ["l", "r"], "time": [0, 0.5, 1]}
    )
    both = read_series(array, "all")
    assert both.names == ("l", "r") and both.rate == 2 and both.values.tolist() == [[1, 5], [2, 6], [4, 9]]
    assert read_series(array.to_dataset(dim="sensor"), "r").values.tolist() == [5, 6, 9]
    with pytest.raises(QuantifyError, match="dimensions a, b, c"):
        read_series(xr.DataArray(np.zeros((2, 2, 2)), dims=("a", "b", "c")))


def test_what_is_no_table_is_refused_in_words(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.bin", b"\x00\x01\x02\x03" * 100, "neither text nor"),
        ("b.csv", b"a,b\n" + b"x" * 200_000 + b",2\n", "cannot be read as a table of text|no column"),
        ("c.csv", b"1\n\xff\xfe2\n", "not a table of numbers"),
        ("d.csv", b"a\0b,c\n1,2\n3,4\n", "neither text nor"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(QuantifyError, match=message):
            read_series(tmp_path / name)
    with pytest.raises(QuantifyError, match="no regular file"):
        read_series("/dev/null")
    with pytest.raises(QuantifyError, match="does not exist"):
        read_series("x\0y.csv")
    with pytest.raises(QuantifyError, match=r"neither HDF5 nor \.npz"):
        read_series(f"{table_file(tmp_path, '1')}:/x")


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
    for content, message in (({"y": range(5)}, "x is missing or"), ({"x": range(4)}, "x is missing or")):
        with h5py.File(tmp_path / "gone.h5", "w") as file:
            for name, values in content.items():
                file[name] = np.array(values, float)
        with pytest.raises(QuantifyError, match=rf"gone.h5, in which {message} too short"):
            read_series(f"{tmp_path}/v.h5:/x")
    with h5py.File(tmp_path / "gone.h5", "w") as file:
        file["x"] = np.arange(5.0)
    assert read_series(f"{tmp_path}/v.h5:/x").values.tolist() == [0, 1, 2, 3, 4]
    for length, where, message in ((6, "gone.h5", "do not cover it"), (5, ".", "x is missing or too short")):
        layout = h5py.VirtualLayout((length,), "f8")
        layout[:5] = h5py.VirtualSource(where, "x", (5,))
        with h5py.File(tmp_path / "v.h5", "w") as file:
            file.create_virtual_dataset("y", layout)
        with pytest.raises(QuantifyError, match=message):
            read_series(f"{tmp_path}/v.h5:/y")
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["learning/sensors"], file["commit"] = [[1.0], [0.0]], [1, 0, 1, 0]
        file["learning/sensors"].attrs["every"] = 1
    with pytest.raises(QuantifyError, match="not finished"):
        read_series(f"{tmp_path}/g.h5:/learning/sensors")
