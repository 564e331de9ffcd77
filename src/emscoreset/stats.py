"""What one pass over the data computes: the request (Pass) and the answer (Stats).

A pass takes atoms y_j, an offset h_j in cost units and a temperature ``reg``, and with
C_ij = |x_i - y_j|^2 forms for every row

    T_ij = softmax over j of (h_j - C_ij) / reg     one-hot on the largest h_j - C_ij at reg = 0

Rows and atoms are both taken relative to ``center``: distances do not change, and the
cancellation in |x|^2 - 2 x.y + |y|^2 stays harmless far from the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Want(Flag):
    """Which sums a pass forms; N, L and L0 always come."""

    MASSES = 0
    MOMENTS = auto()  # S and Q
    REMOVAL = auto()  # R


@dataclass(frozen=True)
class Rows:
    """A block of rows and their masses; ``mass=None`` gives every row mass 1."""

    X: NDArray[np.generic]  # (n, d), any strides and any real dtype
    mass: Floats | None = None  # (n,)

    def masses(self) -> Floats:
        """The masses as an array."""
        return np.ones(self.X.shape[0]) if self.mass is None else self.mass


@dataclass(frozen=True)
class Pass:
    """One sweep over the data, as picklable data. Ties go to the lowest index."""

    atoms: Floats  # (k, d), relative to center
    offset: Floats  # (k,) h in cost units; -inf switches an atom off
    reg: float
    center: Floats  # (d,)
    want: Want = Want.MOMENTS


@dataclass(frozen=True)
class Stats:
    """Sums over the rows of one pass, in float64; ``a + b`` adds those of two sets of rows."""

    N: Floats  # (k,)   sum_i a_i T_ij
    L: float  #        -reg sum_i a_i logsumexp_j (h_j - C_ij) / reg;  L0 at reg = 0
    L0: float  #        sum_i a_i min_j (C_ij - h_j)
    mass: float  #      sum_i a_i
    n: int  #           rows read
    S: Floats | None = None  # (k, d) sum_i a_i T_ij (x_i - center)
    Q: Floats | None = None  # (k,)   sum_i a_i T_ij |x_i - center|^2
    R: Floats | None = None  # (k,)   by how much L rises, to first order, without atom j

    def __add__(self, other: Stats) -> Stats:
        def add(a: Floats | None, b: Floats | None) -> Floats | None:
            return None if a is None or b is None else a + b

        return Stats(
            N=self.N + other.N,
            L=self.L + other.L,
            L0=self.L0 + other.L0,
            mass=self.mass + other.mass,
            n=self.n + other.n,
            S=add(self.S, other.S),
            Q=add(self.Q, other.Q),
            R=add(self.R, other.R),
        )

    def times(self, c: float) -> Stats:
        """The same with every row's mass multiplied by c."""

        def scaled(a: Floats | None) -> Floats | None:
            return None if a is None else a * c

        return Stats(
            N=self.N * c,
            L=self.L * c,
            L0=self.L0 * c,
            mass=self.mass * c,
            n=self.n,
            S=scaled(self.S),
            Q=scaled(self.Q),
            R=scaled(self.R),
        )

    def per_mass(self) -> Stats:
        """The same with the rows' masses scaled to sum to 1."""
        return self.times(1.0 / self.mass)

    def moments(self) -> tuple[Floats, Floats]:
        """S and Q, of a pass that wanted them."""
        if self.S is None or self.Q is None:
            raise ValueError("this pass was run without Want.MOMENTS: it has no S and no Q")
        return self.S, self.Q


@dataclass(frozen=True)
class Assignment:
    """Each row's best atom: the largest h_j - C_ij."""

    labels: Ints  # (n,)
    cost: Floats  # (n,) C_ij of that atom
    gap: Floats  # (n,) by how much the second best h_j - C_ij is smaller; inf where k = 1


def log_offset(weights: Floats, reg: float) -> Floats:
    """The EMS offset h_j = reg log w_j; -inf where w_j = 0, at every reg."""
    with np.errstate(divide="ignore"):
        return np.where(weights > 0, reg * np.log(np.where(weights > 0, weights, 1.0)), -np.inf)
