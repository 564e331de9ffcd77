"""How fast the distance falls with k, and the floor under it at a fixed reg."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emscoreset.kernels import get_kernel
from emscoreset.search.drive import Outcome, Settings, fit
from emscoreset.sources.array import ArraySource
from emscoreset.theory import (
    annealed_reg,
    collapse_reg,
    entropic_floor,
    gaussian_floor,
    objective,
    rate_slope,
)

KS = [16, 32, 64, 128]


def fits(X: np.ndarray, ks: list[int], regs: list[float], tol: float = 1e-5) -> list[Outcome]:
    source = ArraySource(X, kernel=get_kernel("auto"))
    return [
        fit(source, Settings(k, reg=reg, tol=tol), np.random.default_rng(0))
        for k, reg in zip(ks, regs, strict=True)
    ]


def annealed(X: np.ndarray, ks: list[int], dimension: float, scale: float) -> list[Outcome]:
    return fits(X, ks, [annealed_reg(k, dimension, scale) for k in ks])


def square(n: int) -> np.ndarray:
    return np.random.default_rng(1).random((n, 2))


def torus(n: int) -> np.ndarray:
    """Flat, of dimension 2 in a space of 4: the case of the paper's remark, d_m = d / 2."""
    angles = 2 * np.pi * np.random.default_rng(2).random((n, 2))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def normal(n: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n, 10))


@pytest.mark.parametrize(
    ("X", "dimension", "scale"),
    [(square(20000), 2, 0.05), (torus(20000), 2, 2.0), (normal(20000), 10, 0.3)],
    ids=["square", "torus in 4-d", "10-d normal"],
)
def test_the_squared_distance_falls_like_k_to_the_minus_two_over_d(X, dimension, scale):
    """Both ends of the bracket, with reg_k = c k^(-2/d); the paper's -1/d is far off.

    The torus has its own dimension's slope, not that of the space it lies in.
    """
    found = annealed(X, KS, dimension, scale)
    for end in ("lower", "upper"):
        slope = rate_slope(KS, [getattr(f.distance, end) for f in found])
        assert slope == pytest.approx(-2 / dimension, rel=0.07)


def test_a_reg_that_falls_too_slowly_spoils_the_rate():
    """reg_k = c k^(-1/d), as the paper's statement has it for p = 2: W_2^2 goes like reg_k."""
    X = square(20000)
    regs = [0.4 * float(k) ** -0.5 for k in KS]
    slope = rate_slope(KS, [f.distance.upper for f in fits(X, KS, regs)])
    assert -0.7 < slope < -0.3


def test_the_regularised_distance_keeps_the_logarithm_of_k():
    """k^(2/d) W_reg rises by c log 2 with every doubling of k; without the log it would not."""
    c = 0.2
    found = annealed(square(20000), KS, 2, c)
    scaled = np.array(KS) * [f.distance.value for f in found]
    np.testing.assert_allclose(np.diff(scaled), c * np.log(2), rtol=0.2)
    for k, f in zip(KS, found, strict=True):
        reg = annealed_reg(k, 2, c)
        floor = entropic_floor(0.0, 2, reg)  # a unit square has entropy 0
        assert floor < f.distance.value
        without_pi = floor + reg * np.log(np.pi)
        assert without_pi > f.distance.value  # caught


@given(st.floats(1e-3, 2.0), st.integers(1, 4), st.integers(0, 1000))
def test_the_floor_of_a_normal_is_the_entropic_one_where_nothing_collapses(ratio, d, seed):
    s = np.random.default_rng(seed).uniform(0.5, 3.0, size=d)
    reg = ratio * s.min()
    entropy = 0.5 * float(np.log(2 * np.pi * np.e * s).sum())
    assert gaussian_floor(s, reg)[0] == pytest.approx(entropic_floor(entropy, d, reg), rel=1e-9)


@given(st.integers(0, 1000), st.floats(0.05, 6.0))
def test_no_coreset_of_a_normal_is_below_its_floor(seed: int, reg: float):
    """Random atoms and weights, in expectation: L is a mean over rows, known to its error."""
    rng = np.random.default_rng(seed)
    s = np.array([2.0, 0.5])
    X = rng.normal(size=(2000, 2)) * np.sqrt(s)
    Y, w = rng.normal(size=(30, 2)) * np.sqrt(s), rng.dirichlet(np.ones(30))
    L = objective(X, np.full(2000, 1 / 2000), Y, w, reg)
    error = float((X * X).sum(axis=1).std()) / np.sqrt(2000)
    assert gaussian_floor(s, reg)[0] <= L + 4 * error


@pytest.mark.parametrize("reg", [1.0, 1.5])
def test_at_a_fixed_reg_the_distances_stop_at_their_floors(reg: float):
    """1-d normal: W_2^2 exactly, by sorting. The corollary's limit 0 is not reached."""
    X = np.random.default_rng(4).normal(size=(20000, 1))
    X *= 1.0 / X.std()
    regularised, plain = gaussian_floor([1.0], reg)
    found = fits(X, [4, 16, 64], [reg] * 3, tol=1e-8)
    for few, more in pairwise(f.distance.value for f in found):
        assert more <= few * (1 + 1e-5)  # at the floor all are one
    for f in found[1:]:
        assert f.distance.value == pytest.approx(regularised, rel=0.01)
        assert f.distance.value != pytest.approx(gaussian_floor([1.0], 0.5 * reg)[0], rel=0.1)
    many = found[-1]
    exact = ot.emd2_1d(X[:, 0], many.atoms[:, 0], b=many.weights)
    assert exact == pytest.approx(plain, rel=0.2)


def test_from_twice_the_largest_eigenvalue_on_all_atoms_collapse_to_the_mean():
    X = np.random.default_rng(5).normal(size=(4000, 3)) * [1.0, 0.7, 0.4]
    X -= X.mean(axis=0)
    edge = collapse_reg(np.linalg.eigvalsh(np.cov(X.T)))

    def spread(share: float, k: int) -> float:
        f = fits(X, [k], [share * edge], tol=1e-10)[0]
        return float(f.weights @ np.square(f.atoms).sum(axis=1))

    for k in (4, 32):  # for every k
        assert spread(1.3, k) < 1e-4
        # From half the edge on nothing collapses: variance s - reg / 2 stays in each direction
        # where that is positive.
        assert spread(0.8, k) > 0.1
    assert gaussian_floor([1.0, 0.49, 0.16], 2.0) == pytest.approx((1.65, 1.65))


def test_with_a_reg_that_falls_with_k_the_coreset_converges():
    """Corollary "consistency", as it holds: W_2^2 -> 0 where reg_k -> 0, not at a fixed reg."""
    X = np.random.default_rng(6).normal(size=(10000, 1))
    ks = [4, 16, 64]

    def exact(found: list[Outcome]) -> list[float]:
        return [ot.emd2_1d(X[:, 0], f.atoms[:, 0], b=f.weights) for f in found]

    falls = exact(annealed(X, ks, 1, 4.0))
    assert falls[1] < 0.15 * falls[0]
    assert falls[2] < 0.15 * falls[1]
    assert exact(fits(X, [64], [0.5]))[0] > 5 * falls[2]


@pytest.mark.parametrize("exponent", [-2.0, -0.2])
def test_the_slope_is_the_exponent_of_a_power_law(exponent: float):
    k = np.array([3, 10, 40])
    assert rate_slope(k, 7.0 * k**exponent) == pytest.approx(exponent)
    assert annealed_reg(32, 10, 3.0) == pytest.approx(1.5)
