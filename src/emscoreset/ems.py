"""Algorithm 1 of the paper: the EM loop, and the exact distance at its end.

Shapes: Y (k, d) atoms relative to the source's center, w (k,) weights, h (k,) offset in cost
units. Statistics are per unit of mass: N sums to 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Stats, log_offset

# Plain EM stops where a full pass lowers the objective by less than this fraction of it:
# docs/algorithm.md, "When to stop", has the measurement behind the figure.
TOL = 1e-5
# Below this share of the data's variance an objective is rounding.
FLOOR = 1e-12
# What float64 leaves uncertain in a difference of numbers of size 1.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class State:
    """Atoms and weights between two passes. Never changed in place."""

    Y: Floats  # (k, d)
    w: Floats  # (k,)


@dataclass(frozen=True)
class Record:
    """One pass, for ``history_``."""

    rows: int  # rows read
    reg: float
    objective: float  # L at the atoms and weights that the pass was given
    guaranteed_fall: float  # by which the next pass's objective is lower at least
    shift: float  # Frobenius norm of the atoms' move after this pass
    seconds: float  # since the fit began


@dataclass(frozen=True)
class Distance:
    """The transport cost between the data and (Y, N) after a pass at (Y, h)."""

    value: float  # W_reg, exact
    lower: float  # lower <= W_2^2 <= upper
    upper: float


@dataclass(frozen=True)
class Fit:
    """Where a fit ended: atoms, the masses N of a pass at them, and how it got there."""

    Y: Floats  # (k, d) relative to the source's center
    N: Floats  # (k,) sums to 1
    distance: Distance
    history: tuple[Record, ...]
    n_iter: int
    converged: bool


# Told of every pass: its record, and the coreset it has the distance of, (Y, N).
# A true answer ends the descent there.
Callback = Callable[[Record, State], bool | None]


def ems_pass(source: Source, state: State, reg: float) -> tuple[Pass, Stats]:
    """E-step (paper, eq. estep): a pass with h_j = reg log w_j, per unit of mass."""
    p = Pass(atoms=state.Y, offset=log_offset(state.w, reg), reg=reg, center=source.center)
    stats = source.run(p).per_mass()
    total = float(stats.N.sum())
    if not abs(total - 1.0) < 1e-3:
        raise ValueError(
            f"the atoms' shares of the rows sum to {total:g}, not to 1: X or reg={reg:g} holds "
            "numbers whose squares overflow; scale the columns, or pass float64 instead of float32"
        )
    return p, stats


def m_step(stats: Stats, state: State) -> State:
    """M-step (paper, def. M-step): y_j = S_j / N_j, kept where N_j = 0, and w_j = N_j."""
    S, _ = stats.moments()
    N = stats.N
    alive = N > 0
    Y = np.where(alive[:, None], S / np.where(alive, N, 1.0)[:, None], state.Y)
    return State(Y, N / N.sum())


def guaranteed_fall(N: Floats, old: State, new: State, reg: float) -> float:
    """The least by which L falls from ``old`` to ``new``: reg KL(N || w) + sum_j N_j |dy_j|^2."""
    moved = float(N @ np.square(new.Y - old.Y).sum(axis=1))
    return max(reg * relative_entropy(N, old.w), 0.0) + moved


def relative_entropy(N: Floats, w: Floats) -> float:
    """KL(N || w) = sum_j N_j log(N_j / w_j), with 0 log 0 = 0."""
    alive = N > 0
    return float(N[alive] @ np.log(N[alive] / w[alive]))


def atom_costs(stats: Stats, Y: Floats) -> Floats:
    """E_j = Q_j - 2 y_j.S_j + N_j |y_j|^2: the transport cost carried by atom j."""
    S, Q = stats.moments()
    E = Q - 2.0 * np.einsum("jd,jd->j", Y, S) + stats.N * np.einsum("jd,jd->j", Y, Y)
    costs: Floats = np.maximum(E, 0.0)
    return costs


def exact_distance(p: Pass, stats: Stats) -> Distance:
    """The distance between the data and (Y, N), for any Y and h, from the pass itself.

    The pass's plan has the Gibbs form, so it is the optimal entropic plan for its own column
    masses N: W_reg = L + sum_j N_j h_j - reg sum_j N_j log N_j. The same potentials are
    feasible for the unregularised problem, so L0 + sum_j N_j h_j <= W_2^2, and the plan's own
    cost sum_j E_j is no less than it. At reg = 0 the three are one number.
    """
    alive = stats.N > 0
    N, h = stats.N[alive], p.offset[alive]
    lower = stats.L0 + float(N @ h)
    if p.reg == 0:
        value = max(lower, 0.0)
        return Distance(value, value, value)
    lower = max(lower - ROUNDING * float(np.abs(h).max()), 0.0)
    value = stats.L + float(N @ h) - p.reg * float(N @ np.log(N))
    upper = float(atom_costs(stats, p.atoms).sum())
    # W_reg = upper + reg * mutual information <= the cost of the plan a_i N_j, which has none.
    # Where reg dwarfs the costs, rounding in L breaks either bound.
    value = max(min(value, independent_cost(stats, p.atoms, stats.N)), upper)
    return Distance(value, min(lower, upper), upper)


def independent_cost(stats: Stats, Y: Floats, w: Floats) -> float:
    """The cost sum_ij a_i w_j C_ij of sharing every row among all atoms by their weights."""
    S, Q = stats.moments()
    mean = w @ Y
    cost = Q.sum() - 2.0 * (mean @ S.sum(axis=0)) + w @ np.einsum("jd,jd->j", Y, Y)
    return float(cost)


def fit_ems(
    source: Source,
    start: State,
    reg: float,
    *,
    tol: float = TOL,
    shift_tol: float | None = None,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Fit:
    """Run Algorithm 1 from ``start`` to the end of its descent.

    Stops when a pass lowers the objective by less than ``tol`` of it, when an M-step moves
    the atoms by less than ``shift_tol`` (the paper's rule), after ``max_iter`` M-steps, or
    where ``callback`` says so.
    The last pass is always at the atoms returned.

    Where every pass reads new rows, a fall too small may be their noise: the step before must
    have guaranteed little, too. About 2 k / n of the objective is guaranteed by noise alone.
    Of the same rows no fall is less than what was guaranteed, and the condition is idle.
    """
    began = time.perf_counter()
    least = FLOOR * source.moments.variance
    state, history = start, list[Record]()
    before, owed = np.inf, np.inf  # the last pass's objective, and the fall it guaranteed
    n_iter, settled = 0, False
    while True:  # line 2: repeat
        p, stats = ems_pass(source, state, reg)  # lines 3-12: N, S over all blocks
        new = m_step(stats, state)  # lines 13-16
        shift = float(np.linalg.norm(new.Y - state.Y))
        fall = guaranteed_fall(stats.N, state, new, reg)
        seconds = time.perf_counter() - began
        history.append(Record(stats.n, reg, stats.L, fall, shift, seconds))
        stop = callback is not None and callback(history[-1], State(state.Y, new.w))
        small = max(tol * max(stats.L, least), ROUNDING * reg)
        noise = 4.0 * len(state.w) / stats.n * stats.L
        settled = settled or (before - stats.L <= small and owed <= max(small, noise))
        if settled or stop or n_iter == max_iter:
            break
        state, before, owed, n_iter = new, stats.L, fall, n_iter + 1
        settled = shift_tol is not None and shift < shift_tol  # line 17: until
    N = stats.N / stats.N.sum()
    return Fit(state.Y, N, exact_distance(p, stats), tuple(history), n_iter, settled)
