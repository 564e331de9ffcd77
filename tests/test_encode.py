"""Rows as vectors: the figures of scikit-learn's own components, and values that come back."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

from emscoreset.encode import Encoder, moments
from emscoreset.encode.fit import MISSING, SCALES
from emscoreset.encode.look import LEAST_SHARE, MOST_OPTIONS
from emscoreset.tables import read_table
from tables import BACKENDS, as_backend, every_type, plain_table, repeated

NUMBERS, TEXT = ["age", "income", "owns"], ["job", "town"]


def one_hot() -> OneHotEncoder:
    return OneHotEncoder(
        min_frequency=LEAST_SHARE,
        max_categories=MOST_OPTIONS,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )


def blocks_of(encoder: Encoder, Z: np.ndarray) -> dict[str, np.ndarray]:
    return {name: Z[:, place].astype(np.float64) for name, place in encoder.places.items()}


def variance(Z: np.ndarray, weight: Any = None) -> float:
    Z = Z.astype(np.float64)
    mean = np.average(Z, axis=0, weights=weight)
    return float(np.average(((Z - mean) ** 2).sum(axis=1), weights=weight))


class TestAsScikitLearn:
    @pytest.mark.parametrize("scale", ["standard", "robust"])
    def test_the_pipeline(self, scale):
        table, new = plain_table(), plain_table(50, seed=1)
        scaler = StandardScaler() if scale == "standard" else RobustScaler(unit_variance=True)
        # booleans keep their standard deviation: they count like two labels
        numbers = NUMBERS if scale == "standard" else NUMBERS[:2]
        encoder = Encoder.fit(table, columns=[*numbers, *TEXT], scale=scale).encoder
        pipeline = ColumnTransformer([("n", scaler, numbers), ("t", one_hot(), TEXT)])
        pipeline.fit(table.to_pandas())
        for rows in (table, new):
            expected = pipeline.transform(rows.to_pandas())
            parts = blocks_of(encoder, encoder.transform(rows))
            found = np.hstack([parts[name] for name in numbers])
            np.testing.assert_allclose(found, expected[:, : len(numbers)], rtol=2e-6, atol=1e-6)
            found = np.hstack([parts[name] > 0 for name in TEXT])
            np.testing.assert_array_equal(found, expected[:, len(numbers) :])

    @pytest.mark.parametrize("scale", ["standard", "robust"])
    def test_imputed(self, scale):
        table = every_type().select(["float32", "float64", "int8", "text"])
        frame = table.to_pandas()
        encoder = Encoder.fit(table, missing="impute", scale=scale).encoder
        parts = blocks_of(encoder, encoder.transform(table))
        by = "mean" if scale == "standard" else "median"
        scaler = StandardScaler() if scale == "standard" else RobustScaler(unit_variance=True)
        pipeline = make_pipeline(SimpleImputer(strategy=by), scaler)
        for name in ("float32", "float64", "int8"):
            expected = pipeline.fit_transform(frame[[name]].astype(np.float64))
            np.testing.assert_allclose(parts[name], expected, rtol=2e-6, atol=2e-6)
        text = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot())
        expected = text.fit_transform(frame[["text"]].astype(object))
        np.testing.assert_array_equal(parts["text"] > 0, expected)

    def test_indicators(self):
        table = every_type().select(["float64", "int8", "bool"])
        encoder = Encoder.fit(table, missing="indicator").encoder
        parts = blocks_of(encoder, encoder.transform(table))
        frame = table.to_pandas().astype(np.float64)
        expected = MissingIndicator(features="all").fit_transform(frame)
        found = np.column_stack([part[:, 1] > 0 for part in parts.values()])
        np.testing.assert_array_equal(found, expected)
        scaled = StandardScaler().fit_transform(frame)  # which passes over NaN, too
        found = np.column_stack([part[:, 0] for part in parts.values()])
        np.testing.assert_allclose(found, np.nan_to_num(scaled), rtol=2e-6, atol=1e-6)

    def test_weights(self):
        table, weight = plain_table(), np.random.default_rng(2).random(400)
        encoder = Encoder.fit(table, columns=NUMBERS, sample_weight=weight).encoder
        frame = table.select(NUMBERS).to_pandas().astype(np.float64)
        expected = StandardScaler().fit(frame, sample_weight=weight).transform(frame)
        np.testing.assert_allclose(encoder.transform(table), expected, rtol=2e-6, atol=1e-6)

    @given(
        st.lists(st.integers(1, 40), min_size=1, max_size=60), st.sampled_from([3, MOST_OPTIONS])
    )
    @settings(max_examples=40)
    def test_which_labels_are_pooled(self, counts, repeat):
        """Ties and the limit on options included; a name says that the column is wanted."""
        labels = np.repeat([f"v{i:02}" for i in range(len(counts))], np.multiply(counts, repeat))
        reference = one_hot().fit(labels[:, None])
        if len(reference.get_feature_names_out()) < 2:
            return
        rare = reference.infrequent_categories_[0]
        encoder = Encoder.fit(pa.table({"v": labels}), columns=["v"]).encoder
        kept = [name for name in np.unique(labels) if rare is None or name not in rare]
        expected = [f"v={name}" for name in kept] + ["v=(other)"] * (rare is not None)
        assert list(encoder.feature_names) == expected


class TestWeights:
    @pytest.mark.parametrize("missing", ["indicator", "impute", "drop"])
    @pytest.mark.parametrize("scale", ["standard", "robust", "none"])
    def test_whole_weights_are_repetitions(self, missing, scale):
        table = every_type(gaps=0.05)
        times = np.random.default_rng(3).integers(0, 4, table.num_rows)
        options = {"missing": missing, "scale": scale}
        found = Encoder.fit(table, sample_weight=times, **options)
        # weights of 1 choose the quantiles that weights do
        many = repeated(table, times)
        again = Encoder.fit(many, sample_weight=np.ones(many.num_rows), **options)
        rows = table if found.keep is None else table.filter(pa.array(found.keep))
        assert found.encoder.feature_names == again.encoder.feature_names
        a, b = found.encoder.transform(rows), again.encoder.transform(rows)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("missing", ["indicator", "impute"])
    def test_every_column_has_the_variance_of_one_standard_deviation(self, missing):
        table, weight = every_type(), np.random.default_rng(4).random(300)
        fitted = Encoder.fit(table, missing=missing, sample_weight=weight, importance={"text": 2})
        parts = blocks_of(fitted.encoder, fitted.encoder.transform(table))
        for name, part in parts.items():
            assert variance(part, weight) == pytest.approx(4 if name == "text" else 1, rel=1e-4)

    def test_a_boolean_as_a_number_and_as_two_labels_is_the_same_distance(self):
        table = pa.table({"b": [True, False, False, False], "t": ["y", "n", "n", "n"]})
        encoder = Encoder.fit(table).encoder
        number, label = blocks_of(encoder, encoder.transform(table)).values()
        distance = [((part[0] - part[1]) ** 2).sum() for part in (number, label)]
        assert distance[0] == pytest.approx(distance[1]) == pytest.approx(1 / (0.25 * 0.75))


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


class TestWhatTakesPart:
    def test_identifiers_and_long_text_are_left_out_with_a_message(self):
        n = 500
        rng = np.random.default_rng(0)
        table = pa.table(
            {
                "row": rng.permutation(n) + 1000,
                "customer_id": rng.integers(0, 10**6, n),
                "name": [f"person {i}" for i in range(n)],
                "town": [f"town {i}" for i in rng.integers(0, 200, n)],
                "hash": pa.array([bytes([i % 256]) for i in range(n)]),
                "cents": rng.integers(0, 10**6, n),
                "valid": rng.integers(0, 10**6, n),
                "step": np.arange(500.0),
            }
        )
        fitted = Encoder.fit(table)
        assert fitted.encoder.feature_names == ("cents", "valid", "step")
        said = "\n".join(fitted.messages)
        for name in ("row", "customer_id", "name", "town", "hash"):
            assert f"left out {name!r}" in said
        named = Encoder.fit(table, columns=["row", "customer_id", "cents"])
        assert named.encoder.feature_names == ("row", "customer_id", "cents")
        assert named.messages == ()
        assert "row" in Encoder.fit(table, importance={"row": 2}).encoder.feature_names

    def test_nothing_is_broken_off_below_the_limit(self, monkeypatch):
        monkeypatch.setattr(moments, "MOST_DISTINCT", 30)
        labels = np.array([f"v{i:02}" for i in range(31)])
        table = pa.table({"a": np.tile(labels[:30], 20), "x": np.arange(600.0) ** 2})
        assert Encoder.fit(table).messages == ()
        table = pa.table({"a": np.resize(labels, 600), "x": np.arange(600.0) ** 2})
        assert "more than 50,000 different" in Encoder.fit(table).messages[0]

    def test_constant_columns_are_dropped_silently(self):
        table = pa.table({"a": [1, 1], "b": ["x", "x"], "c": pa.nulls(2), "d": [1.0, 2.0]})
        fitted = Encoder.fit(table)
        assert fitted.encoder.feature_names == ("d",)
        assert fitted.messages == ()
        back = fitted.encoder.decode(fitted.encoder.transform(table.select(["d"])))
        assert back.to_pylist() == table.to_pylist()

    def test_nested_columns_are_refused_by_name(self):
        table = pa.table({"a": [[1], [2]], "b": [{"c": 1}, None], "d": [1.0, 2.0]})
        with pytest.raises(
            ValueError, match=r"'a' \(list<.*>\), 'b' \(struct<.*exclude=\['a', 'b'\]"
        ):
            Encoder.fit(table)
        assert Encoder.fit(table, exclude=["a", "b"]).encoder.feature_names == ("d",)

    def test_the_index_of_a_frame_does_not(self):
        frame = plain_table().to_pandas().set_index("town").sort_index()
        encoder = Encoder.fit(read_table(frame).table).encoder
        assert "town" not in encoder.places
        assert encoder.schema.pandas_metadata["index_columns"] == []
        decoded = encoder.decode(encoder.transform(read_table(frame).table)).to_pandas()
        assert list(decoded.columns) == list(frame.columns)

    def test_features_have_different_names(self):
        table = pa.table({"a": ["(missing)", "b", None], "a=b": [1.0, 2.0, 3.0]})
        names = Encoder.fit(table, missing="indicator").encoder.feature_names
        assert names == ("a=(missing)", "a=b", "a=(missing)_", "a=b_")

    def test_importance_multiplies(self):
        table = plain_table()
        once = Encoder.fit(table).encoder
        much = Encoder.fit(table, importance={"age": 2, "job": 0.5}).encoder
        a, b = (blocks_of(e, e.transform(table)) for e in (once, much))
        for name, times in {"age": 2, "job": 0.5, "town": 1}.items():
            np.testing.assert_allclose(b[name], times * a[name], rtol=1e-6)
        assert much.decode(much.transform(table))["age"].equals(table["age"])

    def test_unscaled(self):
        table = plain_table().append_column(
            "day", pa.array(np.arange(400).astype("datetime64[D]").astype("datetime64[ns]"))
        )
        encoder = Encoder.fit(table, scale="none").encoder
        parts = blocks_of(encoder, encoder.transform(table))
        np.testing.assert_allclose(np.diff(parts["day"][:, 0]), 1.0, rtol=1e-6)
        ages = np.array(table["age"])
        np.testing.assert_allclose(parts["age"][:, 0], ages - ages.mean(), atol=1e-4)
        assert set(np.unique(parts["town"])) == {0.0, 1.0}

    def test_half_equal_values_have_no_interquartile_range(self):
        table = pa.table({"gain": [0.0] * 9 + [99.0], "x": np.arange(10.0)})
        fitted = Encoder.fit(table, scale="robust")
        assert "'gain': half of its values are equal" in fitted.messages[0]
        assert fitted.encoder.transform(table)[:, 0].std() == pytest.approx(1.0)


class TestMissing:
    def test_errors_count_them(self):
        table = pa.table({"a": [1.0, None, float("nan")], "b": ["x", None, "y"], "c": [1, 2, 5]})
        with pytest.raises(ValueError, match=r"'a' \(2\), 'b' \(1\); pass missing="):
            Encoder.fit(table)

    def test_drop_keeps_complete_rows(self):
        table = every_type(gaps=0.02)
        table = table.append_column("id", pa.array([None, *range(1, 300)]))
        fitted = Encoder.fit(table, missing="drop")
        expected = table.drop_columns("id").to_pandas().notna().all(axis=1)
        np.testing.assert_array_equal(fitted.keep, expected)
        np.testing.assert_array_equal(fitted.encoder.complete(table), expected)
        left = table.filter(pa.array(fitted.keep))
        again = Encoder.fit(left, columns=list(fitted.encoder.places))
        np.testing.assert_array_equal(fitted.encoder.transform(left), again.encoder.transform(left))
        assert fitted.encoder.complete(left) is None
        with pytest.raises(ValueError, match="fill them, or drop their rows"):
            fitted.encoder.transform(table)

    def test_drop_of_every_row(self):
        with pytest.raises(ValueError, match=r"leaves no row: 'a' \(1\), 'b' \(2\)"):
            Encoder.fit(pa.table({"a": [1.0, None, 2.0], "b": [None, 1.0, None]}), missing="drop")

    def test_without_gaps_there_is_nothing_to_keep(self):
        assert Encoder.fit(plain_table(), missing="drop").keep is None

    @pytest.mark.parametrize("missing", ["error", "indicator", "drop"])
    def test_gaps_where_none_were(self, missing):
        encoder = Encoder.fit(plain_table(), missing=missing).encoder
        table = plain_table().to_pandas()
        table.loc[3, ["age", "job"]] = None
        table = pa.Table.from_pandas(table)
        with pytest.raises(ValueError, match=r"'age' \(1\), 'job' \(1\), where none were"):
            encoder.transform(table)
        assert np.flatnonzero(~encoder.complete(table)).tolist() == [3]

    def test_imputed_later(self):
        encoder = Encoder.fit(plain_table(), missing="impute").encoder
        empty = pa.table({name: pa.nulls(2) for name in plain_table().column_names})
        parts = blocks_of(encoder, encoder.transform(empty))
        assert (parts["age"] == 0).all()
        assert encoder.decode(encoder.transform(empty))["job"].to_pylist() == ["clerk"] * 2

    def test_a_gap_is_about_one_standard_deviation_away(self):
        x = np.random.default_rng(0).normal(size=1000)
        table = pa.table({"x": pa.array(x, mask=np.arange(1000) < 10)})
        Z = Encoder.fit(table, missing="indicator").encoder.transform(table)
        assert Z[0].tolist() == pytest.approx([0, 1 / np.sqrt(0.99)])


class TestNewRows:
    def test_labels_never_seen_count_as_rare_ones_or_as_none(self):
        encoder = Encoder.fit(plain_table()).encoder
        new = plain_table(2).set_column(2, "job", pa.array(["pilot", "poet"]))
        new = new.set_column(4, "town", pa.array(["Ulm", "Bonn"]))
        parts = blocks_of(encoder, encoder.transform(new))
        assert (parts["job"][0] == parts["job"][1]).all()
        assert parts["job"][0, -1] > 0
        assert (parts["town"][0] == 0).all()

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_from_another_library(self, backend):
        table = every_type()
        encoder = Encoder.fit(table, missing="indicator").encoder
        same = [n for n in table.column_names if n not in ("grade", "day_of")]  # not in polars
        other = read_table(as_backend(table, backend)).table
        if backend == "polars":
            encoder = Encoder.fit(table.select(same), missing="indicator").encoder
        found, expected = encoder.transform(other), encoder.transform(table)
        np.testing.assert_array_equal(found, expected)

    def test_chunks_and_threads_do_not_matter(self):
        table = every_type()
        encoder = Encoder.fit(table, missing="indicator").encoder
        expected = encoder.transform(table, n_jobs=1)
        parts = pa.concat_tables([table.slice(0, 7), table.slice(7, 100), table.slice(107)])
        for n_jobs in (1, 3):
            np.testing.assert_array_equal(encoder.transform(parts, n_jobs=n_jobs), expected)
        assert Encoder.fit(parts, missing="indicator", n_jobs=2).encoder.feature_names == (
            encoder.feature_names
        )
        assert encoder.transform(table.slice(0, 0)).shape == (0, len(encoder.feature_names))

    @pytest.mark.parametrize(
        ("column", "values", "message"),
        [
            ("float64", ["1"], "'float64' was double when the encoder was fitted, now string"),
            ("text", [1], "'text' was string"),
            ("seen", pa.array([1], pa.timestamp("s")), "'seen' was timestamp"),
            ("took", pa.array([1], pa.timestamp("s")), "'took' was duration"),
            ("day_of", pa.array([1], pa.timestamp("s")).dictionary_encode(), "'day_of' was dict"),
            ("text", pa.array([b"x"]), "'text' was string"),
            ("float64", [float("inf")], "'float64' holds infinity"),
        ],
    )
    def test_of_another_kind(self, column, values, message):
        table = every_type(gaps=0.0)
        encoder = Encoder.fit(table).encoder
        new = table.slice(0, 1).drop_columns(column).append_column(column, pa.array(values))
        with pytest.raises(ValueError, match=message):
            encoder.transform(new)

    def test_columns_that_are_not_there(self):
        encoder = Encoder.fit(plain_table()).encoder
        with pytest.raises(ValueError, match=r"lacks columns \['age', 'job'\]"):
            encoder.transform(plain_table().drop_columns(["age", "job"]))

    def test_units_are_converted(self):
        table = every_type(gaps=0.0)
        encoder = Encoder.fit(table).encoder
        finer = table.set_column(
            table.column_names.index("took"), "took", table["took"].cast(pa.duration("ns"))
        )
        np.testing.assert_array_equal(encoder.transform(finer), encoder.transform(table))


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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"missing": "guess"}, ValueError, "missing must be one of 'error'"),
        ({"scale": "log"}, ValueError, "scale must be one of 'standard'"),
        ({"columns": "age"}, TypeError, "columns must be a list"),
        ({"columns": ["agee"]}, ValueError, "did you mean 'age'"),
        ({"exclude": ["zzz"]}, ValueError, "exclude names 'zzz'.*it has"),
        ({"columns": ["age"], "exclude": ["age"]}, ValueError, "no columns are left"),
        ({"importance": {"age": 0}}, ValueError, "importance of 'age' must be a number > 0"),
        ({"importance": {"age": "2"}}, ValueError, "importance of 'age'"),
        ({"importance": {"agee": 2}}, ValueError, "importance names 'agee'"),
        ({"importance": {"age": 2}, "exclude": ["age"]}, ValueError, "leaves out"),
        ({"importance": ["age"]}, TypeError, "importance must map"),
        ({"sample_weight": [1.0]}, ValueError, r"sample_weight must have shape \(400,\)"),
        ({"sample_weight": np.zeros(400)}, ValueError, "not all zero"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        Encoder.fit(plain_table(), **options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0, np.inf]}, "'x' holds infinity"),
        ({"x": [1e300, -1e300]}, "'x' holds numbers so large"),
        ({"x": [1.0, 1.0]}, "no column tells the rows apart"),
        ({"x": pa.array([], pa.float64())}, "the table has no rows"),
    ],
)
def test_bad_tables(columns, message):
    with pytest.raises(ValueError, match=message):
        Encoder.fit(pa.table(columns))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_census(data_dir, missing, scale, gaps):
    table = read_table(data_dir / "adult.parquet").table.drop_columns("Target")
    if gaps:
        if missing == "error":
            return
        frame = table.to_pandas()
        frame.loc[::7, "Age"] = np.nan
        table = pa.Table.from_pandas(frame)
    fitted = Encoder.fit(table, missing=missing, scale=scale)
    equal = {
        name
        for name in table.column_names
        if scale == "robust" and np.ptp(np.nanpercentile(table[name], [25, 75])) == 0
    }
    assert {message.split("'")[1] for message in fitted.messages} == equal
    rows = table if fitted.keep is None else table.filter(pa.array(fitted.keep))
    assert (fitted.keep is None) == (missing != "drop" or not gaps)
    Z = fitted.encoder.transform(rows)
    if scale == "standard":
        assert variance(Z) == pytest.approx(12, rel=1e-4)  # one for each column
    back = fitted.encoder.decode(Z)
    same = [name for name in rows.column_names if name != "Age" or missing != "impute"]
    assert back.select(same).equals(rows.select(same))


def test_new_rows_in_a_new_process(tmp_path):
    table = every_type()
    encoder = Encoder.fit(table.slice(0, 200), missing="impute").encoder
    feather.write_feather(table.slice(200), tmp_path / "new.feather")
    (tmp_path / "encoder.json").write_text(json.dumps(encoder.to_plain()))
    code = (
        "import json, pathlib, numpy as np; from emscoreset.encode import Encoder; "
        "e = Encoder.from_plain(json.loads(pathlib.Path('encoder.json').read_text())); "
        "np.save('Z.npy', e.transform('new.feather'))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "Z.npy"), encoder.transform(table.slice(200)))


def test_the_guides_example_runs(tmp_path):
    example = Path(__file__).resolve().parents[1] / "docs" / "examples" / "tables.py"
    out = subprocess.run(
        [sys.executable, "-W", "error", example],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "age: variance 4.00" in out.stdout
    assert "'age': 31, 'job': 'clerk'" in out.stdout
