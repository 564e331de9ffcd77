"""Packed rows are the array of features that they stand for, and take a fraction of its memory."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.encode import Encoder
from emscoreset.kernels import Kernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.packed import PackedSource
from emscoreset.stats import Pass
from tables import every_type, plain_table


@pytest.mark.parametrize("missing", ["indicator", "impute"])
def test_they_are_the_features(missing):
    table = every_type()
    encoder = Encoder.fit(table.slice(0, 200), missing=missing).encoder  # not all labels seen
    packed, Z = encoder.pack(table, n_jobs=2), encoder.transform(table)
    assert packed.shape == Z.shape
    assert packed.dtype == Z.dtype
    np.testing.assert_array_equal(np.asarray(packed), Z)
    some = np.random.default_rng(0).integers(0, len(Z), 50)
    for rows in (some, slice(7, 90), slice(290, 400), some[:0]):
        np.testing.assert_array_equal(packed[rows], Z[rows])
        np.testing.assert_array_equal(packed.take(rows)[:], Z[rows])
    assert sum(part.nbytes for part in packed.parts) < Z.nbytes / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_a_source_of_them_is_that_of_the_array(kernel: Kernel, weighted: bool):
    table = plain_table()
    encoder = Encoder.fit(table).encoder
    a = np.random.default_rng(0).integers(0, 3, 400) if weighted else None
    packed = PackedSource(encoder.pack(table), a, kernel=kernel, block_bytes=20_000)
    array = ArraySource(encoder.transform(table), a, kernel=kernel)
    assert sum(1 for _ in packed.parts(5)) > 1
    Y = packed.X[:5].astype(np.float64) - array.center
    numbers = np.arange(0, 400, 3)
    for one, other in ((packed, array), (packed.subset(numbers), array.subset(numbers))):
        p = Pass(Y, np.zeros(5), 0.5, other.center)
        found, expected = one.run(p), other.run(p)
        for name in ("N", "S", "Q", "L"):
            x, y = getattr(found, name), getattr(expected, name)  # sums of float32, rounded
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5 * np.abs(y).max())
        np.testing.assert_allclose(one.moments.mean, other.moments.mean, atol=1e-5)
        assert one.moments.variance == pytest.approx(other.moments.variance)
        for m in (20, 400):
            few, same = (s.sample(m, np.random.default_rng(1)) for s in (one, other))
            np.testing.assert_array_equal(few.X, same.X)
            np.testing.assert_array_equal(few.masses(), same.masses())
