"""The strongest WCSL: Lloyd's algorithm with equal masses, from the best of several starts.

For a fixed plan the loss is least where each atom is the mean of its mass, and for fixed
atoms at the plan of optimal transport: steps of one after the other never raise it.
Shapes as in `adam`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emscoreset.baselines.batch import batch_of
from emscoreset.baselines.problem import Found, Problem
from emscoreset.ems import State as EMState
from emscoreset.ems import m_step
from emscoreset.kernels.base import float_type
from emscoreset.search.seeding import sample_rows, seed
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass
from emscoreset.transport.offsets import offsets_at
from emscoreset.transport.semidual import entropy

STARTS = 8  # on a sample, of which the best goes on
SAMPLED = 1 << 22  # costs of a sample, at most, unless that were fewer than FEWEST rows an atom
FEWEST = 4
FALL = 1e-6  # by which share of the loss a step lowers it at least, or the atoms have settled
RESIDUAL = 1e-6  # what mass on wrong atoms may cost to move, as a share of the loss
WARM, COOLING, COOL = 0.15, 0.93, 0.002  # temperatures as shares of the variance: from, times, to
SHAKE = 0.1  # of the root of the temperature: atoms that have met part again


@dataclass(frozen=True)
class State:
    """Atoms on their way."""

    Y: Floats
    loss: float = np.inf  # before the last step
    n_iter: int = 0
    converged: bool = False
    off: float = 0.0  # the most mass on wrong atoms in a plan that missed its goal


def by_means(problem: Problem, reg: float, max_iter: int, rng: np.random.Generator) -> Found:
    """Several starts on a sample; the best goes on with all rows."""
    source, k = problem.source, problem.n_atoms
    rows = source.sample(min(sample_rows(k), max(SAMPLED // k, FEWEST * k)), rng)
    sample = ArraySource(rows.X, rows.mass, kernel=source.kernel)
    best = min(
        (settle(sample, cooled(sample, k, reg, rng), reg, max_iter) for _ in range(STARTS)),
        key=lambda state: state.loss,
    )
    end = settle(source, best.Y + sample.center - source.center, reg, max_iter)
    return Found(end.Y, end.n_iter, end.converged, end.off)


def cooled(sample: ArraySource, k: int, reg: float, rng: np.random.Generator) -> Floats:
    """From k-means++, a step at each of ever lower temperatures."""
    Y, h, unit = starting_atoms(sample, k, rng), np.zeros(k), sample.moments.variance
    kind = float_type(sample.X.dtype)
    X = np.subtract(sample.X, sample.center.astype(kind), dtype=kind)
    a = np.concatenate([rows.masses() for rows in sample.blocks()])
    a = a / a.sum()
    eps = WARM * unit
    while eps > max(COOL * unit, reg):
        h, aT = batch_of(X, a, Y, sample.kernel).softly(h, eps)
        Y = (aT.T.astype(kind) @ X) / aT.sum(axis=0)[:, None]
        Y += SHAKE * np.sqrt(eps / sample.d) * rng.normal(size=Y.shape)
        eps *= COOLING
    return Y


def settle(source: Source, Y: Floats, reg: float, max_iter: int) -> State:
    """Plans and means in turn, until a step lowers the loss by next to nothing."""
    before, off = np.inf, 0.0
    w = np.full(len(Y), 1.0 / len(Y))
    for n in range(max_iter):
        found = offsets_at(source, Y, w, reg, RESIDUAL)
        stats = source.run(Pass(Y, found.h, reg, source.center)).per_mass()
        loss = float(w @ found.h) + stats.L + reg * entropy(w)
        off = max(off, 0.0 if found.reached else found.off)
        Y = m_step(stats, EMState(Y, stats.N)).Y
        if before - loss <= FALL * loss:
            return State(Y, loss, n + 1, True, off)
        before = loss
    return State(Y, before, max_iter, False, off)


def starting_atoms(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """k-means++; where there are no more distinct rows than atoms, those rows, by their mass."""
    seeds = seed(source, k, "k-means++", rng)
    if seeds.rows is None:
        return seeds.start.Y
    middles = (np.arange(k) + 0.5) / k
    ends = np.cumsum(seeds.start.w)
    Y: Floats = seeds.start.Y[np.searchsorted(ends, middles * ends[-1])]
    return Y
