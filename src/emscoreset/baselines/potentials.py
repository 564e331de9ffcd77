"""The potentials at which every atom gets its weight: for a batch held at once, for all rows.

Both answer what `climb` asks of a pass at the offset h and the temperature eps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emscoreset.ems import atom_costs
from emscoreset.lists import ListSums
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass
from emscoreset.transport.semidual import Climb, Goal, Sums, climb

MOST = 200  # passes


@dataclass(frozen=True)
class Batch:
    """Few rows and their costs."""

    C: Floats  # (m, k)
    a: Floats  # (m,) sums to 1

    def plan(self, h: Floats, eps: float) -> Floats:
        """T_ij. OUT (m, k)"""
        return self._softmax(h, eps)[0]

    def sums(self, h: Floats, eps: float, hessian: bool) -> ListSums:
        """The sums of a pass."""
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


@dataclass(frozen=True)
class Whole:
    """All rows of a source."""

    source: Source
    Y: Floats

    def sums(self, h: Floats, eps: float, hessian: bool) -> ListSums:
        """The sums of a pass; for H the blocks are read once more."""
        p = Pass(self.Y, h, eps, self.source.center)
        stats = self.source.run(p).per_mass()
        H = self._products(p) if hessian else None
        cost = float(atom_costs(stats, self.Y).sum())
        return ListSums(N=stats.N, L=stats.L, L0=stats.L0, cost=cost, H=H)

    def _products(self, p: Pass) -> Floats:
        k = len(self.Y)
        H, mass = np.zeros((k, k)), 0.0
        for rows in self.source.blocks():
            T, a = self.source.kernel.responsibilities(rows, p), rows.masses()
            H += T.T @ (a[:, None] * T)
            mass += float(a.sum())
        return H / mass


def optimal(
    sums: Sums, h: Floats, eps: float, reg: float, *, unit: float, tol: float = 1e-4
) -> Climb:
    """Climb from ``h``, at the temperature eps, until the loss at reg is known to ``tol`` of it.

    The weights are equal; ``unit`` is what a unit of mass on the wrong atom costs.
    """
    w = np.full(len(h), 1.0 / len(h))
    return climb(sums, w, h, max(eps, reg), Goal(reg, tol / 2, tol / 2, unit), MOST)
