"""From rows and weighted atoms to a proved transport cost.

A sample of the rows finds the offsets nearly; one pass at those lists each row's candidates;
Newton's method on the lists finds the offsets; a pass over the rows proves the cost. Where
lists of all rows would be too large the offsets of a sample are improved by passes over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from threadpoolctl import ThreadpoolController

from emscoreset.ems import FLOOR
from emscoreset.lists import Flow, Lists, ListSums
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Rows, Stats, Want
from emscoreset.transport.bounds import Bracket, bracket
from emscoreset.transport.semidual import (
    Climb,
    Goal,
    climb,
    cooler,
    drift,
    entropy,
    response,
    secant,
)

COMPLETE = 1 << 21  # all rows get lists that hold every atom up to so many entries, 25 MB
SAMPLED = 1 << 20  # entries of such lists for a sample
MOST_LISTED = 1 << 25  # entries of lists of candidates: 400 MB
ENOUGH = 8  # candidates of a row, on average, that lists may hold at least
GROWTH = 16  # a sample has so many times the rows of the one before
LONG = 40  # passes over lists after which the exact finish is the shorter way
MOST_CLIMBED = 300  # passes over lists, at most
MOST_PROVED = 12  # proofs after climbs on lists of all rows
MOST_POLISHED = 40  # passes over all rows where they are not listed
WEIGHTLESS = 12.0  # an atom so many eps below a row's best has next to no weight on it


@dataclass(frozen=True)
class Problem:
    """Rows in a source, atoms relative to its center with positive weights, a temperature."""

    source: Source
    Y: Floats  # (k, d)
    w: Floats  # (k,) sums to 1
    reg: float
    rounding: float  # relative, of a number in the float type that passes work in


@dataclass(frozen=True)
class Solution:
    """Offsets, what they prove, and what it took."""

    h: Floats
    proved: Bracket
    passes: int  # over all rows
    list_passes: int
    converged: bool


class Listing:
    """Candidates of a source's rows, listed anew where the offsets have moved too far for them."""

    def __init__(self, source: Source, problem: Problem, h: Floats, reach: float) -> None:
        self.source, self.problem = source, problem
        self.made = 0
        self.renew(h, reach)

    def renew(self, h: Floats, reach: float) -> None:
        """Lists of what is within reach at other offsets."""
        p = Pass(self.problem.Y, h, 0.0, self.problem.source.center)
        self.lists = self.source.lists(p, reach)
        self.h, self.reach = h, reach
        self.made += 1

    @property
    def complete(self) -> bool:
        """Whether every atom is listed for every row, wherever the offsets go."""
        return bool(np.isinf(self.reach))

    def holds(self, h: Floats, margin: float) -> bool:
        """Whether every atom within ``margin`` of a row's best at these offsets is listed."""
        return float(np.ptp(h - self.h)) <= self.reach - margin

    def room(self, h: Floats, move: Floats, eps: float) -> float:
        """The share of a step that stays within these lists, or new ones where it is small."""
        margin = WEIGHTLESS * eps
        for share in (1.0, 0.5, 0.25):
            if self.holds(h + share * move, margin):
                return share
        if float(np.ptp(h - self.h)) > 0 or self.reach < 2.0 * margin:
            self.renew(h, max(self.reach, 2.0 * margin))
        return min(1.0, (self.reach - margin) / float(np.ptp(move)))

    def sums(self, h: Floats, eps: float, hessian: bool) -> ListSums:
        """The sums of a pass over all atoms, but for what has no weight."""
        if not self.holds(h, WEIGHTLESS * eps):
            self.renew(h, max(self.reach, 2.0 * WEIGHTLESS * eps))
        return self.source.kernel.list_sums(self.lists, h, eps, hessian=hessian)


class Search:
    """A solution on its way: the listed rows, an offset and its temperature, the best bounds."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.passes = self.list_passes = 0
        self.threads = ThreadpoolController()
        source, k = problem.source, len(problem.w)
        rows = source.whole(max(COMPLETE // k, 64))
        self.whole = rows is not None  # whether all rows are listed
        if rows is None:
            rows = source.sample(max(SAMPLED // k, 64), np.random.default_rng(0))
        self.listing = Listing(_kept(rows, source), problem, np.zeros(k), np.inf)
        self.unit, self.eps, self.h = start_of(self.listing.lists, problem.w, problem.reg)
        self.bounds = Bracket(0.0, np.inf, 0.0, 1.0, np.inf, problem.w, -np.inf)

    @property
    def converged(self) -> bool:
        """Whether the bracket is as narrow as it was to be."""
        floor = FLOOR * (self.unit + self.problem.reg)
        return self.bounds.gap <= max(self.tol * self.bounds.upper, floor)

    def run(self, exact: bool) -> Solution:
        """Lists of ever more rows, offsets on them, proofs; the exact finish where it is due."""
        while not self.whole and self.grow(exact):
            pass
        if self.whole:
            self.refine()
        else:
            self.polish()
        if exact or (self.whole and self.problem.reg == 0 and not self.converged):
            self.settle()
        return Solution(self.h, self.bounds, self.passes, self.list_passes, self.converged)

    def refine(self) -> None:
        """Climb on lists of all rows, and prove, until the bracket is narrow enough."""
        regret, residual = self.tol / 2.0, self.tol / 4.0
        for _ in range(MOST_PROVED):
            found = self.climb(regret, residual, LONG if self.listing.complete else MOST_CLIMBED)
            if not found.reached and self.problem.reg > 0:
                # Few rows an atom: a falling temperature rounds the corners of D one by one. At
                # its top for reg = 0 the exact prices lie: a few steps at reg itself from there.
                self.h = self.priced().h
                self.eps = self.problem.reg
                found = self.climb(regret, residual, MOST_CLIMBED)
            new = self.prove()
            if self.converged or not found.reached:
                return
            if new.moved > 0.5 * new.gap:
                residual /= 3.0
            else:
                regret /= 3.0

    def polish(self) -> None:
        """Passes over all rows alone: BFGS from where a sample's offsets and curvature leave it.

        The gradient of -D is N - w. Each pass proves a bracket, too.
        """
        w = self.problem.w
        found = self.climb(self.tol / 2.0, 0.01, MOST_CLIMBED)
        inverse = response(found, w)
        here, t = self.prove(), 1.0
        move = inverse @ (w - here.N)
        for _ in range(MOST_POLISHED):
            if self.converged:
                return
            if here.moved < 0.25 * here.gap:
                self.eps = cooler(self.eps, 0.25, self.problem.reg)
                inverse *= 0.5
                here = self.prove()
                continue
            h = self.h
            self.h = h + t * (move - float(w @ move))
            there = self.prove()
            if there.height < here.height + 1e-4 * t * float(move @ (w - here.N)):
                self.h, t = h, 0.4 * t
                continue
            inverse = secant(inverse, t * move, there.N - here.N)
            here, t = there, 1.0
            move = inverse @ (w - here.N)

    def climb(self, regret: float, residual: float, most: int) -> Climb:
        """Move the offset up the dual of the listed rows."""
        goal = Goal(self.problem.reg, regret, residual, self.unit)
        made = self.listing.made
        with self.threads.limit(limits=1, user_api="blas"):  # more would wait for each other
            found = climb(
                self.listing.sums, self.problem.w, self.h, self.eps, goal, most, self.listing.room
            )
        self.h, self.eps = found.h, found.eps
        self.list_passes += found.passes
        self.passes += (self.listing.made - made) * self.whole
        return found

    def grow(self, exact: bool) -> bool:
        """From a sample to a larger one or to all rows; False where there is no room for more."""
        source, k, m = self.problem.source, len(self.problem.w), self.listing.lists.n
        # Offsets of a sample are no better than its size allows.
        found = self.climb(max(self.tol / 2.0, 0.02 * k / m), 0.01, 60)
        reach = WEIGHTLESS * self.eps + drift(found, self.problem.w, m)
        while True:  # room to move that costs little is worth having
            length = self.listing.lists.mean_length(self.h, reach)
            if length >= ENOUGH or length >= k / 2:
                break
            reach *= 1.5
        n = source.moments.n
        if not exact:
            n = min(n, int(MOST_LISTED / length))
        if n <= 2 * m and n < source.moments.n:
            return False
        rows = GROWTH * m if m < 32 * k and 2 * GROWTH * m < n else n
        self.whole = rows == source.moments.n
        if not self.whole:
            source = _kept(source.sample(rows, np.random.default_rng(m)), source)
        self.listing = Listing(source, self.problem, self.h, reach)
        self.passes += self.whole
        return True

    def prove(self) -> Bracket:
        """A bracket from passes over all rows; the best bounds so far are kept."""
        p = self.problem
        new = bracket(p.source, p.Y, p.w, self.h, self.eps, p.reg, p.rounding)
        self.passes += 1 + (0 < p.reg < self.eps)
        self.bounds = self.bounds.narrowed(new)
        return new

    def priced(self) -> Flow:
        """The exact plan at reg = 0 and its prices, in lists that hold all atoms it needs."""
        listing = self.listing
        while True:
            flow = self.problem.source.kernel.settle(listing.lists, self.h, self.problem.w)
            if listing.complete or (flow.left == 0 and listing.holds(flow.h, 0.0)):
                return flow
            listing.renew(flow.h, (4.0 if flow.left > 0 else 1.5) * listing.reach)
            self.passes += 1
            self.h = flow.h

    def settle(self) -> None:
        """The exact plan and its prices, at reg = 0, in lists that hold all rows."""
        p, flow = self.problem, self.priced()
        self.h, self.eps = flow.h, 0.0
        self.list_passes += 1
        lower = float(p.w @ flow.h) + lowest(p, flow.h)
        self.passes += 1
        rounding = 1e-14 * (flow.cost + float(p.w @ np.abs(flow.h - p.w @ flow.h)))
        self.bounds = Bracket(
            lower=max(min(lower, flow.cost) - rounding, 0.0),
            upper=flow.cost + rounding,
            information=entropy(p.w),
            off=0.0,
            moved=0.0,
            N=p.w,
            height=lower,
        )


def start_of(lists: Lists, w: Floats, reg: float) -> tuple[float, float, Floats]:
    """What sharing all rows alike costs, a temperature of a twentieth of it, and an offset.

    At the offset every atom is as good as the nearest one for some row at least.
    """
    C = lists.cost.reshape(lists.n, lists.k)
    unit = max(float(lists.mass @ C @ w), np.finfo(float).tiny)
    eps = max(0.05 * unit, reg)
    if eps < 2.0 * reg:
        eps = reg
    h: Floats = (C - C.min(axis=1, keepdims=True)).min(axis=0) + eps * np.log(w)
    return unit, eps, h


def lowest(problem: Problem, h: Floats) -> float:
    """sum_i a_i min_j (C_ij - h_j) per unit of mass, in float64 whatever the rows' type."""
    source = problem.source
    p = Pass(problem.Y, h, 0.0, source.center, Want.MASSES)
    parts = (
        source.kernel.stats(Rows(rows.X.astype(np.float64), rows.mass), p)
        for rows in source.blocks()
    )
    return reduce(Stats.__add__, parts).per_mass().L0


def _kept(rows: Rows, source: Source) -> ArraySource:
    return ArraySource(rows.X, rows.mass, kernel=source.kernel)
