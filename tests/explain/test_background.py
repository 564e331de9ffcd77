"""Backgrounds: real rows whose means are those of all rows, with a model and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from emscoreset import EMSCoreset, compress, load
from emscoreset.explain import WeightedExplainer, background
from emscoreset.explain.features import RowFeatures


@pytest.fixture(scope="module")
def boosted(data):
    return GradientBoostingRegressor(n_estimators=60, random_state=0).fit(data.X, data.y)


@pytest.fixture(scope="module")
def mixed(data) -> pd.DataFrame:
    frame = pd.DataFrame(data.gaps, columns=list("abcdef"))
    frame["town"] = pd.Categorical(np.array(["Bonn", "Rome", "Oslo"])[data.three])
    return frame.drop(columns=["a", "d"])


def error(model, coreset, data, output: str = "raw") -> float:
    full = WeightedExplainer(model, (data.X, None), output=output)(data.X[data.rows])
    found = WeightedExplainer(model, coreset, output=output)(data.X[data.rows])
    return float(np.abs(found.values - full.values).mean())


def check(coreset, k: int) -> None:
    assert len(coreset) <= k
    assert len(set(coreset.row_numbers)) == len(coreset)
    assert (coreset.weights >= 0).all()
    assert coreset.weights.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_without_a_model_rows_are_real_and_means_kept(data, k: int):
    coreset = background(data.X, k, random_state=0)
    check(coreset, k)
    np.testing.assert_array_equal(coreset.rows.to_pandas(), data.X[coreset.row_numbers])
    spread = np.random.default_rng(0).choice(300, size=(200, k))
    off = np.abs(coreset.weights @ data.X[coreset.row_numbers] - data.X.mean(axis=0))
    theirs = np.abs(data.X[spread].mean(axis=1) - data.X.mean(axis=0)).mean(axis=0)
    assert k < 40 or (off / theirs).mean() < 0.5


@pytest.mark.parametrize(
    ("output", "kind"),
    [("raw", "boosted"), ("raw", "classes"), ("probability", "classes"), ("raw", "three")],
)
def test_base_values_of_trees_are_exact(data, boosted, output: str, kind: str):
    model = {
        "boosted": boosted,
        "classes": GradientBoostingClassifier(n_estimators=20).fit(data.X, data.binary),
        "three": RandomForestClassifier(5, max_depth=4, random_state=0).fit(data.X, data.three),
    }[kind]
    coreset = background(data.X, 24, model=model, output=output, random_state=0)
    check(coreset, 24)
    full = WeightedExplainer(model, (data.X, None), output=output)
    ours = WeightedExplainer(model, coreset, output=output)
    np.testing.assert_allclose(ours.expected_value, full.expected_value, atol=1e-10)
    rng = np.random.default_rng(1)
    draws = [(data.X[rng.choice(300, 24, replace=False)], None) for _ in range(5)]
    assert error(model, coreset, data, output) < 0.5 * min(
        error(model, drawn, data, output) for drawn in draws
    )


@pytest.mark.parametrize("output", ["raw", "probability"])
def test_of_functions_base_values_are_exact_and_games_near(data, output: str):
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(data.X, data.binary)
    said = {"raw": model.decision_function, "probability": lambda X: model.predict_proba(X)[:, 1]}
    coreset = background(data.X, 24, model=said[output], random_state=0)
    check(coreset, 24)
    numbers = coreset.row_numbers
    mean = said[output](data.X).mean()
    assert coreset.weights @ said[output](data.X[numbers]) == pytest.approx(mean, abs=1e-10)
    blind = background(data.X, 24, random_state=0)
    assert error(model, coreset, data, output) < 0.7 * error(model, blind, data, output)


def test_a_model_without_trees_is_taken_as_a_function(data):
    """Of a linear model d means are all there is: seven rows have them exactly."""
    model = LinearRegression().fit(data.X, data.y)
    coreset = background(data.X, 7, model=model, random_state=0)
    exact = model.coef_ * (data.X[data.rows] - data.X.mean(axis=0))
    values = WeightedExplainer(model, coreset).shap_values(data.X[data.rows])
    np.testing.assert_allclose(values, exact, atol=1e-7)


def test_means_of_the_features_of_rows_are_those_of_all(data):
    a = data.weights(300)
    columns = [slice(j, j + 1) for j in range(6)]
    features = RowFeatures(data.X, a, columns, np.random.default_rng(0))
    F = features.of(np.arange(300))
    assert set(np.unique(F[:, :-6])) == {0.0, 1.0}
    np.testing.assert_allclose(features.means(F[:5], a[:5]), a @ F, atol=1e-12)


@pytest.mark.parametrize("with_model", [False, True])
def test_whole_weights_are_repetition(data, boosted, with_model: bool):
    times = np.random.default_rng(0).integers(0, 4, 300)
    model = boosted if with_model else None
    weighted = background(data.X, 12, model=model, weight=times, random_state=3)
    repeated = background(np.repeat(data.X, times, axis=0), 12, model=model, random_state=3)
    np.testing.assert_allclose(weighted.atoms, repeated.atoms, atol=1e-5)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8)
    assert weighted.mass == repeated.mass == times.sum()


def test_candidates_are_some_of_many_rows_and_it_is_said(data, boosted, monkeypatch):
    monkeypatch.setattr("emscoreset.explain.features.TreeFeatures.candidates", 100)
    coreset = background(data.X, 6, model=boosted, random_state=0)
    said = coreset.provenance["messages"]
    assert any("drawn at random" in line and "different rows" in line for line in said)
    full = WeightedExplainer(boosted, (data.X, None)).expected_value
    assert WeightedExplainer(boosted, coreset).expected_value == pytest.approx(full, abs=1e-9)


def test_more_candidates_where_too_few_cannot_have_the_means(data, boosted, monkeypatch):
    monkeypatch.setattr("emscoreset.explain.features.TreeFeatures.candidates", 1)
    monkeypatch.setattr("emscoreset.explain.choose.PER_ROW", 1)
    coreset = background(data.X, 12, model=boosted, random_state=0)
    full = WeightedExplainer(boosted, (data.X, None)).expected_value
    assert WeightedExplainer(boosted, coreset).expected_value == pytest.approx(full, abs=1e-9)


def test_many_rows_are_the_mean_of_several_choices(data, boosted, monkeypatch):
    monkeypatch.setattr("emscoreset.explain.choose.MOST_AT_ONCE", 10)
    coreset = background(data.X, 30, model=boosted, random_state=0)
    check(coreset, 30)
    assert len(coreset) > 20
    full = WeightedExplainer(boosted, (data.X, None)).expected_value
    assert WeightedExplainer(boosted, coreset).expected_value == pytest.approx(full, abs=1e-9)
    assert any("the mean of 3 choices" in line for line in coreset.provenance["messages"])


def test_the_same_seed_gives_the_same_rows(data, boosted):
    one, two, other = (
        background(data.X, 10, model=boosted, random_state=seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one.row_numbers, two.row_numbers)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.provenance["seed"] == 5
    assert not np.array_equal(one.row_numbers, other.row_numbers)


def test_it_is_saved_and_read(data, boosted, tmp_path):
    coreset = background(data.X, 8, model=boosted, weight=np.arange(300.0), random_state=0)
    assert coreset.lower <= coreset.distance <= coreset.upper <= 1.02 * coreset.lower
    coreset.save(tmp_path / "background.parquet")
    read = load(tmp_path / "background.parquet")
    np.testing.assert_array_equal(read.row_numbers, coreset.row_numbers)
    assert read.provenance["parameters"]["model"] == "GradientBoostingRegressor"


def test_as_many_rows_as_there_are_different_ones_are_all(data):
    few = data.X[[0, 1, 1, 2, 2, 2]]
    coreset = background(few, 3)
    np.testing.assert_array_equal(coreset.row_numbers, [0, 1, 3])
    np.testing.assert_allclose(coreset.weights, [1 / 6, 2 / 6, 3 / 6])
    assert coreset.distance == pytest.approx(0, abs=1e-9)


def test_a_constant_model_needs_no_more_than_one_row(data):
    model = DecisionTreeRegressor().fit(data.X, np.full(300, 2.5))
    coreset = background(data.X, 5, model=model)
    check(coreset, 5)
    assert WeightedExplainer(model, coreset).expected_value == 2.5


def test_more_outputs_than_rows(data):
    model = HistGradientBoostingClassifier(max_iter=3).fit(data.X, data.three)
    coreset = background(data.X, 2, model=model)
    check(coreset, 2)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_mixed_tables_of_any_library(mixed, library: str):
    given = {"pandas": mixed, "polars": pl.from_pandas(mixed)}.get(library)
    if library == "pyarrow":
        given = pl.from_pandas(mixed).to_arrow()
    coreset = background(given, 10, random_state=0)
    check(coreset, 10)
    assert coreset.rows.column_names == list(mixed.columns)
    towns = np.asarray(mixed["town"])[coreset.row_numbers].tolist()
    assert coreset.rows["town"].to_pylist() == towns
    assert "town" in coreset.summary()


def test_frames_reach_the_model_by_name(mixed, data):
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=3))
    frame = mixed.assign(id=np.arange(300.0)).set_index(np.arange(300) + 7)
    model.fit(frame[["town", "b", "c"]], data.binary)
    coreset = background(frame, 8, model=model, output="probability", random_state=0)
    assert "id" in coreset.rows.column_names
    mean = model.predict_proba(frame[["town", "b", "c"]]).mean(axis=0)
    kept = coreset.rows.to_pandas()[["town", "b", "c"]]
    np.testing.assert_allclose(coreset.weights @ model.predict_proba(kept), mean, atol=1e-9)


def test_coresets_are_rows_with_weights(data, boosted):
    large = compress(data.X, 100, random_state=0)
    coreset = background(large, 10, model=boosted, random_state=0)
    ours = WeightedExplainer(boosted, coreset).expected_value
    assert ours == pytest.approx(WeightedExplainer(boosted, large).expected_value, abs=1e-9)
    assert coreset.n == 100
    atoms = EMSCoreset(30, random_state=0).fit(data.X).coreset_
    few = background(atoms, 10, model=boosted, random_state=0)
    np.testing.assert_array_equal(few.rows.to_pandas(), atoms.atoms[few.row_numbers])
    assert few.mass == pytest.approx(300)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"n_rows": 0}, ValueError, "n_rows"),
        ({"n_rows": 2.5}, ValueError, "n_rows"),
        ({"output": "log"}, ValueError, "output"),
        ({"output": "probability"}, ValueError, "model="),
        ({"weight": [1.0]}, ValueError, "weight"),
        ({"weight": "w"}, ValueError, "weight='w'"),
        ({"model": object()}, TypeError, "function"),
    ],
)
def test_errors_name_the_argument(data, given, error, match: str):
    with pytest.raises(error, match=match):
        background(data.X, **given)


def test_what_cannot_be_read_is_refused(data, boosted, mixed):
    with pytest.raises(ValueError, match="weights of its own"):
        background(compress(data.X, 9), 3, weight=np.ones(9))
    named = GradientBoostingRegressor(n_estimators=2).fit(mixed[["c", "e"]], data.y)
    with pytest.raises(ValueError, match="lacks columns that"):
        background(mixed[["b", "c"]], 3, model=named)
    with pytest.raises(TypeError, match="2-d"):
        background([1.0, 2.0], 1)
