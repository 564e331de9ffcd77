"""What the EM loop needs to know of the data: one pass, a sample, a first look."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.kernels import Kernel
from emscoreset.kernels.base import float_type
from emscoreset.lists import Lists, joined
from emscoreset.stats import Floats, Pass, Rows, Stats


@dataclass(frozen=True)
class Moments:
    """The first look at the data."""

    n: int  # rows
    mass: float  # the sum of the rows' masses, as the user gave them
    mean: Floats  # (d,)
    variance: float  # mean squared distance to the mean


class Source(ABC):
    """Rows, wherever they lie. Masses may be scaled inside; ``Moments.mass`` is the user's."""

    n: int | None  # None where it is not known before the first pass, or has no meaning
    d: int
    kernel: Kernel
    steady = True  # whether every pass reads the same rows

    @abstractmethod
    def run(self, p: Pass) -> Stats:
        """One pass: fixed blocks, merged in order."""

    @abstractmethod
    def blocks(self) -> Iterator[Rows]:
        """All rows once, in order, a block at a time."""

    @abstractmethod
    def sample(self, m: int, rng: np.random.Generator) -> Rows:
        """At most m rows drawn by mass; all of them where there are no more than m."""

    def whole(self, m: int) -> Rows | None:
        """All rows of positive mass where they are known to be no more than m; else None."""
        return None

    @cached_property
    def center(self) -> Floats:
        """What passes subtract from every row: the mean, in the rows' own precision."""
        return self.moments.mean

    @cached_property
    def moments(self) -> Moments:
        """Rows, mass, mean and variance, from one pass with a single atom at the first row."""
        first = next(self.blocks()).X[0].astype(np.float64)
        p = Pass(
            atoms=np.zeros((1, self.d)),
            offset=np.zeros(1),
            reg=0.0,
            center=np.where(np.isfinite(first), first, 0.0),
        )
        with np.errstate(invalid="ignore", over="ignore"):
            stats = self.run(p)  # what is not finite shows in the sums
        S, Q = stats.moments()
        self._refuse_non_finite(S[0], float(Q[0]), stats.mass)
        shift = S[0] / stats.mass
        variance = max(float(Q[0]) / stats.mass - float(shift @ shift), 0.0)
        return Moments(
            n=stats.n, mass=self.user_mass(stats), mean=p.center + shift, variance=variance
        )

    def fixed(self) -> Source:
        """A source with the same rows in every pass: this, unless passes read new ones."""
        return self

    def lists(self, p: Pass, reach: float) -> Lists:
        """Candidate lists for all rows, their masses summing to 1."""
        parts = [self.kernel.candidates(rows, p, reach) for rows in self.parts(len(p.atoms))]
        return joined(parts).shares()

    def parts(self, k: int) -> Iterator[Rows]:
        """All rows once, in order, in parts that a kernel takes in one call with k atoms."""
        return self.blocks()

    def user_mass(self, stats: Stats) -> float:
        """The rows' mass as the user gave it."""
        return stats.mass

    def _refuse_non_finite(self, S: Floats, Q: float, mass: float) -> None:
        if not mass > 0:
            raise ValueError("the rows' weights sum to zero: at least one must be positive")
        if np.isfinite(Q) and np.isfinite(S).all():
            return
        refuse_non_finite(rows.X for rows in self.blocks())
        raise ValueError(TOO_LARGE)


TOO_LARGE = (
    "X holds numbers so large that their squares overflow; "
    "scale the columns, or pass float64 instead of float32"
)


def refuse_out_of_range(blocks: Callable[[], Iterable[NDArray[Any]]], names: Sequence[str]) -> None:
    """Refuse rows with NaN, infinity, or numbers that no kernel can square."""
    for X in blocks():
        # Distances between rows stay well below what the kernels' float types hold.
        squares = 1e35 if float_type(X.dtype) is np.float32 else 1e298
        limit = np.sqrt(squares / X.shape[1])
        with np.errstate(invalid="ignore"):
            fine = X.min() >= -limit and X.max() <= limit  # false for NaN
        if not fine:
            refuse_non_finite(blocks(), names)
            raise ValueError(TOO_LARGE)


def refuse_non_finite(blocks: Iterable[NDArray[np.generic]], names: Sequence[str] = ()) -> None:
    """Name the columns and count the rows that hold NaN or infinity, where there are any."""
    bad: NDArray[np.intp] | None = None
    rows = 0
    for X in blocks:
        finite = np.isfinite(X)
        if finite.all():
            continue
        wrong = (~finite).sum(axis=0)
        bad = wrong if bad is None else bad + wrong
        rows += int((~finite).any(axis=1).sum())
    if bad is None:
        return
    columns = np.flatnonzero(bad)
    named = ", ".join(f"{names[j] if len(names) else j} ({bad[j]})" for j in columns[:10])
    more = ", ..." if len(columns) > 10 else ""
    raise ValueError(
        f"X contains NaN or infinity in {rows} row(s); columns (how often): {named}{more}. "
        "Drop those rows or fill the gaps first; "
        "emscoreset.compress(..., missing=...) does either"
    )
