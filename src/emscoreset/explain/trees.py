"""Forests as plain arrays: what readers make of models, and what the path algorithm takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.stats import Floats

Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]

# Flags of a node, as in trees.h.
NAN_LEFT, ZERO_IS_NAN, CATEGORIES, OUTSIDE_LEFT = 1, 2, 4, 8
MAX_PATH = 64  # different features on one path: bits of a mask
ALMOST_ZERO = 1e-35


@dataclass(frozen=True)
class Tree:
    """One tree. A row goes left where its value is <= the threshold or among the categories.

    NaN goes left where ``nan_left`` says so, a category outside the set's range where
    ``outside_left`` does.
    """

    feature: NDArray[np.integer[Any]]  # (nodes,) < 0: a leaf
    threshold: Floats  # (nodes,)
    left: NDArray[np.integer[Any]]  # (nodes,) children; node 0 is the root
    right: NDArray[np.integer[Any]]
    nan_left: Bools  # (nodes,)
    value: Floats  # (nodes, width) of leaves
    zero_is_nan: Bools | None = None  # (nodes,) 0 goes where NaN goes
    categories: Mapping[int, NDArray[np.uint64]] = field(default_factory=dict)  # node -> bit set
    outside_left: Bools | None = None  # (nodes,)
    output: int = 0  # the tree adds to outputs output .. output + width - 1


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one behind the other in arrays over all their nodes."""

    feature: Int32s
    left: Int32s
    right: Int32s
    threshold: Floats
    flags: NDArray[np.uint8]
    set_begin: Int32s  # (nodes,) where in ``sets`` a node's categories are
    set_words: Int32s
    sets: NDArray[np.uint64]
    value: Floats  # (nodes, width)
    root: Int32s  # (trees,)
    output: Int32s  # (trees,)
    n_features: int
    n_outputs: int

    @classmethod
    def join(cls, trees: Sequence[Tree], n_features: int, n_outputs: int = 1) -> Forest:
        """The trees as one forest; refuses what is no tree."""
        if not trees:
            raise ValueError("the model has no trees: fit it first")
        sizes = np.array([len(tree.feature) for tree in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        begin = np.zeros(sizes.sum(), dtype=np.int32)
        words = np.zeros(sizes.sum(), dtype=np.int32)
        sets: list[NDArray[np.uint64]] = []
        place = 0
        for tree, root in zip(trees, roots, strict=True):
            for node, bits in tree.categories.items():
                begin[root + node], words[root + node] = place, len(bits)
                sets.append(np.asarray(bits, dtype=np.uint64))
                place += len(bits)
        forest = cls(
            feature=_joined([t.feature for t in trees], np.int32),
            left=_joined([t.left + r for t, r in zip(trees, roots, strict=True)], np.int32),
            right=_joined([t.right + r for t, r in zip(trees, roots, strict=True)], np.int32),
            threshold=_joined([t.threshold for t in trees], np.float64),
            flags=_joined([_flags(t) for t in trees], np.uint8),
            set_begin=begin,
            set_words=words,
            sets=_joined([*sets, np.zeros(1, dtype=np.uint64)], np.uint64),
            value=_joined([t.value for t in trees], np.float64),
            root=roots.astype(np.int32),
            output=np.array([t.output for t in trees], dtype=np.int32),
            n_features=n_features,
            n_outputs=n_outputs,
        )
        forest._check()
        return forest

    def _check(self) -> None:
        """Children are nodes, each of one parent, and features are the model's."""
        inner = self.feature >= 0
        children = np.concatenate([self.left[inner], self.right[inner], self.root])
        if len(np.unique(children)) < len(children) or len(children) != len(self.feature):
            raise ValueError("the model's arrays are no trees: nodes have no or several parents")
        if self.feature.max(initial=-1) >= self.n_features:
            raise ValueError(
                f"a tree tests feature {self.feature.max()}, the model has {self.n_features}"
            )
        if min(self.n_features, self.depth) > MAX_PATH and self._widest() > MAX_PATH:
            raise ValueError(
                f"a path of the trees tests {self._widest()} different features; at most "
                f"{MAX_PATH} can be explained exactly: limit the depth of the trees"
            )

    @cached_property
    def depth(self) -> int:
        """The most tests on a path."""
        depth, level = -1, self.root
        while len(level):
            inner = level[self.feature[level] >= 0]
            level = np.concatenate([self.left[inner], self.right[inner]])
            depth += 1
        return depth

    def _widest(self) -> int:
        """The most different features on a path."""
        widest = 0
        waiting = [(int(root), frozenset[int]()) for root in self.root]
        while waiting:
            node, path = waiting.pop()
            widest = max(widest, len(path))
            if self.feature[node] >= 0:
                longer = path | {int(self.feature[node])}
                waiting += [(int(self.left[node]), longer), (int(self.right[node]), longer)]
        return widest

    def goes_left(self, node: int, values: Floats) -> Bools:
        """Where a node's test sends these values of its feature."""
        nan_left = bool(self.flags[node] & NAN_LEFT)
        if self.flags[node] & CATEGORIES:
            begin, size = int(self.set_begin[node]), 64 * int(self.set_words[node])
            inside = (values >= 0) & (values < size)
            category = np.where(inside, values, 0).astype(np.int64)
            bits = self.sets[begin + category // 64] >> (category % 64).astype(np.uint64)
            outside = np.where(np.isnan(values), nan_left, self.flags[node] & OUTSIDE_LEFT != 0)
            return np.where(inside, (bits & np.uint64(1)) == 1, outside)
        unknown = np.isnan(values)
        if self.flags[node] & ZERO_IS_NAN:
            unknown |= np.abs(values) <= ALMOST_ZERO
        return np.where(unknown, nan_left, values <= self.threshold[node])


@dataclass(frozen=True)
class TreeModel:
    """A model that is a sum of trees: raw(X) = offset + the leaves' values.

    ``link`` turns raw outputs into probabilities: "identity" where they are already, "logistic"
    with ``slope`` (probability = 1 / (1 + exp(-slope * raw))), or a sentence that says why the
    model has none.
    """

    forest: Forest
    offset: Floats  # (n_outputs,)
    encode: Callable[[Any], Floats]  # rows as users have them -> (n, n_features) as trees test them
    raw: Callable[[Any], Floats]  # the model's own raw output (n, n_outputs), to compare with
    tolerance: float  # of that comparison, relative: the model's own rounding
    link: str = "this model has no probabilities"
    slope: float = 1.0


def _joined(parts: Sequence[Any], dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(np.concatenate(parts), dtype=dtype)


def _flags(tree: Tree) -> NDArray[np.uint8]:
    flags = np.where(tree.nan_left, NAN_LEFT, 0)
    for where, flag in ((tree.zero_is_nan, ZERO_IS_NAN), (tree.outside_left, OUTSIDE_LEFT)):
        if where is not None:
            flags = flags | np.where(where, flag, 0)
    flags[list(tree.categories)] |= CATEGORIES
    return flags.astype(np.uint8)
