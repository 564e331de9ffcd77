"""WeightedExplainer: SHAP values for a weighted background, of trees exactly and of any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from emscoreset.explain.backgrounds import Background, values_of
from emscoreset.explain.games import Explain, explain_games, function_of
from emscoreset.explain.readers import check_output, read_trees
from emscoreset.explain.shapley import contributions, margins, pair_blocks, pairs
from emscoreset.explain.trees import TreeModel
from emscoreset.kernels.threads import checked_n_jobs
from emscoreset.stats import Floats, Ints

if TYPE_CHECKING:
    import shap

Output = Literal["raw", "probability"]


class WeightedExplainer:
    """Explains a model against a weighted background; called with rows, as SHAP's explainers are.

    phi(x) = sum_j w_j phi(x; y_j): interventional Shapley values are linear in the background.

    Parameters
    ----------
    model : object
        A fitted model, or a function of rows. Trees of scikit-learn, XGBoost, LightGBM and
        CatBoost are read and explained exactly, in a time that grows with rows explained plus
        background rows, not with their product.
    background : Coreset or (rows, weights)
        What features outside a coalition are drawn from. Of a coreset that holds real rows, the
        model's columns of these rows, else the atoms. ``weights`` None: equal.
    output : {"raw", "probability"}
        What is explained: the model's raw output (margin, score; of averaged trees and of
        regressors, the prediction itself), or a classifier's probability.
    explainer : class, optional
        A class of SHAP's explainers, such as ``shap.ExactExplainer``, to treat the model as a
        function. Default: the trees' own algorithm where there are trees; for other models
        ``shap.ExactExplainer`` up to 10 features, ``shap.PermutationExplainer`` above.
    check_additivity : bool
        Of trees: compare their sum with the model's own output at the rows explained.
    n_jobs : int, optional
        Threads of the trees' algorithm; None: all that are free.
    options
        Arguments of ``explainer``'s calls.

    Attributes
    ----------
    expected_value : float or array of shape (outputs,)
        The background's mean output, weighted.
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        output: Output = "raw",
        explainer: type | None = None,
        check_additivity: bool = True,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None:
        check_kind(output)
        if n_jobs is not None:
            checked_n_jobs(n_jobs)
        self.model = model
        self.output = output
        self.background = Background.of(background, model)
        rows, weights = self.background.rows, self.background.weights
        trees = read_trees(model, rows) if explainer is None else None
        if trees is not None and options:
            raise TypeError(f"trees take no further arguments, not {sorted(options)}")
        self._explain: Explain
        if trees is not None:
            self._explain = ExactTrees(
                trees, rows, weights, output, check=check_additivity, n_jobs=n_jobs
            )
        else:
            f = function_of(model, output)
            self._explain = explain_games(f, model, self.background, explainer, output, options)
        base = self._explain.base
        self.expected_value = float(base[0]) if self._flat else base

    @property
    def _flat(self) -> bool:
        return self._explain.flat

    def __call__(self, X: Any) -> shap.Explanation:
        """Explain the rows X, in the columns of the background."""
        import shap

        n, d = self._checked(X)
        values, base = self._explain(X), np.tile(self._explain.base, (n, 1))
        return shap.Explanation(
            values=values[:, :, 0] if self._flat else values,
            base_values=base[:, 0] if self._flat else base,
            data=values_of(X),
            feature_names=self.background.feature_names or [f"Feature {j}" for j in range(d)],
        )

    def shap_values(self, X: Any) -> Floats:
        """The values alone: (n, features), or (n, features, outputs)."""
        values: Floats = self(X).values
        return values

    def _checked(self, X: Any) -> tuple[int, int]:
        """The shape of X, which must have the background's columns."""
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        d = self.background.rows.shape[1]
        if len(shape) != 2 or shape[1] != d:
            raise ValueError(f"X must be 2-d with the background's {d} columns, not {shape}")
        names = self.background.feature_names
        if names is not None and hasattr(X, "columns") and [str(c) for c in X.columns] != names:
            raise ValueError(f"X must have the background's columns {names}, not {list(X.columns)}")
        return shape[0], d


def check_kind(output: str) -> None:
    """Refuse what is no kind of output."""
    if output not in ("raw", "probability"):
        raise ValueError(f'output must be "raw" or "probability", not {output!r}')


class ExactTrees:
    """The path algorithm on one model's trees."""

    def __init__(
        self,
        trees: TreeModel,
        rows: Any,
        weights: Floats,
        output: Output,
        *,
        check: bool,
        n_jobs: int | None,
    ) -> None:
        if output == "probability" and trees.link not in ("identity", "logistic"):
            raise ValueError(f'output="probability" cannot be explained: {trees.link}')
        self.trees = trees
        self.weights = weights
        self.check = check
        self.n_jobs = n_jobs
        self.Y = trees.encode(rows)
        self.logistic = output == "probability" and trees.link == "logistic"
        self.margins = self._margin(self.Y)  # (k, outputs)
        self.base: Floats = weights @ self._output(self.margins)
        self.flat = trees.forest.n_outputs == 1

    def __call__(self, X: Any) -> Floats:
        """Phi (n, features, outputs)."""
        if self.check:
            check_output(self.trees, X, n_jobs=self.n_jobs)
        encoded = self.trees.encode(X)
        if self.logistic:
            return self._rescaled(encoded)
        return contributions(self.trees.forest, encoded, self.Y, self.weights, n_jobs=self.n_jobs)

    def _rescaled(self, X: Floats) -> Floats:
        """Probabilities, as SHAP's TreeExplainer defines them.

        What x differs from y_j by in probability is shared as the margin's difference is:
        sum_j w_j phi(x; y_j) (p(x) - p(y_j)) / (m(x) - m(y_j)).
        """
        forest = self.trees.forest
        out = np.empty((len(X), forest.n_features, forest.n_outputs))
        for block in pair_blocks(forest, len(X), len(self.Y)):
            out[block] = np.einsum("ijfo,j->ifo", self._pairs(X[block], slice(None)), self.weights)
        return out

    def each(self, X: Any, numbers: Ints) -> Floats:
        """Phi against each of these background rows, all at once. OUT (n, m, features, outputs)."""
        return self._pairs(self.trees.encode(X), numbers)

    def outputs(self) -> Floats:
        """What is explained, at each background row. OUT (k, outputs)."""
        return self._output(self.margins)

    def _pairs(self, X: Floats, numbers: Ints | slice) -> Floats:
        phi = pairs(self.trees.forest, X, self.Y[numbers], n_jobs=self.n_jobs)
        if self.logistic:
            phi *= self._slope(self._margin(X)[:, None], self.margins[numbers])[:, :, None]
        return phi

    def _slope(self, mx: Floats, my: Floats) -> Floats:
        """(p(x) - p(y)) / (m(x) - m(y)), p' where the margins are equal.

        With the margins in order, p_high - p_low = p_high (1 - p_low) (1 - exp(-gap)): no digit
        is lost where they are close.
        """
        s = self.trees.slope
        high, low = np.maximum(mx, my), np.minimum(mx, my)
        gap = s * (high - low)
        share = np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
        out: Floats = s * expit(s * high) * expit(-s * low) * share
        return out

    def _margin(self, X: Floats) -> Floats:
        added: Floats = self.trees.offset + margins(self.trees.forest, X, n_jobs=self.n_jobs)
        return added

    def _output(self, margin: Floats) -> Floats:
        out: Floats = expit(self.trees.slope * margin) if self.logistic else margin
        return out
