"""scikit-learn's trees, forests and gradient boosting, through their public attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from emscoreset.explain.readers.common import as_singles, columns, offset_of
from emscoreset.explain.trees import Forest, Tree, TreeModel
from emscoreset.stats import Floats


def read_averaged(model: Any, rows: Any) -> TreeModel:
    """A tree, or a forest that averages its trees. Raw is what it predicts: probabilities or y."""
    trees = getattr(model, "estimators_", None) or [model]
    classifier = hasattr(model, "predict_proba")
    if classifier and model.n_outputs_ > 1:
        raise ValueError(
            f"{type(model).__name__} predicts {model.n_outputs_} targets of classes at once: "
            "fit a model for each, or pass explainer=shap.ExactExplainer and a function"
        )
    parts = []
    for tree in trees:
        value = tree.tree_.value
        if classifier:
            value = value[:, 0, :] / value[:, 0, :].sum(axis=1, keepdims=True)
        else:
            value = value[:, :, 0]
        parts.append(_tree(tree.tree_, value / len(trees)))
    width = parts[0].value.shape[1]
    predict = model.predict_proba if classifier else model.predict
    return TreeModel(
        forest=Forest.join(parts, model.n_features_in_, width),
        offset=np.zeros(width),
        encode=as_singles,
        raw=lambda X: columns(predict(X)),
        tolerance=1e-9,
        link="identity" if classifier else "a regressor has no probabilities",
    )


def read_boosted(model: Any, rows: Any) -> TreeModel:
    """GradientBoosting. Raw is the decision function, or what a regressor predicts."""
    outputs = model.estimators_.shape[1]
    parts = [
        _tree(tree.tree_, model.learning_rate * tree.tree_.value[:, :, 0], output)
        for stage in model.estimators_
        for output, tree in enumerate(stage)
    ]
    forest = Forest.join(parts, model.n_features_in_, outputs)
    classifier = hasattr(model, "decision_function")
    predict = model.decision_function if classifier else model.predict

    def raw(X: Any) -> Floats:
        return columns(predict(X))

    return TreeModel(
        forest=forest,
        offset=offset_of(forest, as_singles(rows), raw(rows)),
        encode=as_singles,
        raw=raw,
        tolerance=1e-9,
        link=link_of(classifier, outputs),
        slope=2.0 if getattr(model, "loss", "") == "exponential" else 1.0,
    )


def link_of(classifier: bool, outputs: int) -> str:
    """What turns the raw output of boosted trees into probabilities, or why nothing does."""
    if not classifier:
        return "a regressor has no probabilities"
    if outputs > 1:
        return NO_SOFTMAX
    return "logistic"


NO_SOFTMAX = (
    "with three classes or more every probability depends on all raw outputs, which a sum over "
    "trees does not attribute; explain the raw outputs, or pass model.predict_proba and "
    "explainer=shap.ExactExplainer or PermutationExplainer"
)


def _tree(arrays: Any, value: Floats, output: int = 0) -> Tree:
    """From scikit-learn's Tree; leaves have no left child."""
    leaf = arrays.children_left < 0
    return Tree(
        feature=np.where(leaf, -1, arrays.feature),
        threshold=arrays.threshold,
        left=arrays.children_left,
        right=arrays.children_right,
        nan_left=np.asarray(arrays.missing_go_to_left, dtype=bool),
        value=value,
        output=output,
    )
