"""Where k-means puts its centres, what uniform weights make of that, and the repair.

Data are the cells of a fine grid with their masses, so the density is known and no row is drawn.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import ot
import pytest
from scipy.optimize import root

from emscoreset.kernels import get_kernel
from emscoreset.search.drive import Settings, fit
from emscoreset.sources.array import ArraySource
from emscoreset.theory import centre_density, correction_weights, high_resolution_cost, rate_slope


def density(Y: np.ndarray) -> np.ndarray:
    """On the unit interval or square: rises twentyfold along the first axis."""
    return (1.0 + 19.0 * Y[:, 0]) / 10.5


def grid(d: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Cells' middles, the density there, and a cell's volume."""
    m = 10000 if d == 1 else 100
    middles = (np.arange(m) + 0.5) / m
    X = np.stack(np.meshgrid(*[middles] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return X, density(X), float(m) ** -d


@cache
def in_the_plane(k: int, times: int = 6) -> tuple[np.ndarray, np.ndarray, float]:
    """The atoms and weights of several fits together, and the least of their distances.

    Of one fit, the likeliest power below has a standard error of 0.05.
    """
    X, p, _ = grid(2)
    source = ArraySource(X, p, kernel=get_kernel("auto"))
    how = Settings(k, reg=0.0, algorithm="best")  # the theory is of the optimum
    fits = [fit(source, how, np.random.default_rng(s)) for s in range(times)]
    weights = np.concatenate([f.weights for f in fits]) / times
    return np.concatenate([f.atoms for f in fits]), weights, min(f.distance.value for f in fits)


def cells(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and masses of the cells of centres on the line, by integrating the density."""
    ends = np.concatenate([[0.0], 0.5 * (y[1:] + y[:-1]), [1.0]])
    mass = np.diff(ends + 9.5 * ends**2) / 10.5
    return np.diff(0.5 * ends**2 + 19 / 3 * ends**3) / 10.5 / mass, mass


def on_the_line(k: int) -> tuple[np.ndarray, np.ndarray]:
    """The one optimum (p is log-concave): Lloyd from even spacing, then Newton's method."""
    y = (np.arange(k) + 0.5) / k
    for _ in range(300):
        y = cells(y)[0]
    y = root(lambda z: z - cells(z)[0], y, tol=1e-12).x
    assert (np.diff(y) > 0).all()
    np.testing.assert_allclose(y, cells(y)[0], atol=1e-9)
    return y[:, None], cells(y)[1]


def likeliest_power(Y: np.ndarray, p: np.ndarray, volume: float) -> float:
    """The a for which centres drawn from p^a / integral p^a are likeliest."""
    powers = np.linspace(-0.2, 1.6, 361)
    fits = [a * np.log(density(Y)).sum() - len(Y) * np.log((p**a).sum() * volume) for a in powers]
    return float(powers[int(np.argmax(fits))])


def test_centres_on_the_line_lie_with_density_p_to_the_third():
    X, p, volume = grid(1)
    Y, w = on_the_line(64)
    assert likeliest_power(Y, p, volume) == pytest.approx(1 / 3, abs=0.02)
    cost = ot.emd2_1d(X[:, 0], Y[:, 0], p * volume, w)
    assert cost == pytest.approx(high_resolution_cost(p, volume, 1, 64), rel=1e-3)


def test_the_library_finds_the_optimum_on_the_line():
    X, p, _ = grid(1)
    source = ArraySource(X, p, kernel=get_kernel("auto"))
    found = fit(source, Settings(8, reg=0.0, tol=1e-12), np.random.default_rng(0))
    order = np.argsort(found.atoms[:, 0])
    Y, w = on_the_line(8)
    np.testing.assert_allclose(found.atoms[order], Y, atol=1e-3)
    np.testing.assert_allclose(found.weights[order], w, atol=1e-3)


def test_centres_in_the_plane_lie_with_density_root_p():
    """1/2; p itself would be 1, the line's exponent 1/3, no dependence at all 0."""
    _, p, volume = grid(2)
    atoms, _, distance = in_the_plane(256)
    assert likeliest_power(atoms, p, volume) == pytest.approx(1 / 2, abs=0.07)
    cost = high_resolution_cost(p, volume, 2, 256)
    assert cost < distance < 1.04 * cost


def test_a_density_has_integral_one_and_a_uniform_one_keeps_its_shape():
    for d in (1, 2):
        _, p, volume = grid(d)
        assert centre_density(p, volume, d).sum() * volume == pytest.approx(1.0)
        flat = np.ones_like(p)
        np.testing.assert_allclose(centre_density(flat, volume, d), flat)
    with pytest.raises(ValueError, match="d = 1 and 2, not 3"):
        high_resolution_cost(np.ones(5), 0.2, 3, 10)


@pytest.mark.parametrize(("d", "constant"), [(1, 1 / 12), (2, 5 / (18 * np.sqrt(3)))])
def test_a_uniform_density_costs_what_its_best_cells_do(d: int, constant: float):
    """By integrating over one cell of volume 1: the interval, the hexagon, by brute force."""
    m = 2001
    side = np.sqrt(2 / (3 * np.sqrt(3)))  # of a hexagon of area 1
    u = ((np.arange(m) + 0.5) / m - 0.5) * (1.0 if d == 1 else 2 * side)
    if d == 1:
        brute = np.square(u).mean()
    else:
        x, y = np.meshgrid(u, u)
        inside = (np.abs(y) <= side * np.sqrt(3) / 2) & (np.abs(x) + np.abs(y) / np.sqrt(3) <= side)
        brute = (x * x + y * y)[inside].mean()
    assert brute == pytest.approx(constant, rel=1e-3)
    assert high_resolution_cost(np.ones(100), 0.01, d, 1) == pytest.approx(constant)


def plain_costs(ks: list[int]) -> np.ndarray:
    """On the line, exactly: W_2^2 of the centres with uniform, corrected and cells' masses."""
    X, p, volume = grid(1)
    g = centre_density(p, volume, 1)
    rows = []
    for k in ks:
        Y, own = on_the_line(k)
        corrected = correction_weights(density(Y), np.interp(Y[:, 0], X[:, 0], g))
        weights = (np.full(k, 1 / k), corrected, own)
        rows.append([ot.emd2_1d(X[:, 0], Y[:, 0], p * volume, w) for w in weights])
    return np.array(rows)


def test_uniform_weights_do_not_converge_and_the_weights_p_over_g_repair_it():
    """With uniform weights the distance stops at W_2^2(p, g)."""
    X, p, volume = grid(1)
    g = centre_density(p, volume, 1)
    limit = ot.emd2_1d(X[:, 0], X[:, 0], p * volume, g * volume)
    ks = [8, 32, 128]
    uniform, corrected, own = plain_costs(ks).T
    assert uniform[-1] == pytest.approx(limit, rel=0.02)
    assert uniform[-1] > 100 * own[-1]
    assert rate_slope(ks, own) == pytest.approx(-2.0, rel=0.03)
    assert rate_slope(ks, corrected) == pytest.approx(-2.0, rel=0.1)
    assert (own < corrected).all()  # the cells' own masses are the best weights there are
    wrong = density(on_the_line(128)[0]) ** 0.5  # p / g with the plane's g: no repair
    Y = on_the_line(128)[0][:, 0]
    assert ot.emd2_1d(X[:, 0], Y, p * volume, wrong / wrong.sum()) > 10 * corrected[-1]


def test_in_the_plane_the_corrected_weights_are_near_the_cells_masses():
    atoms, weights, _ = in_the_plane(128, times=2)
    p = density(atoms)
    corrected = correction_weights(p, p ** (1 / 2))
    assert corrected.sum() == pytest.approx(1.0)
    far = np.abs(1 / 256 - weights).sum()
    assert np.abs(corrected - weights).sum() < 0.4 * far


def test_uniform_weights_fail_and_corrected_ones_do_not_in_the_plane_either():
    """Projected on the first axis, along which alone p and g change: no cost rises by that."""
    X, p, volume = grid(1)  # the first axis has the density of the line; g is the plane's, root p
    g = centre_density(p, volume, 2)
    limit = ot.emd2_1d(X[:, 0], X[:, 0], p * volume, g * volume)
    atoms, _, distance = in_the_plane(256)
    heights = density(atoms)
    corrected = correction_weights(heights, heights ** (1 / 2))

    def projected(w: np.ndarray) -> float:
        return float(ot.emd2_1d(X[:, 0], atoms[:, 0], p * volume, w))

    assert projected(np.full(len(atoms), 1 / len(atoms))) == pytest.approx(limit, rel=0.15)
    assert limit > 5 * distance  # of the cells' own masses, and not only projected
    assert projected(corrected) < 0.1 * limit
