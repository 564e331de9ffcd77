"""Rows as vectors: the figures of scikit-learn's own components, with and without weights."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

from emscoreset.encode import Encoder
from emscoreset.encode.look import LEAST_SHARE, MOST_OPTIONS
from features import blocks_of, variance
from tables import every_type, plain_table, repeated

NUMBERS, TEXT = ["age", "income", "owns"], ["job", "town"]


def one_hot() -> OneHotEncoder:
    return OneHotEncoder(
        min_frequency=LEAST_SHARE,
        max_categories=MOST_OPTIONS,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )


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
