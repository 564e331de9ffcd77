"""scikit-learn's histogram gradient boosting.

Its trees have no public attribute: ``_predictors`` and ``_preprocessor`` of the fitted model are
read, and what was read is compared with what the model predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emscoreset.explain.readers.common import as_doubles, columns, offset_of
from emscoreset.explain.readers.scikit import link_of
from emscoreset.explain.trees import Forest, Tree, TreeModel
from emscoreset.stats import Floats

WORDS = 4  # a set of categories has 256 bits
EXPONENTIAL = ("poisson", "gamma")  # losses of regressors that predict exp(raw)


def read_histogram(model: Any, rows: Any) -> TreeModel:
    """Raw is the decision function, or a regressor's sum of trees: a log for Poisson and gamma."""
    try:
        stages, preprocessor = model._predictors, model._preprocessor
    except AttributeError as error:
        raise ValueError(
            f"this release of scikit-learn keeps the trees of {type(model).__name__} elsewhere "
            f"({error}): pass explainer=shap.ExactExplainer or PermutationExplainer"
        ) from error
    order = np.arange(model.n_features_in_)
    if preprocessor is not None:  # it moves columns with categories to the front
        order = np.concatenate(
            [np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)]
        )

    def encode(X: Any) -> Floats:
        if preprocessor is None:
            return as_doubles(X)
        out = np.empty((len(X), len(order)))
        out[:, order] = preprocessor.transform(X)
        return out

    classifier = hasattr(model, "decision_function")
    logs = not classifier and model.loss in EXPONENTIAL

    def raw(X: Any) -> Floats:
        said = columns(model.decision_function(X) if classifier else model.predict(X))
        return np.log(said) if logs else said

    parts = [
        _tree(predictor, order, output)
        for stage in stages
        for output, predictor in enumerate(stage)
    ]
    outputs = len(stages[0])
    forest = Forest.join(parts, model.n_features_in_, outputs)
    return TreeModel(
        forest=forest,
        offset=offset_of(forest, encode(rows), raw(rows)),
        encode=encode,
        raw=raw,
        tolerance=1e-9,
        link=link_of(classifier, outputs),
    )


def _tree(predictor: Any, order: Any, output: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    nan_left = nodes["missing_go_to_left"].astype(bool)
    sets = {
        int(node): _words(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    }
    return Tree(
        feature=np.where(leaf, -1, order[np.where(leaf, 0, nodes["feature_idx"])]),
        threshold=nodes["num_threshold"].astype(np.float64),
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        nan_left=nan_left,
        outside_left=nan_left,
        categories=sets,
        value=nodes["value"].astype(np.float64)[:, None],
        output=output,
    )


def _words(bits: Any) -> Any:
    """Eight words of 32 bits as four of 64."""
    low, high = bits[0::2].astype(np.uint64), bits[1::2].astype(np.uint64)
    return low | high << np.uint64(32)
