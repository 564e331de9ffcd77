"""Cooling: from a start that misses whole groups to one that does not, and back to reg."""

from __future__ import annotations

import numpy as np

from emscoreset.search.anneal import COOLING, anneal
from emscoreset.search.passes import Passes
from emscoreset.search.seeding import seed
from emscoreset.search.unite import settle
from emscoreset.sources.array import ArraySource


def test_temperatures_fall_to_the_fits_own(kernel):
    X = np.random.default_rng(0).normal(size=(500, 3))
    source = ArraySource(X, kernel=kernel)
    passes = Passes(source, 8, 1000, None)
    start = seed(source, 8, "k-means++", np.random.default_rng(0)).start
    state = anneal(passes, source, start, 0.1)
    regs = [record.reg for record in passes.history]
    assert regs[0] == 0.0  # the hard cost, which sets the scale
    assert all(reg > 0.1 for reg in regs[1:])
    np.testing.assert_allclose(np.unique(np.diff(np.log(regs[1:])).round(9))[0], np.log(COOLING))
    assert state.w.tolist() == [1 / 8] * 8


def test_it_keeps_what_the_start_found_on_clustered_data(kernel):
    centres = np.random.default_rng(0).uniform(-50, 50, (12, 3))
    X = np.repeat(centres, 40, axis=0) + np.random.default_rng(1).normal(size=(480, 3))
    source = ArraySource(X, kernel=kernel)
    for number in range(3):
        passes = Passes(source, 24, 1000, None)
        start = seed(source, 24, "k-means++", np.random.default_rng(number)).start
        cooled = settle(passes, source, anneal(passes, source, start, 0.0), 0.0)
        assert cooled.L < 3.0  # the variance in a blob is 3


def test_no_pass_beyond_those_allowed(kernel):
    X = np.random.default_rng(0).normal(size=(50, 2))
    source = ArraySource(X, kernel=kernel)
    start = seed(source, 5, "k-means++", np.random.default_rng(0)).start
    for allowed in (-1, 0, 3):
        passes = Passes(source, 5, allowed, None)
        anneal(passes, source, start, 0.0)
        assert len(passes.history) == allowed + 1
