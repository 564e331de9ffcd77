"""Explainers that treat the model as a function, or that take one background row at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from emscoreset.explain.backgrounds import Background, take, values_of
from emscoreset.stats import Floats

Function = Callable[[Any], Any]
BATCH_ROWS = 1 << 16  # rows that the model is asked for at a time
OF_COALITIONS = ("ExactExplainer", "PermutationExplainer", "KernelExplainer")
EXACT_UP_TO = 10  # features

SAMPLING = (
    "shap.SamplingExplainer draws background rows without regard to their weights, so its values "
    "would be those of another background: use shap.PermutationExplainer or shap.KernelExplainer"
)
PARTITION = (
    "shap.PartitionExplainer gives Owen values of a hierarchy of the features, not the Shapley "
    "values explained here: use shap.ExactExplainer or shap.PermutationExplainer"
)


class Explain(Protocol):
    """Explains rows: phi (n, features, outputs), around ``base`` (outputs,)."""

    base: Floats
    flat: bool  # the output is one number: values come without the last axis

    def __call__(self, X: Any) -> Floats:
        """Phi (n, features, outputs)."""
        ...


def explain_games(
    f: Function,
    model: Any,
    background: Background,
    explainer: type | None,
    output: str,
    options: Mapping[str, Any],
) -> Explain:
    """Who explains with this class of SHAP's; refuses the one that cannot."""
    import shap

    if explainer is None:
        exact = background.rows.shape[1] <= EXACT_UP_TO
        explainer = shap.ExactExplainer if exact else shap.PermutationExplainer
    names = [kind.__name__ for kind in getattr(explainer, "__mro__", ())]
    for name, why in (("SamplingExplainer", SAMPLING), ("PartitionExplainer", PARTITION)):
        if name in names:
            raise ValueError(why)
    kind = next((name for name in OF_COALITIONS if name in names), None)
    if kind is not None:
        return Coalitions(f, background, explainer, kind, options)
    return PerAtom(f, model, background, explainer, output, options)


def function_of(model: Any, output: str) -> Function:
    """The function of rows that is explained."""
    names = ["predict_proba"]
    if output == "raw":
        names = ["decision_function", "predict_proba", "predict", "__call__"]
    for name in names:
        found: Function | None = getattr(model, name, None)
        if found is not None:
            return found
    if output == "raw":
        raise TypeError(f"the model must be a function or have predict, not {type(model).__name__}")
    raise ValueError(
        f'output="probability" needs a model with predict_proba; {type(model).__name__} '
        'has none: pass a function that returns probabilities, and output="raw"'
    )


class Coalitions:
    """Explains the game v(S) = sum_j w_j f(x_S, y_j outside S), row by row.

    An explainer that masks features is given v itself, as a function of zeros (background) and
    ones (x): its one background row is all zeros, so it needs no weights, and every call of the
    model is a batch of coalitions by background rows. Features in which x differs from no
    background row take no part; their value is 0.
    """

    def __init__(
        self,
        f: Function,
        background: Background,
        explainer: type,
        kind: str,
        options: Mapping[str, Any],
    ) -> None:
        self.f = f
        self.background = background
        self.explainer = explainer
        self.kind = kind
        self.made = {name: value for name, value in options.items() if name == "seed"}
        self.called = {name: value for name, value in options.items() if name != "seed"}
        said = np.asarray(f(background.rows), dtype=np.float64)
        self.flat = said.ndim == 1
        self.base: Floats = background.weights @ said.reshape(len(background.weights), -1)

    def __call__(self, X: Any) -> Floats:
        """Phi (n, features, outputs)."""
        n, d = X.shape
        out = np.zeros((n, d, len(self.base)))
        shown = values_of(X)
        theirs = values_of(self.background.rows)
        for i in range(n):
            players = np.flatnonzero(_differ(theirs, shown[i]).any(axis=0))
            if len(players):
                game = _Game(self.f, self.background, take(X, [i]), players)
                values = np.asarray(self._values(game, len(players)), dtype=np.float64)
                out[i, players] = values.reshape(len(players), -1)
        return out

    def _values(self, game: _Game, players: int) -> Any:
        zeros, ones = np.zeros((1, players)), np.ones((1, players))
        if self.kind == "KernelExplainer":
            return self.explainer(game, zeros).shap_values(ones, silent=True, **self.called)[0]
        import shap

        masker = shap.maskers.Independent(zeros)
        return self.explainer(game, masker, **self.made)(ones, silent=True, **self.called).values[0]


class _Game:
    """The mean output of x's features in a coalition with the background's outside it."""

    def __init__(self, f: Function, background: Background, x: Any, players: Any) -> None:
        self.f = f
        self.weights = background.weights
        self.pool = Pool(background.rows, x)
        self.players = players

    def __call__(self, coalitions: Any) -> Floats:
        inside = np.asarray(coalitions) > 0.5  # (m, players)
        step = max(1, BATCH_ROWS // len(self.weights))
        parts = [self._mean(inside[i : i + step]) for i in range(0, len(inside), step)]
        return np.concatenate(parts)

    def _mean(self, inside: Any) -> Floats:
        k, m = len(self.weights), len(inside)
        numbers = np.tile(np.arange(k), m)[:, None].repeat(self.pool.d, axis=1)  # (m k, d)
        numbers[:, self.players] = np.where(inside.repeat(k, axis=0), k, numbers[:, self.players])
        said = np.asarray(self.f(self.pool.rows(numbers)), dtype=np.float64)
        return np.tensordot(self.weights, said.reshape(m, k, *said.shape[1:]), axes=(0, 1))


class Pool:
    """Rows, those of ``more`` numbered after them: rows that take each column from one of them."""

    def __init__(self, rows: Any, *more: Any) -> None:
        self.d = rows.shape[1]
        frame = nw.from_native(rows, eager_only=True, pass_through=True)
        self.frame = isinstance(frame, nw.DataFrame)
        if self.frame:
            self.all: Any = nw.concat([frame, *(nw.from_native(x, eager_only=True) for x in more)])
        else:
            self.all = np.concatenate([rows, *(np.asarray(x) for x in more)])

    def rows(self, numbers: Any) -> Any:
        """Row i has in column j what row numbers[i, j] has there."""
        if not self.frame:
            return self.all[numbers, np.arange(self.d)]
        first, *others = (self.all[name][numbers[:, j]] for j, name in enumerate(self.all.columns))
        return first.to_frame().with_columns(*others).to_native()


def _differ(theirs: Any, x: Any) -> Any:
    """Where background rows have other values than x; two missing values are equal."""
    missing = theirs != theirs
    return (theirs != x) & ~(missing & (x != x))


class PerAtom:
    """Any other explainer, given one background row after the other: sum_j w_j phi(x; y_j)."""

    def __init__(
        self,
        f: Function,
        model: Any,
        background: Background,
        explainer: type,
        output: str,
        options: Mapping[str, Any],
    ) -> None:
        self.weights = background.weights
        made: dict[str, Any] = {}
        if explainer.__name__ == "TreeExplainer":
            made = {"feature_perturbation": "interventional", "model_output": output}
        elif output != "raw":
            raise ValueError(
                f'{explainer.__name__} explains the raw output: pass output="raw", or '
                "explainer=shap.ExactExplainer, PermutationExplainer or KernelExplainer"
            )
        k = len(self.weights)
        self.explainers = [explainer(model, take(background.rows, [j]), **made) for j in range(k)]
        self.options = dict(options)
        base = [np.atleast_1d(_expected(e)) for e in self.explainers]
        self.base: Floats = self.weights @ np.array(base, dtype=np.float64)
        self.flat = np.ndim(_expected(self.explainers[0])) == 0

    def __call__(self, X: Any) -> Floats:
        """Phi (n, features, outputs)."""
        total: Any = 0.0
        for w, explainer in zip(self.weights, self.explainers, strict=True):
            values = np.asarray(explainer(X, **self.options).values, dtype=np.float64)
            total = total + w * values.reshape(*X.shape, -1)
        return np.asarray(total)


def _expected(explainer: Any) -> Any:
    return np.squeeze(np.asarray(explainer.expected_value, dtype=np.float64))
