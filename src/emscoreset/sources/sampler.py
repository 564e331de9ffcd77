"""Rows that are made rather than kept: blocks from a generator, or draws from a distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from emscoreset.kernels import Kernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source, refuse_out_of_range
from emscoreset.stats import Pass, Rows, Stats

Block = ArrayLike | tuple[ArrayLike, ArrayLike]


class BlockSource(Source):
    """Rows in blocks: ``make()`` starts a new walk over the same blocks, once per pass.

    A block is an array (rows, d), or a pair of one and its rows' weights; it may be empty.
    """

    def __init__(self, make: Callable[[], Iterable[Block]], *, kernel: Kernel) -> None:
        if not callable(make):
            raise TypeError(
                "blocks must come from a function that starts a new walk over them "
                f"(each pass needs one), not from {type(make).__name__}; "
                "wrap it: BlockSource(lambda: ...)"
            )
        self.kernel = kernel
        self.n = None
        self._make = make
        self.d = next(self._parts()).d

    def _parts(self) -> Iterator[ArraySource]:
        """Each block that has mass, as a source of its own."""
        d = count = 0
        for number, block in enumerate(self._make()):
            X, weight = block if isinstance(block, tuple) else (block, None)
            if np.shape(X)[:1] == (0,) or (weight is not None and not np.any(np.asarray(weight))):
                continue
            part = ArraySource(X, weight, kernel=self.kernel)
            if count and part.d != d:
                raise ValueError(f"block {number} has {part.d} columns, those before it have {d}")
            d, count = part.d, count + 1
            yield part
        if count == 0:
            raise ValueError(
                "the blocks hold no row of positive weight; "
                "each call of the function must start a new walk over them"
            )

    def run(self, p: Pass) -> Stats:
        """One pass over a new walk, which must be over as many rows as the first."""
        stats = reduce(Stats.__add__, (part.run(p).times(part.unit) for part in self._parts()))
        if "moments" in vars(self) and stats.n != self.moments.n:
            raise ValueError(
                f"the blocks held {self.moments.n} rows on the first walk, now {stats.n}: "
                "each call of the function must walk over the same rows"
            )
        return stats

    def blocks(self) -> Iterator[Rows]:
        """All rows once, in the order in which they come."""
        for part in self._parts():
            for rows in part.blocks():
                yield Rows(rows.X, rows.masses() * part.unit)

    def sample(self, m: int, rng: np.random.Generator) -> Rows:
        """At most m rows from one walk, by priority sampling: unbiased for any masses.

        A row of mass a and a uniform draw u has the key u / a; the m smallest stay, and with
        t the next key a row that stays gets the mass max(a, 1 / t).
        """
        X, mass, key = [], [], []
        held, bar = 0, np.inf
        for rows in self.blocks():
            a = rows.masses()
            keys = rng.random(len(a)) / np.where(a > 0, a, np.nan)
            keep = keys < bar  # False for mass 0
            X.append(np.asarray(rows.X)[keep])
            mass.append(a[keep])
            key.append(keys[keep])
            held += int(keep.sum())
            if held > 4 * m:
                bar = float(np.partition(np.concatenate(key), m)[m])
                for i, part in enumerate(key):
                    stay = part <= bar
                    X[i], mass[i], key[i] = X[i][stay], mass[i][stay], part[stay]
                held = m + 1
        keys, a = np.concatenate(key), np.concatenate(mass)
        if len(keys) <= m:
            return Rows(np.concatenate(X), a)
        bar = float(np.partition(keys, m)[m])
        stay = keys < bar
        return Rows(np.concatenate(X)[stay], np.maximum(a[stay], 1.0 / bar))


class DrawSource(Source):
    """Independent draws from a distribution: the population form of Algorithm 1.

    Every pass reads ``rows_per_pass`` new rows of ``draw(m, rng)``, so the objective carries
    the noise of that many rows, and a fit ends where its falls sink into it. The distance is
    exact for the rows of the last pass. The same seed gives the same sequence of passes.
    """

    steady = False

    def __init__(
        self,
        draw: Callable[[int, np.random.Generator], ArrayLike],
        *,
        kernel: Kernel,
        rows_per_pass: int = 1 << 16,
        seed: int = 0,
    ) -> None:
        if rows_per_pass < 1:
            raise ValueError(f"rows_per_pass must be at least 1, not {rows_per_pass}")
        self.kernel = kernel
        self.n = None
        self.rows_per_pass = rows_per_pass
        self._draw = draw
        self._rng = np.random.default_rng(seed)
        self.d = self._source(1).d

    def _source(self, m: int) -> ArraySource:
        source = ArraySource(self._draw(m, self._rng), kernel=self.kernel)
        if source.n != m:
            raise ValueError(f"draw({m}, rng) must return {m} rows, not {source.n}")
        if source.X.dtype.kind == "f":
            refuse_out_of_range(lambda: [source.X], ())
        return source

    def run(self, p: Pass) -> Stats:
        """One pass over new rows."""
        return self._source(self.rows_per_pass).run(p)

    def blocks(self) -> Iterator[Rows]:
        """One pass's worth of new rows."""
        return self._source(self.rows_per_pass).blocks()

    def fixed(self) -> ArraySource:
        """The rows of one pass, kept."""
        return self._source(self.rows_per_pass)

    def sample(self, m: int, rng: np.random.Generator) -> Rows:
        """New rows, m of them; ``rng`` draws them."""
        return next(ArraySource(self._draw(m, rng), kernel=self.kernel).blocks())
