"""The path algorithm: against all coalitions, against SHAP, and where rows and trees are odd."""

from __future__ import annotations

import numpy as np
import pytest
import shap
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from emscoreset.explain import shapley
from emscoreset.explain.readers import read_trees
from emscoreset.explain.shapley import contributions, margins, pair_blocks, pairs
from emscoreset.explain.trees import Forest, Tree
from emscoreset.kernels import native
from oracles import shapley_values

MODELS = {
    "boosted": (GradientBoostingRegressor(n_estimators=12, random_state=0), "X", "y"),
    "boosted classes": (GradientBoostingClassifier(n_estimators=5, random_state=0), "X", "three"),
    "histogram": (HistGradientBoostingClassifier(max_iter=4), "gaps", "binary"),
    "histogram, categories": (
        HistGradientBoostingRegressor(max_iter=4, categorical_features=[3]),
        "gaps",
        "y",
    ),
    "forest": (RandomForestClassifier(3, random_state=0), "gaps", "three"),
    "forest, two targets": (RandomForestRegressor(2, max_depth=5, random_state=0), "X", "two"),
    "extra trees": (ExtraTreesClassifier(3, random_state=0), "X", "binary"),
    "stumps": (GradientBoostingRegressor(n_estimators=9, max_depth=1), "X", "y"),
    "deep tree": (DecisionTreeRegressor(max_depth=12, random_state=0), "gaps", "y"),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_all_coalitions(name: str, data, engine: str):
    model, rows, target = MODELS[name]
    X = getattr(data, rows)
    with threadpool_limits(1):
        model.fit(X, np.c_[data.y, data.y**2] if target == "two" else getattr(data, target))
    trees = read_trees(model, X)
    Y, w, x = X[:10], data.weights(10), X[data.rows]
    found = contributions(trees.forest, trees.encode(x), trees.encode(Y), w)
    for i in (0, 5):
        expected = shapley_values(trees.raw, x[i], Y, w)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    """Random trees over few features, so that paths test a feature again and again."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features, width = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    trees = [
        _random_tree(rng, draw(st.integers(0, 6)), features, width, int(rng.integers(3 - width)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return Forest.join(trees, features, 2)


def _random_tree(rng: np.random.Generator, depth: int, features: int, width: int, output: int):
    """Grown node by node; each has a test of its own kind, and may be a leaf before its time."""
    feature, children = [], []
    levels = [0]
    for level in levels:
        inner = level < depth and (level == 0 or rng.random() < 0.8)
        feature.append(int(rng.integers(features)) if inner else -1)
        children.append((len(levels), len(levels) + 1) if inner else (0, 0))
        levels += [level + 1] * (2 * inner)
    n = len(levels)
    left, right = np.array(children).T
    sets = {
        i: rng.integers(0, 2**63, size=1).astype(np.uint64)
        for i in range(n)
        if feature[i] >= 0 and rng.random() < 0.3
    }
    return Tree(
        feature=np.array(feature),
        threshold=rng.integers(-1, 3, n).astype(float),
        left=left,
        right=right,
        nan_left=rng.random(n) < 0.5,
        zero_is_nan=rng.random(n) < 0.3,
        categories=sets,
        outside_left=rng.random(n) < 0.5,
        value=rng.normal(size=(n, width)),
        output=output,
    )


def _lattice(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    """Rows full of ties with the thresholds, duplicates, gaps, and categories out of range."""
    X = rng.integers(-2, 4, size=(n, features)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.05] = 70.0
    return X


@settings(max_examples=50)
@given(forest=forests(), seed=st.integers(0, 1000), k=st.integers(1, 8))
def test_both_implementations_are_exact_on_any_trees(forest: Forest, seed: int, k: int):
    rng = np.random.default_rng(seed)
    x, Y = (_lattice(rng, n, forest.n_features) for n in (4, k))
    w = rng.dirichlet(np.ones(k))
    expected = np.array([shapley_values(lambda Z: margins(forest, Z), r, Y, w) for r in x])
    expected = expected.reshape(4, forest.n_features, 2)
    found = [contributions(forest, x, Y, w), np.einsum("ijfo,j->ifo", pairs(forest, x, Y), w)]
    np.testing.assert_allclose(margins(forest, x), _walked(forest, x), atol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "available", lambda: False)
        found += [contributions(forest, x, Y, w), np.einsum("ijfo,j->ifo", pairs(forest, x, Y), w)]
        np.testing.assert_allclose(margins(forest, x), _walked(forest, x), atol=1e-12)
    for values in found:
        np.testing.assert_allclose(values, expected, atol=1e-12)


def _walked(forest: Forest, X: np.ndarray) -> np.ndarray:
    """Every row down every tree."""
    out = np.zeros((len(X), forest.n_outputs))
    for i, row in enumerate(X):
        for root, output in zip(forest.root, forest.output, strict=True):
            node = root
            while forest.feature[node] >= 0:
                left = forest.goes_left(node, row[[forest.feature[node]]])[0]
                node = forest.left[node] if left else forest.right[node]
            out[i, output : output + forest.value.shape[1]] += forest.value[node]
    return out


@pytest.mark.parametrize("name", ["boosted", "forest, two targets", "extra trees", "deep tree"])
def test_uniform_weights_give_what_tree_explainer_gives(name: str, data, engine: str):
    """Without ties and gaps, where SHAP sends rows elsewhere than scikit-learn does."""
    model, _, target = MODELS[name]
    X = data.X[:, [0, 1, 4, 5]]
    model.fit(X, np.c_[data.y, data.y**2] if target == "two" else getattr(data, target))
    trees = read_trees(model, X)
    x, Y = X[data.rows], X[:40]
    explainer = shap.TreeExplainer(model, Y, feature_perturbation="interventional")
    said = explainer.shap_values(x, check_additivity=False)
    found = contributions(trees.forest, trees.encode(x), trees.encode(Y), np.full(40, 1 / 40))
    np.testing.assert_allclose(found, said.reshape(found.shape), atol=1e-6)


def test_a_threshold_on_the_rows_values_sends_them_where_the_model_does(data, engine: str):
    """Rows that lie on thresholds as float32 rounds them; SHAP's rounding is not the model's."""
    X = np.round(data.X[:, :4] * 3) / 3
    model = DecisionTreeRegressor(random_state=0).fit(X, data.y)
    inner = model.tree_.feature >= 0
    x = X[:8].copy()
    x[:, model.tree_.feature[0]] = model.tree_.threshold[inner][0]
    trees = read_trees(model, X)
    w = data.weights(30)
    found = contributions(trees.forest, trees.encode(x), trees.encode(X[:30]), w)
    for i in range(8):
        np.testing.assert_allclose(
            found[i], shapley_values(model.predict, x[i], X[:30], w), atol=1e-9
        )


def test_duplicates_add_their_weights_and_unused_features_get_nothing(data, engine: str):
    X = np.c_[data.X, np.ones(300)]
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, data.y)
    forest = read_trees(model, X).forest
    one = contributions(forest, X[:5], X[10:13], np.array([0.2, 0.5, 0.3]))
    again = X[[10, 11, 11, 12, 11]]
    same = contributions(forest, X[:5], again, np.array([0.2, 0.1, 0.3, 0.3, 0.1]))
    np.testing.assert_allclose(one, same, atol=1e-14)
    assert not one[:, 6].any()


def test_a_background_of_the_row_itself_explains_nothing(data, engine: str):
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(data.X, data.y)
    forest = read_trees(model, data.X).forest
    assert not contributions(forest, data.X[:1], data.X[:1], np.ones(1)).any()


def test_pairs_fit_the_weighted_sum_and_each_others_negative(data, engine: str):
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(data.X, data.y)
    forest = read_trees(model, data.X).forest
    X, Y, w = data.X[:40], data.X[40:200], data.weights(160)
    phi = pairs(forest, X, Y)
    np.testing.assert_allclose(
        np.einsum("ijfo,j->ifo", phi, w), contributions(forest, X, Y, w), atol=1e-12
    )
    np.testing.assert_allclose(phi, -pairs(forest, Y, X).swapaxes(0, 1), atol=1e-12)


def test_pair_blocks_cover_all_rows_once(data, monkeypatch):
    forest = Forest.join([_random_tree(np.random.default_rng(0), 2, 3, 1, 0)], 3, 1)
    monkeypatch.setattr(shapley, "PAIR_BYTES", 8 * 3 * 10 * 4)
    blocks = [list(range(17))[b] for b in pair_blocks(forest, 17, 10)]
    assert [len(b) for b in blocks] == [4, 4, 4, 4, 1]
    assert [i for block in blocks for i in block] == list(range(17))


def test_the_same_bits_for_any_number_of_threads(data):
    model = RandomForestRegressor(70, max_depth=6, random_state=0).fit(data.X, data.y)
    forest = read_trees(model, data.X).forest
    w = data.weights(50)
    one, three = (contributions(forest, data.X, data.X[:50], w, n_jobs=j) for j in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_a_path_of_64_features_is_exact_and_one_of_65_is_refused(engine: str):
    def chain(m: int) -> Tree:
        n = 2 * m + 1
        inner = np.arange(n) < m
        return Tree(
            feature=np.where(inner, np.arange(n), -1),
            threshold=np.zeros(n),
            left=np.where(inner, np.arange(n) + 1, 0),
            right=np.where(inner, np.arange(n) + m + 1, 0),
            nan_left=np.zeros(n, dtype=bool),
            value=(np.arange(n) == m).astype(float)[:, None],
        )

    low, high = -np.ones((1, 66)), np.ones((1, 66))
    forest = Forest.join([chain(64)], 66)
    found = contributions(forest, low, high, np.ones(1))[0, :, 0]
    np.testing.assert_allclose(found, np.r_[np.full(64, 1 / 64), 0, 0], atol=1e-15)
    with pytest.raises(ValueError, match="65 different features"):
        Forest.join([chain(65)], 66)


def test_arrays_that_are_no_tree_are_refused():
    tree = _random_tree(np.random.default_rng(3), 3, 2, 1, 0)
    loop = np.where(tree.feature >= 0, 0, tree.left)
    with pytest.raises(ValueError, match="no trees"):
        Forest.join([Tree(**{**vars(tree), "left": loop})], 2)
    with pytest.raises(ValueError, match="tests feature"):
        Forest.join([tree], 1)
    with pytest.raises(ValueError, match="fit it first"):
        Forest.join([], 1)
