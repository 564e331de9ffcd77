"""Moved atoms repair bad starts; which move follows the definition."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.ems import State
from emscoreset.search.passes import Passes
from emscoreset.search.relocate import cheapest, move, near_rows, relocate
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Want

CENTRES = 100.0 * np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), -1).reshape(16, 2)


def blobs(rng: np.random.Generator) -> np.ndarray:
    """Sixteen of 50 rows, a variance of 2 each."""
    return np.repeat(CENTRES, 50, axis=0) + rng.normal(size=(800, 2))


def moved_from(kernel, start: State, reg: float, X: np.ndarray, a=None, seed: int = 0):
    source = ArraySource(X, a, kernel=kernel)
    passes = Passes(source, len(start.w), 1000, None)
    first = passes.step(source, State(start.Y - source.center, start.w), reg)
    rng = np.random.default_rng(seed)
    return passes, relocate(passes, source, source, near_rows(source), first, rng, most_passes=900)


@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_atoms_that_all_start_in_one_blob_find_the_others(kernel, reg: float):
    X = blobs(np.random.default_rng(0))
    start = State(X[:16], np.full(16, 1 / 16))
    passes, found = moved_from(kernel, start, reg, X)
    assert passes.history[0].objective / 1000 > found.L
    hard = ((X[:, None] - found.state.Y - X.mean(axis=0)) ** 2).sum(-1).min(1).mean()
    assert hard < 2.5


def test_duplicates_and_dead_atoms_are_put_to_use(kernel):
    X = blobs(np.random.default_rng(0))
    Y = CENTRES.copy()
    Y[3:6], Y[7] = Y[0], 1e4  # three duplicates, one far from every row
    _, found = moved_from(kernel, State(Y, np.full(16, 1 / 16)), 0.0, X)
    assert pytest.approx(2.0, rel=0.1) == found.L


def test_rows_of_no_mass_attract_nothing(kernel):
    X = blobs(np.random.default_rng(0))
    a = np.repeat(np.arange(16) < 8, 50).astype(float)
    _, found = moved_from(kernel, State(X[:8], np.full(8, 1 / 8)), 0.0, X, a)
    assert pytest.approx(2.0, rel=0.1) == found.L


def test_a_move_that_does_not_pay_is_not_kept(kernel):
    X = blobs(np.random.default_rng(0))
    passes, found = moved_from(kernel, State(CENTRES, np.full(16, 1 / 16)), 0.0, X)
    assert passes.history[0].objective >= found.L
    assert not all(record.kept for record in passes.history)
    assert all(r.objective <= passes.history[0].objective for r in passes.history if r.kept)


def test_the_cheapest_are_removed_but_no_two_neighbours(kernel):
    """Atoms 0, 1 stand for one blob, 2, 3 for another that is wider: 0 or 1 goes, then 2 or 3."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 1)), 50 + 3 * rng.normal(size=(200, 1))])
    X = np.concatenate([X, 400 + rng.normal(size=(200, 1))])
    source = ArraySource(X, kernel=kernel)
    Y = np.array([[-1.0], [1.0], [47.0], [53.0], [400.0]]) - source.center
    want = Want.MOMENTS | Want.REMOVAL
    step = Passes(source, 5, 9, None).step(source, State(Y, np.full(5, 0.2)), 0.0, want=want)
    first, second = cheapest(step, 2)
    assert {first, second} in ({0, 2}, {0, 3}, {1, 2}, {1, 3})
    assert first in (0, 1)
    assert len(cheapest(step, 5)) == 3

    moved = move(step, step, 1, near_rows(source), kernel, np.random.default_rng(0))
    stay = np.isclose(moved.Y, Y).all(axis=1)
    assert stay.sum() == 3  # one atom moved, the one it halves stepped aside
    assert not stay[first]
    assert moved.w.sum() == pytest.approx(1.0)
    plain = Passes(source, 5, 9, None).step(source, State(Y, np.full(5, 0.2)), 0.0)
    with pytest.raises(ValueError, match=r"Want\.REMOVAL"):
        cheapest(plain, 1)
