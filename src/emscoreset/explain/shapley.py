"""Interventional Shapley values of forests: in C++ where it was built, else in NumPy.

A leaf gives its value to the rows that meet every condition on its path, one condition for each
feature tested there. With the features of x in a coalition and the others of y, the leaf is
reached where x meets what the coalition holds and y the rest. With A the conditions that x alone
meets, B those that y alone meets, a = |A|, b = |B|, and a leaf that some coalition reaches,

    phi_i = (a-1)! b! / (a+b)!  for i in A,    -a! (b-1)! / (a+b)!  for i in B

times the leaf's value. This is linear in y's weight, so a weighted background costs what its
different sets of conditions cost, leaf by leaf, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from emscoreset.explain.trees import Forest
from emscoreset.kernels import native
from emscoreset.kernels.threads import effective_threads
from emscoreset.stats import Floats

try:
    from emscoreset.kernels import _native
except ImportError:  # built without a C++ compiler
    _native = None  # type: ignore[assignment]

PAIR_BYTES = 1 << 27  # of pairwise contributions at a time
WORTH_THREADS = 1 << 21  # rows times nodes: less is done before threads have been counted


def contributions(
    forest: Forest, X: Floats, Y: Floats, w: Floats, *, n_jobs: int | None = None
) -> Floats:
    """sum_j w_j phi(x_i; y_j). OUT (n, features, outputs)."""
    out = np.zeros((len(X), forest.n_features, forest.n_outputs))
    if not native.available():
        for leaf in _leaves(forest):
            gains = leaf.gains(X, Y, w)
            for feature, gain in zip(leaf.path, gains.T, strict=True):
                out[:, feature, leaf.outputs] += gain[:, None] * leaf.value
        return out
    threads = _threads(forest, len(X) + len(Y), n_jobs)
    _native.forest_contributions(
        _arrays(forest), _columns(X), _columns(Y), _vector(w), out, threads
    )
    return out


def pairs(forest: Forest, X: Floats, Y: Floats, *, n_jobs: int | None = None) -> Floats:
    """phi(x_i; y_j), the contributions against each background row. OUT (n, k, features, outputs).

    All of it at once: 8 n k features outputs bytes; `pair_blocks` says how many rows of X fit.
    """
    out = np.zeros((len(X), len(Y), forest.n_features, forest.n_outputs))
    if not native.available():
        for leaf in _leaves(forest):
            for feature, gain in zip(leaf.path, leaf.pair_gains(X, Y), strict=True):
                out[:, :, feature, leaf.outputs] += gain[:, :, None] * leaf.value
        return out
    threads = _threads(forest, len(X) * len(Y), n_jobs)
    _native.forest_pairs(_arrays(forest), _columns(X), _columns(Y), out, threads)
    return out


def pair_blocks(forest: Forest, n: int, k: int) -> Iterator[slice]:
    """Slices of n rows whose `pairs` with k others take at most PAIR_BYTES each."""
    step = max(1, PAIR_BYTES // (8 * max(1, k * forest.n_features * forest.n_outputs)))
    return (slice(i, min(n, i + step)) for i in range(0, n, step))


def margins(forest: Forest, X: Floats, *, n_jobs: int | None = None) -> Floats:
    """The sum of the trees' values at each row. OUT (n, outputs)."""
    out = np.zeros((len(X), forest.n_outputs))
    if not native.available():
        for leaf in _leaves(forest):
            reached = np.flatnonzero(leaf.meets(X).all(axis=1))
            out[reached, leaf.outputs] += leaf.value
        return out
    threads = _threads(forest, len(X), n_jobs)
    _native.forest_margins(_arrays(forest), _columns(X), out, threads)
    return out


class _Leaf:
    """A leaf and the conditions on the way to it."""

    def __init__(
        self, forest: Forest, node: int, tree: int, steps: tuple[tuple[int, bool], ...]
    ) -> None:
        self.forest = forest
        self.steps = steps  # (node, whether the path goes left there)
        self.path = list(dict.fromkeys(int(forest.feature[n]) for n, _ in steps))
        self.value = forest.value[node]
        first = int(forest.output[tree])
        self.outputs = slice(first, first + len(self.value))

    def meets(self, X: Floats) -> NDArray[np.bool_]:
        """Which rows meet which conditions. OUT (n, conditions)."""
        met = np.ones((len(X), len(self.path)), dtype=bool)
        for node, left in self.steps:
            feature = int(self.forest.feature[node])
            met[:, self.path.index(feature)] &= self.forest.goes_left(node, X[:, feature]) == left
        return met

    def gains(self, X: Floats, Y: Floats, w: Floats) -> Floats:
        """What a leaf of value 1 gives each condition's feature. OUT (n, conditions)."""
        masks, which = np.unique(self.meets(X), axis=0, return_inverse=True)
        others, theirs = np.unique(self.meets(Y), axis=0, return_inverse=True)
        mass = np.bincount(theirs, weights=w, minlength=len(others))
        out: Floats = (_share(masks, others) @ mass).T[which]
        return out

    def pair_gains(self, X: Floats, Y: Floats) -> Floats:
        """The same for each pair of rows. OUT (conditions, n, k)."""
        return _share(self.meets(X), self.meets(Y))


def _share(x: NDArray[np.bool_], y: NDArray[np.bool_]) -> Floats:
    """phi of a leaf of value 1 for all pairs of rows of conditions met. OUT (conditions, n, k)."""
    x, y = x.T[:, :, None], y.T[:, None, :]
    reached = (x | y).all(axis=0)
    alone, other = x & ~y, ~x & y
    a, b = alone.sum(axis=0), other.sum(axis=0)
    table = share_table(len(x))
    out: Floats = alone * (reached * table[a, b]) - other * (reached * table[b, a])
    return out


def share_table(m: int) -> Floats:
    """(a-1)! b! / (a+b)! for a, b = 0 .. m; 0 where a is 0."""
    table = np.zeros((m + 1, m + 1))
    a = np.arange(1, m + 1)
    table[1:, 0] = 1.0 / a
    for b in range(1, m + 1):
        table[1:, b] = table[1:, b - 1] * b / (a + b)
    return table


def _leaves(forest: Forest) -> Iterator[_Leaf]:
    """Every leaf of every tree, those that take no test left out of no tree."""
    for tree, root in enumerate(forest.root):
        waiting: list[tuple[int, tuple[tuple[int, bool], ...]]] = [(int(root), ())]
        while waiting:
            node, steps = waiting.pop()
            if forest.feature[node] < 0:
                yield _Leaf(forest, node, tree, steps)
            else:
                waiting.append((int(forest.right[node]), (*steps, (node, False))))
                waiting.append((int(forest.left[node]), (*steps, (node, True))))


def _threads(forest: Forest, rows: int, n_jobs: int | None) -> int:
    if n_jobs is None and rows * len(forest.feature) < WORTH_THREADS:
        return 1
    return effective_threads(n_jobs)


def _arrays(forest: Forest) -> tuple[object, ...]:
    """A forest as the extension takes it."""
    return (
        *(forest.feature, forest.left, forest.right, forest.threshold, forest.flags),
        *(forest.set_begin, forest.set_words, forest.sets, forest.value),
        *(forest.root, forest.output, forest.n_features, forest.n_outputs, forest.depth),
    )


def _columns(X: Floats) -> Floats:
    return np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)


def _vector(w: Floats) -> Floats:
    return np.ascontiguousarray(w, dtype=np.float64)
