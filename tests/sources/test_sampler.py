"""Rows from generators and distributions."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.ems import State, fit_ems
from emscoreset.search.seeding import seed
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import BlockSource, DrawSource

X = np.random.default_rng(0).normal(size=(1000, 3)) + 5.0
A = np.random.default_rng(1).integers(0, 3, size=1000).astype(float)


def blocks_of(size: int, weighted: bool = True):
    def make():
        for i in range(0, len(X), size):
            yield (X[i : i + size], A[i : i + size]) if weighted else X[i : i + size]

    return make


@pytest.mark.parametrize("size", [1, 64, 1000])
@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_blocks_fit_like_the_array(kernel, size, reg):
    whole = ArraySource(X, A, kernel=kernel)
    parts = BlockSource(blocks_of(size), kernel=kernel)
    assert parts.moments.mass == pytest.approx(A.sum())
    start = State(X[:5] - whole.center, np.full(5, 0.2))
    one, two = (fit_ems(source, start, reg, max_iter=5) for source in (whole, parts))
    np.testing.assert_allclose(two.Y + parts.center, one.Y + whole.center, atol=1e-8)
    np.testing.assert_allclose(two.N, one.N, atol=1e-9)
    assert two.distance.value == pytest.approx(one.distance.value)


def test_a_sample_that_holds_all_is_all(kernel):
    rows = BlockSource(blocks_of(70), kernel=kernel).sample(5000, np.random.default_rng(0))
    np.testing.assert_array_equal(rows.X, X[A > 0])
    np.testing.assert_allclose(rows.mass, A[A > 0])


def test_samples_are_unbiased_for_any_masses(kernel):
    heavy = np.ones(2000)
    heavy[:3] = 500.0
    rows = np.arange(2000.0)[:, None]

    def make():
        for i in range(0, 2000, 300):
            yield rows[i : i + 300], heavy[i : i + 300]

    source, rng = BlockSource(make, kernel=kernel), np.random.default_rng(0)
    totals = np.zeros(2000)
    for _ in range(100):
        sample = source.sample(100, rng)
        assert len(sample.X) == 100
        totals[sample.X[:, 0].astype(int)] += sample.masses()
    np.testing.assert_allclose(totals[:3] / 100, 500.0, rtol=1e-6)
    assert totals.sum() / 100 == pytest.approx(heavy.sum(), rel=0.02)


def test_seeding_works_on_blocks(kernel):
    source = BlockSource(blocks_of(100, weighted=False), kernel=kernel)
    start = seed(source, 10, "k-means++", np.random.default_rng(0)).start
    assert start.Y.shape == (10, 3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (iter([X]), TypeError, "starts a new walk"),
        (lambda: [], ValueError, "no row of positive weight"),
        (lambda: [(X, np.zeros(1000))], ValueError, "no row of positive weight"),
        (lambda: [X, X[:, :2]], ValueError, "block 1 has 2 columns, those before it have 3"),
    ],
)
def test_bad_blocks(kernel, make, error, message):
    with pytest.raises(error, match=message):
        _ = BlockSource(make, kernel=kernel).moments


def test_a_generator_that_is_spent_is_an_error_not_an_empty_pass(kernel):
    walk = iter([X])
    source = BlockSource(lambda: walk, kernel=kernel)
    with pytest.raises(ValueError, match="start a new walk"):
        _ = source.moments


def test_empty_blocks_are_passed_over(kernel):
    source = BlockSource(lambda: iter([X[:0], X[:600], X[:0], X[600:]]), kernel=kernel)
    assert source.moments.n == 1000


def test_a_walk_over_other_rows_is_an_error(kernel):
    lengths = iter([1000, 1000, 1000, 999])
    source = BlockSource(lambda: iter([X[: next(lengths)]]), kernel=kernel)
    with pytest.raises(ValueError, match="held 1000 rows on the first walk, now 999"):
        fit_ems(source, State(X[:5] - source.center, np.full(5, 0.2)), 0.1, tol=0)


def test_draws_that_are_no_numbers_are_named(kernel):
    def draw(m, rng):
        rows = rng.random((m, 3))
        rows[m // 2 :, 1] = np.nan if m > 1 else 0.0
        return rows

    with pytest.raises(ValueError, match=r"NaN or infinity in 5 row\(s\).*1 \(5\)"):
        _ = DrawSource(draw, kernel=kernel, rows_per_pass=10).moments


def test_the_population_form_finds_the_optimum_of_the_normal(kernel):
    """Two atoms for N(0, 1) at reg 0: +-sqrt(2/pi), and W_2^2 = 1 - 2/pi."""
    source = DrawSource(
        lambda m, rng: rng.standard_normal((m, 1)), kernel=kernel, rows_per_pass=200_000, seed=1
    )
    fit = fit_ems(source, State(np.array([[-1.5], [0.1]]), np.full(2, 0.5)), 0.0, tol=1e-4)
    where = np.sort((fit.Y + source.center)[:, 0])
    np.testing.assert_allclose(where, [-np.sqrt(2 / np.pi), np.sqrt(2 / np.pi)], atol=0.03)
    assert fit.distance.value == pytest.approx(1 - 2 / np.pi, abs=0.015)
    assert all(record.rows == 200_000 for record in fit.history)


def test_draws_repeat_with_their_seed(kernel):
    def make(seed: int) -> np.ndarray:
        source = DrawSource(lambda m, rng: rng.random((m, 2)), kernel=kernel, seed=seed)
        return source.moments.mean

    assert make(3).tolist() == make(3).tolist() != make(4).tolist()


def test_bad_draws(kernel):
    with pytest.raises(ValueError, match=r"draw\(1, rng\) must return 1 rows, not 7"):
        DrawSource(lambda m, rng: rng.random((7, 2)), kernel=kernel)
    with pytest.raises(ValueError, match="rows_per_pass"):
        DrawSource(lambda m, rng: rng.random((m, 2)), kernel=kernel, rows_per_pass=0)
