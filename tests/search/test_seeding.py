"""Starts: drawn by mass, the same for any order of the rows, never twice the same row."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.search import seeding
from emscoreset.search.seeding import canonical, plusplus, seed, weighted_draw
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Rows
from oracles import costs

X = np.random.default_rng(0).normal(size=(300, 4)) * 3 + 10


def start(kernel, X, a=None, init="k-means++", k=20, rng=0):
    source = ArraySource(X, a, kernel=kernel)
    return seed(source, k, init, np.random.default_rng(rng)).start.Y + source.center


@pytest.mark.parametrize("init", ["k-means++", "random"])
class TestStarts:
    def test_are_different_rows_of_the_data(self, kernel, init):
        Y = start(kernel, X, init=init)
        C = costs(Y, X)
        nearest = C.argmin(axis=1)
        np.testing.assert_allclose(C.min(axis=1), 0.0, atol=1e-20)
        assert len(set(nearest.tolist())) == 20

    def test_do_not_depend_on_order_or_repetition(self, kernel, init):
        a = np.random.default_rng(1).integers(0, 4, size=300)
        expected = start(kernel, X, a, init)
        shuffled = np.random.default_rng(2).permutation(300)
        np.testing.assert_allclose(start(kernel, X[shuffled], a[shuffled], init), expected)
        repeated = np.repeat(X, a, axis=0)
        np.testing.assert_allclose(start(kernel, repeated, None, init), expected)
        np.testing.assert_allclose(start(kernel, repeated[::-1], None, init), expected)

    def test_the_seed_decides(self, kernel, init):
        one, two, other = (start(kernel, X, init=init, rng=r) for r in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_never_a_row_of_weight_zero(self, kernel, init):
        a = (np.arange(300) < 25).astype(float)
        Y = start(kernel, X, a, init)
        assert costs(Y, X[:25]).min(axis=1).max() < 1e-20

    def test_few_distinct_rows_come_back_as_they_are(self, kernel, init):
        few = np.repeat(X[:5] * 1e6, [1, 2, 3, 4, 5], axis=0)
        seeds = seed(ArraySource(few, kernel=kernel), 20, init, np.random.default_rng(0))
        assert {tuple(row) for row in seeds.rows.X} == {tuple(row) for row in X[:5] * 1e6}
        assert sorted((seeds.start.w * 15).round(9)) == [1, 2, 3, 4, 5]

    def test_few_distinct_rows_among_very_many(self, kernel, init):
        many = np.random.default_rng(0).integers(0, 2, size=(40000, 3)).astype(np.int8)
        seeds = seed(ArraySource(many, kernel=kernel), 8, init, np.random.default_rng(0))
        assert len(seeds.rows.X) == 8
        assert seeds.start.w.sum() == pytest.approx(1.0)
        counts = {tuple(r): c for r, c in zip(seeds.rows.X, seeds.rows.mass, strict=True)}
        assert counts[(0, 0, 0)] == (many.sum(axis=1) == 0).sum()

    def test_a_rare_row_outside_the_sample_is_found_before_giving_up(self, kernel, init):
        many = np.zeros((40000, 1))
        many[1::2] = 1.0
        many[12345] = 7.0
        found = seed(ArraySource(many, kernel=kernel), 3, init, np.random.default_rng(0))
        assert sorted(found.rows.X[:, 0]) == [0.0, 1.0, 7.0]


def test_plusplus_spreads_better_than_random(kernel):
    blobs = np.repeat(np.eye(20) * 100, 10, axis=0)
    blobs = blobs + np.random.default_rng(0).normal(size=blobs.shape)
    Y = start(kernel, blobs)
    assert costs(blobs, Y).min(axis=1).max() < 200  # every blob has an atom


def test_plusplus_takes_the_best_proposal(kernel):
    """Against the definition, step by step."""
    rows = Rows(X - X.mean(axis=0), np.random.default_rng(5).random(300))
    uniforms = np.random.default_rng(6).random((9, 4))
    found = kernel.plusplus(rows, 17, uniforms)
    C = costs(rows.X, rows.X)
    chosen = [17]
    for u in uniforms:
        near = rows.mass * C[:, chosen].min(axis=1)
        bounds = np.cumsum(near) / near.sum()
        picks = [int(np.argmax(bounds > x)) for x in u]
        totals = [rows.mass @ C[:, [*chosen, pick]].min(axis=1) for pick in picks]
        chosen.append(picks[int(np.argmin(totals))])
    assert found.tolist() == chosen


def test_plusplus_ends_when_every_row_is_chosen(kernel):
    rows = Rows(np.array([[0.0], [1.0], [5.0]]))
    assert sorted(plusplus(kernel, rows, 10, np.random.default_rng(0)).tolist()) == [0, 1, 2]


def test_random_draws_follow_the_masses():
    rows = Rows(np.zeros((3, 1)), np.array([1.0, 2.0, 7.0]))
    rng = np.random.default_rng(0)
    first = [weighted_draw(rows, 1, rng)[0] for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(first) / 2000, [0.1, 0.2, 0.7], atol=0.04)


def test_canonical_adds_masses_of_equal_rows_and_knows_minus_zero():
    rows = canonical(Rows(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]]), np.array([1.0, 2, 4])))
    assert len(rows.X) == 2
    assert sorted(rows.mass) == [3, 4]


def test_atoms_given(kernel):
    source = ArraySource(X, kernel=kernel)
    found = seed(source, 2, X[:2].tolist(), np.random.default_rng(0)).start
    np.testing.assert_allclose(found.Y + source.center, X[:2])
    for init, message in [
        (X[:3], r"shape \(2, 4\), one row per atom, not \(3, 4\)"),
        (np.full((2, 4), np.nan), "finite"),
        ("kmeans", "init must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            seed(source, 2, init, np.random.default_rng(0))


def test_canonical_needs_no_luck_with_hashes(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    X = np.concatenate([X, X[::2]])
    want = {row.tobytes(): 2.0 - i % 2 for i, row in enumerate(X[:50])}
    for hashes in (seeding._hashes, lambda X: np.zeros(len(X), dtype=np.uint64)):
        monkeypatch.setattr(seeding, "_hashes", hashes)
        rows = canonical(Rows(X))
        again = canonical(Rows(X[::-1]))
        np.testing.assert_array_equal(rows.X, again.X)
        assert {row.tobytes(): a for row, a in zip(rows.X, rows.mass, strict=True)} == want


def test_few_rows_for_plusplus_hold_those_far_away_at_their_mass(kernel):
    X = np.random.default_rng(0).normal(size=(4000, 2))
    X[:4] += 1000.0
    a = np.r_[np.full(4, 0.5), np.ones(3996)]
    found = seeding.candidates(
        ArraySource(X, a, kernel=kernel), 20, "k-means++", np.random.default_rng(0)
    )
    far, mass = [], []
    for number in range(200):
        rows = found._some(160, np.random.default_rng(number))
        assert len(rows.X) <= 160
        far.append(rows.masses()[rows.X[:, 0] > 500].sum())
        mass.append(rows.masses().sum())
    assert min(far) > 0
    assert np.mean(far) / np.mean(mass) == pytest.approx(2.0 / a.sum(), rel=0.1)
    tiny = seeding.Candidates(found.rows, Rows(1e-200 * X, a), kernel)
    assert tiny.draw(20, "k-means++", np.random.default_rng(0), 0.0).Y.shape == (20, 2)
