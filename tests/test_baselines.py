"""The baselines: what they find, what weights they carry, and that their distance is POT's."""

from __future__ import annotations

import numpy as np
import ot
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from emscoreset import Coreset
from emscoreset.baselines import kmeans, random
from oracles import costs


def rows(n: int = 400, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))


def exact_w2(X: np.ndarray, coreset: Coreset, a: np.ndarray | None = None) -> float:
    a = np.ones(len(X)) if a is None else a
    return float(ot.emd2(a / a.sum(), coreset.weights, costs(X, coreset.atoms)))


def test_random_takes_different_rows_with_equal_weights():
    X = rows()
    coreset = random(X, 20, rng=0)
    assert len(np.unique(coreset.atoms, axis=0)) == 20
    assert all((atom == X).all(axis=1).any() for atom in coreset.atoms)
    np.testing.assert_array_equal(coreset.weights, np.full(20, 0.05))


def test_random_draws_rows_by_mass():
    X = np.arange(10.0)[:, None]
    a = np.array([0.0, 50, 1, 1, 1, 1, 1, 1, 1, 0])
    drawn = np.concatenate([random(X, 1, sample_weight=a, rng=s).atoms[:, 0] for s in range(40)])
    assert 0 not in drawn
    assert 9 not in drawn
    assert (drawn == 1).mean() > 0.6


@pytest.mark.parametrize("weighted", [False, True])
def test_distances_to_uniform_weights_enclose_pots(weighted: bool):
    X = rows()
    a = np.random.default_rng(1).integers(1, 5, len(X)).astype(float) if weighted else None
    for coreset in (
        random(X, 12, sample_weight=a, rng=3),
        kmeans(X, 12, weights="uniform", sample_weight=a, rng=3),
    ):
        exact = exact_w2(X, coreset, a)
        assert coreset.lower <= exact * (1 + 1e-9)
        assert exact <= coreset.upper * (1 + 1e-9)
        assert coreset.upper - coreset.lower < 0.01 * exact


def test_kmeans_is_scikit_learns_and_its_masses_are_its_clusters():
    X = rows()
    coreset = kmeans(X, 9, weights="mass", rng=5, tol=0.0)
    d2 = costs(X, coreset.atoms)
    np.testing.assert_allclose(
        coreset.weights, np.bincount(d2.argmin(axis=1), minlength=9) / len(X)
    )
    assert coreset.distance == pytest.approx(exact_w2(X, coreset), rel=1e-9)
    assert coreset.lower == coreset.upper == coreset.distance
    seed = int(np.random.default_rng(5).integers(1 << 31))
    theirs = KMeans(9, n_init=1, max_iter=1000, tol=0.0, random_state=seed).fit(X)
    assert coreset.distance == pytest.approx(theirs.inertia_ / len(X), rel=1e-9)


def test_masses_beat_uniform_weights_on_the_same_centres():
    X = rows()
    mass, uniform = (kmeans(X, 15, weights=w, rng=2) for w in ("mass", "uniform"))
    np.testing.assert_array_equal(mass.atoms, uniform.atoms)
    assert mass.upper < uniform.lower


def test_names_mass_and_provenance_come_along():
    X = pd.DataFrame(rows(), columns=["a", "b", "c"])
    a = np.full(len(X), 2.5)
    coreset = kmeans(X, 4, sample_weight=a, rng=0)
    assert coreset.feature_names == ("a", "b", "c")
    assert coreset.mass == pytest.approx(2.5 * len(X))
    assert coreset.provenance["made_by"] == "baselines.kmeans"
    assert coreset.provenance["seconds"] > 0
    assert coreset.provenance["parameters"]["weights"] == "mass"


@pytest.mark.parametrize("n_atoms", [0, 401, 2.5, True])
def test_a_wrong_number_of_atoms_is_refused(n_atoms: object):
    with pytest.raises(ValueError, match="n_atoms"):
        random(rows(), n_atoms)  # type: ignore[arg-type]


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match='weights must be "uniform" or "mass"'):
        kmeans(rows(), 3, weights="equal")  # type: ignore[arg-type]
    a = np.zeros(400)
    a[:2] = 1.0
    with pytest.raises(ValueError, match="only 2 have weight > 0"):
        random(rows(), 3, sample_weight=a)
