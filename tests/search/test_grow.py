"""Samples: halves of each other, by mass, around the center of all rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from emscoreset.search.grow import Sample, noise, samples
from emscoreset.search.seeding import SEED_ROWS
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import BlockSource

N = 10 * SEED_ROWS


def rows(n: int = N) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 2)) + 5.0


def test_each_sample_is_the_first_half_of_the_next(kernel):
    source = ArraySource(rows(), kernel=kernel)
    found = list(samples(source, 10, np.random.default_rng(1)))
    assert [round(s.n / SEED_ROWS, 1) for s in found] == pytest.approx([1.25, 2.5], rel=0.1)
    for small, large in pairwise(found):
        assert isinstance(small, Sample)
        np.testing.assert_array_equal(large.X[: small.n], small.X)
        np.testing.assert_array_equal(small.center, source.center)
        assert noise(10, large) < noise(10, small)


def test_few_rows_have_no_sample(kernel):
    source = ArraySource(rows(2 * SEED_ROWS - 1), kernel=kernel)
    assert not list(samples(source, 10, np.random.default_rng(0)))


@pytest.mark.parametrize("blocks", [False, True])
def test_samples_are_drawn_by_mass(kernel, blocks: bool):
    X = rows()
    a = np.where(X[:, 0] > 5.0, 9.0, 1.0)
    if blocks:
        parts = [slice(i, i + 10000) for i in range(0, N, 10000)]
        source = BlockSource(lambda: ((X[p], a[p]) for p in parts), kernel=kernel)
    else:
        source = ArraySource(X, a, kernel=kernel)
    first = next(iter(samples(source, 10, np.random.default_rng(1))))
    mass = np.concatenate([block.masses() for block in first.blocks()])
    share = mass[first.X[:, 0] > 5.0].sum() / mass.sum()
    assert share == pytest.approx(0.9, abs=0.01)
