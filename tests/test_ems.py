"""The EM loop: its distance against POT, its descent, its invariances and its limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emscoreset.ems import State, ems_pass, exact_distance, fit_ems, m_step
from emscoreset.kernels import ReferenceKernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Pass, Stats
from oracles import Problem, costs, entropic, problems, w2

REGS = [0.0, 0.02, 0.5, 5.0]


def source_of(problem: Problem) -> ArraySource:
    return ArraySource(problem.X, problem.a, kernel=ReferenceKernel())


def start_of(problem: Problem, source: ArraySource) -> State:
    return State(problem.Y - source.center, problem.w)


@given(problems(), st.sampled_from(REGS), st.booleans())
def test_distance_of_one_pass_is_pots(problem: Problem, reg: float, potential: bool):
    """For arbitrary atoms and offsets: EMS weights, or weights and a dual potential."""
    source = source_of(problem)
    state = start_of(problem, source)
    p, _ = ems_pass(source, state, reg)
    if potential:
        g = np.random.default_rng(0).normal(size=len(problem.w))
        p = Pass(p.atoms, p.offset + g, reg, p.center)
    stats = source.run(p).per_mass()
    found = exact_distance(p, stats)
    exact = w2(problem, stats.N)
    slack = 1e-9 * (1.0 + exact)
    assert found.lower <= exact + slack
    assert exact <= found.upper + slack
    if reg == 0:
        assert found.value == found.lower == found.upper
        assert found.value == pytest.approx(exact, abs=1e-9)
        return
    with np.errstate(divide="ignore"):
        v = p.offset / reg
    C = costs(problem.X, problem.Y)
    assert found.value == pytest.approx(
        entropic(problem.shares, stats.N, C, reg, v), rel=1e-7, abs=1e-8
    )


def test_distance_is_the_limit_of_sinkhorn_from_zero():
    """The same without a warm start, where Sinkhorn converges fast."""
    rng = np.random.default_rng(3)
    problem = Problem(rng.normal(size=(60, 3)), None, rng.normal(size=(5, 3)), np.full(5, 0.2))
    source = source_of(problem)
    p, stats = ems_pass(source, start_of(problem, source), 1.0)
    C = costs(problem.X, problem.Y)
    cold = entropic(problem.shares, stats.N, C, 1.0, np.zeros(5))
    assert exact_distance(p, stats).value == pytest.approx(cold, rel=1e-9)


@given(problems(), st.sampled_from(REGS))
def test_a_fits_distance_is_pots(problem: Problem, reg: float):
    source = source_of(problem)
    fit = fit_ems(source, start_of(problem, source), reg)
    ends = Problem(problem.X, problem.a, fit.Y + source.center, fit.N)
    exact = w2(ends, fit.N)
    assert fit.distance.lower <= exact + 1e-9 * (1 + exact)
    assert exact <= fit.distance.upper + 1e-9 * (1 + exact)
    if reg == 0:
        assert fit.distance.value == pytest.approx(exact, abs=1e-9)
        return
    with np.errstate(divide="ignore"):
        near = np.log(fit.N)
    C = costs(ends.X, ends.Y)
    pots = entropic(problem.shares, fit.N, C, reg, near)
    assert fit.distance.value == pytest.approx(pots, rel=1e-7, abs=1e-8)


@given(problems(), st.sampled_from(REGS))
def test_the_objective_falls_by_at_least_the_guaranteed_amount(problem: Problem, reg: float):
    source = source_of(problem)
    fit = fit_ems(source, start_of(problem, source), reg, tol=0, max_iter=25)
    for before, after in zip(fit.history[:-1], fit.history[1:], strict=True):
        slack = 1e-10 * (1 + abs(before.objective))
        assert before.guaranteed_fall >= 0
        assert after.objective <= before.objective - before.guaranteed_fall + slack


@given(problems(), st.sampled_from(REGS))
def test_integer_weights_equal_repeated_rows(problem: Problem, reg: float):
    counts = np.ones(len(problem.X), int) if problem.a is None else problem.a.astype(int)
    weighted = ArraySource(problem.X, counts, kernel=ReferenceKernel())
    repeated = ArraySource(np.repeat(problem.X, counts, axis=0), kernel=ReferenceKernel())
    assert weighted.moments.mass == pytest.approx(counts.sum())
    assert repeated.moments.mass == counts.sum()
    state = start_of(problem, weighted)
    p = Pass(state.Y, np.zeros(len(state.w)), reg, weighted.center)
    a, b = weighted.run(p).per_mass(), repeated.run(p).per_mass()
    np.testing.assert_allclose(a.N, b.N, atol=1e-12)
    np.testing.assert_allclose(a.S, b.S, atol=1e-10)
    np.testing.assert_allclose([a.L, a.L0], [b.L, b.L0], atol=1e-10)


@given(problems(), st.sampled_from(REGS))
def test_dead_atoms_keep_their_place(problem: Problem, reg: float):
    source = source_of(problem)
    w = np.append(problem.w, 0.0)
    far = np.full((1, problem.X.shape[1]), 1e6)
    state = State(np.vstack([problem.Y - source.center, far]), w)
    fit = fit_ems(source, state, reg)
    np.testing.assert_array_equal(fit.Y[-1], far[0])
    assert fit.N[-1] == 0
    assert np.isfinite(fit.Y).all()
    without = fit_ems(source, start_of(problem, source), reg)
    np.testing.assert_allclose(fit.N[:-1], without.N, atol=1e-9)
    assert fit.distance.value == pytest.approx(without.distance.value, abs=1e-9)


def test_an_atom_that_loses_its_rows_stays_where_it_was():
    X = np.array([[0.0], [1.0]])
    source = ArraySource(X, kernel=ReferenceKernel())
    Y = np.array([[0.0], [1.0], [50.0]]) - source.center
    fit = fit_ems(source, State(Y, np.full(3, 1 / 3)), reg=0.0)
    assert fit.N.tolist() == [0.5, 0.5, 0.0]
    assert fit.Y[2] == Y[2]


@pytest.mark.parametrize("reg", REGS)
def test_one_atom_is_the_mean(reg: float):
    X = np.random.default_rng(0).normal(size=(50, 3)) + 7.0
    source = ArraySource(X, kernel=ReferenceKernel())
    fit = fit_ems(source, State(np.ones((1, 3)), np.ones(1)), reg)
    np.testing.assert_allclose(fit.Y[0] + source.center, X.mean(axis=0), atol=1e-12)
    assert fit.distance.value == pytest.approx(X.var(axis=0).sum())


@pytest.mark.parametrize("reg", [0.0, 1e-4])
def test_as_many_atoms_as_rows_leave_nothing_over(reg: float):
    X = np.arange(12.0).reshape(6, 2) ** 2
    source = ArraySource(X, kernel=ReferenceKernel())
    fit = fit_ems(source, State(X - source.center, np.full(6, 1 / 6)), reg)
    np.testing.assert_allclose(fit.N, 1 / 6)
    assert fit.distance.upper == pytest.approx(0.0, abs=1e-9)
    assert fit.distance.value == pytest.approx(reg * np.log(6), abs=1e-9)


def test_an_offset_of_a_million_changes_nothing_in_float64():
    X = np.random.default_rng(1).normal(size=(300, 4))
    near, far = (ArraySource(X + shift, kernel=ReferenceKernel()) for shift in (0.0, 1e6))
    for reg in REGS:
        one = fit_ems(near, State(X[:7] - near.center, np.full(7, 1 / 7)), reg, max_iter=20)
        two = fit_ems(far, State(X[:7] + 1e6 - far.center, np.full(7, 1 / 7)), reg, max_iter=20)
        np.testing.assert_allclose(two.Y + far.center - 1e6, one.Y + near.center, atol=1e-6)
        assert two.distance.value == pytest.approx(one.distance.value, rel=1e-6)


def test_a_vanishing_reg_is_the_hard_assignment():
    X = np.random.default_rng(2).normal(size=(200, 3))
    source = ArraySource(X, kernel=ReferenceKernel())
    start = State(X[:5] - source.center, np.full(5, 0.2))
    hard, soft = (fit_ems(source, start, reg) for reg in (0.0, 1e-7))
    np.testing.assert_allclose(soft.Y, hard.Y, atol=1e-6)
    assert soft.distance.value == pytest.approx(hard.distance.value, rel=1e-5)


def test_a_huge_reg_collapses_to_the_mean():
    X = np.random.default_rng(2).normal(size=(200, 3))
    source = ArraySource(X, kernel=ReferenceKernel())
    fit = fit_ems(source, State(X[:5] - source.center, np.full(5, 0.2)), reg=1e4)
    np.testing.assert_allclose(fit.Y, 0.0, atol=1e-2)


@pytest.mark.parametrize("reg", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_huge_reg_ends_its_descent_in_any_kernel(kernel: ReferenceKernel, reg: float, kind):
    X = np.random.default_rng(2).normal(size=(200, 3)).astype(kind)
    source = ArraySource(X, kernel=kernel)
    fit = fit_ems(source, State(X[:5] - source.center, np.full(5, 0.2)), reg)
    assert fit.n_iter <= 20
    assert fit.distance.value == pytest.approx(source.moments.variance, rel=1e-5)


@pytest.mark.parametrize("reg", [1e4, 1e9, 1e15, 1e300])
def test_a_reg_that_dwarfs_the_costs_leaves_the_distance_exact(reg: float):
    """All atoms at the mean: the cost is the variance, and rounding of reg's size is no fall."""
    X = np.random.default_rng(2).normal(size=(200, 3))
    source = ArraySource(X, kernel=ReferenceKernel())
    fit = fit_ems(source, State(X[:5] - source.center, np.full(5, 0.2)), reg)
    variance = source.moments.variance
    assert fit.n_iter <= 10
    assert fit.distance.value == pytest.approx(variance, rel=1e-6)
    assert 0 <= fit.distance.lower <= fit.distance.upper <= fit.distance.value


def test_shares_that_do_not_sum_to_one_are_refused(kernel: ReferenceKernel):
    """What happens where squares overflow inside a pass."""
    X = np.random.default_rng(2).normal(size=(50, 3))

    class Lossy(ArraySource):
        def run(self, p: Pass) -> Stats:
            return replace(super().run(p), mass=100.0)

    with pytest.raises(ValueError, match=r"sum to 0.5, not to 1.*overflow; scale the columns"):
        fit_ems(Lossy(X, kernel=kernel), State(X[:3], np.full(3, 1 / 3)), 0.1)


def test_shift_tol_is_the_papers_rule(kernel: ReferenceKernel):
    X = np.random.default_rng(4).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:8] - source.center, np.full(8, 1 / 8))
    fit = fit_ems(source, start, 0.1, tol=0, shift_tol=1e-2)
    shifts = [record.shift for record in fit.history]
    assert fit.converged
    assert min(shifts[: fit.n_iter - 1]) >= 1e-2 > shifts[fit.n_iter - 1]
    _, stats = ems_pass(source, start, 0.1)
    state = m_step(stats, start)
    assert shifts[0] == pytest.approx(np.linalg.norm(state.Y - start.Y))


def test_max_iter_counts_m_steps_and_the_last_pass_is_at_the_atoms_returned(kernel):
    X = np.random.default_rng(5).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:8] - source.center, np.full(8, 1 / 8))
    none = fit_ems(source, start, 0.1, max_iter=0)
    assert none.n_iter == 0
    np.testing.assert_array_equal(none.Y, start.Y)
    three = fit_ems(source, start, 0.1, max_iter=3)
    assert (three.n_iter, len(three.history), three.converged) == (3, 4, False)
    p, stats = ems_pass(source, State(three.Y, start.w), 0.0)
    assert exact_distance(p, stats).value <= three.distance.upper


def test_history_has_a_record_of_every_pass(kernel: ReferenceKernel):
    X = np.random.default_rng(5).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:8] - source.center, np.full(8, 1 / 8))
    seen = []
    fit = fit_ems(source, start, 0.1, callback=lambda record, state: seen.append((record, state)))
    assert tuple(record for record, _ in seen) == fit.history
    assert len(fit.history) == fit.n_iter + 1
    assert {record.rows for record in fit.history} == {500}
    assert {record.reg for record in fit.history} == {0.1}
    seconds = [record.seconds for record in fit.history]
    assert seconds == sorted(seconds)
    for (record, state), (_, after) in pairwise(seen):
        assert record.shift == pytest.approx(np.linalg.norm(after.Y - state.Y))
    np.testing.assert_array_equal(seen[-1][1].Y, fit.Y)
    np.testing.assert_array_equal(seen[-1][1].w, fit.N)


def test_a_true_answer_of_the_callback_ends_the_descent(kernel: ReferenceKernel):
    X = np.random.default_rng(5).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:8] - source.center, np.full(8, 1 / 8))
    seen = []

    def stop(record, state):
        seen.append(state)
        return len(seen) == 3

    fit = fit_ems(source, start, 0.1, callback=stop)
    assert (len(seen), len(fit.history), fit.n_iter, fit.converged) == (3, 3, 2, False)
    np.testing.assert_array_equal(seen[-1].Y, fit.Y)
    np.testing.assert_array_equal(seen[-1].w, fit.N)


def test_an_error_in_the_callback_passes_through(kernel: ReferenceKernel):
    X = np.random.default_rng(5).normal(size=(50, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:3] - source.center, np.full(3, 1 / 3))
    kept = start.Y.copy()
    seen = []

    def stop(record, state):
        seen.append(record.rows)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        fit_ems(source, start, 0.1, callback=stop)
    assert seen == [50, 50]
    np.testing.assert_array_equal(start.Y, kept)
