"""Classes kept apart: atoms by mass, each class's mass exact, the distance POT finds."""

from __future__ import annotations

import numpy as np
import ot
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from emscoreset import EMSCoreset
from emscoreset.strata import apportion
from oracles import costs

X, Y = load_iris(return_X_y=True)
FAR = 1e3  # a cost at which no mass changes its class


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=12),
    st.integers(0, 60),
    st.integers(1, 50),
)
def test_atoms_go_by_mass(masses: list[int], spare: int, most: int):
    shares = np.array(masses) / sum(masses)
    n_atoms = len(masses) + spare
    atoms = apportion(n_atoms, shares, np.full(len(masses), most))
    assert atoms.sum() == min(n_atoms, most * len(masses))
    assert atoms.min() >= 1
    assert atoms.max() <= most
    quota = n_atoms * shares
    if most > n_atoms and quota.min() >= 1:  # nothing but largest remainders
        assert (np.abs(atoms - quota) < 1).all()
        up, down = atoms > quota, atoms < quota
        if up.any() and down.any():
            remainder = quota - np.floor(quota)
            assert remainder[up].min() >= remainder[down].max() - 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_each_classs_mass_is_exact_and_the_distance_is_pots(weighted: bool, reg: float):
    keep = np.r_[0:50, 50:70, 100:105]
    rows, y = X[keep], np.array(["a", "b", "c"])[Y[keep]]
    a = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    model = EMSCoreset(12, reg=reg, random_state=0).fit_stratified(rows, y, a)
    mass = np.ones(len(y)) if a is None else a
    assert set(model.atom_labels_) == {"a", "b", "c"}
    for label in "abc":
        own = model.coreset_.sample_weight[model.atom_labels_ == label].sum()
        assert own == pytest.approx(mass[y == label].sum(), rel=1e-12)
    C = costs(rows, model.atoms_)
    shares = mass / mass.sum()
    plain = ot.emd2(shares, model.weights_, C)
    C[y[:, None] != model.atom_labels_[None, :]] = FAR
    apart = ot.emd2(shares, model.weights_, C)
    if reg == 0:
        assert model.distance_ == pytest.approx(apart, rel=1e-9)
    else:
        P = ot.bregman.sinkhorn_log(shares, model.weights_, C, reg, numItermax=20000, stopThr=1e-9)
        with np.errstate(divide="ignore", invalid="ignore"):
            kl = np.where(P > 0, P * np.log(P / np.outer(shares, model.weights_)), 0.0).sum()
        assert model.distance_ == pytest.approx((P * C).sum() + reg * kl, rel=1e-6)
    assert model.lower_ <= plain * (1 + 1e-9)
    assert plain <= apart * (1 + 1e-9) <= model.upper_ * (1 + 2e-9)


def test_one_class_is_a_plain_fit():
    plain = EMSCoreset(10, random_state=0).fit(X)
    apart = EMSCoreset(10, random_state=0).fit_stratified(X, np.zeros(len(X)))
    np.testing.assert_array_equal(apart.atoms_, plain.atoms_)
    assert apart.distance_ == plain.distance_
    assert apart.lower_ == plain.lower_


def test_fit_ignores_y():
    np.testing.assert_array_equal(
        EMSCoreset(10, random_state=0).fit(X, Y).atoms_,
        EMSCoreset(10, random_state=0).fit(X).atoms_,
    )
    model = EMSCoreset(10, random_state=0).fit_stratified(X, Y).fit(X, Y)
    assert not hasattr(model, "atom_labels_")


def test_frames_and_the_files_say_the_classes(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = EMSCoreset(10, random_state=0).fit_stratified(frame, pd.Series(Y))
    assert list(model.feature_names_in_) == list("abcd")
    told = model.coreset_.provenance["strata"]
    assert [one["label"] for one in told] == [0, 1, 2]
    assert sum(one["n_atoms"] for one in told) == 10
    model.coreset_.save(tmp_path / "c.npz")
    assert model.predict(frame).tolist() == model.labels_.tolist()


def test_classes_without_mass_get_no_atom():
    a = np.where(Y == 1, 0.0, 1.0)
    model = EMSCoreset(6, random_state=0).fit_stratified(X, Y, a)
    assert set(model.atom_labels_) == {0, 2}


@pytest.mark.parametrize(
    ("n_atoms", "y", "error", "message"),
    [
        (2, Y, ValueError, "3 classes, more than n_atoms=2"),
        (9, Y[:-1], ValueError, "y must have 150 values, one per row, not 149"),
        (9, np.ones((150, 2)), ValueError, "y should be a 1d array"),
    ],
)
def test_nonsense_is_refused(n_atoms, y, error, message):
    with pytest.raises(error, match=message):
        EMSCoreset(n_atoms).fit_stratified(X, y)


def test_a_class_with_fewer_rows_leaves_its_atoms_to_others():
    y = np.r_[np.zeros(148), 1, 1]
    model = EMSCoreset(30, random_state=0).fit_stratified(X, y, np.r_[np.ones(148), 74, 74])
    assert np.bincount(model.atom_labels_.astype(int)).tolist() == [28, 2]
