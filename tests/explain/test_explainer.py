"""WeightedExplainer as users call it."""

from __future__ import annotations

import warnings

import lightgbm
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import shap
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import emscoreset
from emscoreset.explain import WeightedExplainer
from oracles import shapley_values


@pytest.fixture(scope="module")
def boosted(data):
    return GradientBoostingClassifier(n_estimators=15, random_state=0).fit(data.X, data.binary)


def test_values_and_base_add_up_to_the_model(boosted, data, engine: str):
    w = data.weights(20)
    explainer = WeightedExplainer(boosted, (data.X[:20], w))
    said = explainer(data.X[data.rows])
    assert said.values.shape == (12, 6)
    margin = boosted.decision_function(data.X)
    np.testing.assert_allclose(said.base_values, w @ margin[:20], atol=1e-12)
    np.testing.assert_allclose(
        said.values.sum(axis=1) + said.base_values, margin[data.rows], atol=1e-12
    )
    assert explainer.expected_value == said.base_values[0]
    np.testing.assert_array_equal(explainer.shap_values(data.X[data.rows]), said.values)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_probabilities(loss: str, data, engine: str):
    """SHAP's definition, for a weighted background: its own explainer, atom by atom."""
    X = data.X[:, [0, 1, 4]]
    model = GradientBoostingClassifier(n_estimators=9, loss=loss).fit(X, data.binary)
    w, x = data.weights(10), X[data.rows]
    said = WeightedExplainer(model, (X[:10], w), output="probability")(x)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(said.base_values, w @ p[:10], atol=1e-12)
    np.testing.assert_allclose(said.values.sum(axis=1), p[data.rows] - w @ p[:10], atol=1e-12)
    if loss == "log_loss":  # of the other, SHAP has the probabilities wrong
        atoms = WeightedExplainer(
            model, (X[:10], w), output="probability", explainer=shap.TreeExplainer
        )(x)
        np.testing.assert_allclose(said.values, atoms.values, atol=1e-6)


def test_probabilities_where_margins_are_equal_follow_the_tangent(boosted, data):
    explainer = WeightedExplainer(boosted, (data.X[:1], [1.0]), output="probability")
    slope = explainer._explain._slope
    m, far = np.array([0.3, -40.0, 800.0]), np.array([0.3, 40.0, -800.0])
    p = 1 / (1 + np.exp(-0.3))
    np.testing.assert_allclose(slope(m, far), [p * (1 - p), 1 / 80, 1 / 1600], rtol=1e-12)
    np.testing.assert_allclose(slope(m[:1], m[:1] + 1e-9), p * (1 - p), rtol=1e-8)


def test_several_outputs(data, engine: str):
    model = RandomForestClassifier(4, random_state=0).fit(data.X, data.three)
    w = data.weights(20)
    for output in ("raw", "probability"):
        said = WeightedExplainer(model, (data.X[:20], w), output=output)(data.X[data.rows])
        assert said.values.shape == (12, 6, 3)
        total = said.values.sum(axis=1) + said.base_values
        np.testing.assert_allclose(total, model.predict_proba(data.X[data.rows]), atol=1e-12)


def test_softmax_is_refused_with_the_way_out(data):
    model = GradientBoostingClassifier(n_estimators=2).fit(data.X, data.three)
    with pytest.raises(ValueError, match="every probability depends on all raw outputs"):
        WeightedExplainer(model, (data.X[:5], None), output="probability")
    said = WeightedExplainer(model, (data.X[:5], None))(data.X[data.rows])
    assert said.values.shape == (12, 6, 3)


@pytest.mark.parametrize("explainer", ["ExactExplainer", "KernelExplainer"])
def test_explainers_of_functions_get_the_weights(explainer: str, data):
    model = LogisticRegression().fit(data.X[:, :4] ** 2, data.binary)
    X, w = data.X[:, :4], data.weights(7)

    def f(Z):
        return model.predict_proba(Z**2)

    said = WeightedExplainer(f, (X[:7], w), explainer=getattr(shap, explainer))(X[data.rows])
    assert said.values.shape == (12, 4, 2)
    for i in (0, 7):
        expected = shapley_values(f, X[data.rows][i], X[:7], w)
        np.testing.assert_allclose(said.values[i], expected, atol=1e-9)
    np.testing.assert_allclose(said.base_values[0], w @ f(X[:7]), atol=1e-12)


def test_trees_agree_with_shaps_own_weighted_kernel(boosted, data):
    """KernelExplainer alone takes weights, in SHAP's own class for data, for all coalitions."""
    w, x, Y = data.weights(9), data.X[data.rows][:4], data.X[20:29]
    weighted = shap.kmeans(Y, 9, round_values=False)
    weighted.data, weighted.weights = Y.copy(), w.copy()
    said = shap.KernelExplainer(boosted.decision_function, weighted).shap_values(
        x, nsamples=2**6, l1_reg=False, silent=True
    )
    found = WeightedExplainer(boosted, (Y, w))(x)
    np.testing.assert_allclose(found.values, said, atol=1e-6)


def test_permutations_add_up_and_repeat_with_a_seed(data):
    model = LinearRegression().fit(data.X, data.y)
    w, x = data.weights(7), data.X[data.rows]

    def values():
        explainer = WeightedExplainer(
            model, (data.X[:7], w), explainer=shap.PermutationExplainer, seed=3, max_evals=26
        )
        return explainer(x).values

    np.testing.assert_array_equal(values(), values())
    expected = (x - w @ data.X[:7]) * model.coef_  # of a linear model any permutation is exact
    np.testing.assert_allclose(values(), expected, atol=1e-9)


def test_other_explainers_go_atom_by_atom(data):
    model = LinearRegression().fit(data.X, data.y)
    w, x = data.weights(7), data.X[data.rows]
    said = WeightedExplainer(model, (data.X[:7], w), explainer=shap.LinearExplainer)(x)
    np.testing.assert_allclose(said.values, (x - w @ data.X[:7]) * model.coef_, atol=1e-9)
    with pytest.raises(ValueError, match="LinearExplainer explains the raw output"):
        WeightedExplainer(
            LogisticRegression().fit(data.X, data.binary),
            (data.X[:7], w),
            output="probability",
            explainer=shap.LinearExplainer,
        )


@pytest.mark.parametrize("features", [4, 14])
def test_models_without_trees_find_an_explainer(features: int, data):
    X = np.tile(data.X, 3)[:, :features]
    model = LinearRegression().fit(X, data.y)
    said = WeightedExplainer(model, (X[:5], data.weights(5)))(X[data.rows])
    expected = (X[data.rows] - data.weights(5) @ X[:5]) * model.coef_
    np.testing.assert_allclose(said.values, expected, atol=1e-9)


def test_explainers_that_cannot_are_refused_with_the_reason(boosted, data):
    for explainer, why in (
        (shap.SamplingExplainer, "without regard to their weights"),
        (shap.PartitionExplainer, "Owen values"),
    ):
        with pytest.raises(ValueError, match=why):
            WeightedExplainer(boosted, (data.X[:5], None), explainer=explainer)


def test_frames_reach_the_model_as_frames_and_keep_their_types(data):
    frame = pd.DataFrame(data.X[:, :4], columns=list("abcd"), index=np.arange(300) + 7)
    frame["d"] = pd.Categorical(np.array(list("pqrst"))[data.X[:, 3].astype(int)])
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(frame, data.binary)
    w, x = data.weights(9), frame[data.rows]
    trees = WeightedExplainer(model, (frame[:9], w))(x)
    assert trees.feature_names == list("abcd")
    assert trees.data.tolist() == x.to_numpy().tolist()

    def margin(Z):
        assert isinstance(Z, pd.DataFrame)
        assert Z.dtypes.equals(frame.dtypes)
        return model.predict(Z, raw_score=True)

    exact = WeightedExplainer(margin, (frame[:9], w), explainer=shap.ExactExplainer)(x)
    np.testing.assert_allclose(trees.values, exact.values, atol=1e-9)


def test_polars_frames(data):
    frame = pl.DataFrame(data.X[:, :3], schema=list("abc"))
    said = WeightedExplainer(lambda Z: Z["a"].to_numpy() * Z["b"].to_numpy(), (frame[:5], None))(
        frame[data.rows]
    )
    assert said.values.shape == (12, 3)
    assert not said.values[:, 2].any()


def coreset(data, **given) -> emscoreset.Coreset:
    nan = float("nan")
    return emscoreset.Coreset(
        atoms=data.X[:6, :3],
        weights=data.weights(6),
        **{"mass": 300.0, "n": 300, "reg": 0.0, "feature_names": ("a", "b", "c")},
        **{"distance": nan, "lower": nan, "upper": nan, "variance": nan},
        **given,
    )


def test_a_coreset_gives_its_atoms_or_its_real_rows(data):
    X, w = data.X[:, :3], data.weights(6)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, data.binary)
    expected = WeightedExplainer(model, (X[:6], w))(X[data.rows]).values
    found = WeightedExplainer(model, coreset(data))(X[data.rows])
    np.testing.assert_array_equal(found.values, expected)
    assert found.feature_names == ["a", "b", "c"]

    frame = pd.DataFrame(X, columns=list("abc"))
    table = pa.Table.from_pandas(frame[["c", "b", "a"]].assign(y=1.0)[:6], preserve_index=False)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(frame, data.binary)
    for given in (coreset(data), coreset(data, rows=table, row_numbers=np.arange(6))):
        found = WeightedExplainer(model, given)(frame[data.rows])
        np.testing.assert_array_equal(
            found.values, WeightedExplainer(model, (frame[:6], w))(frame[data.rows]).values
        )
    short = coreset(data, rows=table.select(["b", "c"]), row_numbers=np.arange(6))
    with pytest.raises(ValueError, match=r"lacks columns .*\['a'\]"):
        WeightedExplainer(model, short)


def test_boosters_know_their_columns(data):
    frame = pd.DataFrame(data.X[:, :3], columns=list("abc"))
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1}, lightgbm.Dataset(frame[["c", "a"]], data.y), 3
    )
    said = WeightedExplainer(booster, coreset(data))(frame[["c", "a"]][data.rows])
    assert said.feature_names == ["c", "a"]
    total = said.values.sum(axis=1) + said.base_values
    np.testing.assert_allclose(total, booster.predict(frame[["c", "a"]][data.rows]), atol=1e-9)


def test_rows_without_weight_take_no_part(boosted, data):
    w = np.array([0.0, 2.0, 0.0, 6.0])
    found = WeightedExplainer(boosted, (data.X[:4], w))
    assert len(found.background.rows) == 2
    expected = WeightedExplainer(boosted, (data.X[[1, 3]], [0.25, 0.75]))(data.X[data.rows])
    np.testing.assert_array_equal(found(data.X[data.rows]).values, expected.values)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"background": np.zeros((3, 6))}, TypeError, r"pass \(rows, None\)"),
        ({"background": (np.zeros((0, 6)), None)}, ValueError, "at least one"),
        ({"background": (np.zeros((3, 6)), [1, 2])}, ValueError, "3 numbers"),
        ({"background": (np.zeros((3, 6)), [1, -1, 1])}, ValueError, "finite, >= 0"),
        ({"output": "margin"}, ValueError, 'output must be "raw" or "probability"'),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"seed": 3}, TypeError, "no further arguments"),
    ],
)
def test_bad_arguments(given: dict, error: type, words: str, boosted, data):
    arguments = {"background": (data.X[:5], None), **given}
    with pytest.raises(error, match=words):
        WeightedExplainer(boosted, **arguments)


def test_other_rows_and_models_are_refused(boosted, data):
    explainer = WeightedExplainer(boosted, (data.X[:5], None))
    with pytest.raises(ValueError, match="6 columns"):
        explainer(data.X[:3, :5])
    with pytest.raises(ValueError, match="6 columns"):
        explainer(data.X[0])
    with pytest.raises(TypeError, match="a function or have predict"):
        WeightedExplainer("model", (data.X[:5], None))
    with pytest.raises(ValueError, match="needs a model with predict_proba"):
        WeightedExplainer(lambda X: X[:, 0], (data.X[:5], None), output="probability")


def test_rows_that_the_trees_would_misread_are_noticed(boosted, data, monkeypatch):
    explainer = WeightedExplainer(boosted, (data.X[:5], None))
    monkeypatch.setattr(explainer.model, "decision_function", lambda X: X[:, 0], raising=False)
    trees = explainer._explain.trees
    object.__setattr__(trees, "raw", lambda X: X[:, :1])
    with pytest.raises(ValueError, match="another output"):
        explainer(data.X[:3])


@pytest.mark.parametrize(
    "plot", ["beeswarm", "bar", "waterfall", "scatter", "heatmap", "violin", "force", "decision"]
)
def test_shaps_plots_take_it(plot: str, boosted, data):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    said = WeightedExplainer(boosted, (data.X[:20], data.weights(20)))(data.X[:60])
    with warnings.catch_warnings():  # SHAP's own
        warnings.simplefilter("ignore")
        if plot == "waterfall":
            shap.plots.waterfall(said[0], show=False)
        elif plot == "force":
            shap.plots.force(said[0], matplotlib=True, show=False)
        elif plot == "scatter":
            shap.plots.scatter(said[:, 0], show=False)
        elif plot == "decision":
            shap.plots.decision(said.base_values[0], said.values, show=False)
        else:
            getattr(shap.plots, plot)(said, show=False)
    assert plt.gcf().axes
    plt.close("all")
