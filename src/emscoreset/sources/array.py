"""Rows in an array: in memory or memory-mapped, of any real type and layout."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from emscoreset.kernels import Kernel
from emscoreset.kernels.base import float_type
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Rows, Stats

BLOCK_BYTES = 16 << 20  # scratch a pass may take for a block


class ArraySource(Source):
    """Rows of a 2-d array with optional masses; nothing is copied but a block at a time."""

    n: int

    def __init__(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        kernel: Kernel,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.X = self.held(X)
        self.n, self.d = self.X.shape
        self.kernel = kernel
        self.block_bytes = block_bytes
        self._mass, self.unit = checked_masses(sample_weight, self.n)

    @staticmethod
    def held(X: ArrayLike) -> NDArray[np.generic]:
        """X as an array of at least one row and column of real numbers; a memory map stays one."""
        array = np.asanyarray(X)
        if array.dtype.kind not in "bfiu":
            raise ValueError(
                f"X must hold real numbers, not {array.dtype}; "
                "emscoreset.compress takes tables with text, dates and categories"
            )
        if array.ndim != 2:
            raise ValueError(f"X must be 2-d, rows by columns, not of shape {array.shape}")
        if 0 in array.shape:
            raise ValueError(f"X needs at least one row and one column, not shape {array.shape}")
        return array

    @cached_property
    def center(self) -> Floats:
        """The mean, rounded to what the rows' own type holds."""
        kind = float_type(self.X.dtype)
        return self.moments.mean.astype(kind).astype(np.float64)

    def run(self, p: Pass) -> Stats:
        """One pass, block by block."""
        parts = (self.kernel.stats(rows, p) for rows in self.parts(len(p.atoms)))
        total = next(parts)
        for part in parts:
            total = total + part
        return total

    def blocks(self, k: int = 1) -> Iterator[Rows]:
        """All rows once, in order, in blocks that suit work with k atoms."""
        copied = self.d * np.dtype(float_type(self.X.dtype)).itemsize
        row = copied + self.kernel.row_bytes(self.d, k)
        return self._cut(max(1, self.block_bytes // row))

    def parts(self, k: int) -> Iterator[Rows]:
        """All rows at once where the kernel reads them as they are, else in blocks."""
        at_once = self.kernel.reads(self.X.dtype, self.X.strides)
        return self._cut(self.n) if at_once else self.blocks(k)

    def whole(self, m: int) -> Rows | None:
        """All rows of positive mass where there are no more than m."""
        if self._mass is None:
            return Rows(self._floats(slice(None))) if self.n <= m else None
        if np.count_nonzero(self._mass) > m:
            return None
        keep = np.flatnonzero(self._mass)
        return Rows(self._floats(keep), self._mass[keep])

    def sample(self, m: int, rng: np.random.Generator) -> Rows:
        """At most m rows by mass, one from each m-th of the mass, in their order.

        All rows of positive mass where there are no more than m; else a row's new mass is
        how often it was drawn.
        """
        rows = self.whole(m)
        if rows is not None:
            return rows
        u = (np.arange(m) + rng.random(m)) / m
        if self._mass is None:
            drawn = np.minimum((u * self.n).astype(np.intp), self.n - 1)
        else:
            cumulated = np.cumsum(self._mass)
            drawn = np.searchsorted(cumulated, u * cumulated[-1], side="right")
            drawn = np.minimum(drawn, np.searchsorted(cumulated, cumulated[-1]))
        index, counts = np.unique(drawn, return_counts=True)
        return Rows(self._floats(index), counts.astype(np.float64))

    def subset(self, numbers: NDArray[np.intp]) -> ArraySource:
        """These rows with their masses, copied."""
        mass = None if self._mass is None else self._mass[numbers] * self.unit
        rows = self._floats(numbers)
        return ArraySource(rows, mass, kernel=self.kernel, block_bytes=self.block_bytes)

    def user_mass(self, stats: Stats) -> float:
        """The sum of the sample weights."""
        return stats.mass * self.unit

    def _floats(self, index: NDArray[np.intp] | slice) -> NDArray[np.generic]:
        return np.ascontiguousarray(self.X[index], dtype=float_type(self.X.dtype))

    def _cut(self, step: int) -> Iterator[Rows]:
        kind = float_type(self.X.dtype)
        for i in range(0, self.n, step):
            X = self.X[i : i + step]
            if not self.kernel.reads(X.dtype, X.strides):
                X = np.ascontiguousarray(X, dtype=kind)
            yield Rows(X, None if self._mass is None else self._mass[i : i + step])


def checked_masses(
    sample_weight: ArrayLike | None, n: int, name: str = "sample_weight"
) -> tuple[Floats | None, float]:
    """The masses scaled to a mean near 1 over the positive ones, and the unit they were cut by.

    The unit is a power of two, so that nothing is rounded: whole weights and repeated rows
    stay the same numbers.
    """
    if sample_weight is None:
        return None, 1.0
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "bfiuO":
        raise ValueError(f"{name} must hold real numbers, not {given.dtype}")
    try:
        a = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}") from error
    if a.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one per row, not {a.shape}")
    for wrong, what in ((~np.isfinite(a), "NaN or infinite"), (a < 0, "negative")):
        if wrong.any():
            raise ValueError(
                f"{name} must be finite and >= 0; {wrong.sum()} of {n} are {what}, "
                f"the first at row {int(wrong.argmax())}"
            )
    if not (a > 0).any():
        raise ValueError(f"{name} is zero for every row: at least one must be positive")
    peak = int(np.frexp(a.max())[1])
    mean = float(np.ldexp(a, -peak).sum()) / np.count_nonzero(a)  # no overflow on the way
    exponent = peak + int(np.frexp(mean)[1]) - 1
    scaled, unit = np.ldexp(a, -exponent), float(np.ldexp(1.0, exponent))
    if not np.isfinite(float(scaled.sum()) * unit):
        raise ValueError(f"{name} sums to more than float64 holds: divide all by the largest")
    return scaled, unit
