"""Vectors as rows of valid values, and an encoder as plain values and back."""

from __future__ import annotations

import datetime as dt
import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emscoreset.encode import Encoder
from emscoreset.tables import read_table
from features import blocks_of, variance
from tables import BACKENDS, as_backend, every_type, plain_table


class TestDecode:
    @pytest.mark.parametrize("missing", ["error", "indicator"])
    def test_rows_come_back(self, missing):
        table = every_type(gaps=0.1 if missing == "indicator" else 0.0)
        encoder = Encoder.fit(table, missing=missing).encoder
        back = encoder.decode(encoder.transform(table))
        assert back.schema.equals(table.schema)
        inexact = {"float32": 1e-6, "float64": 1e-5, "seen": pd.Timedelta("120s")}
        for name in table.column_names:
            if name in inexact:  # 24 bits of the spread
                a, b = (t[name].to_pandas() for t in (table, back))
                assert (a.isna() == b.isna()).all()
                assert (a - b).dropna().abs().max() <= inexact[name]
            else:
                assert back[name].to_pylist() == table[name].to_pylist(), name

    @given(st.data())
    @settings(max_examples=50)
    def test_any_row_comes_back(self, data):
        """Of any types and any gaps; numbers are whole, and few enough for 24 bits."""
        n = data.draw(st.integers(2, 12), "rows")
        kinds = {
            "int": (st.integers(-1000, 1000), pa.int16()),
            "whole": (st.integers(-1000, 1000).map(float), pa.float64()),
            "bool": (st.booleans(), pa.bool_()),
            "text": (st.sampled_from(["", "a", "(other)", "\x00", "ß"]), pa.string()),
            "day": (st.dates(dt.date(2000, 1, 1), dt.date(2030, 1, 1)), pa.date32()),
            "cents": (st.decimals(-99, 99, places=2), pa.decimal128(6, 2)),
            "took": (st.integers(0, 10**5).map(lambda s: dt.timedelta(seconds=s)),
                     pa.duration("us")),
            "grade": (st.sampled_from([1, 2, 5]), pa.dictionary(pa.int8(), pa.int64())),
        }  # fmt: skip
        table = pa.table(
            {
                name: pa.array(
                    data.draw(st.lists(st.none() | values, min_size=n, max_size=n), name), kind
                )
                for name, (values, kind) in kinds.items()
            }
        )
        times = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n), "weights")
        options = {"columns": list(kinds), "missing": "indicator", "sample_weight": times}
        if all(len(set(table[name].to_pylist())) == 1 for name in kinds):
            with pytest.raises(ValueError, match="no column tells the rows apart"):
                Encoder.fit(table, **options)
            return
        fitted = Encoder.fit(table, **options)
        Z = fitted.encoder.transform(table)
        assert fitted.encoder.decode(Z).to_pylist() == table.to_pylist()
        for name, part in blocks_of(fitted.encoder, Z).items():
            varies = len(set(table[name].to_pylist())) > 1
            assert variance(part, times) == pytest.approx(float(varies), rel=1e-4)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_means_are_valid_values(self, backend):
        table = read_table(as_backend(every_type(), backend)).table
        encoder = Encoder.fit(table, missing="indicator").encoder
        Z = encoder.transform(table).astype(np.float64).reshape(60, 5, -1).mean(axis=1)
        back = encoder.decode(Z)
        assert back.schema.equals(table.schema)
        back.validate(full=True)
        kept = ["grade", "day_of"] if backend != "polars" else []  # which makes numbers of them
        for name in ["int8", "uint64", "bool", "text", "whole", "local", *kept]:
            values = set(back[name].to_pylist()) - {None}
            if name in ("bool", "text", "grade", "day_of"):
                assert values <= set(table[name].to_pylist())
            elif name == "local":
                assert all(value.time() == dt.time(0) for value in values)
            else:
                assert all(value == int(value) for value in values)

    def test_gaps_do_not_pull_the_mean_of_what_is_there(self):
        table = pa.table({"x": [1.0, 3.0, 8.0, None, 4.5]})
        encoder = Encoder.fit(table, missing="indicator").encoder
        Z = encoder.transform(table).astype(np.float64)
        mean = encoder.decode([Z[[0, 1, 3]].mean(axis=0), Z[[0, 3, 3]].mean(axis=0)])
        assert mean["x"].to_pylist() == [pytest.approx(2.0), None]

    def test_out_of_range_is_clipped(self):
        table = pa.table({"big": [2**63 - 1, 0, -(2**63)], "u": pa.array([0, 1, 255], pa.uint8())})
        far = Encoder.fit(table).encoder.decode([[9.0, 9.0], [-9.0, -9.0]])
        assert far["u"].to_pylist() == [255, 0]
        assert far["big"].to_pylist() == [2**63 - 1024, -(2**63)]  # as far as float64 goes

    def test_rare_labels_and_constants(self):
        table = plain_table().append_column("planet", pa.array(["Earth"] * 400))
        encoder = Encoder.fit(table).encoder
        assert "job=(other)" in encoder.feature_names
        Z = np.zeros((1, len(encoder.feature_names)))
        Z[0, encoder.feature_names.index("job=(other)")] = 1.0
        back = encoder.decode(Z).to_pylist()[0]
        assert back["job"] in {"judge", "poet", "smith"}
        assert back["planet"] == "Earth"

    @pytest.mark.parametrize(
        ("Z", "message"), [([1.0], r"shape \(k, 1\)"), ([[np.nan]], "finite"), ([[1, 2]], "shape")]
    )
    def test_nonsense(self, Z, message):
        encoder = Encoder.fit(pa.table({"x": [1.0, 2.0]})).encoder
        with pytest.raises(ValueError, match=message):
            encoder.decode(Z)


class TestPlain:
    @pytest.mark.parametrize("missing", ["indicator", "impute"])
    def test_there_and_back(self, missing):
        table = every_type().append_column("none", pa.nulls(300))
        encoder = Encoder.fit(table, missing=missing).encoder
        back = Encoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
        assert back == encoder
        np.testing.assert_array_equal(back.transform(table), encoder.transform(table))
        assert pickle.loads(pickle.dumps(encoder)) == encoder

    @given(st.data())
    @settings(max_examples=60)
    def test_anything_else_is_an_error_or_an_encoder_that_works(self, data):
        table = every_type(60).append_column("none", pa.nulls(60))
        plain = Encoder.fit(table, missing="indicator").encoder.to_plain()
        junk = st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
            st.lists(st.one_of(st.integers(-5, 5), st.text(max_size=2)), max_size=3),
        )  # fmt: skip
        column = data.draw(st.sampled_from(plain["columns"]))
        if data.draw(st.booleans()):
            column[data.draw(st.sampled_from([*column, "more"]))] = data.draw(junk)
        else:
            plain[data.draw(st.sampled_from(["columns", "schema"]))] = data.draw(junk)
        try:
            encoder = Encoder.from_plain(json.loads(json.dumps(plain)))
        except ValueError:
            return
        with np.errstate(all="ignore"):
            assert encoder.decode(np.zeros((2, len(encoder.feature_names)))).num_rows == 2

    def test_a_schema_that_was_cut_or_swapped(self):
        plain = Encoder.fit(plain_table()).encoder.to_plain()
        other = Encoder.fit(plain_table().rename_columns(["a", "b", "c", "d", "e"])).encoder
        for schema in (plain["schema"][:40], other.to_plain()["schema"], "%", ""):
            with pytest.raises(ValueError, match="the encoder is not whole"):
                Encoder.from_plain({**plain, "schema": schema})
