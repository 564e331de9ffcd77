"""The strongest WCSL: Lloyd's algorithm with equal masses, from the best of several starts.

For a fixed plan the loss is least where each atom is the mean of its mass, and for fixed
atoms at the plan of optimal transport: steps of one after the other never raise it.
Shapes as in `adam`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emscoreset.baselines.potentials import Whole, optimal
from emscoreset.baselines.problem import Found, Problem
from emscoreset.ems import State as EMState
from emscoreset.ems import atom_costs, m_step
from emscoreset.search.seeding import sample_rows, seed
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass

STARTS = 8  # on a sample, of which the best goes on
FALL = 1e-6  # by which share of the cost a step lowers it at least, or the atoms have settled
TOL = 1e-5  # to what share of the loss it is to be known at each step
WARM, COOLING, COOL = 0.15, 0.93, 0.002  # temperatures as shares of the variance: from, times, to
SHAKE = 0.1  # of the root of the temperature: atoms that have met part again
REHEAT = 8.0  # what a step begins at, times the temperature of the one before


@dataclass(frozen=True)
class State:
    """Atoms on their way, an offset near their best, and a temperature to improve it from."""

    Y: Floats
    h: Floats
    eps: float
    cost: float = np.inf  # of the transport, before the last step
    n_iter: int = 0
    converged: bool = False


def by_means(problem: Problem, reg: float, max_iter: int, rng: np.random.Generator) -> Found:
    """Several starts on a sample; the best goes on with all rows."""
    source, k = problem.source, problem.n_atoms
    rows = source.sample(sample_rows(k), rng)
    sample = ArraySource(rows.X, rows.mass, kernel=source.kernel)
    best = min(
        (settle(sample, cooled(sample, k, reg, rng), reg, max_iter) for _ in range(STARTS)),
        key=lambda state: state.cost,
    )
    end = settle(source, replace(best, Y=best.Y + sample.center - source.center), reg, max_iter)
    return Found(end.Y, end.n_iter, end.converged)


def cooled(source: Source, k: int, reg: float, rng: np.random.Generator) -> State:
    """From k-means++, a step at each of ever lower temperatures."""
    Y, h, unit = starting_atoms(source, k, rng), np.zeros(k), source.moments.variance
    eps = WARM * unit
    while eps > max(COOL * unit, reg):
        h = optimal(Whole(source, Y).sums, h, eps, eps, unit=unit).h
        Y, _ = step(source, Y, h, eps)
        Y = Y + SHAKE * np.sqrt(eps / source.d) * rng.normal(size=Y.shape)
        eps *= COOLING
    return State(Y, h, np.inf)


def settle(source: Source, state: State, reg: float, max_iter: int) -> State:
    """Potentials and means in turn, until a step lowers the cost by next to nothing."""
    Y, h, eps, before = state.Y, state.h, state.eps, np.inf
    unit = source.moments.variance
    warm = WARM * unit
    for n in range(max_iter):
        sums = Whole(source, Y).sums
        found = optimal(sums, h, min(eps, warm), reg, unit=unit, tol=TOL)
        if not found.reached:  # the offset was too far off for so low a temperature
            found = optimal(sums, found.h, warm, reg, unit=unit, tol=TOL)
        Y, cost = step(source, Y, found.h, found.eps)
        h, eps = found.h, REHEAT * found.eps  # the atoms have moved: the plan is no longer right
        if before - cost <= FALL * cost:
            return State(Y, h, eps, cost, n + 1, True)
        before = cost
    return State(Y, h, eps, before, max_iter)


def step(source: Source, Y: Floats, h: Floats, eps: float) -> tuple[Floats, float]:
    """The means of the atoms' masses, and what the transport to the old atoms cost."""
    stats = source.run(Pass(Y, h, eps, source.center)).per_mass()
    return m_step(stats, EMState(Y, stats.N)).Y, float(atom_costs(stats, Y).sum())


def starting_atoms(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """k-means++; where there are no more distinct rows than atoms, those rows, by their mass."""
    seeds = seed(source, k, "k-means++", rng)
    if seeds.rows is None:
        return seeds.start.Y
    middles = (np.arange(k) + 0.5) / k
    ends = np.cumsum(seeds.start.w)
    Y: Floats = seeds.start.Y[np.searchsorted(ends, middles * ends[-1])]
    return Y
