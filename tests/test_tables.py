"""The same table in every form that users bring, types kept; anything else is a clear error."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from emscoreset.tables import index_columns, read_table
from tables import BACKENDS, as_backend, every_type, plain_table


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames(backend):
    frame = as_backend(every_type(), backend)
    read = read_table(frame)
    assert read.backend == backend
    assert index_columns(read.table) == []
    if backend == "pyarrow":
        assert read.table.equals(every_type())
    elif backend == "polars":
        assert pl.from_arrow(read.table).equals(frame)
    else:
        pd.testing.assert_frame_equal(read.table.to_pandas(), frame)


def test_anything_that_speaks_arrow():
    batch = plain_table().to_batches()[0]
    assert read_table(batch).table.equals(plain_table())
    assert read_table(batch).backend == "pyarrow"


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["b", "a", "c"], name="who"),
        pd.RangeIndex(5, 8),
        pd.MultiIndex.from_tuples([(1, "x"), (2, "y"), (2, "z")], names=["n", None]),
        pd.date_range("2024-03-30", periods=3, tz="Europe/Berlin", name="x"),
    ],
)
def test_an_index_comes_along(index):
    frame = pd.DataFrame({"x": [1, 2, 3], "y": pd.array([1, None, 2], "Int64")}, index=index)
    table = read_table(frame).table
    assert len(index_columns(table)) == index.nlevels
    rows = table.take(pa.array([2, 0]))
    pd.testing.assert_frame_equal(rows.to_pandas(), frame.iloc[[2, 0]], check_freq=False)


def test_the_plain_index_does_not():
    for index in (None, pd.Index([0, 1, 2])):
        table = read_table(pd.DataFrame({"x": [1, 2, 3]}, index=index)).table
        assert table.column_names == ["x"]
        assert table.schema.pandas_metadata["index_columns"] == []


def test_arrays():
    X = np.arange(6.0).reshape(3, 2)
    X[1, 1] = np.nan
    for form in (X, np.asfortranarray(X), X[::-1][::-1], X.astype(">f4")):
        read = read_table(form)
        assert read.backend == "numpy"
        assert read.table.column_names == ["x0", "x1"]
        np.testing.assert_array_equal(np.column_stack(read.table.columns), X)
    records = np.array([(1, "a", True)], dtype=[("n", "i2"), ("t", "U3"), ("b", "?")])
    assert read_table(records).table.to_pylist() == [{"n": 1, "t": "a", "b": True}]
    masked = np.ma.masked_array([[1, 2]], mask=[[False, True]])
    assert read_table(masked).table.to_pylist() == [{"x0": 1, "x1": None}]
    mixed = np.array([[1, "a"], [2, None]], dtype=object)
    assert read_table(mixed).table.to_pylist() == [{"x0": 1, "x1": "a"}, {"x0": 2, "x1": None}]
    days = np.array([["2024-01-01"]], dtype="datetime64[D]")
    assert read_table(days).table.schema.types == [pa.date32()]


def test_files(tmp_path):
    table = every_type().drop_columns(["decimal", "grade", "day_of"])
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_file(tmp_path / "f.arrow", table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as file:
        file.write_table(table)
    for name in ("t.feather", "f.arrow", "s.arrow"):
        assert read_table(tmp_path / name).table.equals(table)
    read = read_table(str(tmp_path / "t.parquet"))
    assert read.backend == "path"
    assert (
        read.table.drop_columns("date64")
        .cast(table.drop_columns("date64").schema)
        .equals(table.drop_columns("date64"))
    )


def test_csv(tmp_path):
    table = plain_table()
    csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    for name in ("t.csv", "t.csv.gz"):
        read = read_table(tmp_path / name).table
        assert read.cast(table.schema).equals(table)
    (tmp_path / "g.csv").write_text("a,b,c\n1,,x\n,2.5,\n")
    assert read_table(tmp_path / "g.csv").table.to_pylist() == [
        {"a": 1, "b": None, "c": "x"},
        {"a": None, "b": 2.5, "c": None},
    ]


def test_csv_types_are_those_of_all_rows(tmp_path, monkeypatch):
    """The first block holds whole numbers only."""
    monkeypatch.setattr("emscoreset.tables.CSV_BLOCK", 50)
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 100 + "1.5\n")
    assert read_table(tmp_path / "t.csv").table["a"].to_pylist()[-1] == 1.5


def test_pandas_files_keep_their_index(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 3]}, index=pd.Index(["a", "b", "c"], name="who"))
    frame.to_parquet(tmp_path / "named.parquet")
    assert index_columns(read_table(tmp_path / "named.parquet").table) == ["who"]
    frame.reset_index(drop=True).to_parquet(tmp_path / "range.parquet")
    table = read_table(tmp_path / "range.parquet").table
    assert table.schema.pandas_metadata["index_columns"] == []


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "same name"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, r"same name: \['a'\]"),
        (pd.DataFrame({"ok": [1, 2], "a": [1, "x"]}), ValueError, "column 'a' has no Arrow type"),
        (pd.DataFrame({"a": pd.arrays.SparseArray([0, 1])}), ValueError, "column 'a'.*Sparse"),
        (pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), ValueError, "column 'a' has no"),
        (pl.DataFrame({"o": [object()]}), ValueError, r"\['o'\] hold Python objects"),
        (pl.LazyFrame({"a": [1]}), TypeError, "lazy: collect it first"),
        (pd.DataFrame(index=[1]), ValueError, "no columns"),
        (pd.Series([1]), TypeError, "data must be a pandas"),
        (np.ones(3), ValueError, r"2-d array, rows by columns, not of shape \(3,\)"),
        (np.ones((2, 1), complex), ValueError, "column 'x0' of type complex128"),
        ([1, 2], TypeError, "data must be a pandas"),
        (pa.array([1, 2]), TypeError, "data must be"),
        ("t.xlsx", ValueError, "not 't.xlsx'"),
        ("t.gz", ValueError, "not 't.gz'"),
        ("none.parquet", FileNotFoundError, "there is no file 'none.parquet'"),
    ],
)
def test_what_is_no_table(data, error, message):
    with pytest.raises(error, match=message):
        read_table(data)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.feather", "t.arrow", "t.csv"])
def test_files_that_are_not_what_they_say(tmp_path, name):
    (tmp_path / name).write_bytes(b"" if name == "t.csv" else b"PAR2 this is nothing\n" * 9)
    with pytest.raises(ValueError, match=rf"{name} cannot be read as"):
        read_table(tmp_path / name)


def test_semicolons(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    with pytest.raises(ValueError, match="not separated by commas"):
        read_table(tmp_path / "t.csv")
