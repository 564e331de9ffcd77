"""Encoded rows kept small: one number or code for each column, written out when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.encode.columns import Block, Column


@dataclass(frozen=True)
class Packed:
    """The features of n rows, in a fraction of an array's memory; indexed by rows like one."""

    columns: tuple[Column, ...]  # those with features
    parts: tuple[NDArray[Any], ...]  # what each packed: (n,)
    n: int

    dtype = np.dtype(np.float32)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where each column's features begin, and where the last one's end."""
        widths = (len(column.features) for column in self.columns)
        return tuple(np.cumsum([0, *widths]).tolist())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.n, self.ends[-1]

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> Block:
        """The features of some rows. OUT (b, d)."""
        some = self.take(rows)
        out = np.zeros(some.shape, self.dtype)
        for column, part, at in zip(self.columns, some.parts, self.ends[:-1], strict=True):
            column.spread(part, out, at)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them."""
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def take(self, rows: NDArray[np.intp] | slice) -> Packed:
        """Some rows, packed."""
        n = len(range(self.n)[rows]) if isinstance(rows, slice) else len(rows)
        return Packed(self.columns, tuple(part[rows] for part in self.parts), n)
