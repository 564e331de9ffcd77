"""What every kernel offers: one pass over a block of rows held in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from emscoreset.kernels import listing, settling
from emscoreset.lists import Flow, Lists, ListSums
from emscoreset.stats import Assignment, Floats, Ints, Pass, Rows, Stats


class Kernel(ABC):
    """Runs passes over rows in memory. Stateless but for its thread count, and thread-safe."""

    name: str

    @abstractmethod
    def reads(self, dtype: np.dtype[np.generic], strides: tuple[int, ...]) -> bool:
        """Whether such rows are read where they lie, in one call of any length, without a copy."""

    @abstractmethod
    def row_bytes(self, d: int, k: int) -> int:
        """Scratch memory that a pass takes for each row of a block."""

    @abstractmethod
    def stats(self, rows: Rows, p: Pass) -> Stats:
        """The sums of one pass; see `Stats`."""

    @abstractmethod
    def assign(self, rows: Rows, p: Pass) -> Assignment:
        """Each row's best atom (p.reg and p.want play no part)."""

    @abstractmethod
    def responsibilities(self, rows: Rows, p: Pass) -> Floats:
        """The plan's rows T_ij, as (n, k)."""

    @abstractmethod
    def plusplus(self, rows: Rows, first: int, uniforms: Floats) -> Ints:
        """Greedy k-means++ over rows near the origin, from row ``first`` on.

        ``uniforms`` (k - 1, trials) are the draws in [0, 1): step t proposes the rows at which
        the running sum of mass times squared distance to the nearest chosen row first exceeds
        uniforms[t] times its total, and takes the proposal that leaves the least total, the
        earliest of equals. Ends early, with fewer indices, once every row is chosen or
        equals a chosen one.
        """

    def candidates(self, rows: Rows, p: Pass, reach: float) -> Lists:
        """The atoms of each row whose h_j - C_ij is within ``reach`` of the row's best.

        A float type's rounding may add atoms, and drop none that is clearly in reach.
        """
        return listing.candidates(rows, p, reach)

    def list_sums(self, lists: Lists, h: Floats, eps: float, *, hessian: bool = False) -> ListSums:
        """The sums of a pass over lists at the offset h; one-hot at eps = 0."""
        return listing.list_sums(lists, h, eps, hessian=hessian)

    def settle(self, lists: Lists, h: Floats, w: Floats) -> Flow:
        """The cheapest plan within the lists whose atoms get exactly the masses w."""
        return settling.settle(lists, h, w)


def float_type(dtype: np.dtype[np.generic]) -> type[np.float32] | type[np.float64]:
    """The float type a column of this type is worked in: float32 where that holds it exactly."""
    return (
        np.float32 if dtype.newbyteorder("=") == np.float32 or dtype.itemsize <= 2 else np.float64
    )
