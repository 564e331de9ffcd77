"""Gradients against finite differences; Lipschitz constants that hold and cannot be lowered.

The paper's 2 D / reg holds and is four times too large, so D / reg, half of it, is no error
that data could show: it is true as well. What two atoms do show is any constant below the
sharp one, D / (2 reg); the mutations here are of that one, and of the gradients' formulas.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emscoreset import EMSCoreset
from emscoreset.ems import State, m_step
from emscoreset.kernels import ReferenceKernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import BlockSource
from emscoreset.stats import Pass, Rows, log_offset
from emscoreset.theory import (
    assignment,
    assignment_gradient,
    centre_bound,
    centre_gradient,
    diameter,
    leverage_bound,
    lipschitz_in_centres,
    lipschitz_in_data,
    sharp_centre_bound,
    sharp_lipschitz_in_centres,
    sharp_lipschitz_in_data,
    small_move_bound,
    stability,
)
from oracles import Problem, costs, problems

REGS = st.sampled_from([0.3, 1.0, 4.0])
STEP = 1e-5
TWO = np.array([[-1.0, 0.0], [1.0, 0.0]])
HALVES = np.array([0.5, 0.5])


def differences_in_x(X: np.ndarray, Y: np.ndarray, w: np.ndarray, reg: float) -> np.ndarray:
    slopes = [
        (assignment(X + STEP * e, Y, w, reg) - assignment(X - STEP * e, Y, w, reg)) / (2 * STEP)
        for e in np.eye(X.shape[1])
    ]
    return np.stack(slopes, axis=-1)


@given(problems(), REGS)
def test_the_gradient_in_the_row_is_the_finite_difference(problem: Problem, reg: float):
    found = assignment_gradient(problem.X, problem.Y, problem.w, reg)
    np.testing.assert_allclose(
        found, differences_in_x(problem.X, problem.Y, problem.w, reg), atol=1e-6 / reg**2
    )


def test_a_gradient_with_half_the_factor_is_caught():
    X = np.array([[0.1, 0.0]])
    halved = 0.5 * assignment_gradient(X, TWO, HALVES, 1.0)  # 1 / reg for 2 / reg
    assert np.abs(halved - differences_in_x(X, TWO, HALVES, 1.0)).max() > 0.1


@given(problems(), REGS, st.integers(0, 10**6))
def test_the_share_of_a_row_is_lipschitz_in_the_row(problem: Problem, reg: float, seed: int):
    X, Y, w = problem.X, problem.Y, problem.w
    rng = np.random.default_rng(seed)
    move = rng.normal(size=X.shape) * rng.choice([1e-3, 1.0, 10.0])
    change = np.abs(assignment(X + move, Y, w, reg) - assignment(X, Y, w, reg))
    length = np.linalg.norm(move, axis=1)[:, None]
    sharp, paper = sharp_lipschitz_in_data(Y, reg), lipschitz_in_data(Y, reg)
    assert paper == pytest.approx(4.0 * sharp)
    assert (change <= sharp * length + 1e-9).all()
    gradient = np.linalg.norm(assignment_gradient(X, Y, w, reg), axis=2)
    assert (gradient <= sharp + 1e-9).all()


def test_the_sharp_constant_is_attained_so_that_a_smaller_one_is_caught():
    """Half way between two atoms of equal weight. 0.99 of the constant fails, as would less."""
    for reg in (0.1, 1.0, 10.0):
        slope = np.linalg.norm(assignment_gradient(np.zeros((1, 2)), TWO, HALVES, reg)[0, 0])
        assert slope == pytest.approx(sharp_lipschitz_in_data(TWO, reg))
        assert slope > 0.99 * sharp_lipschitz_in_data(TWO, reg)
        assert slope < diameter(TWO) / reg < lipschitz_in_data(TWO, reg)  # true, and not sharp


@given(problems(max_n=10), REGS)
def test_the_gradient_in_the_centres_is_the_finite_difference(problem: Problem, reg: float):
    X, Y, w = problem.X, problem.Y, problem.w
    found = centre_gradient(X, Y, w, reg)
    for j in range(len(Y)):
        for c in range(X.shape[1]):
            e = np.zeros_like(Y)
            e[j, c] = STEP
            slope = (assignment(X, Y + e, w, reg) - assignment(X, Y - e, w, reg)) / (2 * STEP)
            np.testing.assert_allclose(found[:, :, j, c], slope, atol=1e-4 / reg**2)


@given(problems(), REGS)
def test_the_gradient_in_the_centres_is_bounded(problem: Problem, reg: float):
    """2 (R_X + R_Y) / reg in the paper; a quarter of it, by the longest |x - y|, is enough."""
    X, Y, w = problem.X, problem.Y, problem.w
    sizes = np.linalg.norm(centre_gradient(X, Y, w, reg), axis=3)
    sharp, paper = sharp_centre_bound(X, Y, reg), centre_bound(X, Y, reg)
    assert (sizes <= sharp + 1e-9).all()
    assert 4.0 * sharp <= paper + 1e-9


@pytest.mark.parametrize("reg", [0.1, 1.0, 10.0])
def test_the_bound_in_the_centres_is_attained_so_that_a_smaller_one_is_caught(reg: float):
    """Both atoms opposite the row, as seen from the origin: then R_X + R_Y is |x - y|, too."""
    X, Y = np.array([[3.0, 0.0]]), np.array([[-2.0, 0.0], [-2.0, 0.0]])
    sizes = np.linalg.norm(centre_gradient(X, Y, HALVES, reg), axis=3)
    np.testing.assert_allclose(sizes, sharp_centre_bound(X, Y, reg))
    assert centre_bound(X, Y, reg) == pytest.approx(4.0 * sizes.max())


@given(problems(), REGS, st.integers(0, 10**6))
def test_the_share_of_a_row_is_lipschitz_in_the_centres(problem, reg: float, seed: int):
    X, Y, w = problem.X, problem.Y, problem.w
    rng = np.random.default_rng(seed)
    Z = Y + rng.normal(size=Y.shape) * rng.choice([1e-3, 0.3, 3.0])
    change = np.abs(assignment(X, Y, w, reg) - assignment(X, Z, w, reg)).max()
    longest = np.linalg.norm(Y - Z, axis=1).max()
    sharp = sharp_lipschitz_in_centres(X, Y, Z, reg)
    assert change <= sharp * longest + 1e-9
    assert sharp <= lipschitz_in_centres(X, Y, Z, reg) / (2 * len(Y)) + 1e-9


def test_the_sharp_constant_in_the_centres_is_attained():
    """Two atoms at one place, one drawn near the row and one away from it."""
    X, Y, move = np.array([[3.0, 0.0]]), np.zeros((2, 2)), np.array([[1e-6, 0.0], [-1e-6, 0.0]])
    change = assignment(X, Y + move, HALVES, 2.0) - assignment(X, Y, HALVES, 2.0)
    sharp = sharp_lipschitz_in_centres(X, Y, Y + move, 2.0)
    assert 0.999 * sharp < abs(change[0, 0]) / 1e-6 < 1.001 * sharp


def test_the_radius_of_the_old_centres_alone_does_not_bound_the_path():
    """The row and the old atoms sit at the origin: with R_Y of the old ones the bound is 0."""
    X, Y = np.zeros((1, 1)), np.zeros((2, 1))
    Z = np.array([[0.0], [2.0]])
    change = abs(assignment(X, Y, HALVES, 1.0) - assignment(X, Z, HALVES, 1.0)).max()
    old_alone = 2.0 * len(Y) * (np.abs(X).max() + np.abs(Y).max())
    assert old_alone * 2.0 < change <= lipschitz_in_centres(X, Y, Z, 1.0) * 2.0


def updated(X: np.ndarray, Y: np.ndarray, w: np.ndarray, reg: float) -> tuple[np.ndarray, ...]:
    """The M-step's atoms, and the rows' worth of mass of each."""
    offset = log_offset(w, reg)
    stats = ReferenceKernel().stats(Rows(X), Pass(Y, offset, reg, np.zeros(X.shape[1])))
    return m_step(stats, State(Y, w)).Y, stats.N


def leverage(X: np.ndarray, Y: np.ndarray, w: np.ndarray, reg: float, row: int, h: np.ndarray):
    """How far the atoms moved, and the three bounds' ingredients."""
    before, S = updated(X, Y, w, reg)
    moved = X.copy()
    moved[row] += h
    after, _ = updated(moved, Y, w, reg)
    reach = np.sqrt(costs(X, before).max(axis=0))
    return np.linalg.norm(after - before, axis=1), S, reach, float(np.linalg.norm(h))


@given(problems(), REGS, st.integers(0, 10**6))
def test_one_moved_row_moves_the_atoms_no_farther_than_its_leverage(problem, reg, seed):
    X, Y, w = problem.X, problem.Y, problem.w
    alive = w > 0
    rng = np.random.default_rng(seed)
    h = rng.normal(size=X.shape[1]) * rng.choice([1e-4, 0.1, 1.0, 30.0])
    move, S, reach, delta = leverage(X, Y, w, reg, int(rng.integers(len(X))), h)
    for constant in (sharp_lipschitz_in_data(Y, reg), lipschitz_in_data(Y, reg)):
        first = leverage_bound(S, reach, constant, delta)
        p = S / len(X)
        denominator = len(X) * p - constant * delta
        with np.errstate(divide="ignore"):
            second = (1.0 + constant * reach) * delta / denominator
        second[denominator <= 0] = np.inf
        third = small_move_bound(S, reach, constant, delta)
        np.testing.assert_allclose(first, second)
        assert (move <= first + 1e-9)[alive].all()
        assert (first <= third * (1.0 + 1e-12)).all()


def test_the_leverage_bound_is_attained_and_a_smaller_constant_is_caught():
    """One atom: it moves by delta / n. Two, and a far row between them that moves across."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    move, S, reach, delta = leverage(X, X[:1], np.ones(1), 1.0, 3, np.array([0.3, 0.4]))
    assert move[0] == pytest.approx(leverage_bound(S, reach, 0.0, delta)[0])
    assert move[0] == pytest.approx(0.5 / 20)

    near = np.repeat(TWO, 2000, axis=0)
    far = np.concatenate([[[0.0, 400.0]], near])
    move, S, reach, delta = leverage(far, TWO, HALVES, 0.1, 0, np.array([1e-3, 0.0]))
    sharp = sharp_lipschitz_in_data(TWO, 0.1)
    assert 0.9 * leverage_bound(S, reach, sharp, delta)[0] < move[0]
    assert move[0] <= leverage_bound(S, reach, sharp, delta)[0]
    assert move[0] > leverage_bound(S, reach, 0.9 * sharp, delta)[0]  # caught


def test_the_bounds_are_infinite_where_the_denominator_is_not_positive():
    S, reach = np.array([2.0, 1.0, 0.5, 0.0]), np.ones(4)
    np.testing.assert_array_equal(np.isinf(leverage_bound(S, reach, 1.0, 1.0)), [0, 1, 1, 1])
    np.testing.assert_array_equal(np.isinf(small_move_bound(S, reach, 1.0, 1.0)), [0, 1, 1, 1])
    assert leverage_bound(S, reach, 1.0, 0.0).tolist() == [0.0] * 4


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_hard_assignment_has_no_lipschitz_constant(gap: float):
    """A row on one side of the boundary, then on the other: all of its share moves."""
    left, right = np.array([[-gap / 2, 0.0]]), np.array([[gap / 2, 0.0]])
    jump = np.abs(assignment(left, TWO, HALVES, 0.0) - assignment(right, TWO, HALVES, 0.0)).max()
    assert jump == 1.0  # over a distance of gap: the ratio 1 / gap has no bound
    row, shift = np.zeros((1, 2)), np.array([gap, 0.0])  # and so for a row between moving atoms
    near, far = (assignment(row, TWO + side, HALVES, 0.0) for side in (-shift, shift))
    assert np.abs(near - far).max() == 1.0
    soft = np.abs(assignment(left, TWO, HALVES, 0.5) - assignment(right, TWO, HALVES, 0.5)).max()
    assert soft <= sharp_lipschitz_in_data(TWO, 0.5) * gap * (1.0 + 1e-6)
    X = np.concatenate([left, TWO])
    move, *_ = leverage(X, TWO, HALVES, 0.0, 0, (right - left)[0])
    assert move.min() > 0.4


def test_the_estimators_figures_are_those_of_its_data(kernel: ReferenceKernel):
    X = np.random.default_rng(3).normal(size=(500, 3))
    model = EMSCoreset(8, reg=0.5, random_state=0).fit(X)
    found = model.stability(X)
    atoms, S = updated(X, model.atoms_, model.weights_, 0.5)
    np.testing.assert_allclose(found.rows_per_atom, S, rtol=1e-9)
    np.testing.assert_allclose(found.reach, np.sqrt(costs(X, atoms).max(axis=0)), rtol=1e-9)
    assert found.diameter == pytest.approx(np.sqrt(costs(model.atoms_, model.atoms_).max()))
    assert found.share_per_unit == pytest.approx(sharp_lipschitz_in_data(model.atoms_, 0.5))
    move, *_ = leverage(X, model.atoms_, model.weights_, 0.5, 7, np.array([0.1, 0.0, 0.0]))
    assert (move <= found.atom_move(0.1)).all()
    blocks = BlockSource(lambda: iter([X[:200], X[200:]]), kernel=kernel)
    same = stability(blocks, model.atoms_, model.weights_, 0.5)
    np.testing.assert_allclose(same.atom_move(0.1), found.atom_move(0.1))


def test_the_figures_do_not_depend_on_the_scale_of_the_weights():
    X = np.random.default_rng(3).normal(size=(200, 2))
    model = EMSCoreset(5, reg=0.5, random_state=0).fit(X)
    plain, scaled = model.stability(X), model.stability(X, sample_weight=np.full(200, 17.0))
    np.testing.assert_allclose(plain.rows_per_atom, scaled.rows_per_atom)
    assert plain.rows_per_atom.sum() == pytest.approx(200)


def test_the_figures_in_words():
    X = np.random.default_rng(3).normal(size=(500, 3))
    found = EMSCoreset(8, reg=0.5, random_state=0).fit(X).stability(X)
    said = repr(found)
    assert f"at most {found.share_per_unit:.4g} x delta" in said
    step = 0.5 * found.rows_per_atom.min() / found.share_per_unit
    moved = found.atom_move(step).max()
    assert f"one row moves by {step:.3g}, no atom moves by more than {moved:.3g}" in said
    one = EMSCoreset(1, reg=0.5).fit(X).stability(X)
    far = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    assert "0 x delta" in repr(one)
    assert f"one row moves by {far:.3g}, no atom moves by more than {far / 500:.3g}" in repr(one)
    hard = EMSCoreset(8, reg=0.0, random_state=0).fit(X).stability(X)
    assert "at reg=0: a row on the boundary" in repr(hard)


def test_at_reg_zero_there_are_no_figures_and_a_negative_move_is_refused():
    X = np.random.default_rng(3).normal(size=(200, 2))
    source = ArraySource(X, kernel=ReferenceKernel())
    hard = stability(source, X[:4], np.full(4, 0.25), 0.0)
    assert hard.share_per_unit == np.inf
    assert np.isinf(hard.atom_move(1e-9)).all()
    assert not hard.atom_move(0.0).any()
    with pytest.raises(ValueError, match="delta"):
        hard.atom_move(-1.0)
