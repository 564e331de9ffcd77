"""How far the assignment and the atoms can move when a row or an atom does (paper, app. Stability).

With D = max |y_i - y_j| and reg > 0. The paper's constants hold, and are not the best: since
T_j (1 - T_j) <= 1/4, the `sharp_` ones are smaller, and each is attained by two atoms.
At reg = 0 there is no constant: a row on the boundary of two cells changes its whole share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, log_offset
from emscoreset.theory.energy import assignment

BLOCK = 1024  # rows of a distance matrix held at a time


def diameter(Y: Floats) -> float:
    """D = max |y_i - y_j|."""
    return max(float(cdist(Y[i : i + BLOCK], Y).max()) for i in range(0, len(Y), BLOCK))


def assignment_gradient(X: Floats, Y: Floats, w: Floats, reg: float) -> Floats:
    """dT_ij / dx_i = (2 / reg) T_ij sum_l T_il (y_j - y_l) (paper, eq. bounded-gradient).

    OUT (n, k, d).
    """
    T = assignment(X, Y, w, reg)
    away = Y[None, :, :] - (T @ Y)[:, None, :]
    gradient: Floats = (2.0 / reg) * T[:, :, None] * away
    return gradient


def lipschitz_in_data(Y: Floats, reg: float) -> float:
    """|T_j(x) - T_j(x')| <= (2 D / reg) |x - x'| (paper, prop. bounded gradient)."""
    return 2.0 * diameter(Y) / reg


def sharp_lipschitz_in_data(Y: Floats, reg: float) -> float:
    """D / (2 reg), as |dT_j/dx| <= (2 D / reg) T_j (1 - T_j) and T_j (1 - T_j) <= 1/4."""
    return 0.5 * diameter(Y) / reg


def centre_gradient(X: Floats, Y: Floats, w: Floats, reg: float) -> Floats:
    """dT_ij / dy_l = (2 / reg) T_ij ((x_i - y_j) [j = l] - T_il (x_i - y_l)).

    Paper, prop. partial-y. OUT (n, k, k, d) over i, j, l.
    """
    T = assignment(X, Y, w, reg)
    away = X[:, None, :] - Y[None, :, :]  # (n, k, d)
    own = np.eye(len(Y))[None, :, :, None] * away[:, None, :, :]
    gradient: Floats = (2.0 / reg) * T[:, :, None, None] * (own - (T[:, :, None] * away)[:, None])
    return gradient


def centre_bound(X: Floats, Y: Floats, reg: float) -> float:
    """|dT_ij / dy_l| <= (2 / reg) (R_X + R_Y) (paper, prop. partial-y).

    R_X is the greatest norm of a row, R_Y that of a centre.
    """
    return 2.0 / reg * (_longest(X) + _longest(Y))


def sharp_centre_bound(X: Floats, Y: Floats, reg: float) -> float:
    """max |x_i - y_l| / (2 reg), as T_j (1 - T_j) and T_j T_l are both at most 1/4."""
    return 0.5 / reg * float(cdist(X, Y).max())


def lipschitz_in_centres(X: Floats, Y: Floats, Z: Floats, reg: float) -> float:
    """|T_j(x; Y) - T_j(x; Z)| <= (2 k / reg) (R_X + R_Y) max_l |y_l - z_l|.

    Paper, thm. "Lipschitz in the centers"; R_Y is the greatest norm of a centre, old or new.
    """
    return len(Y) * max(centre_bound(X, Y, reg), centre_bound(X, Z, reg))


def sharp_lipschitz_in_centres(X: Floats, Y: Floats, Z: Floats, reg: float) -> float:
    """max |x_i - y_l| / reg over rows and both sets of centres: no factor k, and no origin.

    sum_l |dT_j/dy_l| <= (2 / reg) (T_j (1 - T_j) + T_j sum_{l != j} T_l) max |x - y|
    = (4 / reg) T_j (1 - T_j) max |x - y|: twice the bound of one derivative.
    """
    return 2.0 * max(sharp_centre_bound(X, Y, reg), sharp_centre_bound(X, Z, reg))


def leverage_bound(S: Floats, reach: Floats, lipschitz: float, delta: float) -> Floats:
    """How far one M-step's atoms can move when one row moves by ``delta`` (paper, thm. per-sample).

        |y'_j - y_j| <= (delta + lipschitz delta R_j) / (S_j - lipschitz delta)

    S_j is the mass of atom j counted in rows (the paper's n p_j is the same number, its second
    form), R_j = max_i |x_i - y_j| about the updated atom, ``lipschitz`` one of the constants
    above. Infinite where the denominator is not positive.
    """
    left = S - lipschitz * delta
    top = delta * (1.0 + lipschitz * reach)
    return np.where(left > 0, top / np.where(left > 0, left, 1.0), np.inf if delta > 0 else 0.0)


def small_move_bound(S: Floats, reach: Floats, lipschitz: float, delta: float) -> Floats:
    """2 delta (1 + lipschitz R_j) / S_j where lipschitz delta <= S_j / 2, else infinite: form 3."""
    holds = 2.0 * lipschitz * delta <= S
    top = 2.0 * delta * (1.0 + lipschitz * reach)
    return np.where(holds & (S > 0), top / np.where(S > 0, S, 1.0), np.inf if delta > 0 else 0.0)


@dataclass(frozen=True, repr=False)
class Stability:
    """What moving one row of the data can do to a coreset, at most.

    The bounds are for one EM step from the atoms as they are, so they say how firmly the
    rows hold the atoms in place; a new fit may settle in another optimum.

    Attributes
    ----------
    reg : float
    diameter : float
        The largest distance between two atoms.
    share_per_unit : float
        A row's share of any atom changes by at most this times the distance the row moves:
        diameter / (2 reg). Infinite at ``reg=0``.
    rows_per_atom : array of shape (k,)
        How many rows' worth of mass each atom has; a row of mean weight counts as one.
    reach : array of shape (k,)
        The distance from each atom to the farthest row.
    """

    reg: float
    diameter: float
    share_per_unit: float
    rows_per_atom: Floats
    reach: Floats

    def __repr__(self) -> str:
        k = len(self.reach)
        if np.isinf(self.share_per_unit):
            return (
                f"Stability of {k} atoms at reg=0: a row on the boundary of two atoms changes "
                "sides at once, so nothing bounds what a small move does; reg > 0 does"
            )
        held = self.rows_per_atom[self.rows_per_atom > 0]
        one = self.share_per_unit == 0  # all atoms at one place: any move has a bound
        step = float(self.reach.max() if one else 0.5 * held.min() / self.share_per_unit)
        moved = float(self.atom_move(step)[self.rows_per_atom > 0].max())
        return (
            f"Stability of {k} atoms at reg={self.reg:g}:\n"
            f"  a row that moves by delta changes its share of an atom by at most "
            f"{self.share_per_unit:.4g} x delta (and never by more than 1)\n"
            f"  the atom with the fewest rows holds {held.min():.4g}; the farthest row is "
            f"{self.reach.max():.4g} away from an atom\n"
            f"  when one row moves by {step:.3g}, no atom moves by more than {moved:.3g} "
            "in the next step"
        )

    def atom_move(self, delta: float) -> Floats:
        """How far each atom moves at most when one row of mean weight moves by ``delta``.

        Infinite where so long a move could take all of an atom's mass away. OUT (k,)
        """
        if not delta >= 0:
            raise ValueError(f"delta must be a distance >= 0, not {delta!r}")
        if np.isinf(self.share_per_unit):
            return np.full(len(self.reach), np.inf if delta > 0 else 0.0)
        return leverage_bound(self.rows_per_atom, self.reach, self.share_per_unit, delta)


def stability(source: Source, atoms: Floats, weights: Floats, reg: float) -> Stability:
    """The stability figures of a coreset on its data: one pass, and one for the farthest rows."""
    Y = atoms - source.center
    stats = source.run(Pass(Y, log_offset(weights, reg), reg, source.center))
    S, _ = stats.moments()
    alive = stats.N > 0
    updated = np.where(alive[:, None], S / np.where(alive, stats.N, 1.0)[:, None], Y)
    wide = diameter(Y)
    rate = 0.5 * wide / reg if reg > 0 else (np.inf if wide > 0 else 0.0)
    rows = stats.N * (stats.n / stats.mass)
    return Stability(reg, wide, rate, rows, farthest(source, updated))


def farthest(source: Source, Y: Floats) -> Floats:
    """max_i |x_i - y_j| over the rows of the source, Y relative to its center. OUT (k,)"""
    reach = np.zeros(len(Y))
    for rows in source.blocks():
        X = np.asarray(rows.X, dtype=np.float64) - source.center
        for i in range(0, len(X), BLOCK):
            np.maximum(reach, cdist(X[i : i + BLOCK], Y).max(axis=0), out=reach)
    return reach


def _longest(Y: Floats) -> float:
    return float(np.linalg.norm(Y, axis=1).max())
