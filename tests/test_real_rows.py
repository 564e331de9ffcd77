"""Coresets of rows as users see them: every type comes back, nothing is taken on trust."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emscoreset import Coreset, CoresetFileError, load
from emscoreset.encode import Encoder

ENDINGS = [".parquet", ".npz"]
NOON = dt.datetime(2024, 2, 29, 12, 30, 0, 123456, tzinfo=dt.UTC)


def mixed() -> pa.Table:
    """Three rows of every type a table may have, gaps among them."""
    sizes = pa.DictionaryArray.from_arrays([2, 0, None], ["S", "M", "L"], ordered=True)
    return pa.table(
        {
            "age": pa.array([30, None, 41], pa.int32()),
            "big": pa.array([2**63 - 1, 0, None], pa.int64()),
            "price": pa.array([decimal.Decimal("9.99"), None, decimal.Decimal("-0.01")]),
            "size": sizes,
            "town": ["Bonn", "", None],
            "seen": pa.array([NOON, None, NOON], pa.timestamp("us", "Europe/Berlin")),
            "day": [dt.date(2024, 2, 29), None, dt.date(1900, 1, 1)],
            "took": pa.array([1, None, 3], pa.duration("ns")),
            "kept": [True, None, False],
            "list": [[1, 2], [], None],
            "both": [{"a": 1, "b": "x"}, None, {"a": None, "b": ""}],
            "none": pa.nulls(3),
            "weight": [1.5, 2.5, float("nan")],
        }
    )


def make(rows: pa.Table | None = None, numbers=(7, 3, 11), **changes) -> Coreset:
    fields = {
        "atoms": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        "weights": [0.5, 0.25, 0.25],
        "mass": 12.0,
        "n": 12,
        "reg": 0.0,
        "distance": 2.0,
        "lower": 2.0,
        "upper": 2.0,
        "variance": 10.0,
        "rows": mixed() if rows is None else rows,
        "row_numbers": numbers,
    }
    return Coreset(**{**fields, **changes})


def test_they_are_part_of_the_value():
    coreset = pickle.loads(pickle.dumps(make()))
    assert coreset.rows.slice(0, 2).equals(mixed().slice(0, 2))
    assert coreset.row_numbers.tolist() == [7, 3, 11]
    with pytest.raises(ValueError, match="read-only"):
        coreset.row_numbers[0] = 1


def test_the_words_say_what_they_are():
    real = repr(make())
    assert "3 of 12 rows, weighted, with 13 columns" in real
    assert "real people" in real
    made_up = repr(make(numbers=None))
    assert "3 weighted atoms of 13 columns for 12 rows" in made_up
    assert "real" not in made_up
    assert "3 of 12 rows, weighted, with 2 columns" in repr(
        Coreset(**{**dict(vars(make())), "rows": None})
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rows": [1, 2, 3]}, TypeError, "must be a pyarrow.Table, not list"),
        ({"rows": pa.table({"a": [1]})}, ValueError, "rows must be 3, one per atom, not 1"),
        (
            {"rows": pa.table([[1, 2, 3]] * 2, names=["a", "a"])},
            ValueError,
            "columns of the same name",
        ),
        ({"numbers": [1, 2]}, ValueError, "row_numbers must be 3 whole numbers"),
        ({"numbers": [1.0, 2.0, 3.0]}, ValueError, "row_numbers must be 3 whole numbers"),
        ({"numbers": [1, 2, 12]}, ValueError, "from 0 to n - 1 = 11"),
        ({"numbers": [1, 2, 2]}, ValueError, "some row is there twice"),
    ],
)
def test_nonsense_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        make(**changes)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("numbers", [(7, 3, 11), None])
def test_files_keep_every_type(tmp_path, ending, numbers):
    path = tmp_path / f"c{ending}"
    coreset = make(numbers=numbers)
    coreset.save(path)
    back = load(path)
    assert back.rows.schema.equals(coreset.rows.schema, check_metadata=True)
    assert back.rows.slice(0, 2).equals(coreset.rows.slice(0, 2))  # NaN equals nothing
    assert np.isnan(back.rows["weight"][2].as_py())
    assert back.rows["size"].combine_chunks().dictionary.to_pylist() == ["S", "M", "L"]
    np.testing.assert_array_equal(back.atoms, coreset.atoms)
    np.testing.assert_array_equal(back.weights, coreset.weights)
    if numbers is None:
        assert back.row_numbers is None
    else:
        np.testing.assert_array_equal(back.row_numbers, coreset.row_numbers)
    assert repr(back) == repr(coreset)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_keep_types_that_parquet_has_not(tmp_path, ending):
    days = [dt.date(2024, 3, 1), dt.date(2023, 1, 1), dt.date(1999, 9, 9)]
    rows = pa.table(
        {
            "seconds": pa.array([NOON, None, NOON], pa.timestamp("s", "Asia/Tokyo"), safe=False),
            "date64": pa.array([days[0], None, days[2]], pa.date64()),
            "clock": pa.array([3600, None, 7], pa.time32("s")),
            "grade": pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), [5, 3, 9]),
            "day": pa.DictionaryArray.from_arrays([1, None, 0], pa.array(days), ordered=True),
        }
    )
    make(rows).save(tmp_path / f"c{ending}")
    back = load(tmp_path / f"c{ending}").rows
    assert back.schema.equals(rows.schema)
    assert back.to_pylist() == rows.to_pylist()
    assert back["grade"].combine_chunks().dictionary.to_pylist() == [5, 3, 9]
    assert back["day"].combine_chunks().dictionary.to_pylist() == days


def test_any_parquet_reader_sees_the_rows(tmp_path):
    rows = mixed().select(["age", "town"])
    make(rows).save(tmp_path / "c.parquet")
    frame = pd.read_parquet(tmp_path / "c.parquet")
    assert list(frame.columns) == ["age", "town", "weight", "share", "row_number", "atom"]
    assert frame["weight"].tolist() == [6.0, 3.0, 3.0]
    assert frame["atom"][1].tolist() == [2.0, 3.0]


def test_frames_hold_the_rows():
    table = mixed().drop_columns("weight")
    coreset = make(table)
    arrow = coreset.to_frame("pyarrow")
    assert arrow.drop_columns("weight").equals(table)
    frame = coreset.to_frame("pandas")
    assert frame.index.tolist() == [7, 3, 11]
    assert str(frame["seen"].dtype) == "datetime64[us, Europe/Berlin]"
    assert list(frame["size"].cat.categories) == ["S", "M", "L"]
    assert frame["weight"].tolist() == [6.0, 3.0, 3.0]
    polars = coreset.to_frame("polars")
    assert polars.schema["seen"] == pl.Datetime("us", "Europe/Berlin")
    assert polars["age"].to_list() == [30, None, 41]
    with pytest.raises(ValueError, match="pass another name as weight="):
        make().to_frame()
    assert "w" in make().to_frame(weight="w").columns


def test_an_index_of_pandas_comes_back():
    data = pd.DataFrame(
        {"a": pd.array([1, None, 3], "Int64")}, index=pd.Index(list("xyz"), name="id")
    )
    frame = make(pa.Table.from_pandas(data)).to_frame("pandas")
    pd.testing.assert_frame_equal(frame.drop(columns="weight"), data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_truncated(tmp_path, ending):
    path = tmp_path / f"c{ending}"
    make().save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:length])
        with pytest.raises(CoresetFileError):
            load(path)


def rewrite(path, change) -> None:
    """The Parquet file with other columns, or written in another way, under our metadata."""
    table = pq.read_table(path)
    table, options = change(table)
    pq.write_table(table, path, **{"compression": "none", "use_dictionary": False, **options})


def other_categories(table: pa.Table) -> tuple[pa.Table, dict]:
    meta = json.loads(table.schema.metadata[b"emscoreset"])
    meta["categories"]["size"] = ["S", "M"]
    both = {**table.schema.metadata, b"emscoreset": json.dumps(meta).encode()}
    return table.replace_schema_metadata(both), {}


def with_column(name: str, values: pa.Array):
    def change(table: pa.Table) -> tuple[pa.Table, dict]:
        return table.set_column(table.column_names.index(name), name, values), {}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: (t, {"compression": "zstd"}), "compressed, which Coreset.save never does"),
        (lambda t: (t, {"use_dictionary": True}), "compressed, which Coreset.save never does"),
        (lambda t: (t.drop_columns("atom"), {}), "its metadata says that they end in"),
        (other_categories, "holds values of no category"),
        (with_column("row_number", pa.array([7, 7, 3])), "some row is there twice"),
        (with_column("row_number", pa.array([7, None, 3])), "int64 without gaps"),
        (with_column("share", pa.array([1, 1, 1])), "must be float64"),
        (with_column("atom", pa.array([[1.0], [2.0, 3.0], [4.0]])), "lists of one length"),
        (
            with_column("list", pa.array([[None] * 10**7, [], None], pa.list_(pa.int64()))),
            "more values than its bytes can",
        ),
    ],
)
def test_files_that_were_tampered_with(tmp_path, change, message):
    path = tmp_path / "c.parquet"
    make().save(path)
    rewrite(path, change)
    with pytest.raises(CoresetFileError, match=message):
        load(path)


def test_files_of_format_1_are_read(tmp_path):
    figures = {"mass": 4.0, "n": 4, "reg": 0.0, "variance": 2.0}
    figures |= dict.fromkeys(("distance", "lower", "upper"), 1.0)
    meta = {"format": 1, "feature_names": ["a", "b"], "provenance": {"seed": 1}, **figures}
    atoms, weights = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.25, 0.75])
    table = pa.table({"a": atoms[:, 0], "b": atoms[:, 1], "weight": weights})
    raw = json.dumps({**meta, "weight_column": "weight"}).encode()
    table = table.replace_schema_metadata({b"emscoreset": raw})
    pq.write_table(table, tmp_path / "c.parquet", compression="none", use_dictionary=False)
    raw = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(tmp_path / "c.npz", atoms=atoms, weights=weights, metadata=raw)
    for ending in ENDINGS:
        old = load(tmp_path / f"c{ending}")
        np.testing.assert_array_equal(old.atoms, atoms)
        np.testing.assert_array_equal(old.weights, weights)
        assert (old.rows, old.row_numbers, old.provenance["seed"]) == (None, None, 1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_encoder_comes_along(tmp_path, ending):
    encoder = Encoder.fit(pa.table({"x": [1.0, 2.0], "t": ["a", "b"]}), columns=["x", "t"]).encoder
    atoms = encoder.transform(pa.table({"x": [1.0, 2.0, 1.5], "t": ["a", "b", "a"]}))
    coreset = make(atoms=atoms, feature_names=encoder.feature_names, encoder=encoder)
    coreset.save(tmp_path / f"c{ending}")
    back = load(tmp_path / f"c{ending}")
    assert back.encoder == encoder
    assert pickle.loads(pickle.dumps(back)).encoder == encoder
    assert back.encoder.decode(back.atoms)["t"].to_pylist() == ["a", "b", "a"]
    with pytest.raises(TypeError, match="must be an Encoder, not dict"):
        make(encoder={})
    with pytest.raises(ValueError, match="feature_names must be the encoder's"):
        make(encoder=encoder)


def test_an_encoder_that_is_none_is_refused_with_its_file(tmp_path):
    path = tmp_path / "c.npz"
    make().save(path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    meta = {**json.loads(parts["metadata"].tobytes()), "encoder": {"columns": []}}
    parts["metadata"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez(path, **parts)
    with pytest.raises(CoresetFileError, match="the encoder is not"):
        load(path)
