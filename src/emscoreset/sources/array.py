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

BLOCK_BYTES = 32 << 20  # scratch a pass may take for a block


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
        self.X = _checked(X)
        self.n, self.d = self.X.shape
        self.kernel = kernel
        self.block_bytes = block_bytes
        self._mass, self.unit = checked_masses(sample_weight, self.n)

    @cached_property
    def center(self) -> Floats:
        """The mean, rounded to what the rows' own type holds."""
        kind = float_type(self.X.dtype)
        return self.moments.mean.astype(kind).astype(np.float64)

    def run(self, p: Pass) -> Stats:
        """One pass, block by block."""
        whole = self.kernel.reads(self.X.dtype, self.X.strides)
        step = self.n if whole else self._block_rows(len(p.atoms))
        parts = (self.kernel.stats(rows, p) for rows in self._cut(step))
        total = next(parts)
        for part in parts:
            total = total + part
        return total

    def blocks(self) -> Iterator[Rows]:
        """All rows once, in order."""
        return self._cut(self._block_rows(1))

    def sample(self, m: int, rng: np.random.Generator) -> Rows:
        """At most m rows by mass, one from each m-th of the mass, in their order.

        All rows of positive mass where there are no more than m; else a row's new mass is
        how often it was drawn.
        """
        if self._mass is not None and self.n - np.count_nonzero(self._mass == 0) <= m:
            keep = np.flatnonzero(self._mass)
            return Rows(self._floats(keep), self._mass[keep])
        if self.n <= m:
            return Rows(self._floats(slice(None)), self._mass)
        u = (np.arange(m) + rng.random(m)) / m
        if self._mass is None:
            drawn = np.minimum((u * self.n).astype(np.intp), self.n - 1)
        else:
            cumulated = np.cumsum(self._mass)
            drawn = np.searchsorted(cumulated, u * cumulated[-1], side="right")
            drawn = np.minimum(drawn, np.searchsorted(cumulated, cumulated[-1]))
        index, counts = np.unique(drawn, return_counts=True)
        return Rows(self._floats(index), counts.astype(np.float64))

    def user_mass(self, stats: Stats) -> float:
        """The sum of the sample weights."""
        return stats.mass * self.unit

    def _floats(self, index: NDArray[np.intp] | slice) -> NDArray[np.generic]:
        return np.ascontiguousarray(self.X[index], dtype=float_type(self.X.dtype))

    def _block_rows(self, k: int) -> int:
        copied = self.d * np.dtype(float_type(self.X.dtype)).itemsize
        return max(1, self.block_bytes // (copied + self.kernel.row_bytes(self.d, k)))

    def _cut(self, step: int) -> Iterator[Rows]:
        kind = float_type(self.X.dtype)
        for i in range(0, self.n, step):
            X = self.X[i : i + step]
            if not self.kernel.reads(X.dtype, X.strides):
                X = np.ascontiguousarray(X, dtype=kind)
            yield Rows(X, None if self._mass is None else self._mass[i : i + step])


def _checked(X: ArrayLike) -> NDArray[np.generic]:
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


def checked_masses(sample_weight: ArrayLike | None, n: int) -> tuple[Floats | None, float]:
    """The masses scaled to a mean of 1 over the positive ones, and the unit they were cut by."""
    if sample_weight is None:
        return None, 1.0
    a = np.asarray(sample_weight, dtype=np.float64)
    if a.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), one per row, not {a.shape}")
    for wrong, what in ((~np.isfinite(a), "NaN or infinite"), (a < 0, "negative")):
        if wrong.any():
            raise ValueError(
                f"sample_weight must be finite and >= 0; {wrong.sum()} of {n} are {what}, "
                f"the first at row {int(wrong.argmax())}"
            )
    if not (a > 0).any():
        raise ValueError("sample_weight is zero for every row: at least one must be positive")
    peak = float(a.max())
    unit = peak * float((a / peak).sum()) / np.count_nonzero(a)  # no overflow on the way
    return a / unit, unit
