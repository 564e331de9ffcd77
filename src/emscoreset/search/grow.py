"""A shuffled sample of the rows, cut to growing lengths: most of a descent needs no more.

The atoms that are best for m rows cost all rows about k / m of the objective more than the
best do. Until a pass lowers the objective by less than a part of that, more rows would tell
nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from emscoreset.search.seeding import sample_rows
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Rows

MOST_BYTES = 64 << 20  # a sample takes no more memory than this, but for its first length
NOISE = 0.1  # the part of k / m
MOST_SHARE = 0.25  # of the rows, and half of them where the shortest sample is that long


class Sample(ArraySource):
    """Rows drawn from another source, relative to the same center."""

    def __init__(self, rows: Rows, source: Source) -> None:
        super().__init__(rows.X, rows.mass, kernel=source.kernel)
        self.center = source.center
        self.moments = replace(source.moments, n=self.n)


def samples(source: Source, k: int, rng: np.random.Generator) -> Iterator[Sample]:
    """Samples of the rows, each the first half of the next; none where the rows are few."""
    n, first = source.moments.n, sample_rows(k)
    if 2 * first > n:
        return
    most = max(first, min(int(MOST_SHARE * n), MOST_BYTES // (8 * source.d)))
    doublings = round(np.log2(most / first))
    rows = source.sample(most, rng)
    order = rng.permutation(len(rows.X))
    X, a = rows.X[order], rows.masses()[order]
    del rows, order
    for i in range(doublings, -1, -1):
        m = len(X) >> i
        yield Sample(Rows(X[:m], a[:m]), source)


def noise(k: int, sample: Sample) -> float:
    """The fall, as a part of the objective, at which a sample of so many rows is used up."""
    return NOISE * k / sample.n
