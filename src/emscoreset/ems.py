"""Algorithm 1 of the paper: the EM loop, and the exact distance at its end.

Shapes: Y (k, d) atoms relative to the source's center, w (k,) weights, h (k,) offset in cost
units. Statistics are per unit of mass: N sums to 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import kl_div

from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Stats, Want, log_offset

# Plain EM stops where a full pass lowers the objective by less than this fraction of it:
# docs/algorithm.md, "When to stop", has the measurement behind the figure.
TOL = 3e-6
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
    guaranteed_fall: float  # by which the objective is lower at the M-step's end, at least
    shift: float  # Frobenius norm of the atoms' move after this pass
    seconds: float  # since the fit began
    kept: bool = True  # False: a try whose objective is not low enough to go on from


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


@dataclass(frozen=True)
class Step:
    """One EM step: what the pass at ``state`` found, and the M-step's end."""

    state: State
    p: Pass
    stats: Stats
    new: State
    fall: float  # by which L is lower at ``new``, at least

    @property
    def L(self) -> float:
        """The objective at ``state``."""
        return self.stats.L

    @property
    def shift(self) -> float:
        """The Frobenius norm of the atoms' move."""
        # No BLAS, whose idle threads would spin through the next pass.
        return float(np.sqrt(np.square(self.new.Y - self.state.Y).sum()))


def em_step(source: Source, state: State, reg: float, want: Want = Want.MOMENTS) -> Step:
    """E-step and M-step from ``state``."""
    p, stats = ems_pass(source, state, reg, want)
    new = m_step(stats, state)
    return Step(state, p, stats, new, guaranteed_fall(stats.N, state, new, reg))


def ems_pass(
    source: Source, state: State, reg: float, want: Want = Want.MOMENTS
) -> tuple[Pass, Stats]:
    """E-step (paper, eq. estep): a pass with h_j = reg log w_j, per unit of mass."""
    p = Pass(state.Y, log_offset(state.w, reg), reg, source.center, want)
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
    moved = float((N * np.square(new.Y - old.Y).sum(axis=1)).sum())
    return max(reg * relative_entropy(N, old.w), 0.0) + moved if reg > 0 else moved


def relative_entropy(N: Floats, w: Floats) -> float:
    """KL(N || w) = sum_j N_j log(N_j / w_j), with 0 log 0 = 0.

    Summed as N log(N / w) - N + w, never below 0: what rounding leaves of sum N - sum w would
    weigh more than the rest where N is near w.
    """
    return float(kl_div(N, w).sum())


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

    """
    began = time.perf_counter()
    least = FLOOR * source.moments.variance
    state, history = start, list[Record]()
    before: Step | None = None
    n_iter, settled = 0, False
    while True:  # line 2: repeat
        step = em_step(source, state, reg)  # lines 3-12: N, S over all blocks; lines 13-16
        history.append(record(step, time.perf_counter() - began))
        stop = callback is not None and callback(history[-1], State(state.Y, step.new.w))
        settled = settled or (before is not None and is_slow(before, step, tol, least))
        if settled or stop or n_iter == max_iter:
            break
        state, before, n_iter = step.new, step, n_iter + 1
        settled = shift_tol is not None and step.shift < shift_tol  # line 17: until
    return finished(step, history, settled)


def record(step: Step, seconds: float, kept: bool = True) -> Record:
    """What ``history_`` tells of a step."""
    return Record(step.stats.n, step.p.reg, step.L, step.fall, step.shift, seconds, kept)


def is_slow(before: Step, step: Step, tol: float, least: float) -> bool:
    """Whether a step lowered the objective by ``tol`` of it at most, or by no more than rounding.

    Where every pass reads new rows, a fall too small may be their noise: the step before must
    have guaranteed little, too. About 2 k / n of the objective is guaranteed by noise alone.
    Of the same rows no fall is less than what was guaranteed, and the condition is idle.
    """
    small = max(tol * max(step.L, least), ROUNDING * step.p.reg)
    noise = 4.0 * len(step.state.w) / step.stats.n * step.L
    return small >= before.L - step.L and before.fall <= max(small, noise)


def finished(step: Step, history: Sequence[Record], converged: bool) -> Fit:
    """A fit that ends at the atoms of ``step``, a pass over all rows."""
    distance = exact_distance(step.p, step.stats)
    return Fit(step.state.Y, step.new.w, distance, tuple(history), len(history) - 1, converged)
