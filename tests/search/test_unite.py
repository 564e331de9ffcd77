"""Two solutions together are better than each; atoms too many go where they are missed least."""

from __future__ import annotations

import math

import numpy as np
import pytest

from emscoreset.ems import State
from emscoreset.search.passes import Passes, heaviest
from emscoreset.search.seeding import seed, uniform
from emscoreset.search.unite import PATIENT, QUICK, Solution, prune, settle, unite
from emscoreset.sources.array import ArraySource

CENTRES = 100.0 * np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), -1).reshape(16, 2)
X = np.repeat(CENTRES, 50, axis=0) + np.random.default_rng(0).normal(size=(800, 2))


def search(kernel, X=X, k=16, max_iter=1000):
    source = ArraySource(X, kernel=kernel)
    return source, Passes(source, k, max_iter, None)


@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_two_halves_of_an_optimum_make_it_whole(kernel, reg: float):
    """Each solution has one atom for every blob on its own side and one for all others."""
    source, passes = search(kernel)
    sides = CENTRES[:, 0] < 150, CENTRES[:, 0] > 150
    found = []
    for side in sides:
        spread = CENTRES[side] + np.array([[0.5, 0.0]])
        Y = np.concatenate([spread, spread + 0.5]) - source.center  # twice on this side
        found.append(settle(passes, source, uniform(Y), reg))
    best = unite(passes, source, source, found[0], found[1], reg)
    assert len(best.state.w) == 16
    assert best.L < 0.01 * min(found).L
    hard = settle(passes, source, best.state, 0.0)
    assert pytest.approx(2.0, rel=0.1) == hard.L


def test_a_union_that_is_no_better_is_not_taken(kernel):
    source, passes = search(kernel)
    best = settle(passes, source, uniform(CENTRES - source.center), 0.0)
    bad = settle(passes, source, uniform(X[:16] - source.center), 0.0)
    assert unite(passes, source, source, best, bad, 0.0).L <= best.L


@pytest.mark.parametrize("pace", [QUICK, PATIENT])
@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_twice_the_atoms_pruned_beat_a_plain_start(kernel, reg: float, pace):
    rows = np.random.default_rng(1).standard_t(3, size=(1500, 3))
    gained = []
    for number in range(5):
        source, passes = search(kernel, rows, 30)
        rng = np.random.default_rng(number)
        twice = seed(source, 60, "k-means++", rng).start
        once = seed(source, 30, "k-means++", rng).start
        pruned = prune(passes, source, source, twice, 30, reg, pace)
        assert len(pruned.state.w) == 30
        gained.append(settle(passes, source, once, reg).L - pruned.L)
    assert np.mean(gained) > 0


def test_out_of_passes_the_heaviest_stay(kernel):
    source, passes = search(kernel, max_iter=-1)
    w = np.arange(32.0) + 1
    state = State(np.repeat(CENTRES, 2, axis=0), w / w.sum())
    found = prune(passes, source, source, state, 16, 0.0, QUICK)
    assert math.inf == found.L
    np.testing.assert_array_equal(found.state.Y, state.Y[16:])
    assert not passes.history
    assert heaviest(state, 32) is state


def test_the_lower_objective_is_the_better_solution():
    one, two = (Solution(L, uniform(np.zeros((1, 1)))) for L in (1.0, 2.0))
    assert min(two, one) is one
