"""Few weighted rows with exactly the means of many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emscoreset.recombine import recombine


def problem(m: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, p)) * rng.uniform(0.1, 30, p), rng.dirichlet(np.ones(m))


@settings(max_examples=25)
@given(m=st.integers(1, 80), p=st.integers(1, 12), k=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_means_are_exact_with_at_most_k_rows(m: int, p: int, k: int, seed: int):
    F, a = problem(m, p, seed)
    if seed % 3 == 0:  # features of rank 2
        F = F[:, :1] + F[:, -1:] * np.arange(p)
    chosen = recombine(F, a @ F, a, k, exact=min(2, p))
    assert len(chosen.numbers) <= k
    assert (chosen.weights > 0).all()
    assert chosen.weights.sum() == pytest.approx(1, abs=1e-9)
    if k > p:
        np.testing.assert_allclose(chosen.weights @ F[chosen.numbers], a @ F, atol=1e-8)
    elif k > 2:
        np.testing.assert_allclose(chosen.weights @ F[chosen.numbers, :2], a @ F[:, :2], atol=1e-8)


def test_the_directions_of_most_variance_come_first():
    F, a = problem(200, 10)
    F[:, 3] *= 1e4
    chosen = recombine(F, a @ F, a, 2)
    assert chosen.means == 1
    off = np.abs(chosen.weights @ F[chosen.numbers] - a @ F) / F.std(axis=0)
    assert off[3] < 1e-3 < off.max()


def test_the_cost_of_the_tail_is_least():
    """Eight points of which many pairs have the mean: a pair with little besides is taken."""
    F = np.array([[x, y] for y in (0.1, -0.1, 0.9, -0.9) for x in (-2.0, 2.0)])
    chosen = recombine(F, np.zeros(2), np.full(8, 0.125), 2)
    assert chosen.numbers.max() < 4
    np.testing.assert_allclose(chosen.weights, 0.5)


def test_a_goal_outside_the_rows_has_no_weights():
    F, a = problem(20, 2)
    assert recombine(F, F.max(axis=0) + 1.0, a, 5) is None


def test_one_row_is_the_one_nearest_to_the_goal():
    F, a = problem(50, 3)
    chosen = recombine(F, a @ F, a, 1, exact=1)
    assert chosen.numbers.tolist() == [np.square(F - a @ F).sum(axis=1).argmin()]
