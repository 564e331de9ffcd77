"""The optimal plan of few rows, whose costs are held: exact prices, then a few steps at reg.

The costs of a batch are far above reg: D is nearly a function of corners, which a falling
temperature would round one by one. The exact prices lie at its top for reg = 0, and in the middle
of them, where no row is near a change of its atom, D at reg has its top nearly, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.kernels import Kernel
from emscoreset.lists import Lists, ListSums
from emscoreset.stats import Floats
from emscoreset.transport.semidual import Goal, Sums, climb

MOST = 200  # passes over a batch
TOL = 1e-4  # to what share of the loss a soft plan is to be the best
RESIDUAL = 1e-4  # what mass on the wrong atoms would cost to move, at most, as a share of the loss
WEIGHTLESS = 37.0  # so many reg below a row's best, an atom has less than a rounding of the row
NEAR = 237.0  # and so many below are looked at, that prices may move


@dataclass(frozen=True)
class Plan:
    """A plan at reg, and the offsets it belongs to."""

    h: Floats  # (k,)
    lists: Lists
    shares: Floats  # a_i T_ij of the lists' entries
    off: float  # the mass that it has on the wrong atoms
    reached: bool  # whether that is as little as it was to be


@dataclass(frozen=True)
class Batch:
    """Rows with their costs."""

    C: Floats  # (m, k)
    a: Floats  # (m,) sums to 1
    kernel: Kernel

    @cached_property
    def w(self) -> Floats:
        """The weights: equal ones. (k,)"""
        k = self.C.shape[1]
        return np.full(k, 1.0 / k)

    @cached_property
    def lists(self) -> Lists:
        """The costs as lists of all atoms."""
        m, k = self.C.shape
        start = np.arange(m + 1, dtype=np.int64) * k
        atom = np.tile(np.arange(k, dtype=np.int32), m)
        return Lists(start, atom, self.C.ravel(), self.a, k)

    def sums(self, h: Floats, eps: float, hessian: bool) -> ListSums:
        """What a climb asks for, by products of whole matrices: where most atoms share a row."""
        T, top, total = self._softmax(h, eps)
        aT = self.a[:, None] * T
        L0 = -float(self.a @ top)
        return ListSums(
            N=aT.sum(axis=0),
            L=L0 - eps * float(self.a @ np.log(total)),
            L0=L0,
            cost=float((aT * self.C).sum()),
            H=aT.T @ T if hessian else None,
        )

    def softly(self, h: Floats, eps: float) -> tuple[Floats, Floats]:
        """Offsets at eps and a_i T_ij of their plan, which has the weights nearly. (k,), (m, k)"""
        goal = Goal(eps, TOL / 2, TOL / 2, float(self.a @ self.C.mean(axis=1)))
        h = climb(self.sums, self.w, h, eps, goal, MOST).h
        return h, self.a[:, None] * self._softmax(h, eps)[0]

    def _softmax(self, h: Floats, eps: float) -> tuple[Floats, Floats, Floats]:
        """T, the rows' greatest scores and the sums that T was divided by."""
        T = h - self.C
        top: Floats = T.max(axis=1)
        T -= top[:, None]
        T /= eps
        with np.errstate(under="ignore"):
            np.exp(T, out=T)
        total: Floats = T.sum(axis=1)
        T /= total[:, None]
        return T, top, total

    def plan(self, h: Floats, reg: float) -> Plan:
        """The plan at reg that has the weights, found from offsets near its own."""
        prices = self.kernel.settle(self.lists, h, self.w).h
        goal = Goal(reg, 1.0, RESIDUAL, float(self.a @ self.C.mean(axis=1)))
        lists = self.near(prices, NEAR * reg)
        found = climb(self.sums_over(lists), self.w, prices, reg, goal, MOST)
        if float(np.ptp(found.h - prices)) > (NEAR - WEIGHTLESS) * reg:
            lists = self.lists
            found = climb(self.sums_over(lists), self.w, found.h, reg, goal, MOST)
        off = 0.5 * float(np.abs(found.sums.N - self.w).sum())
        return Plan(found.h, lists, shares(lists, found.h, reg), off, found.reached)

    def near(self, h: Floats, reach: float) -> Lists:
        """The atoms within reach of each row's best."""
        score = h - self.C
        row, atom = np.nonzero(score >= score.max(axis=1, keepdims=True) - reach)
        start = np.searchsorted(row, np.arange(len(score) + 1))
        return Lists(start, atom.astype(np.int32), self.C[row, atom], self.a, score.shape[1])

    def sums_over(self, lists: Lists) -> Sums:
        """What a climb asks for, where few atoms share a row."""
        return lambda h, eps, hessian: self.kernel.list_sums(lists, h, eps, hessian=hessian)


def shares(lists: Lists, h: Floats, reg: float) -> Floats:
    """a_i T_ij of the lists' entries."""
    score, lengths = h[lists.atom] - lists.cost, np.diff(lists.start)
    score -= np.repeat(np.maximum.reduceat(score, lists.start[:-1]), lengths)
    with np.errstate(under="ignore"):
        T: Floats = np.exp(score / reg)
    T *= np.repeat(lists.mass / np.add.reduceat(T, lists.start[:-1]), lengths)
    return T


def batch_of(X: NDArray[Any], a: Floats, Y: Floats, kernel: Kernel) -> Batch:
    """The batch of rows that lie about the origin, with all their costs."""
    x2, y2 = (np.einsum("ij,ij->i", Z, Z).astype(np.float64) for Z in (X, Y))
    C = x2[:, None] - 2.0 * (X @ Y.T.astype(X.dtype))
    C += y2
    return Batch(np.maximum(C, 0.0, out=C), a, kernel)
