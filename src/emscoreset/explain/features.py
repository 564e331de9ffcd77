"""What a background keeps of the rows: features whose means explanations depend on.

Explanations are linear in the background. What a model says of rows enters them through its
contributions phi(x; y), for trees, or through games f(x inside a coalition, y outside it), for any
function; without a model there are leaves of random trees, values and deciles.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from emscoreset.explain.backgrounds import take
from emscoreset.explain.explainer import ExactTrees
from emscoreset.explain.games import BATCH_ROWS, Function, Pool
from emscoreset.explain.shapley import PAIR_BYTES
from emscoreset.stats import Floats, Ints

EXPLAINED = 40  # rows whose contributions are kept
COALITIONS = 400  # games that are kept
RANDOM_TREES, DEPTH = 300, 3
DECILES = np.arange(1, 10) / 10
BLOCK = 4096  # rows whose features are made at a time


class Features(Protocol):
    """Features of rows by number; the first ``exact`` come before all others."""

    about: str
    exact: int
    candidates: int  # among how many rows to choose, at first
    sampled: ClassVar[
        tuple[str, ...]
    ]  # what is not exact of all rows where candidates are some of them

    def of(self, numbers: Ints) -> Floats:
        """OUT (m, features)."""
        ...

    def means(self, F: Floats, a: Floats) -> Floats:
        """The means over all rows; of what is not known of all, those of candidates F."""
        ...


class RowFeatures:
    """Of rows alone: leaves of random trees on the ranks, the values, and deciles."""

    about = f"leaves of {RANDOM_TREES} random trees of depth {DEPTH}, values and deciles"
    exact = 0
    candidates = 4096
    sampled: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        Z: Floats,
        a: Floats,
        columns: list[slice],
        rng: np.random.Generator,
    ) -> None:
        center = a @ Z
        scale = np.sqrt(a @ np.square(Z - center))
        self.Z = (Z - center) / np.where(scale > 0, scale, 1.0)
        self.a = a
        order = np.argsort(self.Z, axis=0)
        ranked = np.take_along_axis(self.Z, order, axis=0)
        reached = np.cumsum(a[order], axis=0)
        last = [np.minimum((reached < q).sum(axis=0), len(Z) - 1) for q in DECILES]
        self.deciles = np.array([ranked[i, np.arange(Z.shape[1])] for i in last])  # (9, d)
        picked = rng.integers(len(columns), size=(RANDOM_TREES, DEPTH))
        self.column = np.array(
            [[rng.integers(columns[c].start, columns[c].stop) for c in tree] for tree in picked]
        )
        self.threshold = self.Z[rng.choice(len(Z), size=self.column.shape, p=a), self.column]

    def of(self, numbers: Ints) -> Floats:
        """OUT (m, features)."""
        Z = self.Z[numbers]
        leaves = np.zeros((len(Z), RANDOM_TREES << DEPTH))
        np.put_along_axis(leaves, self._leaf(Z), 1.0, axis=1)
        return np.column_stack([leaves, self._below(Z), Z])

    def means(self, F: Floats, a: Floats) -> Floats:
        """Over all rows, a block at a time."""
        total: Floats = np.zeros(F.shape[1])
        for i in range(0, len(self.Z), BLOCK):
            Z, a = self.Z[i : i + BLOCK], self.a[i : i + BLOCK]
            leaf = self._leaf(Z)
            mass = np.bincount(leaf.ravel(), np.repeat(a, RANDOM_TREES), RANDOM_TREES << DEPTH)
            total += np.concatenate([mass, a @ self._below(Z), a @ Z])
        return total

    def _leaf(self, Z: Floats) -> Ints:
        """Which leaf of each tree, all trees' leaves counted through. OUT (m, trees)"""
        leaf = np.tile(np.arange(RANDOM_TREES) << DEPTH, (len(Z), 1))
        for i in range(DEPTH):
            leaf += (Z[:, self.column[:, i]] <= self.threshold[:, i]) << i
        return leaf

    def _below(self, Z: Floats) -> Floats:
        """1 where a value is at most a decile. OUT (m, 9 d)"""
        return (Z[:, None, :] <= self.deciles).reshape(len(Z), -1).astype(np.float64)


class TreeFeatures:
    """Contributions phi(x; y) of a model of trees against rows y, for some rows x."""

    candidates = 4096
    sampled: ClassVar[tuple[str, ...]] = ()

    def __init__(self, trees: ExactTrees, rows: Any, a: Floats, rng: np.random.Generator) -> None:
        self.trees = trees
        self.outputs = trees.outputs()
        self.exact = self.outputs.shape[1]
        phi_bytes = 8 * trees.trees.forest.n_features * self.exact * self.candidates
        explained = min(EXPLAINED, len(a), max(1, PAIR_BYTES // phi_bytes))
        self.about = f"the model's outputs and contributions of {explained} rows"
        self.X = take(rows, np.sort(rng.choice(len(a), explained, replace=False, p=a)))

    def of(self, numbers: Ints) -> Floats:
        """OUT (m, features)."""
        phi = self.trees.each(self.X, numbers)  # (x, m, features, outputs)
        return np.column_stack([self.outputs[numbers], *phi.reshape(*phi.shape[:2], -1)])

    def means(self, F: Floats, a: Floats) -> Floats:
        """Over all rows."""
        return np.concatenate([self.trees.base, self.trees(self.X).ravel()])


class GameFeatures:
    """Games f(x inside a coalition, y outside it) of rows y, for random rows x and coalitions."""

    candidates = 2000
    sampled: ClassVar[tuple[str, ...]] = ("the means of coalitions are those of the candidates",)

    def __init__(
        self, f: Function, rows: Any, a: Floats, n_rows: int, rng: np.random.Generator
    ) -> None:
        self.f, self.a = f, a
        self.pool = Pool(rows)
        n, d = rows.shape
        self.outputs = self._asked(np.tile(np.arange(n)[:, None], d))
        self.exact = self.outputs.shape[1]
        games = max(COALITIONS, 2 * n_rows) if d > 1 else 0
        self.about = f"the model's outputs and {games} coalitions"
        self.x = rng.choice(n, size=games, p=a)
        size = rng.integers(1, d, size=games) if games else np.empty(0, dtype=int)
        self.inside = np.argsort(rng.random((games, d)), axis=1) < size[:, None]

    def of(self, numbers: Ints) -> Floats:
        """OUT (m, features)."""
        games = [
            self._asked(np.where(inside, x, numbers[:, None]))
            for x, inside in zip(self.x, self.inside, strict=True)
        ]
        return np.column_stack([self.outputs[numbers], *games])

    def means(self, F: Floats, a: Floats) -> Floats:
        """Of the outputs over all rows; of the games over the candidates, and corrected.

        The correction is for what the candidates' outputs are off, by linear regression: without
        it a game that the outputs determine would contradict them.
        """
        known, found = self.a @ self.outputs, a @ F
        D = np.sqrt(a)[:, None] * (F - found)
        slope = np.linalg.lstsq(D[:, : self.exact], D[:, self.exact :])[0]
        off = found[: self.exact] - known
        return np.concatenate([known, found[self.exact :] - off @ slope])

    def _asked(self, numbers: Ints) -> Floats:
        """The outputs at rows that take each column from one of the rows. OUT (m, outputs)."""
        parts = [
            np.asarray(self.f(self.pool.rows(numbers[i : i + BATCH_ROWS])), dtype=np.float64)
            for i in range(0, len(numbers), BATCH_ROWS)
        ]
        return np.concatenate(parts).reshape(len(numbers), -1)
