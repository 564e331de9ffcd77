"""Candidate lists: for each row the few atoms that matter, their costs, and sums over them.

A pass scores every row against every atom; near the optimal offsets nearly all of that is
known to be worthless. Lists keep, for each row, the atoms whose score h_j - C_ij is within
``reach`` of the row's best at the offset ``h`` they were made at. Costs never change, so that a
pass over the lists at another offset needs no product. It is the pass over all atoms as
long as the offsets move against each other by less than the reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emscoreset.stats import Floats


@dataclass(frozen=True)
class Lists:
    """The atoms in reach of each row, ascending, at least one; row i has start[i]:start[i + 1]."""

    start: NDArray[np.int64]  # (n + 1,)
    atom: NDArray[np.int32]  # (m,)
    cost: Floats  # (m,) C_ij, by subtraction, in float64
    mass: Floats  # (n,) the rows' masses
    k: int

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.mass)

    @property
    def complete(self) -> bool:
        """Whether every row has every atom."""
        return len(self.atom) == self.n * self.k

    def mean_length(self, h: Floats, reach: float) -> float:
        """How many atoms a row has within reach of its best at other offsets, on average."""
        score = h[self.atom] - self.cost
        top = np.maximum.reduceat(score, self.start[:-1])
        near = score >= np.repeat(top, np.diff(self.start)) - reach
        return float(np.count_nonzero(near)) / self.n

    def shares(self) -> Lists:
        """The same with masses that sum to 1."""
        return Lists(self.start, self.atom, self.cost, self.mass / self.mass.sum(), self.k)


@dataclass(frozen=True)
class ListSums:
    """Sums over lists at an offset h and a temperature eps, as in `Stats`."""

    N: Floats  # (k,)   sum_i a_i T_ij
    L: float  #        -eps sum_i a_i logsumexp_j (h_j - C_ij) / eps
    L0: float  #       sum_i a_i min_j (C_ij - h_j)
    cost: float  #     sum_ij a_i T_ij C_ij
    H: Floats | None = None  # (k, k) sum_i a_i T_ij T_il


@dataclass(frozen=True)
class Flow:
    """A plan within lists whose columns sum to given weights, and prices that prove it."""

    h: Floats  # (k,) every row's mass lies where h_j - C_ij is greatest in its list
    cost: float  # what the plan costs
    left: float  # mass that no path of the lists could bring where it is wanted


def joined(parts: Sequence[Lists]) -> Lists:
    """The lists of several blocks of rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.atom) for part in parts)])
    starts = [part.start[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return Lists(
        np.concatenate([*starts, ends[-1:]]).astype(np.int64, copy=False),
        np.concatenate([part.atom for part in parts]),
        np.concatenate([part.cost for part in parts]),
        np.concatenate([part.mass for part in parts]),
        parts[0].k,
    )
