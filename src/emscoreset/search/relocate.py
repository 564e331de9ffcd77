"""Atoms taken from where they are missed least, and put where the cost is greatest.

A reading of breathing k-means (B. Fritzke) for soft and weighted atoms, with their number kept:
R_j, by how much the objective rises without atom j, is summed by a pass; so is the cost E_j
that atom j carries. The atoms of the least R_j each halve an atom of the greatest E_j. What
comes of it after some EM steps is kept if the objective is lower, and tried again; if not,
half as many atoms move the next time.
"""

from __future__ import annotations

import numpy as np

from emscoreset.ems import State, Step, atom_costs
from emscoreset.kernels import Kernel
from emscoreset.kernels.base import float_type
from emscoreset.search.accelerate import descend
from emscoreset.search.passes import Passes
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Ints, Pass, Rows, Want

SHARE = 0.25  # of the atoms move at first
STEPS = 40  # of EM after a move, at most
SETTLED = 2e-4  # or until one lowers the objective by no more than this part of it
HALVES = 0.3  # of the way to one of its rows, the halves of an atom step aside
GAIN = 1e-5  # of the objective is the least a move must lower it by
TRIES = 3  # of single atoms that may fail


def relocate(
    passes: Passes,
    source: Source,
    guide: Source,
    probe: Rows,
    best: Step,
    rng: np.random.Generator,
    *,
    most_passes: int,
) -> Step:
    """Moves from ``best`` that lower the objective.

    R is summed over ``guide``; ``probe`` has the rows towards which atoms are halved.
    """
    k, reg = len(best.state.w), best.p.reg
    end = len(passes.history) + most_passes
    m, failed = max(1, round(SHARE * k)), 0
    # Or the first moves would be thanked for what more steps alone would have gained.
    best = descend(passes, source, best, tol=SETTLED, most=STEPS).step
    seen: Step | None = None
    while failed < TRIES and k > 1 and len(passes.history) < end and passes.left(source) > 3:
        with passes.exploring():
            seen = seen or with_removal(passes, guide, best.state, reg)
            moved = move(best, seen, m, probe, source.kernel, rng)
            start = passes.step(source, moved, reg)
            found = descend(passes, source, start, tol=SETTLED, most=STEPS).step
        gain = best.L - found.L
        if gain > GAIN * max(best.L, passes.least):
            best, seen, failed = found, None, 0
        elif m > 1:
            m //= 2
        else:
            failed += 1
    return best


def with_removal(passes: Passes, source: Source, state: State, reg: float) -> Step:
    """A step whose pass sums R."""
    return passes.step(source, state, reg, want=Want.MOMENTS | Want.REMOVAL)


def near_rows(source: Source) -> Rows:
    """All rows of a source that holds few of them, less its center."""
    blocks = list(source.blocks())
    X = np.concatenate([rows.X for rows in blocks])
    kind = float_type(X.dtype)
    mass = np.concatenate([rows.masses() for rows in blocks])
    return Rows(np.subtract(X, source.center.astype(kind), dtype=kind), mass)


def move(
    step: Step, seen: Step, m: int, probe: Rows, kernel: Kernel, rng: np.random.Generator
) -> State:
    """The atoms of ``step`` with m of them moved, those of which ``seen`` has the least R."""
    Y, w = step.state.Y.copy(), step.new.w.copy()
    p = Pass(Y, np.where(w > 0, 0.0, -np.inf), 0.0, np.zeros(Y.shape[1]))
    found = kernel.assign(probe, p)
    cost = probe.masses() * found.cost
    out = cheapest(seen, m)
    rank = np.argsort(-atom_costs(step.stats, Y), kind="stable")
    into = rank[~np.isin(rank, out)][: len(out)]
    for j, l in zip(out, into, strict=False):
        own = found.labels == l
        aside = HALVES * _towards_a_row(Rows(probe.X[own]), cost[own], Y[l], rng)
        w[j] = w[l] = 0.5 * w[l]
        Y[j], Y[l] = Y[l] + aside, Y[l] - aside
    return State(Y, w / w.sum())


def cheapest(step: Step, m: int) -> Ints:
    """Up to m atoms of the least R, no one next to another: what R says holds for each alone."""
    R, Y = step.stats.R, step.state.Y
    if R is None:
        raise ValueError("this step's pass did not want Want.REMOVAL: it has no R")
    free = np.ones(len(R), dtype=bool)
    out: list[int] = []
    for j in np.argsort(R, kind="stable"):
        if len(out) == m:
            break
        if free[j]:
            out.append(int(j))
            far = np.square(Y - Y[j]).sum(axis=1)
            far[j] = np.inf
            free[far.argmin()] = False
    return np.array(out, dtype=np.intp)


def _towards_a_row(rows: Rows, cost: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """From y to one of the rows, drawn by cost; anywhere near where they have none."""
    if not cost.sum() > 0:
        return np.finfo(np.float32).eps * np.linalg.norm(y) * rng.standard_normal(len(y))
    drawn = rng.choice(len(cost), p=cost / cost.sum())
    return np.asarray(rows.X[drawn], dtype=np.float64) - y
