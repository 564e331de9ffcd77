"""What is read of a model is the model: its trees add up to its own output, row by row."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from emscoreset.explain.readers import check_output, read_trees
from emscoreset.explain.shapley import contributions
from oracles import shapley_values


def light(kind, **given):
    return kind(n_estimators=8, verbose=-1, n_jobs=1, min_child_samples=5, **given)


def exact(model, X, w, *, atol: float = 1e-9) -> None:
    """The trees say what the model says, also at rows that it has not seen, and explain it."""
    trees = read_trees(model, X[:250])
    check_output(trees, X[250:])
    Y = X[:8]
    found = contributions(trees.forest, trees.encode(X[250:252]), trees.encode(Y), w)
    for i in (0, 1):
        expected = shapley_values(trees.raw, X[250 + i], Y, w)
        np.testing.assert_allclose(found[i], expected, atol=atol)


LIGHT = {
    "numbers": (light(lightgbm.LGBMRegressor), "X", "y"),
    "gaps": (light(lightgbm.LGBMClassifier), "gaps", "binary"),
    "gaps of which none was seen": (light(lightgbm.LGBMRegressor), "X", "y"),
    "zero as missing": (light(lightgbm.LGBMRegressor, zero_as_missing=True), "gaps", "y"),
    "three classes": (light(lightgbm.LGBMClassifier), "gaps", "three"),
    "random forest": (
        light(lightgbm.LGBMRegressor, boosting_type="rf", subsample=0.6, subsample_freq=1),
        *("gaps", "y"),
    ),
    "dart": (light(lightgbm.LGBMRegressor, boosting_type="dart"), "X", "y"),
}


@pytest.mark.parametrize("name", LIGHT)
def test_lightgbm(name: str, data, engine: str):
    model, rows, target = LIGHT[name]
    X = getattr(data, rows)
    model.fit(X, getattr(data, target))
    exact(model, data.gaps if "none was seen" in name else X, data.weights(8))


def test_lightgbms_categories_go_where_it_sends_them(data, engine: str):
    model = light(lightgbm.LGBMRegressor, min_data_per_group=5, cat_smooth=1.0)
    model.fit(data.gaps, data.y, categorical_feature=[3])
    X = data.gaps.copy()
    X[250:256, 3] = [-1, 7, 70, 1e6, np.nan, 2]  # never seen, or out of its sets
    exact(model, X, data.weights(8))
    assert '"=="' in str(model.booster_.dump_model()).replace("'", '"')


def test_lightgbms_pandas_categories_are_those_of_the_fit(data):
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    frame["d"] = pd.Categorical(np.array(list("pqrst"))[data.X[:, 3].astype(int)])
    model = light(lightgbm.LGBMRegressor, min_data_per_group=5, cat_smooth=1.0)
    model.fit(frame, data.y)
    trees = read_trees(model, frame)
    other = frame.assign(d=frame["d"].cat.reorder_categories(list("tsrqp")))
    np.testing.assert_array_equal(trees.encode(other), trees.encode(frame))
    check_output(trees, other)


def test_lightgbms_linear_trees_are_refused(data):
    model = light(lightgbm.LGBMRegressor, linear_tree=True).fit(data.X, data.y)
    with pytest.raises(ValueError, match="linear_tree=False"):
        read_trees(model, data.X)


def test_histogram_boosting_reads_categories_of_frames(data):
    frame = pd.DataFrame(data.gaps, columns=list("abcdef"))
    frame["d"] = pd.Categorical(np.array(list("pqrst"))[data.X[:, 3].astype(int)])
    with threadpool_limits(1):
        model = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype")
        model.fit(frame, data.three)
        trees = read_trees(model, frame)
        assert trees.forest.set_words.any()
        check_output(trees, frame.assign(d=pd.Categorical(["unseen"] * 300)))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_regressors_with_a_log_link_are_explained_in_logs(loss: str, data):
    with threadpool_limits(1):
        model = HistGradientBoostingRegressor(loss=loss, max_iter=4).fit(data.X, np.exp(data.y))
        exact(model, data.X, data.weights(8))


@pytest.mark.parametrize("init", ["zero", DummyRegressor(strategy="median")])
def test_boosting_from_another_start(init, data):
    model = GradientBoostingRegressor(n_estimators=3, init=init).fit(data.X, data.y)
    exact(model, data.X, data.weights(8))


def test_boosting_from_a_model_is_refused(data):
    model = GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(data.X, data.y)
    with pytest.raises(ValueError, match="init estimator"):
        read_trees(model, data.X)


def test_subclasses_are_read_as_their_parents_and_others_not_at_all(data):
    class Mine(GradientBoostingClassifier):
        pass

    model = Mine(n_estimators=3).fit(data.X, data.binary)
    assert read_trees(model, data.X) is not None
    assert read_trees(LinearRegression().fit(data.X, data.y), data.X) is None


def test_several_targets_of_classes_are_refused(data):
    model = RandomForestClassifier(2).fit(data.X, np.c_[data.binary, data.three])
    with pytest.raises(ValueError, match="2 targets"):
        read_trees(model, data.X)


def test_frames_of_any_library_and_their_types(data):
    frame = pd.DataFrame(data.X, columns=list("abcdef")).astype({"d": int})
    model = DecisionTreeClassifier(max_depth=4).fit(frame, data.binary)
    trees = read_trees(model, frame)
    np.testing.assert_array_equal(trees.encode(frame), trees.encode(pl.from_pandas(frame)))
    with pytest.raises(TypeError, match="column 'd' must hold numbers"):
        trees.encode(frame.astype({"d": str}))


XGB = {
    "gaps": ({}, "gaps", "binary"),
    "three classes": ({}, "gaps", "three"),
    "dart": ({"booster": "dart", "rate_drop": 0.3}, "X", "y"),
    "parallel trees": ({"num_parallel_tree": 3, "subsample": 0.5}, "X", "y"),
    "categories": (
        {
            "enable_categorical": True,
            "feature_types": list("qqqcqq"),
            "max_cat_to_onehot": 2,
            "tree_method": "hist",
        },
        *("gaps", "y"),
    ),
}


@pytest.mark.parametrize("name", XGB)
def test_xgboost(name: str, data, engine: str):
    xgboost = pytest.importorskip("xgboost")
    given, rows, target = XGB[name]
    kind = xgboost.XGBRegressor if target == "y" else xgboost.XGBClassifier
    model = kind(n_estimators=8, n_jobs=1, **given)
    exact(
        model.fit(getattr(data, rows), getattr(data, target)),
        getattr(data, rows),
        data.weights(8),
        atol=1e-5,
    )


def test_xgboost_stops_where_the_model_does(data):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    model.fit(data.X[:150], data.y[:150], eval_set=[(data.X[150:], data.y[150:])], verbose=False)
    trees = read_trees(model, data.X)
    assert len(trees.forest.root) == model.best_iteration + 1 < 60
    np.testing.assert_allclose(trees.raw(data.X)[:, 0], model.predict(data.X), atol=1e-5)


def test_xgboosts_linear_booster_is_refused(data):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(data.X, data.y)
    with pytest.raises(ValueError, match="gblinear"):
        read_trees(model, data.X)


CAT = {
    "gaps": ({}, "gaps", "binary"),
    "three classes": ({}, "gaps", "three"),
    "not symmetric": ({"grow_policy": "Lossguide"}, "gaps", "y"),
    "gaps above": ({"nan_mode": "Max"}, "gaps", "y"),
}


@pytest.mark.parametrize("name", CAT)
def test_catboost(name: str, data, engine: str):
    catboost = pytest.importorskip("catboost")
    given, rows, target = CAT[name]
    kind = catboost.CatBoostRegressor if target == "y" else catboost.CatBoostClassifier
    model = kind(iterations=8, depth=4, verbose=0, allow_writing_files=False, **given)
    exact(
        model.fit(getattr(data, rows), getattr(data, target)), getattr(data, rows), data.weights(8)
    )


def test_catboosts_categories_are_refused(data):
    catboost = pytest.importorskip("catboost")
    frame = pd.DataFrame(data.X, columns=list("abcdef")).astype({"d": int})
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False)
    model.fit(frame, data.y, cat_features=["d"])
    with pytest.raises(ValueError, match="categories"):
        read_trees(model, frame)
