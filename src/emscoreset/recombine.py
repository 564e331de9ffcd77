"""Recombination: few weighted rows that have exactly the means of many.

The weights w >= 0 over candidate rows that reproduce r means and sum to 1 are a polytope, and each
of its vertices has at most r + 1 rows: Caratheodory's theorem, with a linear programme to find the
vertex. Which one is chosen by what the programme minimises: the features' energy outside the means
that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linprog

from emscoreset.stats import Floats, Ints

RANK = 1e-11  # directions whose share of the variance is less are taken for rounding
ROUNDING = 1e-12  # and features that differ from their mean by less, as a share of it
FINE = {"primal_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Chosen:
    """Rows by number, and their weights, which sum to 1."""

    numbers: Ints  # (<= k,) in ascending order
    weights: Floats
    means: int  # how many means are exact, that of 1 not counted


def recombine(F: Floats, goal: Floats, a: Floats, k: int, exact: int = 0) -> Chosen | None:
    """At most k rows of F whose weighted mean is ``goal`` in the directions that matter most.

    F (m, p) holds the candidates' features, ``a`` (m,) their masses, ``goal`` (p,) the means to
    reach. The first ``exact`` features come before all others as far as k allows; of the others
    as many principal components are met as there is room for, and the rest of their energy is
    made small. None where no weights reach the goal: then more candidates are needed, and among
    all rows whose mean the goal is there always are some.
    """
    a = a / a.sum()
    root = np.sqrt(a)[:, None]
    D = F - goal
    D[:, np.abs(D).max(axis=0) <= ROUNDING * np.abs(goal)] = 0.0
    least = RANK * float(np.square(root * D).sum())
    first, tail = _principal(D[:, :exact], a, k - 1, 0.0)
    R = D[:, exact:] - first @ np.linalg.lstsq(root * first, root * D[:, exact:])[0]
    rest, left = _principal(R, a, k - 1 - first.shape[1], least)
    met = np.column_stack([first, rest])
    w = _vertex(met, tail + left)
    if w is None:
        return None
    numbers = np.flatnonzero(w)
    return Chosen(numbers, w[numbers], met.shape[1])


def _principal(D: Floats, a: Floats, r: int, least: float) -> tuple[Floats, Floats]:
    """The scores of the first r principal directions, at unit variance, and the energy left.

    Directions of less variance than ``least`` are none. D (m, p) is centred on the goal, not on
    its own mean: no direction in which these differ is lost. OUT (m, <= r), (m,)
    """
    E = np.sqrt(a)[:, None] * D
    small = E.T @ E if D.shape[1] <= len(D) else E @ E.T  # of the same eigenvalues
    top = min(r, len(small))
    if top <= 0 or not small.trace() > 0:
        return np.empty((len(D), 0)), np.square(D).sum(axis=1)
    variance, V = eigh(small, subset_by_index=(len(small) - top, len(small) - 1))
    keep = variance > max(RANK * variance[-1], least)
    variance, V = variance[keep][::-1], V[:, keep][:, ::-1]
    if len(small) < D.shape[1]:
        V = E.T @ V / np.sqrt(variance)
    scores = D @ V
    left = np.maximum(np.square(D).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)
    return scores / np.sqrt(variance), left


def _vertex(met: Floats, cost: Floats) -> Floats | None:
    """w >= 0 of sum 1 and of mean 0 in ``met``, of least cost: at most met's width + 1 rows."""
    A = np.vstack([np.ones(len(met)), met.T])
    b = np.zeros(len(A))
    b[0] = 1.0
    scale = float(cost.max(initial=0.0)) or 1.0
    found = linprog(cost / scale, A_eq=A, b_eq=b, method="highs-ds", options=FINE)
    if found.status == 2:
        return None
    if found.status != 0:
        raise RuntimeError(f"the linear programme for the weights failed: {found.message}")
    return _polished(A, b, np.maximum(found.x, 0.0))


def _polished(A: Floats, b: Floats, w: Floats) -> Floats:
    """The same rows, their equations solved to rounding where that leaves no weight negative."""
    used = np.flatnonzero(w)
    solved = np.zeros(len(w))
    solved[used] = np.maximum(np.linalg.lstsq(A[:, used], b)[0], 0.0)
    found: Floats = min(solved, w, key=lambda u: float(np.abs(A @ u - b).max()))
    return found
