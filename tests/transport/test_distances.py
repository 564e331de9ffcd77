"""Transport costs to given weights: POT's answer lies inside every bracket."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from emscoreset import (
    Coreset,
    EMSCoreset,
    sinkhorn_distance,
    sinkhorn_divergence,
    wasserstein_distance,
)
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import BlockSource, DrawSource
from emscoreset.transport.problem import problem_of
from emscoreset.transport.semidual import Climb, entropy
from emscoreset.transport.solve import Listing, Search
from oracles import Problem, costs, entropic, solved, ugly, w2

REAL = 1e-9  # what two exact solvers may differ by


def inside(exact: float, result, scale: float = 0.0) -> bool:
    room = REAL * max(exact, scale)
    return result.lower - room <= exact <= result.upper + room


@given(ugly(max_n=200, max_k=30))
@settings(max_examples=60)
def test_pots_w2_lies_in_the_bracket(problem: Problem):
    check_against_pot(problem)


@given(ugly(max_n=2000, max_k=200))
@settings(max_examples=15)
def test_pots_w2_lies_in_the_bracket_of_larger_problems(problem: Problem):
    check_against_pot(problem)


def check_against_pot(problem: Problem) -> None:
    exact = w2(problem, problem.w)
    size = float(costs(problem.X, problem.Y).max())
    for tight, tol in ((False, 1e-4), (True, 1e-6)):
        found = wasserstein_distance(
            problem.X, (problem.Y, problem.w), sample_weight=problem.a, exact=tight
        )
        assert found.converged
        assert inside(exact, found, 1e-6 * size)
        assert found.value == pytest.approx(exact, rel=tol, abs=1e-12 * size)
        assert found.cost == found.value


@given(ugly(max_n=60, max_k=12), st.sampled_from([1e-3, 1e-2, 0.1, 10.0]))
@settings(max_examples=40)
def test_pots_sinkhorn_lies_in_the_bracket(problem: Problem, share: float):
    C = costs(problem.X, problem.Y)
    reg = share * float(C.mean()) + 1e-12
    found = sinkhorn_distance(
        problem.X, (problem.Y, problem.w), sample_weight=problem.a, reg=reg, tol=1e-6
    )
    start = np.where(np.isnan(found.potentials), 0.0, found.potentials) / reg
    start += np.log(np.where(problem.w > 0, problem.w, 1.0))
    exact = entropic(problem.shares, problem.w, C, reg, start)
    assert found.converged
    assert inside(exact, found, 1e-3 * float(C.max()))
    assert found.value == pytest.approx(exact, rel=2e-6, abs=1e-9 * float(C.max()))


SHARES = st.sampled_from([0.05, 0.3, 3.0])


@given(ugly(max_n=400, max_k=60), SHARES)
@settings(max_examples=25)
def test_pots_solver_agrees_from_its_own_start(problem: Problem, share: float):
    check_against_sinkhorn(problem, share)


@pytest.mark.slow
@given(ugly(max_n=2000, max_k=200), SHARES)
@settings(max_examples=60)
def test_pots_solver_agrees_on_larger_problems(problem: Problem, share: float):
    check_against_sinkhorn(problem, share)


def check_against_sinkhorn(problem: Problem, share: float) -> None:
    C = costs(problem.X, problem.Y)
    reg, dearest = share * float(C.mean()) + 1e-12, float(C.max())
    exact, off = solved(problem, reg)
    assume(off < 1e-6)
    found = sinkhorn_distance(problem.X, (problem.Y, problem.w), sample_weight=problem.a, reg=reg)
    assert found.converged
    assert found.lower - (off + 1e-9) * dearest <= exact <= found.upper + (off + 1e-9) * dearest
    assert found.value == pytest.approx(exact, rel=1e-4, abs=2.0 * (off + 1e-9) * dearest)


@given(ugly(max_n=60, max_k=12), st.sampled_from([1e-4, 1e-3]))
@settings(max_examples=60)
def test_a_small_reg_converges(problem: Problem, share: float):
    check_a_small_reg(problem, share)


@pytest.mark.slow
@given(ugly(max_n=2000, max_k=200), st.sampled_from([1e-4, 1e-3]))
@settings(max_examples=300)
def test_a_small_reg_converges_on_larger_problems(problem: Problem, share: float):
    check_a_small_reg(problem, share)


def check_a_small_reg(problem: Problem, share: float) -> None:
    """W_2^2 <= W_reg <= W_2^2 + reg H, H at most the entropy of either side."""
    reg = share * float(costs(problem.X, problem.Y).mean()) + 1e-12
    rows = {"sample_weight": problem.a}
    found = sinkhorn_distance(problem.X, (problem.Y, problem.w), reg=reg, **rows)
    plain = wasserstein_distance(problem.X, (problem.Y, problem.w), exact=True, **rows)
    assert found.converged
    assert found.gap <= 1e-4 or found.upper - found.lower <= 1e-11 * (plain.value + reg)
    assert found.upper >= plain.lower
    assert found.lower <= plain.upper + reg * min(map(entropy, (problem.shares, problem.w)))
    assert max(found.passes, plain.passes) <= 15


@pytest.mark.slow
@given(ugly(max_n=2000, max_k=200))
@settings(max_examples=300)
def test_pots_w2_lies_in_the_bracket_of_many_larger_problems(problem: Problem):
    check_against_pot(problem)


def mixture(n: int = 500, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))


def test_cost_is_the_transport_alone_and_potentials_prove_the_value():
    X, reg = mixture(200), 0.5
    Y, w = X[:9] + 0.1, np.arange(1.0, 10.0) / 45.0
    found = sinkhorn_distance(X, (Y, w), reg=reg, tol=1e-7)
    C = costs(X, Y)
    logits = np.log(w) + (found.potentials - C) / reg
    rows = logsumexp(logits, axis=1, keepdims=True)
    plan = np.exp(logits - rows) / len(X)
    np.testing.assert_allclose(plan.sum(axis=0), w, atol=1e-5)
    assert found.cost == pytest.approx((plan * C).sum(), rel=1e-4)
    dual = w @ found.potentials - reg * rows.mean()
    assert found.lower <= dual * (1 + 1e-9)
    assert dual <= found.upper


def test_own_masses_cost_what_the_fit_says():
    X = mixture()
    coreset = EMSCoreset(20, reg=0.0, random_state=0).fit(X).coreset_
    found = wasserstein_distance(X, coreset)
    assert inside(coreset.distance, found)
    soft = EMSCoreset(20, reg=0.3, random_state=0).fit(X).coreset_
    assert inside(soft.distance, sinkhorn_distance(X, soft, reg=0.3))


def test_every_form_of_rows_gives_the_same():
    X, Y = mixture(400), mixture(8, seed=1)
    a = np.random.default_rng(2).integers(0, 4, 400).astype(float)
    w = np.full(8, 1 / 8)
    kernel = get_kernel("auto")
    coreset = Coreset(X, a / a.sum(), 400, 400, 0.0, 0.0, 0.0, 0.0, 1.0)
    blocks = BlockSource(lambda: [(X[:150], a[:150]), (X[150:], a[150:])], kernel=kernel)
    want = wasserstein_distance(X, (Y, w), sample_weight=a, exact=True)
    for rows in (coreset, (X, a), blocks, ArraySource(X, a, kernel=kernel)):
        found = wasserstein_distance(rows, (Y, w), exact=True)
        assert found.value == pytest.approx(want.value, rel=1e-10)
    frame = pd.DataFrame(X)
    frame.columns = ["a", "b", "c"]
    found = wasserstein_distance(frame, (Y, None), sample_weight=a, exact=True)
    assert found.value == pytest.approx(want.value, rel=1e-10)


def test_a_sampler_is_measured_on_rows_of_one_pass():
    source = DrawSource(
        lambda m, rng: rng.normal(size=(m, 2)), kernel=get_kernel("auto"), rows_per_pass=3000
    )
    Y = np.array([[-1.0, 0.0], [1.0, 0.0]])
    # W_2^2 of the normal to two points at its halves' sides: 2 + 1 - 2 E|x| = 3 - 4 / sqrt(2 pi)
    found = wasserstein_distance(source, (Y, np.full(2, 0.5)))
    assert found.value == pytest.approx(3.0 - 4.0 / np.sqrt(2.0 * np.pi), rel=0.1)
    assert found.converged


def test_two_coresets_are_compared_either_way():
    X = mixture()
    a, b = (EMSCoreset(k, reg=0.0, random_state=k).fit(X).coreset_ for k in (15, 25))
    there, back = wasserstein_distance(a, b, exact=True), wasserstein_distance(b, a, exact=True)
    assert there.value == pytest.approx(back.value, rel=1e-10)
    assert wasserstein_distance(a, a, exact=True).value == pytest.approx(0.0, abs=1e-12)


def test_the_divergence_has_no_bias():
    X = mixture(120)
    a, b = (X[:40], None), (X[60:] + 1.0, None)
    reg = 2.0
    found = sinkhorn_divergence(a, b, reg)
    flat = np.zeros(40), np.zeros(60)
    uniform = [np.full(len(f), 1 / len(f)) for f in flat]
    parts = [
        entropic(uniform[i], uniform[j], costs((a, b)[i][0], (a, b)[j][0]), reg, flat[j])
        for i, j in ((0, 1), (0, 0), (1, 1))
    ]
    exact = parts[0] - (parts[1] + parts[2]) / 2
    assert found.lower <= exact * (1 + REAL)
    assert exact <= found.upper * (1 + REAL)
    assert found.value == pytest.approx(exact, abs=1e-4 * parts[0])
    assert sinkhorn_divergence(a, a, reg).value == pytest.approx(0.0, abs=1e-4 * parts[1])


def test_extreme_temperatures_have_no_nan():
    X = 1e3 * mixture(300)
    Y, w = X[:20] + 1.0, np.full(20, 0.05)
    scale = float(costs(X, Y).mean())
    plain = wasserstein_distance(X, (Y, w), exact=True)
    for reg in (1e-300, 1e-4 * scale, scale, 1e8 * scale):
        found = sinkhorn_distance(X, (Y, w), reg=reg)
        assert np.isfinite([found.value, found.cost, found.lower, found.upper]).all()
        assert found.converged
        assert found.upper >= plain.lower
    independent = float(np.full(300, 1 / 300) @ costs(X, Y) @ w)
    assert found.value == pytest.approx(independent, rel=1e-4)


def test_a_bracket_too_wide_is_told(monkeypatch):
    from emscoreset.transport import solve

    monkeypatch.setattr(solve, "LONG", 1)
    monkeypatch.setattr(solve, "MOST_CLIMBED", 1)
    X = mixture(200)
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        found = sinkhorn_distance(X, (X[:10] + 0.5, None), reg=0.2)
    assert not found.converged
    assert "NOT CONVERGED" in repr(found)
    assert float(found) == found.value


def test_wrong_arguments_are_refused_by_name():
    X = mixture(50)
    with pytest.raises(TypeError, match=r"coreset must be a Coreset or a pair \(atoms, weights\)"):
        wasserstein_distance(X, X)
    with pytest.raises(ValueError, match="the weights of coreset must have shape"):
        wasserstein_distance(X, (X[:3], [0.5, 0.5]))
    with pytest.raises(ValueError, match="atoms have 2 columns, the rows 3"):
        wasserstein_distance(X, (X[:3, :2], None))
    with pytest.raises(ValueError, match="tol must be a number between 0 and 1"):
        wasserstein_distance(X, (X[:3], None), tol=0)
    with pytest.raises(ValueError, match="reg must be a finite number >= 0"):
        sinkhorn_distance(X, (X[:3], None), reg=-1)
    with pytest.raises(ValueError, match="tuple brings its own weights"):
        wasserstein_distance((X, None), (X[:3], None), sample_weight=np.ones(50))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_of_candidates_and_samples_change_nothing(dtype: type, monkeypatch):
    """As for data too large to list in full, or at all."""
    from emscoreset.transport import solve

    X = mixture(3000).astype(dtype)
    Y, w = mixture(10, seed=5), np.arange(1.0, 11.0) / 55.0
    problem = Problem(X.astype(float), None, Y, w)
    exact = w2(problem, w)
    softly = sinkhorn_distance(X.astype(float), (Y, w), reg=0.05, tol=1e-10)
    monkeypatch.setattr(solve, "COMPLETE", 2000)
    for room in (1 << 25, 9000):
        monkeypatch.setattr(solve, "MOST_LISTED", room)
        for tight in (False, True):
            found = wasserstein_distance(X, (Y, w), exact=tight)
            assert inside(exact, found)
            assert found.converged
            assert found.value == pytest.approx(exact, rel=1e-9 if tight else 1e-4)
        soft = sinkhorn_distance(X, (Y, w), reg=0.05)
        assert soft.converged
        assert inside(softly.value, soft)


def test_an_atom_no_row_would_choose_gets_its_weight(monkeypatch):
    from emscoreset.transport import solve

    X, Y = mixture(2000), mixture(6, seed=5)
    Y[0] += 1000.0
    w = np.array([1e-3, 0.2, 0.2, 0.2, 0.2, 0.199])
    exact = w2(Problem(X, None, Y, w / w.sum()), w)
    monkeypatch.setattr(solve, "COMPLETE", 2000)
    found = wasserstein_distance(X, (Y, w), exact=True)
    assert found.value == pytest.approx(exact, rel=1e-9)
    assert replace(found, converged=True).gap < 1e-9


def test_the_guides_example_runs(capsys):
    script = Path(__file__).parents[2] / "docs" / "examples" / "distances.py"
    runpy.run_path(str(script), run_name="__main__")
    out = capsys.readouterr().out
    lost = [float(word) for word in re.findall(r"(\d+) % of", out)]
    assert lost[0] < lost[1]


def test_after_a_climb_that_failed_prices_come_from_lists_that_hold_the_plan(monkeypatch):
    """Lists of the nearest atoms alone have no plan for weights that are far from the masses."""
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(300, 3)), rng.normal(size=(12, 3)), np.full(12, 0.01)
    w[0] = 0.89
    source = ArraySource(X, kernel=get_kernel("auto"))
    search = Search(problem_of(source, Y, w, 1e-5), 1e-4)
    search.listing = Listing(source, search.problem, np.zeros(12), 1e-6)
    climb, calls = Search.climb, []

    def fails_once(self: Search, *arguments: float) -> Climb:
        calls.append(self.h)
        if len(calls) > 1:
            return climb(self, *arguments)
        return Climb(self.h, self.eps, None, 0, reached=False)

    monkeypatch.setattr(Search, "climb", fails_once)
    search.refine()
    exact = w2(Problem(X, np.full(300, 1 / 300), Y, w), w)
    dual = float(w @ calls[1]) + (costs(X, Y) - calls[1]).min(axis=1).mean()
    assert dual == pytest.approx(exact, rel=1e-9)
