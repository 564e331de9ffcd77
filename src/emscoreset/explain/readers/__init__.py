"""Models of trees by name, and who reads them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from emscoreset.explain.shapley import margins
from emscoreset.explain.trees import TreeModel

_HERE = "emscoreset.explain.readers"
_BY_NAME = {
    **{
        f"sklearn.{name}": ("scikit", "read_averaged")
        for name in (
            *("DecisionTreeClassifier", "DecisionTreeRegressor"),
            *("ExtraTreeClassifier", "ExtraTreeRegressor"),
            *("RandomForestClassifier", "RandomForestRegressor"),
            *("ExtraTreesClassifier", "ExtraTreesRegressor"),
        )
    },
    "sklearn.GradientBoostingClassifier": ("scikit", "read_boosted"),
    "sklearn.GradientBoostingRegressor": ("scikit", "read_boosted"),
    "sklearn.HistGradientBoostingClassifier": ("histogram", "read_histogram"),
    "sklearn.HistGradientBoostingRegressor": ("histogram", "read_histogram"),
    "xgboost.Booster": ("xgboost", "read_xgboost"),
    "xgboost.XGBModel": ("xgboost", "read_xgboost"),
    "lightgbm.Booster": ("lightgbm", "read_lightgbm"),
    "lightgbm.LGBMModel": ("lightgbm", "read_lightgbm"),
    "catboost.CatBoost": ("catboost", "read_catboost"),
}


def reader_of(model: Any) -> Callable[[Any, Any], TreeModel] | None:
    """The function (model, rows) -> TreeModel that reads this model, or None: no trees."""
    for kind in type(model).__mro__:
        found = _BY_NAME.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
        if found is not None:
            read: Callable[[Any, Any], TreeModel] = getattr(
                import_module(f"{_HERE}.{found[0]}"), found[1]
            )
            return read
    return None


def read_trees(model: Any, rows: Any) -> TreeModel | None:
    """The model's trees, checked against its own output at ``rows``; None where it has none."""
    read = reader_of(model)
    if read is None:
        return None
    trees = read(model, rows)
    check_output(trees, rows)
    return trees


def check_output(trees: TreeModel, rows: Any, *, n_jobs: int | None = None) -> None:
    """Refuse trees that do not add up to what the model says at ``rows``."""
    said = trees.raw(rows)
    added = trees.offset + margins(trees.forest, trees.encode(rows), n_jobs=n_jobs)
    scale = max(1.0, float(np.abs(said).max(initial=0.0)))
    off = float(np.abs(said - added).max(initial=0.0))
    if not off <= trees.tolerance * scale:
        raise ValueError(
            f"the model's trees add up to another output than the model's own, by up to {off:.3g}: "
            "it does more than add trees (an init estimator that varies with the rows, say), or "
            "these rows have other column types than those it was fitted on. Pass "
            "explainer=shap.ExactExplainer or PermutationExplainer to treat it as a function"
        )
