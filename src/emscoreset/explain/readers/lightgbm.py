"""LightGBM's boosters and estimators, through ``dump_model``."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from emscoreset.explain.readers.common import (
    as_doubles,
    as_numbers,
    bit_set,
    columns,
    flattened,
    offset_of,
)
from emscoreset.explain.readers.scikit import NO_SOFTMAX
from emscoreset.explain.trees import Forest, Tree, TreeModel
from emscoreset.stats import Floats


def read_lightgbm(model: Any, rows: Any) -> TreeModel:
    """Raw is the score before LightGBM's transformation, of random forests the trees' average."""
    booster = getattr(model, "booster_", model)
    dump = booster.dump_model(num_iteration=booster.best_iteration or None)
    outputs = int(dump["num_tree_per_iteration"])
    share = outputs / len(dump["tree_info"]) if dump.get("average_output") else 1.0
    trees = [
        _tree(tree["tree_structure"], share, number % outputs)
        for number, tree in enumerate(dump["tree_info"])
    ]
    forest = Forest.join(trees, int(dump["max_feature_idx"]) + 1, outputs)
    known = dump.get("pandas_categorical") or []

    def encode(X: Any) -> Floats:
        return _encoded(X, known)

    def raw(X: Any) -> Floats:
        return share * columns(booster.predict(_plain(X), raw_score=True))

    objective, *words = str(dump.get("objective", "")).split()
    slope = next((float(w[8:]) for w in words if w.startswith("sigmoid:")), 1.0)
    return TreeModel(
        forest=forest,
        offset=offset_of(forest, encode(rows), raw(rows)),
        encode=encode,
        raw=raw,
        tolerance=1e-9,
        link=_link(objective, outputs),
        slope=slope,
    )


def _link(objective: str, outputs: int) -> str:
    if objective in ("binary", "cross_entropy"):
        return "logistic"
    if outputs > 1:
        return NO_SOFTMAX
    return f"LightGBM's objective {objective!r} has no probabilities"


def _plain(X: Any) -> Any:
    """Frames that LightGBM reads itself (pandas) as they are; others as arrays."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    pandas = isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas()
    return X if pandas else as_doubles(X)


def _encoded(X: Any, known: list[list[Any]]) -> Floats:
    """Columns of categories as their places in the lists that the model keeps, in order."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or not known:
        return as_doubles(X)
    lists = iter(known)
    out = []
    for column in frame.iter_columns():
        if column.dtype in (nw.Categorical, nw.Enum) or column.dtype == nw.Unknown:
            place = {category: float(i) for i, category in enumerate(next(lists, []))}
            out.append(np.array([place.get(value, np.nan) for value in column.to_list()]))
        else:
            out.append(as_numbers(column))
    return np.column_stack(out).astype(np.float64)


def _tree(root: dict[str, Any], share: float, output: int) -> Tree:
    nodes, left, right = flattened(root, "left_child", "right_child")
    n = len(nodes)
    feature, threshold = np.full(n, -1), np.zeros(n)
    nan_left, zero_is_nan = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    value, sets = np.zeros((n, 1)), {}
    for i, node in enumerate(nodes):
        if "leaf_const" in node or "leaf_coeff" in node:
            raise ValueError(
                "LightGBM's linear trees are not sums of leaf values: linear_tree=False"
            )
        if "split_feature" not in node:
            value[i] = share * node["leaf_value"]
            continue
        feature[i] = node["split_feature"]
        if node["decision_type"] == "==":  # among these categories; NaN and all others right
            inside = np.array([int(c) for c in str(node["threshold"]).split("||")])
            sets[i] = bit_set(inside, int(inside.max()) + 1)
            continue
        threshold[i] = node["threshold"]
        missing = node["missing_type"]  # "None": NaN is taken for 0
        nan_left[i] = threshold[i] >= 0 if missing == "None" else node["default_left"]
        zero_is_nan[i] = missing == "Zero"
    return Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        nan_left=nan_left,
        zero_is_nan=zero_is_nan,
        categories=sets,
        value=value,
        output=output,
    )
