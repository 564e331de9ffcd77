"""WCSL as the paper describes it: Adam on the Sinkhorn loss of one batch of rows after the other.

The loss has the gradient 2 (N_j y_j - S_j) at the optimal potentials, whose masses N are the
weights: nothing has to be differentiated through the iteration that found them. Shapes: Y (k, d)
atoms relative to the source's center, h (k,) the offset of a pass. With equal weights
reg log w_j is one number for all atoms, and h the potential itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from emscoreset.baselines.batch import Plan, batch_of
from emscoreset.baselines.problem import Found, Problem
from emscoreset.kernels import get_kernel
from emscoreset.kernels.base import float_type
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Floats, Ints

T = TypeVar("T")

# The paper's appendix, "Hyperparameters".
BATCH = 1000  # rows
RATE, DECAY = 0.1, 0.99  # the learning rate, and what each epoch multiplies it by
SLIVER = 1e-6  # of a row: as good as nothing
SHIFT_TOL = 1e-2  # on the Frobenius norm of the atoms' move over an epoch


@dataclass
class Adam:
    """Kingma and Ba's method, as they define it."""

    m: Floats
    v: Floats
    t: int = 0

    def step(self, gradient: Floats, rate: float) -> Floats:
        """What to subtract."""
        self.t += 1
        self.m += 0.1 * (gradient - self.m)
        self.v += 0.001 * (np.square(gradient) - self.v)
        m, v = self.m / (1.0 - 0.9**self.t), self.v / (1.0 - 0.999**self.t)
        out: Floats = rate * m / (np.sqrt(v) + 1e-8)
        return out


def by_adam(problem: Problem, reg: float, max_iter: int, rng: np.random.Generator) -> Found:
    """The paper's way: stochastic gradients of the loss, a batch each."""
    source, k = problem.source, problem.n_atoms
    Y = problem.drawn(rng) - source.center
    a, h, off = problem.masses(), np.zeros(k), 0.0
    adam = Adam(np.zeros_like(Y), np.zeros_like(Y))
    kernel = get_kernel(source.kernel.name, 1)  # a batch is too little for threads to share
    for epoch in range(max_iter):
        before = Y
        for X, mass in ahead(rows_of(source, batches(a, rng))):
            plan = batch_of(X, mass, Y, kernel).plan(h, reg)
            h, off = plan.h, max(off, 0.0 if plan.reached else plan.off)
            Y = Y - adam.step(gradient(plan, X, Y), RATE * DECAY**epoch)
        if float(np.linalg.norm(Y - before)) < SHIFT_TOL:
            return Found(Y, epoch + 1, True, off)
    return Found(Y, max_iter, False, off)


def gradient(plan: Plan, X: NDArray[Any], Y: Floats) -> Floats:
    """Of W_reg((X, a), (Y, 1/k)) in Y: 2 (N_j y_j - S_j)."""
    lists = plan.lists
    parts = plan.shares.astype(X.dtype), lists.atom, lists.start.astype(np.int32)
    S = (csc_array(parts, shape=(lists.k, lists.n)) @ X).astype(np.float64)
    N = np.bincount(lists.atom, plan.shares, minlength=lists.k)
    out: Floats = 2.0 * (N[:, None] * Y - S)
    return out


def rows_of(
    source: ArraySource, parts: Iterable[tuple[Ints, Floats]]
) -> Iterator[tuple[NDArray[Any], Floats]]:
    """The rows of each batch, less the center."""
    kind = float_type(source.X.dtype)
    center = source.center.astype(kind)
    for index, mass in parts:
        yield np.subtract(source.X[index], center, dtype=kind), mass


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same; each is made while the one before is worked on: rows lie all over the memory."""
    end = object()
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield cast(T, item)


def batches(a: Floats, rng: np.random.Generator) -> Iterator[tuple[Ints, Floats]]:
    """All rows in random order, cut into batches of equal mass, about BATCH rows each.

    A row across a cut lies in both batches, with its part of the mass. Masses sum to 1 in each.
    """
    order = rng.permutation(np.flatnonzero(a))
    ends = np.cumsum(a[order])
    cuts = np.linspace(0.0, float(ends[-1]), max(1, round(len(order) / BATCH)) + 1)
    for low, high in pairwise(cuts):
        first, last = np.searchsorted(ends, [low, high])
        index, mass = order[first : last + 1], a[order[first : last + 1]]
        mass[-1] -= max(ends[min(last, len(order) - 1)] - high, 0.0)
        mass[0] -= max(low - (ends[first] - a[order[first]]), 0.0)
        # A cut at the end of a row cuts off rounding: the row is whole, or not there at all.
        whole = a[index]
        mass = np.where(np.abs(mass - whole) < SLIVER * whole, whole, mass)
        keep = mass > SLIVER * whole
        yield index[keep], mass[keep] / mass[keep].sum()
