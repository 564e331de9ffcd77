"""Candidate lists: made, summed and settled alike by every kernel, and as brute force says."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emscoreset.kernels import Kernel, get_kernel, native
from emscoreset.lists import Lists, joined
from emscoreset.stats import Floats, Pass, Rows
from oracles import Problem, costs, ugly

NUMPY = get_kernel("numpy")


def compiled() -> Kernel:
    if not native.available():
        pytest.skip("the C++ kernel was not built")
    return get_kernel("native")


def request(problem: Problem, h: Floats) -> Pass:
    center = problem.X.mean(axis=0)
    return Pass(problem.Y - center, h, 0.0, center)


def example(n: int = 3000, k: int = 40, d: int = 5, dtype: type = np.float64) -> Problem:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, d)).astype(dtype)
    return Problem(X, rng.random(n), X[:k].astype(float) + 0.1, np.full(k, 1 / k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reach", [0.0, 0.7, np.inf])
def test_candidates_are_what_lies_in_reach(kernel: Kernel, dtype: type, reach: float):
    problem = example(dtype=dtype)
    h = np.random.default_rng(5).normal(size=40) * 0.3
    found = kernel.candidates(Rows(problem.X, problem.a), request(problem, h), reach)
    C = costs(problem.X.astype(float), problem.Y)
    below = (h - C).max(axis=1, keepdims=True) - (h - C)
    row = np.repeat(np.arange(found.n), np.diff(found.start))
    listed = np.zeros(C.shape, dtype=bool)
    listed[row, found.atom] = True
    assert listed[below <= reach].all()
    assert not listed[below > reach + (1e-4 if dtype == np.float32 else 1e-10)].any()
    np.testing.assert_allclose(found.cost, C[row, found.atom], rtol=1e-12)
    assert all(
        (np.diff(found.atom[i:j]) > 0).all()
        for i, j in zip(found.start, found.start[1:], strict=False)
    )
    assert found.complete == (reach == np.inf)
    np.testing.assert_array_equal(found.mass, problem.a)


def test_an_atom_switched_off_is_in_no_list(kernel: Kernel):
    problem = example(200)
    h = np.zeros(40)
    h[7] = -np.inf
    found = kernel.candidates(Rows(problem.X), request(problem, h), np.inf)
    assert 7 not in found.atom
    assert len(found.atom) == 200 * 39


@pytest.mark.parametrize("eps", [0.0, 1e-300, 0.05, 3.0])
@pytest.mark.parametrize("reach", [1.0, np.inf])
def test_sums_over_lists_are_those_of_their_plan(kernel: Kernel, eps: float, reach: float):
    problem = example()
    h = np.random.default_rng(6).normal(size=40)
    lists = NUMPY.candidates(Rows(problem.X, problem.a), request(problem, h), reach).shares()
    C = np.full((lists.n, 40), np.inf)
    row = np.repeat(np.arange(lists.n), np.diff(lists.start))
    C[row, lists.atom] = lists.cost
    score = h - C
    T = np.zeros_like(C)
    if eps == 0:
        T[np.arange(lists.n), score.argmax(axis=1)] = 1.0
    else:
        with np.errstate(over="ignore"):
            T = np.exp((score - score.max(axis=1, keepdims=True)) / eps)
        total = T.sum(axis=1)
        T /= total[:, None]
    aT = lists.mass[:, None] * T
    found = kernel.list_sums(lists, h, eps, hessian=True)
    level = -float(lists.mass @ score.max(axis=1))
    np.testing.assert_allclose(found.N, aT.sum(axis=0), atol=1e-14)
    np.testing.assert_allclose(found.H, T.T @ aT, atol=1e-14)
    assert pytest.approx(level, rel=1e-12) == found.L0
    if eps > 0:
        level -= eps * float(lists.mass @ np.log(total))
    assert pytest.approx(level, rel=1e-12) == found.L
    assert found.cost == pytest.approx(float((aT * np.where(T > 0, C, 0.0)).sum()), rel=1e-12)
    assert kernel.list_sums(lists, h, eps).H is None


@given(ugly(max_n=80, max_k=12), st.booleans())
@settings(max_examples=60)
def test_settling_is_the_transport_problem(problem: Problem, near: bool):
    C = costs(problem.X, problem.Y)
    h = np.zeros(len(problem.Y)) if not near else C.min(axis=0)
    p = request(problem, h)
    lists = NUMPY.candidates(Rows(problem.X, problem.a), p, np.inf).shares()
    exact = float(ot.emd2(problem.shares, problem.w, C, numItermax=10**6))
    for kernel in [NUMPY, *([compiled()] if native.available() else [])]:
        flow = kernel.settle(lists, h, problem.w)
        assert flow.left == pytest.approx(0.0, abs=1e-12)
        assert flow.cost == pytest.approx(exact, rel=1e-9, abs=1e-9 * C.max())
        dual = problem.w @ flow.h + kernel.list_sums(lists, flow.h, 0.0).L0
        assert dual == pytest.approx(exact, rel=1e-9, abs=1e-9 * C.max())
    assert (h == (0.0 if not near else C.min(axis=0))).all()


def test_what_no_path_can_move_is_left(kernel: Kernel):
    """Two rows that know one atom each."""
    lists = Lists(
        np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32), np.ones(2), np.full(2, 0.5), 2
    )
    flow = kernel.settle(lists, np.zeros(2), np.array([0.75, 0.25]))
    assert flow.left == pytest.approx(0.25)


def test_lists_of_blocks_join_to_those_of_all_rows(kernel: Kernel):
    problem = example(500)
    p = request(problem, np.zeros(40))
    whole = kernel.candidates(Rows(problem.X, problem.a), p, 0.5)
    parts = [
        kernel.candidates(Rows(problem.X[i : i + 120], problem.a[i : i + 120]), p, 0.5)
        for i in range(0, 500, 120)
    ]
    for name in ("start", "atom", "cost", "mass"):
        np.testing.assert_array_equal(getattr(joined(parts), name), getattr(whole, name))
    assert whole.mean_length(np.zeros(40), 0.5) == pytest.approx(len(whole.atom) / 500)
    assert whole.mean_length(np.zeros(40), 0.0) == pytest.approx(1.0)


def test_threads_change_no_bit():
    compiled()
    problem = example(20_000, 30)
    p = request(problem, np.zeros(30))
    one, three = (native.NativeKernel(t) for t in (1, 3))
    a, b = (k.candidates(Rows(problem.X, problem.a), p, 2.0) for k in (one, three))
    np.testing.assert_array_equal(a.atom, b.atom)
    np.testing.assert_array_equal(a.cost, b.cost)
    x, y = (k.list_sums(a, np.zeros(30), 0.3, hessian=True) for k in (one, three))
    np.testing.assert_array_equal(x.N, y.N)
    np.testing.assert_array_equal(x.H, y.H)
    assert (x.L, x.L0, x.cost) == (y.L, y.L0, y.cost)


def test_settling_ends_where_paths_are_tied(kernel: Kernel):
    """Atoms far from a line of rows: all paths are nearly tied, and rounding chooses."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    Y = np.concatenate([X[:20] + 0.1, X[:5] + 1e4 * rng.normal(size=(5, 1))])
    problem = Problem(X, None, Y, np.full(25, 1 / 25))
    C = costs(X, Y)
    h = C.min(axis=0) + 1e-4 * C.mean() * rng.normal(size=25)
    p = request(problem, h)
    lists = NUMPY.candidates(Rows(X), p, np.inf).shares()
    flow = kernel.settle(lists, h, problem.w)
    exact = float(ot.emd2(problem.shares, problem.w, C, numItermax=10**6))
    assert flow.left == pytest.approx(0.0, abs=1e-12)
    assert flow.cost == pytest.approx(exact, rel=1e-9)


def test_prices_far_from_zero_end_too(kernel: Kernel):
    """As after thousands of batches, each begun at the prices of the one before."""
    rng = np.random.default_rng(3)
    X = 30.0 * rng.normal(size=(1000, 1))
    Y, w = X[:10] + 1.0, np.full(10, 0.1)
    a = np.diff(np.concatenate([[0.0], np.cumsum(np.full(1000, 1 / 60000))]))  # rounded
    problem = Problem(X, a, Y, w)
    lists = NUMPY.candidates(Rows(X, a), request(problem, np.zeros(10)), np.inf).shares()
    near = kernel.settle(lists, np.zeros(10), w)
    far = kernel.settle(lists, np.full(10, 1e12), w)
    assert far.cost == pytest.approx(near.cost, rel=1e-12)
    assert near.left == far.left == 0.0
    assert np.abs(far.h).max() < 1e5


def test_in_the_middle_of_the_prices_a_small_reg_has_the_weights(kernel: Kernel):
    """At an end of them rows are tied, and a small reg shares what is tied in halves."""
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(400, 3)), np.full(20, 1 / 20)
    problem = Problem(X, None, X[:20] + 0.1 * rng.normal(size=(20, 3)), w)
    lists = NUMPY.candidates(Rows(X), request(problem, np.zeros(20)), np.inf).shares()
    h = kernel.settle(lists, np.zeros(20), w).h
    C = lists.cost.reshape(400, 20)
    label = (h - C).argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(label), np.full(20, 20))
    loss = (h - C)[np.arange(400), label][:, None] - (h - C)  # of each row at each other atom
    out = np.array([np.delete(loss[label == j], j, axis=1).min() for j in range(20)])
    into = np.array([loss[label != j, j].min() for j in range(20)])
    np.testing.assert_allclose(out, into, rtol=0.1)
    np.testing.assert_allclose(kernel.list_sums(lists, h, 0.1 * out.min()).N, w, atol=1e-6)
