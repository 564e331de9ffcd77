"""Newton's method on the semi-dual of a transport problem, at a temperature that falls.

With h the offset of a pass at temperature eps (h_j = eps log w_j + g_j), the dual value

    D(h) = w.h + L(h, eps) + eps H(w),     H(w) = -sum_j w_j log w_j,

is concave, its gradient is w - N and its second derivative -(diag N - T' diag(a) T) / eps.
The offset is what is kept while eps falls: where masses are right, they nearly stay so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from emscoreset.lists import ListSums
from emscoreset.stats import Floats

# Sums at an offset and a temperature, the last with H or without.
Sums = Callable[[Floats, float, bool], ListSums]
# How much of a step from an offset at a temperature the sums are good for, up to 1.
Room = Callable[[Floats, Floats, float], float]

LONGEST = 100.0  # a step changes no two offsets by more than this many eps against each other
TRIALS = 30  # points that a search along a step tries at most


@dataclass(frozen=True)
class Goal:
    """When a climb is over: the two parts of the gap, as shares of the dual value at reg.

    The regret is what the plan loses by its temperature, the residual what moving the mass on
    the wrong atoms costs, ``unit`` for each unit of it.
    """

    reg: float
    regret: float
    residual: float
    unit: float


@dataclass(frozen=True)
class Climb:
    """Where a climb ended."""

    h: Floats
    eps: float
    sums: ListSums
    passes: int
    reached: bool


def entropy(w: Floats) -> float:
    """H(w) = -sum_j w_j log w_j, with 0 log 0 = 0."""
    alive = w > 0
    return -float(w[alive] @ np.log(w[alive]))


def everywhere(h: Floats, move: Floats, eps: float) -> float:
    """The room of sums that are good for any step."""
    return 1.0


def climb(
    sums: Sums, w: Floats, h: Floats, eps: float, goal: Goal, most: int, room: Room = everywhere
) -> Climb:
    """Newton steps until both parts of the gap reach their goal, at most ``most`` passes."""
    passes, best = 0, 0.0  # the best lower bound so far
    while True:
        found = sums(h, eps, True)
        passes += 1
        low = level(sums, found, h, eps, goal.reg)
        best = max(best, float(w @ h) + low + goal.reg * entropy(w))
        regret, most_regret = loss(found, h, eps, low, goal.reg), goal.regret * best
        off, most_off = 0.5 * float(np.abs(found.N - w).sum()), goal.residual * best / goal.unit
        reached = regret <= most_regret and off <= most_off
        if reached or passes >= most:
            return Climb(h, eps, found, passes, reached)
        move = newton_step(found, w, eps)
        move *= room(h, move, eps)
        if eps > goal.reg and regret > most_regret and off * most_regret <= regret * most_off:
            h = h + move
            eps = cooler(eps, most_regret / regret, goal.reg)
        else:
            h, tried = search(sums, w, h, eps, found, move)
            passes += tried


def level(sums: Sums, found: ListSums, h: Floats, eps: float, reg: float) -> float:
    """L at h and reg, given the sums at h and eps."""
    if reg == eps:
        return found.L
    return found.L0 if reg == 0 else sums(h, reg, False).L


def loss(found: ListSums, h: Floats, eps: float, low: float, reg: float) -> float:
    """By how much the plan's cost at reg exceeds the least for its own masses N, at most.

    The plan costs <T, C> + reg KL(T | a x N); ``low`` is L at h and reg, and the dual value for
    the masses N is N.h + low + reg H(N).
    """
    N = found.N / found.N.sum()
    spread = (float(N @ h) - found.cost + found.L) / eps if eps > 0 else 0.0  # sum a T log T
    return max(found.cost + reg * spread - float(N @ h) - low, 0.0)


def cooler(eps: float, ratio: float, reg: float) -> float:
    """The next temperature, for a regret that is to fall by this ratio: it falls like eps^2."""
    eps *= min(max(0.25, 0.7 * float(np.sqrt(ratio))), 0.7)
    return reg if eps < 2.0 * reg else eps


def newton_step(found: ListSums, w: Floats, eps: float) -> Floats:
    """Where the quadratic model has its top, at most LONGEST eps away. It leaves w.h as it is."""
    move: Floats = eps * cho_solve(curvature(found, w), w - found.N)
    span = float(np.ptp(move))
    move *= min(1.0, LONGEST * eps / span) if span > 0 else 1.0
    return move - float(w @ move)


def curvature(found: ListSums, w: Floats) -> tuple[Floats, bool]:
    """The Cholesky factor of diag N - H, whose null space, the constant, is filled."""
    if found.H is None:
        raise ValueError("these sums were made without H")
    A = 1.0 / len(w) - found.H
    diagonal = np.diag_indices(len(w))
    A[diagonal] += found.N
    ridge = 1e-13  # atoms that share no row are tied together by this little
    while True:
        A[diagonal] += ridge * (w + found.N)
        try:
            factor: tuple[Floats, bool] = cho_factor(A)
            return factor
        except LinAlgError:
            ridge *= 10.0


def search(
    sums: Sums, w: Floats, h: Floats, eps: float, found: ListSums, move: Floats
) -> tuple[Floats, int]:
    """The point along the step where D has risen as it should, and how many were tried."""
    value, slope, t = float(w @ h) + found.L, float((w - found.N) @ move), 1.0
    rounding = 1e-13 * (abs(found.cost) + float(w @ np.abs(h)))
    for tried in range(1, TRIALS + 1):
        to = h + t * move
        there = sums(to, eps, False)
        if float(w @ to) + there.L >= value + 1e-4 * t * slope - rounding:
            return to, tried
        turned = float((w - there.N) @ move)  # the slope there: D is concave along the step
        t *= min(max(slope / (slope - turned), 0.1), 0.6) if turned < 0 else 0.5
    return h, TRIALS


def response(found: Climb, w: Floats) -> Floats:
    """How offsets answer to a change of masses: the inverse of -D'' where a climb ended."""
    inverse: Floats = found.eps * cho_solve(curvature(found.sums, w), np.eye(len(w)))
    return inverse


def drift(found: Climb, w: Floats, m: int) -> float:
    """How far offsets found on a sample of m rows may be from those of all rows.

    Three standard deviations of their answer to the noise of m draws, or 12 eps if that is less.
    """
    spread = np.sqrt(np.square(response(found, w)) @ w / m)
    return min(3.0 * float(spread.max()), 12.0 * found.eps)


def secant(inverse: Floats, move: Floats, turn: Floats) -> Floats:
    """BFGS: the inverse curvature after a move over which the gradient changed by ``turn``."""
    along = float(move @ turn)
    if along <= 0:
        return inverse
    bent = inverse @ turn / along
    inverse = inverse - np.outer(move, bent) - np.outer(bent, move)
    return inverse + (1.0 + float(turn @ bent)) * np.outer(move, move) / along
