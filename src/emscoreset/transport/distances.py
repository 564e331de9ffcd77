"""The distances a user asks for."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from emscoreset.checks import check_number, is_number
from emscoreset.ems import Distance
from emscoreset.sources.base import Source
from emscoreset.stats import Floats
from emscoreset.transport.problem import problem_of, source_of, weighted
from emscoreset.transport.result import TransportResult
from emscoreset.transport.solve import Search

TOL = 1e-4


def wasserstein_distance(
    X: Any,
    coreset: Any,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = TOL,
    exact: bool = False,
    n_jobs: int | None = None,
) -> TransportResult:
    """The squared Wasserstein-2 distance between rows and weighted atoms, as a proved bracket.

    Parameters
    ----------
    X : array, frame, Source, Coreset or pair (points, weights)
        The rows. Two coresets are compared by giving one of them here.
    coreset : Coreset or pair (atoms, weights)
        Weights need not be those that the rows would choose; they are scaled to sum to 1.
    sample_weight : array, optional
        The rows' weights.
    tol : float
        How narrow the bracket is to be, as a share of the distance.
    exact : bool
        To rounding. It keeps a list of each row's candidate atoms, some 150 bytes a row.
    n_jobs : int, optional
        Threads; the result is the same for any number of them.

    Warns where the bracket is wider than ``tol``, and says how wide.
    """
    return _solved(X, coreset, sample_weight, 0.0, tol, exact, n_jobs)


def sinkhorn_distance(
    X: Any,
    coreset: Any,
    *,
    reg: float = 0.01,
    sample_weight: ArrayLike | None = None,
    tol: float = TOL,
    n_jobs: int | None = None,
) -> TransportResult:
    """The entropic transport cost W_reg between rows and weighted atoms, as a proved bracket.

    That is the least sum_ij P_ij |x_i - y_j|^2 + reg KL(P | a x w) over all plans P. ``reg`` is in
    squared units of the data; 0 gives `wasserstein_distance`, whose parameters the others are.
    """
    check_number("reg", reg, Real, 0)
    return _solved(X, coreset, sample_weight, float(reg), tol, False, n_jobs)


def sinkhorn_divergence(
    a: Any, b: Any, reg: float, *, tol: float = TOL, n_jobs: int | None = None
) -> TransportResult:
    """W_reg(a, b) - W_reg(a, a) / 2 - W_reg(b, b) / 2: the entropic cost without its bias.

    It is 0 where a and b are the same, which W_reg is not, and never negative. a and b are
    Coresets or pairs (points, weights); what each costs to itself takes time like the square
    of its size. ``tol`` is the width of the bracket as a share of W_reg(a, b).
    """
    check_number("reg", reg, Real, 0)
    if reg == 0:
        return wasserstein_distance(a, b, tol=tol, n_jobs=n_jobs)
    parts = [
        _searched(x, y, None, float(reg), tol / 2, False, n_jobs)
        for x, y in ((a, b), (a, a), (b, b))
    ]
    between, *selves = parts
    own = {name: sum(getattr(s, name) for s in selves) / 2 for name in BOUNDS}
    result = replace(
        between,
        value=max(between.value - own["value"], 0.0),
        cost=between.cost - own["cost"],
        lower=max(between.lower - own["upper"], 0.0),
        upper=max(between.upper - own["lower"], 0.0),
        passes=sum(s.passes for s in parts),
        list_passes=sum(s.list_passes for s in parts),
        converged=all(s.converged for s in parts),
    )
    return _told(result)


def distance_to_weights(source: Source, Y: Floats, w: Floats, reg: float) -> Distance:
    """W_reg and a bracket on W_2^2 between the rows and (Y, w), Y relative to the center."""
    plain = _searched(source, (Y + source.center, w), None, 0.0, TOL, False, None)
    value = plain.value
    if reg > 0:
        soft = _searched(source, (Y + source.center, w), None, reg, TOL, False, None)
        value = max(soft.value, plain.lower)
    return Distance(value, plain.lower, plain.upper)


BOUNDS = ("value", "cost", "lower", "upper")


def _solved(*arguments: Any) -> TransportResult:
    """The result of a search, and a warning where its bracket is too wide."""
    result = _searched(*arguments)
    return _told(result)


def _searched(
    X: Any,
    coreset: Any,
    sample_weight: ArrayLike | None,
    reg: float,
    tol: float,
    exact: bool,
    n_jobs: int | None,
) -> TransportResult:
    if not is_number(tol) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number between 0 and 1, not {tol!r}")
    atoms, weights = weighted(coreset, "coreset")
    problem = problem_of(source_of(X, sample_weight, n_jobs), atoms, weights, reg)
    found = Search(problem, float(tol)).run(exact)
    bounds = found.proved
    potentials = np.full(len(weights), np.nan)
    potentials[weights > 0] = found.h - reg * np.log(problem.w)
    value = 0.5 * (bounds.lower + bounds.upper)
    return TransportResult(
        value=value,
        cost=value - reg * bounds.information,
        lower=bounds.lower,
        upper=bounds.upper,
        reg=reg,
        potentials=potentials,
        passes=found.passes,
        list_passes=found.list_passes,
        converged=found.converged,
    )


def _told(result: TransportResult) -> TransportResult:
    """The result, with a warning where its bracket is wider than was asked for."""
    if not result.converged:
        warnings.warn(
            f"the transport cost is only known to lie between {result.lower:.8g} and "
            f"{result.upper:.8g}, a relative gap of {result.gap:.1e}: more than tol",
            ConvergenceWarning,
            stacklevel=4,
        )
    return result
