"""background_report: how far explanations by a background are from those by a larger one."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from emscoreset.checks import drawn_seed, is_number
from emscoreset.coreset import Coreset
from emscoreset.explain.choose import background
from emscoreset.explain.explainer import Output, WeightedExplainer
from emscoreset.stats import Floats


@dataclass(frozen=True)
class BackgroundReport:
    """How far SHAP values by a background are from those by the reference.

    Attributes
    ----------
    mean_error, max_error : float
        Of the values of all rows, features and outputs, in units of the output.
    base_error : float
        Of the base value, of several outputs the largest.
    scale : float
        The mean absolute value by the reference, to compare with.
    n_rows, n_reference, n_explained : int
        Rows of the background, of the reference, and rows explained.
    background : Coreset or (rows, weights)
        What is reported of; where ``within`` was given, what was chosen.
    tried : mapping of int to float
        The mean errors of the numbers of rows that ``within`` tried.
    """

    mean_error: float
    max_error: float
    base_error: float
    scale: float
    n_rows: int
    n_reference: int
    n_explained: int
    output: Output
    background: Any = field(repr=False)
    tried: dict[int, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        share = f" ({100 * self.mean_error / self.scale:.3g} %)" if self.scale > 0 else ""
        lines = [
            f"Background of {self.n_rows:,} rows beside {self.n_reference:,} rows: "
            f"{self.n_explained:,} rows explained, {self.output} output",
            f"  mean error of the values: {self.mean_error:.3g}; "
            f"their mean size is {self.scale:.3g}{share}",
            f"  largest error: {self.max_error:.3g}",
            f"  error of the base value: {self.base_error:.3g}",
        ]
        if self.tried:
            tried = ", ".join(f"{k}: {error:.3g}" for k, error in sorted(self.tried.items()))
            lines.append(f"  mean errors by number of rows: {tried}")
        return "\n".join(lines)


def background_report(
    model: Any,
    coreset: Any,
    X: Any,
    *,
    reference: Any = None,
    output: Output = "raw",
    within: float | None = None,
    random_state: Any = None,
    **options: Any,
) -> BackgroundReport:
    """Explain rows by a background and by a larger one, and say how far apart that is.

    Parameters
    ----------
    model : object
        As in `WeightedExplainer`.
    coreset : Coreset or (rows, weights) or None
        The background. None with ``within``, which chooses one.
    X : array or frame
        The rows to explain, held out from those that the background was chosen among.
    reference : array, frame, Coreset or (rows, weights), optional
        The larger background, for trees best all the training rows: that takes little time. For
        other models the time grows with its rows. Default: X itself, so that errors hold how
        much X differs from the training rows by chance.
    output : {"raw", "probability"}
    within : float, optional
        The mean error to stay below. Backgrounds for this model are chosen among the reference's
        rows, of 1, 2, 4, ... and then of numbers between, for the smallest that does.
    random_state : int, RandomState, Generator or None
        Of the choice.
    options
        Arguments of `WeightedExplainer`.

    Returns
    -------
    BackgroundReport
    """
    if (coreset is None) == (within is None):
        raise ValueError("pass either a background, or None and within= to have one chosen")
    large = X if reference is None else reference
    pair = large if isinstance(large, (Coreset, tuple)) else (large, None)
    compare = _Comparison(model, pair, X, output, options)
    if within is None:
        return compare.report(coreset)
    if not is_number(within, Real) or not 0 < within < float("inf"):
        raise ValueError(f"within must be a number > 0, a mean error, not {within!r}")
    if reference is None:
        raise ValueError("within= needs reference=, the rows to choose a background among")
    return _smallest(compare, pair, float(within), drawn_seed(random_state))


class _Comparison:
    """The reference's values, and how far others are from them."""

    def __init__(
        self, model: Any, large: Any, X: Any, output: Output, options: dict[str, Any]
    ) -> None:
        self.model, self.X, self.output, self.options = model, X, output, options
        self.values, self.base, self.n = self.explained(large)

    def explained(self, given: Any) -> tuple[Floats, Floats, int]:
        """Values, base value and the number of rows of this background."""
        explainer = WeightedExplainer(self.model, given, output=self.output, **self.options)
        values = explainer.shap_values(self.X)
        return values, np.asarray(explainer.expected_value), len(explainer.background.weights)

    def report(self, given: Any, tried: dict[int, float] | None = None) -> BackgroundReport:
        """Of this background."""
        values, base, n = self.explained(given)
        off = np.abs(values - self.values)
        return BackgroundReport(
            mean_error=float(off.mean()),
            max_error=float(off.max()),
            base_error=float(np.abs(base - self.base).max()),
            scale=float(np.abs(self.values).mean()),
            n_rows=n,
            n_reference=self.n,
            n_explained=len(values),
            output=self.output,
            background=given,
            tried=tried or {},
        )


def _smallest(compare: _Comparison, large: Any, within: float, seed: int) -> BackgroundReport:
    """The report of the smallest background found within the error, by doubling and halving."""
    data, weight = (large, None) if isinstance(large, Coreset) else large
    tried: dict[int, float] = {}

    def report(k: int) -> BackgroundReport:
        chosen = background(
            data, k, model=compare.model, output=compare.output, weight=weight, random_state=seed
        )
        found = compare.report(chosen, tried)
        tried[k] = found.mean_error
        return found

    low, high = 0, 1
    best = report(high)
    while best.mean_error > within and high < compare.n:
        low, high = high, 2 * high
        best = report(high)
    while high - low > 1:
        k = (low + high) // 2
        found = report(k)
        if found.mean_error <= within:
            best, high = found, k
        else:
            low = k
    return best
