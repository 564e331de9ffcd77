"""Where a fit starts: random rows, greedy k-means++, or atoms given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from emscoreset.ems import State
from emscoreset.kernels import Kernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Ints, Rows

# Starts are chosen from at most this many rows (or 16 an atom where that is more). Data that
# fit give the same start in any order of their rows, and with repeated rows for weights.
SEED_ROWS = 1 << 14
# One k-means++ looks at all of them, or at as many as keep its trials below so many
# multiplications, but at 8 an atom at least.
DRAW_WORK, DRAW_ROWS = 2e6, 8


def sample_rows(k: int) -> int:
    """How many rows a start of k atoms is chosen from, at most."""
    return max(SEED_ROWS, 16 * k)


class Distinct(ArraySource):
    """Distinct rows in canonical order."""


@dataclass(frozen=True)
class Seeds:
    """Where to start, or all distinct rows there are where they are no more than the atoms."""

    start: State
    rows: Rows | None = None  # the distinct rows as they are, with their masses


@dataclass(frozen=True)
class Candidates:
    """Distinct rows that starts are drawn from, in canonical order."""

    rows: Rows  # as they are
    near: Rows  # less the source's center
    kernel: Kernel

    def all_rows(self) -> State:
        """Every row an atom."""
        a = self.near.masses()
        return State(self.near.X.astype(np.float64), a / a.sum())

    def draw(self, k: int, init: str, rng: np.random.Generator, work: float = DRAW_WORK) -> State:
        """k of the rows, or all where there are fewer, with uniform weights.

        "k-means++" looks at fewer of them where k times the columns are many.
        """
        k = min(k, len(self.near.X))
        if init == "random":
            picks = weighted_draw(self.near, k, rng)
            return uniform(self.near.X[picks].astype(np.float64))
        rows = self._some(max(int(work / (k * self.near.X.shape[1])), DRAW_ROWS * k), rng)
        picks = plusplus(self.kernel, rows, k, rng)
        return uniform(rows.X[picks].astype(np.float64))

    def _some(self, m: int, rng: np.random.Generator) -> Rows:
        """At most m rows, half of them by mass, half by what they add to the variance.

        A row's new mass makes up for how likely it was drawn (a lightweight coreset: Bachem,
        Lucic and Krause, 2018): k-means++ must see the few rows that lie far away.
        """
        X, a = self.near.X, self.near.masses()
        if len(X) <= m:
            return self.near
        squares: Floats = np.einsum("ij,ij->i", X, X)  # type: ignore[arg-type]
        far = a * squares
        q = a / a.sum()
        if far.sum() > 0:  # it may underflow
            q = 0.5 * (q + far / far.sum())
        drawn = np.searchsorted(np.cumsum(q), (np.arange(m) + rng.random(m)) / m)
        index, counts = np.unique(np.minimum(drawn, len(X) - 1), return_counts=True)
        return Rows(X[index], counts * a[index] / q[index])


def seed(source: Source, k: int, init: str | ArrayLike, rng: np.random.Generator) -> Seeds:
    """k atoms relative to the source's center, with uniform weights.

    ``init`` is "k-means++" (greedy, by mass), "random" (rows drawn by mass) or k atoms.
    """
    if not isinstance(init, str):
        return Seeds(given(source, k, init))
    found = candidates(source, k, init, rng)
    if len(found.rows.X) <= k:
        return Seeds(found.all_rows(), found.rows)
    return Seeds(found.draw(k, init, rng))


def candidates(source: Source, k: int, init: str, rng: np.random.Generator) -> Candidates:
    """Rows to start k atoms from; all distinct ones where there are no more than k."""
    if init not in ("k-means++", "random"):
        raise ValueError(f'init must be "k-means++", "random" or an array of atoms, not {init!r}')
    rows = source.sample(sample_rows(k), rng)
    if not isinstance(source, Distinct):
        rows = canonical(rows)
    if len(rows.X) <= k:
        rows = _all_distinct(source, rows, k)
    kind = rows.X.dtype
    X = np.subtract(rows.X, source.center.astype(kind), dtype=kind)
    return Candidates(rows, Rows(X, rows.masses()), source.kernel)


def uniform(Y: Floats) -> State:
    """These atoms with equal weights."""
    return State(Y, np.full(len(Y), 1.0 / len(Y)))


def plusplus(kernel: Kernel, rows: Rows, k: int, rng: np.random.Generator) -> Ints:
    """Greedy k-means++ over distinct rows near the origin, with 2 + log k proposals a step."""
    first = int(weighted_draw(rows, 1, rng)[0])
    picks = kernel.plusplus(rows, first, rng.random((k - 1, 2 + int(np.log(k)))))
    # Fewer than k where the rest lie at no distance that a float can hold: any will do.
    if len(picks) < k:
        rest = np.setdiff1d(np.arange(len(rows.X)), picks)[: k - len(picks)]
        picks = np.concatenate([picks, rest])
    return picks


def weighted_draw(rows: Rows, k: int, rng: np.random.Generator) -> Ints:
    """k different rows, each drawn by its mass among those left."""
    a = rows.masses()
    return rng.choice(len(a), size=k, replace=False, p=a / a.sum())


def canonical(rows: Rows) -> Rows:
    """The distinct rows, in an order that only they decide, with added masses.

    What is drawn from the result does not depend on the order of the rows, nor on whether
    a row is repeated or weighted.
    """
    X = np.ascontiguousarray(rows.X) + rows.X.dtype.type(0)  # -0.0 becomes 0.0
    a, key = rows.masses(), _hashes(X)
    order = np.argsort(key)
    if _starts(key[order]).all():
        return Rows(X[order], a[order])
    by_mass = np.argsort(a, kind="stable")  # or the sums below would round by the rows' order
    order = by_mass[np.argsort(key[by_mass], kind="stable")]
    new = _starts(X[order])
    if new.sum() > _starts(key[order]).sum():  # different rows have one hash: order by bytes
        whole = X.view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
        order = by_mass[np.argsort(whole[by_mass], kind="stable")]
        new = _starts(X[order])
    starts = np.flatnonzero(new)
    return Rows(X[order[starts]], np.add.reduceat(a[order], starts))


def _starts(ordered: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which entries, or rows, are not equal to the one before."""
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=tuple(range(1, ordered.ndim)))
    return new


def _hashes(X: NDArray[np.generic]) -> NDArray[np.uint64]:
    """A number for each row: that of different rows differs, but for chances of 2^-33 at most."""
    words = X.view(np.uint32)
    drawn = np.random.default_rng(0).integers(1 << 63, size=words.shape[1], dtype=np.uint64)
    odd = 2 * np.asarray(drawn) + 1
    key = np.zeros(len(X), dtype=np.uint64)
    for j in range(words.shape[1]):
        key += words[:, j] * odd[j]
    return key


def _all_distinct(source: Source, rows: Rows, k: int) -> Rows:
    """All distinct rows of the source where there are at most k; else more than k of them."""
    if source.whole(sample_rows(k)) is not None:
        return rows  # the sample was everything
    found: Rows | None = None
    for block in source.blocks():
        keep = block.masses() > 0
        X = block.X[keep].astype(rows.X.dtype)
        a = block.masses()[keep]
        if found is not None:
            X, a = np.concatenate([found.X, X]), np.concatenate([found.masses(), a])
        found = canonical(Rows(X, a))
        if len(found.X) > k:
            break
    return found or rows


def given(source: Source, k: int, init: ArrayLike) -> State:
    """The user's atoms relative to the source's center, with uniform weights."""
    try:
        Y = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f'init must be "k-means++", "random" or an array of ({k}, {source.d}) numbers: {error}'
        ) from error
    if Y.shape != (k, source.d):
        raise ValueError(f"init must have shape ({k}, {source.d}), one row per atom, not {Y.shape}")
    if not np.isfinite(Y).all():
        raise ValueError("init must be finite: it holds NaN or infinity")
    return uniform(Y - source.center)
