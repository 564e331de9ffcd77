"""XGBoost's boosters and estimators, through the JSON in which they are saved."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from emscoreset.explain.readers.common import as_singles, bit_set, columns, offset_of
from emscoreset.explain.readers.scikit import NO_SOFTMAX
from emscoreset.explain.trees import Forest, Tree, TreeModel
from emscoreset.stats import Floats


def read_xgboost(model: Any, rows: Any) -> TreeModel:
    """Raw is the margin (``output_margin=True``)."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    used = booster[: booster.best_iteration + 1] if _stopped_early(booster) else booster
    learner = json.loads(bytes(used.save_raw("json")))["learner"]
    trees = _trees(learner["gradient_booster"])
    parameters = learner["learner_model_param"]
    outputs = max(1, int(parameters["num_class"]), int(parameters.get("num_target", 1)))
    forest = Forest.join(trees, int(parameters["num_feature"]), outputs)

    def raw(X: Any) -> Floats:
        import xgboost

        types, names = used.feature_types, used.feature_names
        if hasattr(X, "columns"):
            matrix = xgboost.DMatrix(X, enable_categorical=True)
        else:
            matrix = xgboost.DMatrix(X, feature_names=names, feature_types=types)
        return columns(used.predict(matrix, output_margin=True))

    return TreeModel(
        forest=forest,
        offset=offset_of(forest, as_singles(rows), raw(rows)),
        encode=as_singles,
        raw=raw,
        tolerance=1e-5,  # XGBoost adds in float32
        link=_link(learner["objective"]["name"], outputs),
    )


def _stopped_early(booster: Any) -> bool:
    return booster.attr("best_iteration") is not None


def _link(objective: str, outputs: int) -> str:
    if objective in ("binary:logistic", "binary:logitraw", "reg:logistic"):
        return "logistic"
    if objective.startswith("multi:"):
        return NO_SOFTMAX
    return f"XGBoost's objective {objective!r} has no probabilities"


def _trees(booster: dict[str, Any]) -> list[Tree]:
    name, drop = booster["name"], None
    if name == "dart":
        drop = np.asarray(booster["weight_drop"], dtype=np.float64)
        booster = booster["gbtree"]
    elif name != "gbtree":
        raise ValueError(f"XGBoost's booster {name!r} has no trees: use gbtree or dart")
    model = booster["model"]
    shares = np.ones(len(model["trees"])) if drop is None else drop
    return [
        _tree(tree, float(share), int(output))
        for tree, share, output in zip(model["trees"], shares, model["tree_info"], strict=True)
    ]


def _tree(tree: dict[str, Any], share: float, output: int) -> Tree:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise ValueError(
            "XGBoost's trees with a vector in each leaf (multi_strategy='multi_output_tree') "
            "are not read: fit with multi_strategy='one_output_per_tree'"
        )
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    leaf = left < 0
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    # x < t in float32 is x <= the float32 before t.
    threshold = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    sets = {}
    for node, begin, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        to_right = np.array(tree["categories"][begin : begin + size], dtype=np.int64)
        top = int(to_right.max(initial=0)) + 1
        sets[int(node)] = ~bit_set(to_right, top)
    return Tree(
        feature=np.where(leaf, -1, np.array(tree["split_indices"])),
        threshold=threshold,
        left=left,
        right=right,
        nan_left=np.array(tree["default_left"], dtype=bool),
        outside_left=np.ones(len(left), dtype=bool),
        categories=sets,
        value=share * np.where(leaf, condition, 0).astype(np.float64)[:, None],
        output=output,
    )
