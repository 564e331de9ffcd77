"""Which columns take part, what becomes of gaps, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from emscoreset.encode import Encoder, moments
from emscoreset.tables import read_table
from features import blocks_of
from tables import every_type, plain_table


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
        ({"importance": {"age": 1e30}}, ValueError, "importance of 'age'.*at most 1e.16"),
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
