"""Files and frames: what goes out comes back; anything else is a clear error."""

from __future__ import annotations

import contextlib
import json
import math
import os
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emscoreset import Coreset, CoresetFileError, from_frame, load
from emscoreset.io import FIGURES

ENDINGS = [".parquet", ".npz"]


def make(names=("age", "income"), k: int = 4) -> Coreset:
    rng = np.random.default_rng(0)
    return Coreset(
        atoms=rng.normal(size=(k, len(names))),
        weights=rng.dirichlet(np.ones(k)),
        mass=123.5,
        n=100,
        reg=0.01,
        distance=1.25,
        lower=1.0,
        upper=1.5,
        variance=4.0,
        feature_names=names,
        provenance={"version": "0.1.0", "seed": 7, "parameters": {"tol": 1e-5}},
    )


def assert_same(a: Coreset, b: Coreset) -> None:
    np.testing.assert_array_equal(a.atoms, b.atoms)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert a.feature_names == b.feature_names
    assert a.provenance == b.provenance
    for name in FIGURES:
        x, y = getattr(a, name), getattr(b, name)
        assert x == y or (math.isnan(x) and math.isnan(y))


@pytest.mark.parametrize("ending", ENDINGS)
class TestFiles:
    def test_round_trip(self, tmp_path, ending):
        path = tmp_path / f"c{ending}"
        make().save(path)
        assert_same(load(path), make())
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        umask = os.umask(0)
        os.umask(umask)
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask

    def test_a_column_called_weight(self, tmp_path, ending):
        coreset = make(names=("weight", "weight_", "ü -"))
        coreset.save(tmp_path / f"c{ending}")
        assert_same(load(tmp_path / f"c{ending}"), coreset)

    def test_overwrites_whole_or_not_at_all(self, tmp_path, ending):
        path = tmp_path / f"c{ending}"
        make().save(path)
        bad = make()
        object.__setattr__(bad, "provenance", {"callable": print})
        with pytest.raises(TypeError):
            bad.save(path)
        assert_same(load(path), make())
        assert [p.name for p in tmp_path.iterdir()] == [path.name]

    def test_truncated(self, tmp_path, ending):
        path = tmp_path / f"c{ending}"
        make().save(path)
        whole = path.read_bytes()
        for length in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:length])
            with pytest.raises(CoresetFileError, match="coreset"):
                load(path)

    @given(st.data())
    def test_flipped_bytes_are_an_error_or_a_coreset(self, tmp_path_factory, ending, data):
        path = tmp_path_factory.mktemp("flip") / f"c{ending}"
        make().save(path)
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(raw)
        with contextlib.suppress(CoresetFileError):
            assert isinstance(load(path), Coreset)

    def test_a_changed_atom_is_noticed(self, tmp_path, ending):
        path = tmp_path / f"c{ending}"
        make().save(path)
        raw = path.read_bytes()
        value = make().atoms[:1, 0].tobytes()
        assert raw.count(value) >= 1
        path.write_bytes(raw.replace(value, np.array([1e300]).tobytes(), 1))
        with pytest.raises(CoresetFileError, match="not a whole coreset file"):
            load(path)

    def test_another_file_altogether(self, tmp_path, ending):
        path = tmp_path / f"c{ending}"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(CoresetFileError, match="not a whole coreset file"):
            load(path)

    def test_no_such_file_or_folder(self, tmp_path, ending):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            load(tmp_path / f"none{ending}")
        with pytest.raises(FileNotFoundError, match="the folder"):
            make().save(tmp_path / "none" / f"c{ending}")


def test_endings(tmp_path):
    for call in (make().save, load):
        with pytest.raises(ValueError, match=r"ends in .parquet or .npz, not '.pkl'"):
            call(tmp_path / "c.pkl")


def test_any_parquet_reader_sees_the_columns(tmp_path):
    make().save(tmp_path / "c.parquet")
    frame = pd.read_parquet(tmp_path / "c.parquet")
    assert list(frame.columns) == ["age", "income", "weight", "share"]
    assert frame["weight"].sum() == pytest.approx(123.5)
    assert frame["share"].sum() == pytest.approx(1.0)


def test_someone_elses_parquet_and_npz(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "c.parquet")
    np.savez(tmp_path / "c.npz", a=np.ones(3))
    for ending in ENDINGS:
        with pytest.raises(CoresetFileError, match=r"not one written by Coreset.save"):
            load(tmp_path / f"c{ending}")


def test_pickled_and_compressed_arrays_are_refused(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    meta = np.frombuffer(b"{}", dtype=np.uint8)
    bomb = np.array([Bomb()], dtype=object)
    np.savez(tmp_path / "c.npz", atoms=bomb, weights=np.ones(1), metadata=meta)
    with pytest.raises(CoresetFileError, match="holds object, not float64"):
        load(tmp_path / "c.npz")
    assert not (tmp_path / "exploded").exists()
    zeros = np.zeros((10**6, 2))
    np.savez_compressed(tmp_path / "c.npz", atoms=zeros, weights=np.ones(1), metadata=meta)
    with pytest.raises(CoresetFileError, match="compressed"):
        load(tmp_path / "c.npz")


def test_an_array_that_claims_more_than_it_has_takes_no_memory(tmp_path):
    """A header of 8 TB of atoms over a few bytes."""
    path = tmp_path / "c.npz"
    make().save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    parts["atoms.npy"] = parts["atoms.npy"].replace(
        b"(4, 2), }" + 11 * b" ", b"(1000000000000, 2),}"
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    with pytest.raises(CoresetFileError, match="cannot reshape array of size 8"):
        load(path)


def test_parquet_rows_are_counted_against_the_bytes_before_they_are_read(tmp_path):
    """Ten million equal rows in a few hundred bytes."""
    path = tmp_path / "c.parquet"
    coreset = make(names=("a",), k=1)
    coreset.save(path)
    meta = pq.read_schema(path).metadata
    zeros = pa.array(np.zeros(10**7))
    table = pa.table({"a": zeros, "weight": zeros}).replace_schema_metadata(meta)
    pq.write_table(table, path)
    assert path.stat().st_size < 10**6
    with pytest.raises(CoresetFileError, match="says to hold 10000000 rows, more than"):
        load(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age": ["1"], "income": [2.0], "share": [1.0]}, "must be float64.*not string"),
        ({"income": [2.0], "age": [1.0], "share": [1.0]}, "its columns are"),
        ({"age": [1.0], "income": [None], "share": [1.0]}, "NaN or infinity|not double|null"),
        ({"age": [1.0], "income": [1.0], "share": [0.5]}, "sum to 1"),
        ({"age": [1.0], "income": [1.0], "weight": [1.0]}, "says that they end in"),
    ],
)
def test_parquet_with_our_metadata_and_other_columns(tmp_path, columns, message):
    path = tmp_path / "c.parquet"
    make().save(path)
    meta = pq.read_schema(path).metadata
    table = pa.table(columns).replace_schema_metadata(meta)
    if "share" in columns:
        table = table.add_column(2, "weight", pa.array([123.5]))
    pq.write_table(table, path, compression="none", use_dictionary=False)
    with pytest.raises(CoresetFileError, match=message):
        load(path)


def rewrite(path, **changes) -> None:
    """The npz file with other metadata."""
    with np.load(path) as arrays:
        meta = {**json.loads(arrays["metadata"].tobytes()), **changes}
        fields = {"atoms": arrays["atoms"], "weights": arrays["weights"]}
    raw = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, metadata=raw, **fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "newer than this version reads"),
        ({"format": "1"}, "not a coreset's"),
        ({"feature_names": "age"}, "not a list of names"),
        ({"feature_names": ["age"]}, "2 different names"),
        ({"provenance": []}, "not a mapping"),
        ({"layout": [1]}, "layout is not a mapping"),
        ({"feature_names": ["age", 1]}, "2 different names"),
        ({"upper": "far"}, "upper must be a finite number >= 0, not 'far'"),
        ({"lower": -1.0}, "lower must be a finite number >= 0"),
        ({"n": True}, "n must be a whole number >= 1, not True"),
        ({"n": 0}, "n must be a whole number"),
        ({"n": 1.5}, "n must be a whole number"),
        ({"mass": 0.0}, "mass must be greater than 0"),
        ({"mass": math.inf}, "mass must be a finite number"),
        ({"reg": math.nan}, "reg must be a finite number"),
    ],
)
def test_wrong_metadata(tmp_path, changes, message):
    make().save(tmp_path / "c.npz")
    rewrite(tmp_path / "c.npz", **changes)
    with pytest.raises(CoresetFileError, match=message):
        load(tmp_path / "c.npz")


def test_an_archive_with_a_stranger_in_it(tmp_path):
    make().save(tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "c.npz", "a") as archive:
        archive.writestr("evil.npy", b"x")
    with pytest.raises(CoresetFileError, match="not one written"):
        load(tmp_path / "c.npz")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_and_back(backend):
    coreset = make()
    frame = coreset.to_frame(backend)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    assert isinstance(frame, kinds[backend])
    back = from_frame(frame)
    np.testing.assert_allclose(back.weights, coreset.weights)
    np.testing.assert_array_equal(back.atoms, coreset.atoms)
    assert back.feature_names == coreset.feature_names
    assert back.mass == pytest.approx(123.5)
    assert math.isnan(back.distance)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0]}), "no column 'weight'"),
        (pd.DataFrame({"a": ["x"], "weight": [1.0]}), r"\['a'\] are not"),
        (pd.DataFrame({"a": [1.0], "weight": [-1.0]}), "finite, >= 0"),
        (pd.DataFrame({"a": [1.0], "weight": ["x"]}), r"\['weight'\] are not"),
    ],
)
def test_frames_that_are_no_coreset(frame, message):
    with pytest.raises(ValueError, match=message):
        from_frame(frame)


def test_names_that_clash_in_a_frame():
    with pytest.raises(ValueError, match="pass another name as weight="):
        make(names=("weight", "b")).to_frame()
    assert list(make(names=("weight", "b")).to_frame(weight="w").columns) == ["weight", "b", "w"]
    with pytest.raises(ValueError, match="backend must be"):
        make().to_frame("excel")
