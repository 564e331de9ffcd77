"""Fenchel's identity, the E-step's optimality, the bound on W_reg and the M-step."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, rel_entr, softmax

from emscoreset.ems import State, guaranteed_fall, m_step
from emscoreset.kernels import ReferenceKernel
from emscoreset.stats import Pass, Rows, Stats, log_offset
from emscoreset.theory import (
    assignment,
    distance_to_masses,
    free_energy,
    gibbs,
    objective,
    sinkhorn_loss,
    variational_value,
)
from oracles import Problem, costs, entropic, problems

REGS = [0.05, 0.5, 5.0]


def living(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, shares, and the atoms of positive weight: the others take part in nothing."""
    alive = problem.w > 0
    return problem.X, problem.shares, problem.Y[alive], problem.w[alive]


def simplex(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.dirichlet(np.full(n, 0.5))


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_fenchel_the_gibbs_measure_attains_the_free_energy_and_no_other_exceeds_it(seed, n):
    rng = np.random.default_rng(seed)
    f, p0, q = 5.0 * rng.normal(size=n), simplex(rng, n), simplex(rng, n)
    F = free_energy(f, p0)
    assert variational_value(gibbs(f, p0), f, p0) == pytest.approx(F, rel=1e-9, abs=1e-9)
    # The gap of any other q is its divergence from the Gibbs measure, so it is never negative.
    gap = float(rel_entr(q, gibbs(f, p0)).sum())
    assert variational_value(q, f, p0) == pytest.approx(F - gap, rel=1e-9, abs=1e-9)


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_fenchel_the_free_energy_is_convex(seed, t):
    rng = np.random.default_rng(seed)
    f, g, p0 = *(3.0 * rng.normal(size=(2, 6))), simplex(rng, 6)
    between = free_energy(t * f + (1 - t) * g, p0)
    assert between <= t * free_energy(f, p0) + (1 - t) * free_energy(g, p0) + 1e-9


@given(problems(), st.sampled_from(REGS), st.integers(0, 10**6))
def test_the_softmax_minimises_the_loss_over_row_stochastic_plans(problem, reg, seed):
    X, a, Y, w = living(problem)
    L = objective(X, a, Y, w, reg)
    T = assignment(X, Y, w, reg)
    scale = 1e-9 * (1.0 + abs(L))
    assert sinkhorn_loss(T, X, a, Y, w, reg) == pytest.approx(L, abs=scale)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(w)), size=len(X))
    log_T = log_softmax(np.log(w) - costs(X, Y) / reg, axis=1)  # T itself may underflow
    entropy = -rel_entr(other, 1.0).sum(axis=1)
    cross = -(other * log_T).sum(axis=1)
    gap = reg * float(a @ (cross - entropy))  # by how much any other plan is worse: a divergence
    assert sinkhorn_loss(other, X, a, Y, w, reg) == pytest.approx(L + gap, rel=1e-7, abs=scale)


@given(problems(max_n=6, max_k=3), st.sampled_from(REGS))
def test_the_gibbs_measure_over_plans_has_the_softmax_for_its_mean(problem: Problem, reg: float):
    """All k^n one-hot plans, one by one: P_0 draws each row's atom by w, f = -<C, T> / reg.

    <C, T> counts rows here. With d mu in the exponent, as the paper's proof has it before
    dropping it, the mean is the softmax at n reg instead.
    """
    X, _, Y, w = living(problem)
    C, n = costs(X, Y), len(X)
    plans = np.array(list(product(range(len(w)), repeat=n)))
    p0 = w[plans].prod(axis=1)
    cost = C[np.arange(n), plans].sum(axis=1)
    q = gibbs(-cost / reg, p0)
    mean = np.stack([(q[:, None] * (plans == j)).sum(axis=0) for j in range(len(w))], axis=1)
    np.testing.assert_allclose(mean, assignment(X, Y, w, reg), atol=1e-9)
    a = np.full(n, 1.0 / n)
    L = objective(X, a, Y, w, reg)
    assert -reg * free_energy(-cost / reg, p0) / n == pytest.approx(L, rel=1e-9, abs=1e-9)
    literal = gibbs(-cost / n / reg, p0)
    mean = np.stack([(literal[:, None] * (plans == j)).sum(axis=0) for j in range(len(w))], axis=1)
    np.testing.assert_allclose(mean, assignment(X, Y, w, n * reg), atol=1e-9)


@given(problems(), st.sampled_from(REGS))
def test_the_objective_is_a_lower_bound_of_the_distance_and_the_identity_is_exact(problem, reg):
    X, a, Y, w = living(problem)
    C = costs(X, Y)
    L = objective(X, a, Y, w, reg)
    N = a @ assignment(X, Y, w, reg)
    own = entropic(a, N, C, reg, log_offset(w, reg) / reg)
    assert distance_to_masses(L, N, w, reg) == pytest.approx(own, rel=1e-6, abs=1e-7)


def apart() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], [30, 10], axis=0)
    return X, np.full(40, 1 / 40), np.array([[0.0, 0.0], [6.0, 0.0]]), np.array([0.5, 0.5])


def test_the_papers_inequality_holds_only_the_other_way_round():
    """Weights 1/2 for clusters of 3/4 and 1/4: L is far below W_reg(data, (Y, w))."""
    X, a, Y, w = apart()
    L = objective(X, a, Y, w, 1.0)
    W = entropic(a, w, costs(X, Y), 1.0, np.zeros(2))
    assert L < 0.5 * W
    T = assignment(X, Y, w, 1.0)
    assert abs(T.mean(axis=0) - w).max() > 0.2  # it does not meet the weights' marginal


@settings(max_examples=30)
@given(problems(max_n=15, max_k=4), st.sampled_from([0.1, 1.0]))
def test_the_objective_never_exceeds_the_distance_to_the_weights(problem: Problem, share: float):
    """L is the dual value at g = 0. At a reg of the costs' own size Sinkhorn converges."""
    X, a, Y, w = living(problem)
    C = costs(X, Y)
    reg = share * max(float(C.max()), 0.1)
    W = entropic(a, w, C, reg, np.zeros(len(w)))
    assert objective(X, a, Y, w, reg) <= W + 1e-7 * (1.0 + abs(W))


@given(problems(), st.sampled_from(REGS), st.integers(0, 10**6))
def test_the_m_step_is_optimal_and_its_fall_is_known_exactly(problem, reg, seed):
    """F(Y, w, T) - F(Y', w', T) = reg KL(N || w) + sum_j N_j |y_j - y'_j|^2, for any T."""
    X, a, Y, w = living(problem)
    rng = np.random.default_rng(seed)
    T = rng.dirichlet(np.ones(len(w)), size=len(X))
    new = m_step(sums(T, X, a), State(Y, w))
    before, after = (sinkhorn_loss(T, X, a, s.Y, s.w, reg) for s in (State(Y, w), new))
    fall = guaranteed_fall(a @ T, State(Y, w), new, reg)
    assert before - after == pytest.approx(fall, rel=1e-7, abs=1e-8)
    other = State(new.Y + rng.normal(size=Y.shape), softmax(rng.normal(size=len(w))))
    worse = sinkhorn_loss(T, X, a, other.Y, other.w, reg)
    assert worse >= after - 1e-9 * (1.0 + abs(after))


def sums(T: np.ndarray, X: np.ndarray, a: np.ndarray) -> Stats:
    aT = a[:, None] * T
    Q = aT.T @ np.square(X).sum(axis=1)
    return Stats(N=aT.sum(axis=0), L=0.0, L0=0.0, mass=1.0, n=len(X), S=aT.T @ X, Q=Q)


@given(problems(), st.sampled_from(REGS))
def test_a_step_lowers_the_objective_by_the_guarantee_or_more(problem: Problem, reg: float):
    X, a, Y, w = living(problem)
    found = ReferenceKernel().stats(
        Rows(X, a), Pass(Y, log_offset(w, reg), reg, np.zeros(X.shape[1]))
    )
    new = m_step(found, State(Y, w))
    fall = found.L - objective(X, a, new.Y, new.w, reg)
    assert fall >= guaranteed_fall(found.N, State(Y, w), new, reg) - 1e-9 * (1.0 + abs(found.L))
