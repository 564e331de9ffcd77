"""WCSL as the paper describes it: Adam on the Sinkhorn loss of one batch of rows after the other.

The loss has the gradient 2 (N_j y_j - S_j) at the optimal potentials, whose masses N are the
weights: nothing has to be differentiated through the iteration that found them. Shapes: Y (k, d)
atoms relative to the source's center, h (k,) the offset of a pass. With equal weights
reg log w_j is one number for all atoms, and h the potential itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.baselines.potentials import Batch, optimal
from emscoreset.baselines.problem import Found, Problem
from emscoreset.kernels.base import float_type
from emscoreset.stats import Floats, Ints

# The paper's appendix, "Hyperparameters".
BATCH = 1000  # rows
RATE, DECAY = 0.1, 0.99  # the learning rate, and what each epoch multiplies it by
SHIFT_TOL = 1e-2  # on the Frobenius norm of the atoms' move over an epoch
WARM = 0.01  # temperature to begin a batch at, as a share of the variance


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
    a, h = problem.masses(), np.zeros(k)
    adam, warm = Adam(np.zeros_like(Y), np.zeros_like(Y)), WARM * source.moments.variance
    kind = float_type(source.X.dtype)
    for epoch in range(max_iter):
        before = Y
        for index, mass in batches(a, rng):
            X = np.subtract(source.X[index], source.center.astype(kind), dtype=kind)
            h, gradient = loss_gradient(X, mass, Y, h, warm, reg)
            Y = Y - adam.step(gradient, RATE * DECAY**epoch)
        if float(np.linalg.norm(Y - before)) < SHIFT_TOL:
            return Found(Y, epoch + 1, True)
    return Found(Y, max_iter, False)


def loss_gradient(
    X: NDArray[Any], a: Floats, Y: Floats, h: Floats, eps: float, reg: float
) -> tuple[Floats, Floats]:
    """Potentials of W_reg((X, a), (Y, 1/k)), and its gradient in Y, 2 (N_j y_j - S_j), there.

    The search for the potentials begins at h and the temperature eps.
    """
    x2, y2 = (np.einsum("ij,ij->i", Z, Z, dtype=np.float64) for Z in (X, Y))
    C = x2[:, None] + y2 - 2.0 * (X @ Y.T.astype(X.dtype))
    batch = Batch(np.maximum(C, 0.0), a)
    found = optimal(batch.sums, h, eps, reg, unit=float(a @ C.mean(axis=1)))
    aT = a[:, None] * batch.plan(found.h, found.eps)
    S = (aT.T.astype(X.dtype) @ X).astype(np.float64)
    return found.h, 2.0 * (found.sums.N[:, None] * Y - S)


def batches(a: Floats, rng: np.random.Generator) -> Iterator[tuple[Ints, Floats]]:
    """All rows in random order, cut into batches of equal mass, about BATCH rows each.

    A row across a cut lies in both batches, with its part of the mass. Masses sum to 1 in each.
    """
    order = rng.permutation(np.flatnonzero(a))
    ends = np.cumsum(a[order])
    cuts = np.linspace(0.0, float(ends[-1]), max(1, round(len(order) / BATCH)) + 1)
    for low, high in pairwise(cuts):
        first, last = np.searchsorted(ends, [low, high])
        part = slice(first, last + 1)
        mass = np.minimum(ends[part], high) - np.maximum(ends[part] - a[order[part]], low)
        keep = mass > 1e-9 * (high - low)  # rounding puts a sliver of the next row in
        yield order[part][keep], mass[keep] / mass[keep].sum()
