"""Real rows for atoms: rows of the data, all different, with the distance that POT finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from emscoreset.balance import PULL, balanced_rows
from emscoreset.kernels import Kernel, get_kernel
from emscoreset.rows import Placed, real_rows
from emscoreset.sources.array import ArraySource
from emscoreset.stats import log_offset
from emscoreset.strata import Place
from oracles import Problem, costs, problems, w2

KERNEL = get_kernel("auto")


def chosen(problem: Problem, reg: float, choose: Place = real_rows, **options) -> Placed:
    source = ArraySource(problem.X, problem.a, kernel=KERNEL, **options)
    return choose(source, problem.Y, problem.w, reg)


def by_duality(problem: Problem, reg: float) -> float:
    """W_reg as the greatest value of its concave dual, found by ascent over k potentials."""
    a, w, C = problem.shares, problem.w, costs(problem.X, problem.Y)

    def fall(g: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.log(w) + (g - C) / reg
        top = logsumexp(logits, axis=1)
        N = a @ np.exp(logits - top[:, None])
        return float(reg * (a @ top) - w @ g), N - w

    return -minimize(fall, np.zeros(len(w)), jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def fewer_atoms_than_rows(problem: Problem) -> Problem:
    k = min(len(problem.Y), len(problem.X))
    w = problem.w[:k] if problem.w[:k].sum() > 0 else np.ones(k)
    return Problem(problem.X, problem.a, problem.Y[:k], w / w.sum())


@pytest.mark.parametrize("choose", [real_rows, balanced_rows])
@given(problem=problems(), reg=st.sampled_from([0.0, 0.1, 2.0]))
def test_they_are_different_rows_at_pots_distance(choose: Place, problem: Problem, reg: float):
    problem = fewer_atoms_than_rows(problem)
    found = chosen(problem, reg, choose)
    k = len(problem.Y)
    np.testing.assert_array_equal(found.atoms, problem.X[found.numbers])
    assert len(np.unique(found.numbers)) == k
    assert found.weights.sum() == pytest.approx(1.0)
    distinct = len(np.unique(problem.X, axis=0))
    assert len(np.unique(found.atoms, axis=0)) == min(k, distinct)
    rows = Problem(problem.X, problem.a, found.atoms, found.weights)
    exact = w2(rows, found.weights)
    slack = 1e-9 * (1 + np.square(problem.X).max())
    assert found.distance.lower - slack <= exact <= found.distance.upper + slack
    if reg == 0:
        assert found.distance.value == pytest.approx(exact, abs=slack)
    else:
        want = by_duality(rows, reg)
        assert found.distance.value == pytest.approx(want, rel=1e-6, abs=1e-6)


@given(problems(), st.sampled_from([0.0, 0.3]))
def test_each_atom_takes_the_nearest_of_its_own(problem: Problem, reg: float):
    problem = fewer_atoms_than_rows(problem)
    C = costs(problem.X, problem.Y)
    H = log_offset(problem.w, reg) - C
    labels = H.argmax(axis=1)
    top = np.sort(H, axis=1)
    if H.shape[1] > 1 and np.isfinite(top[:, -2]).any():
        gap = (top[:, -1] - top[:, -2]).min()
        if 0 < gap < 1e-9:
            return  # a tie but for rounding: either answer is right
    numbers = chosen(problem, reg).numbers
    for j, number in enumerate(numbers):
        own = np.flatnonzero(labels == j)
        if len(own):
            assert labels[number] == j
            assert C[number, j] <= C[own, j].min() + 1e-9


def test_atoms_without_rows_take_those_that_cost_most():
    X = np.array([[0.0], [0.1], [0.2], [10.0], [10.1], [30.0], [30.0]])
    problem = Problem(X, None, np.array([[0.1], [-50.0], [-60.0]]), np.full(3, 1 / 3))
    found = chosen(problem, 0.0)
    assert found.numbers.tolist() == [1, 5, 4]
    np.testing.assert_allclose(found.weights, [3 / 7, 2 / 7, 2 / 7])


def test_merged_atoms_still_give_different_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)).round(1)
    found = chosen(Problem(X, None, np.zeros((40, 2)), np.full(40, 1 / 40)), 50.0)
    assert len(np.unique(found.atoms, axis=0)) == 40


def test_rows_without_mass_are_never_taken():
    X = np.arange(20.0)[:, None]
    a = np.where(np.arange(20) % 2, 0.0, 1.0)
    problem = Problem(X, a, X[1:10:2] + 0.01, np.full(5, 0.2))
    assert (chosen(problem, 0.0).numbers % 2 == 0).all()
    equal = Problem(
        np.ones((6, 1)), np.array([0.0, 1, 1, 0, 1, 0]), np.ones((3, 1)), np.ones(3) / 3
    )
    assert sorted(chosen(equal, 0.0).numbers) == [1, 2, 4]


def test_neither_blocks_nor_threads_change_the_rows(kernel: Kernel):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    Y, w = X[:50] + 0.3, np.full(50, 0.02)
    want = real_rows(ArraySource(X, kernel=get_kernel("auto", 1)), Y, w, 0.0)
    for bytes_ in (1 << 12, 1 << 25):
        got = real_rows(ArraySource(X, kernel=kernel, block_bytes=bytes_), Y, w, 0.0)
        np.testing.assert_allclose(got.atoms, want.atoms)
        np.testing.assert_allclose(got.weights, want.weights)


@pytest.mark.parametrize("reg", [0.0, 0.5])
@pytest.mark.parametrize("at_once", [1 << 16, 7])
def test_balanced_rows_pass_their_error_on(reg: float, at_once: int, monkeypatch):
    """Each is the best of its atom's rows, given what those before have too much of."""
    monkeypatch.setattr("emscoreset.balance.AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(200, 3)), rng.integers(0, 4, 200).astype(float)
    Y, w = rng.normal(size=(8, 3)), rng.dirichlet(np.ones(8))
    numbers = chosen(Problem(X, a, Y, w), reg, balanced_rows).numbers
    labels = (log_offset(w, reg) - costs(X, Y)).argmax(axis=1)
    N = np.bincount(labels, a, minlength=8) / a.sum()
    left = np.zeros(3)  # the error of the mean
    for j in np.argsort(-N):
        own = np.flatnonzero((labels == j) & (a > 0))
        D = X[own] - Y[j]
        cost = N[j] * (D**2).sum(axis=1) + PULL * 8 * ((left + N[j] * D) ** 2).sum(axis=1)
        assert numbers[j] == own[cost.argmin()]
        left += N[j] * D[cost.argmin()]
