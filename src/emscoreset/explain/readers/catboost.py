"""CatBoost's models, through the JSON in which they are saved."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from emscoreset.explain.readers.common import as_singles, columns, flattened, offset_of
from emscoreset.explain.readers.scikit import NO_SOFTMAX
from emscoreset.explain.trees import Forest, Tree, TreeModel
from emscoreset.stats import Floats


def read_catboost(model: Any, rows: Any) -> TreeModel:
    """Raw is RawFormulaVal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        dump = json.loads(path.read_text())
    features = dump["features_info"]
    if features.get("categorical_features") or features.get("text_features"):
        raise ValueError(
            "CatBoost's splits on categories (statistics of the target, one-hot) are not read: "
            "encode the categories as numbers, or pass explainer=shap.ExactExplainer"
        )
    scale, bias = dump["scale_and_bias"]
    outputs = len(bias)
    floats = {f["feature_index"]: f for f in features["float_features"]}
    if "oblivious_trees" in dump:
        trees = [_oblivious(t, floats, scale, outputs) for t in dump["oblivious_trees"]]
    else:
        trees = [_nested(t, floats, scale, outputs) for t in dump["trees"]]
    n_features = 1 + max(f["flat_feature_index"] for f in floats.values())
    forest = Forest.join(trees, n_features, outputs)

    def raw(X: Any) -> Floats:
        return columns(model.predict(X, prediction_type="RawFormulaVal"))

    return TreeModel(
        forest=forest,
        offset=offset_of(forest, as_singles(rows), raw(rows)),
        encode=as_singles,
        raw=raw,
        tolerance=1e-9,
        link=_link(model, outputs),
    )


def _link(model: Any, outputs: int) -> str:
    if outputs > 1:
        return NO_SOFTMAX
    loss = str(model.get_all_params().get("loss_function", ""))
    if loss in ("Logloss", "CrossEntropy"):
        return "logistic"
    return f"CatBoost's loss {loss!r} has no probabilities"


def _split(split: dict[str, Any], floats: dict[int, Any]) -> tuple[int, float, bool]:
    """Feature, border and whether NaN goes left: values above the border go right."""
    if split["split_type"] != "FloatFeature":
        raise ValueError(
            f"CatBoost's splits of type {split['split_type']} are not read: encode the "
            "categories as numbers, or pass explainer=shap.ExactExplainer"
        )
    feature = floats[split["float_feature_index"]]
    return (
        int(feature["flat_feature_index"]),
        float(split["border"]),
        feature["nan_value_treatment"] != "AsTrue",
    )


def _oblivious(tree: dict[str, Any], floats: dict[int, Any], scale: float, outputs: int) -> Tree:
    """A tree that tests the same at all nodes of a level; split i sets bit i of the leaf's number.

    So the last split is the root's: a node's children then are its number's with a bit appended.
    """
    splits = [_split(s, floats) for s in reversed(tree.get("splits") or [])]
    depth = len(splits)
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    level = np.log2(np.arange(1, inner + 1)).astype(int)
    feature, threshold = np.full(total, -1), np.zeros(total)
    nan_left, value = np.zeros(total, dtype=bool), np.zeros((total, outputs))
    for at, (f, border, left) in enumerate(splits):
        here = np.flatnonzero(level == at)
        feature[here], threshold[here], nan_left[here] = f, border, left
    value[inner:] = scale * np.reshape(tree["leaf_values"], (-1, outputs))
    return Tree(
        feature=feature,
        threshold=threshold,
        left=2 * np.arange(total) + 1,
        right=2 * np.arange(total) + 2,
        nan_left=nan_left,
        value=value,
    )


def _nested(tree: dict[str, Any], floats: dict[int, Any], scale: float, outputs: int) -> Tree:
    nodes, left, right = flattened(tree, "left", "right")
    n = len(nodes)
    feature, threshold = np.full(n, -1), np.zeros(n)
    nan_left, value = np.zeros(n, dtype=bool), np.zeros((n, outputs))
    for i, node in enumerate(nodes):
        if "split" in node:
            feature[i], threshold[i], nan_left[i] = _split(node["split"], floats)
        else:
            value[i] = scale * np.asarray(node["value"])
    return Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        nan_left=nan_left,
        value=value,
    )
