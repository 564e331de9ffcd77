"""Real rows whose errors cancel: near their atoms, and with the means and shares of the data.

The row nearest to a barycentre has the most frequent category of those around it, so that few such
rows over-represent what is frequent. Here each atom in turn, the heaviest first, takes of its own
rows one that is near to it, and that makes good what the rows taken before have too much or too
little of: the error of the mean is passed on, as in dithering a picture to few colours.
"""

from __future__ import annotations

import numpy as np

from emscoreset.ems import State
from emscoreset.rows import Placed, assigned, placed_at
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Floats, Ints, log_offset

# What the error passed on counts beside nearness: 0.3 costs more variance and leaves shares hardly
# less wrong than 0.1.
PULL = 0.1
AT_ONCE = 1 << 16  # rows of an atom that are looked at together


def balanced_rows(source: ArraySource, atoms: Floats, weights: Floats, reg: float) -> Placed:
    """A different row of positive mass for each atom, and weights and distance for these rows.

    Every row belongs to its most responsible atom. An atom that has none takes a row as in
    `real_rows`.
    """
    k = len(atoms)
    state = State(atoms - source.center, weights)
    own, N = _own_rows(source, state, reg)
    numbers, error = np.full(k, -1, dtype=np.intp), np.zeros(source.d)
    for j in np.argsort(-N, kind="stable"):
        if len(own[j]):
            numbers[j], off = _taken(source, own[j], state.Y[j], error / N[j], PULL * k * N[j])
            error += N[j] * off
    return placed_at(source, numbers, weights, reg)


def _own_rows(source: ArraySource, state: State, reg: float) -> tuple[list[Ints], Floats]:
    """The rows of positive mass that each atom is most responsible for, and their shares."""
    k = len(state.w)
    found = [
        (rows.masses(), one.labels.astype(np.int32))
        for _, rows, one in assigned(source, state.Y, log_offset(state.w, reg))
    ]
    mass, labels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    N = np.bincount(labels, mass, minlength=k)
    order = np.argsort(labels, kind="stable")
    order = order[mass[order] > 0]
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k))), N / N.sum()


def _taken(
    source: ArraySource, own: Ints, y: Floats, error: Floats, pull: float
) -> tuple[int, Floats]:
    """The row r of an atom y that has the least |r - y|^2 + pull |error + r - y|^2, and r - y."""
    least, best, off = np.inf, -1, np.zeros(0)
    for i in range(0, len(own), AT_ONCE):
        some = own[i : i + AT_ONCE]
        D = np.asarray(source.X[some], dtype=np.float64) - source.center - y
        cost = np.square(D).sum(axis=1) + pull * np.square(D + error).sum(axis=1)
        if cost.min() < least:
            one = int(cost.argmin())
            least, best, off = cost[one], int(some[one]), D[one]
    return best, off
