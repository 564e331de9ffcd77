"""Rows of a table, packed: each pass writes their features out, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from emscoreset.encode.packed import Packed
from emscoreset.kernels import Kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Rows

BLOCK_BYTES = 8 << 20  # there are two blocks at a time: the next is written beside the last


class PackedSource(ArraySource):
    """What `ArraySource` is to the encoded rows, without an array of all of them."""

    X: Packed  # type: ignore[assignment]  # indexed by rows like an array

    def __init__(
        self,
        X: Packed,
        sample_weight: ArrayLike | None = None,
        *,
        kernel: Kernel,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(X, sample_weight, kernel=kernel, block_bytes=block_bytes)

    @staticmethod
    def held(X: Any) -> Any:
        """The rows as they are."""
        return X

    def parts(self, k: int) -> Iterator[Rows]:
        """All rows once, in blocks: there is no array that a kernel could read."""
        return self.blocks(k)

    def subset(self, numbers: NDArray[np.intp]) -> PackedSource:
        """These rows with their masses, copied."""
        mass = None if self._mass is None else self._mass[numbers] * self.unit
        rows = self.X.take(numbers)
        return PackedSource(rows, mass, kernel=self.kernel, block_bytes=self.block_bytes)
