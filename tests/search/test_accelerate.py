"""Momentum: fewer passes than plain EM, and no rise is ever accepted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emscoreset.ems import State, fit_ems
from emscoreset.kernels import ReferenceKernel
from emscoreset.search.accelerate import descend, leap
from emscoreset.search.passes import Passes
from emscoreset.search.seeding import seed
from emscoreset.sources.array import ArraySource
from oracles import Problem, problems

REGS = [0.0, 0.02, 0.5, 5.0]


def descent(source, start, reg, tol=1e-5, max_iter=1000, **how):
    passes = Passes(source, len(start.w), max_iter, None)
    return passes, descend(passes, source, passes.step(source, start, reg), tol=tol, **how)


@given(problems(), st.sampled_from(REGS))
def test_what_is_kept_falls_by_at_least_the_guaranteed_amount(problem: Problem, reg: float):
    source = ArraySource(problem.X, problem.a, kernel=ReferenceKernel())
    passes, found = descent(source, State(problem.Y - source.center, problem.w), reg, 0.0, 30)
    kept = [record for record in passes.history if record.kept]
    for before, after in pairwise(kept):
        slack = 1e-10 * (1 + abs(before.objective))
        assert after.objective <= before.objective - before.guaranteed_fall + slack
    assert kept[-1].objective == found.step.L
    for record in passes.history:
        if not record.kept:
            assert record.objective >= found.step.L - 1e-10


@pytest.mark.parametrize("reg", [0.0, 1.0])
def test_fewer_passes_to_where_plain_em_ends(kernel, reg: float):
    X = np.random.default_rng(0).normal(size=(2000, 5))
    source = ArraySource(X, kernel=kernel)
    start = seed(source, 30, "k-means++", np.random.default_rng(1)).start
    plain = [record.objective for record in fit_ems(source, start, reg).history]
    passes, found = descent(source, start, reg)
    fast = np.array([record.objective for record in passes.history])
    near = 1.001 * plain[-1]
    assert found.settled
    assert near >= found.step.L
    assert np.argmax(fast <= near) < 0.6 * np.argmax(np.array(plain) <= near)


def test_shift_tol_is_the_papers_rule(kernel):
    X = np.random.default_rng(4).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    passes, found = descent(
        source, State(X[:8] - source.center, np.full(8, 1 / 8)), 0.1, 0.0, shift_tol=1e-2
    )
    kept = [record.shift for record in passes.history if record.kept]
    assert found.settled
    assert min(kept[:-2]) >= 1e-2 > kept[-2]


def test_no_more_passes_than_allowed(kernel):
    X = np.random.default_rng(5).normal(size=(500, 2))
    source = ArraySource(X, kernel=kernel)
    start = State(X[:8] - source.center, np.full(8, 1 / 8))
    for most, max_iter, made in [(4, 1000, 5), (1000, 3, 4), (0, 1000, 1)]:
        passes, found = descent(source, start, 0.1, 0.0, max_iter, most=most)
        assert (len(passes.history), found.settled) == (made, False)


def test_a_leap_goes_on_in_logarithms_of_the_weights_and_leaves_the_dead():
    old = State(np.zeros((3, 1)), np.array([0.2, 0.8, 0.0]))
    new = State(np.array([[1.0], [2.0], [0.0]]), np.array([0.4, 0.6, 0.0]))
    far = leap(old, new, 0.5)
    assert far.Y.ravel().tolist() == [1.5, 3.0, 0.0]
    assert far.w[2] == 0
    assert far.w.sum() == pytest.approx(1.0)
    assert far.w[0] / far.w[1] == pytest.approx((0.4 / 0.6) ** 1.5 / (0.2 / 0.8) ** 0.5)
