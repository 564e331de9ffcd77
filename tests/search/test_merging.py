"""Atoms that a large reg merged: counted, said, and the reg that is named does not merge them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from emscoreset import EMSCoreset
from emscoreset.search.merging import count_apart, nearest_gaps
from oracles import costs

X = np.random.default_rng(0).normal(size=(600, 3))


def test_atoms_apart_are_counted():
    Y = np.array([[0.0, 0.0], [0.005, 0.0], [1.0, 0.0], [1.0, 3.0], [1.0, 3.0]])
    assert count_apart(Y, reg=1.0) == 3
    assert count_apart(Y, reg=1e-9) == 4
    assert count_apart(Y, reg=1e9) == 1


def test_nearest_gaps(kernel):
    C = costs(X[:50], X[:50])
    np.fill_diagonal(C, np.inf)
    np.testing.assert_allclose(nearest_gaps(X[:50], kernel), C.min(axis=1))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("share", [2.0, 50.0])
def test_the_warning_names_a_reg_that_keeps_them_apart(scale: float, share: float):
    rows = X * scale
    reg = share * scale**2
    with pytest.warns(UserWarning, match="atoms merged: 20 were asked for") as caught:
        EMSCoreset(20, reg=reg, random_state=0).fit(rows)
    said = next(str(w.message) for w in caught if "merged" in str(w.message))
    found = re.search(r"effective number is (\d+)\. reg=(\S+) keeps them apart", said)
    assert found, said
    assert int(found[1]) < 16
    assert float(found[2]) < reg
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = EMSCoreset(20, reg=float(found[2]), random_state=0).fit(rows)
    assert count_apart(again.atoms_, again.reg) >= 16


def test_no_word_where_they_are_apart():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EMSCoreset(20, reg=0.0, random_state=0).fit(X)
        EMSCoreset(20, reg=0.01, random_state=0).fit(X)
        EMSCoreset(1, reg=100.0, random_state=0).fit(X)
