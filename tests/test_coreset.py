"""Coreset: a value that explains itself."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from emscoreset import Coreset


def make(**changes) -> Coreset:
    fields = {
        "atoms": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        "weights": [0.5, 0.25, 0.25],
        "mass": 1000.0,
        "n": 900,
        "reg": 0.0,
        "distance": 2.0,
        "lower": 2.0,
        "upper": 2.0,
        "variance": 10.0,
    }
    return Coreset(**{**fields, **changes})


def test_it_is_immutable():
    weights = np.array([0.5, 0.25, 0.25])
    coreset = make(weights=weights)
    with pytest.raises(ValueError, match="read-only"):
        coreset.atoms[0, 0] = 1
    with pytest.raises(AttributeError):
        coreset.reg = 1.0
    weights[0] = 99
    assert coreset.weights[0] == 0.5


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_copies_are_as_immutable(again):
    coreset = again(make(provenance={"seed": 1, "parameters": {"reg": 0.1}}))
    assert coreset.provenance == {"seed": 1, "parameters": {"reg": 0.1}}
    assert repr(coreset) == repr(make())
    for array in (coreset.atoms, coreset.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError, match="assignment"):
        coreset.provenance["seed"] = 2


def test_its_provenance_is_its_own():
    made = {"parameters": {"reg": 0.1}}
    coreset = make(provenance=made)
    made["parameters"]["reg"] = 5
    assert coreset.provenance == {"parameters": {"reg": 0.1}}


def test_sample_weight_sums_to_the_mass():
    assert make().sample_weight.tolist() == [500, 250, 250]


def test_kept_and_effective_atoms():
    assert make().kept == pytest.approx(0.8)
    assert make(variance=0.0, upper=0.0).kept == 1.0
    assert make(weights=[1, 0, 0]).effective_atoms == 1.0
    assert make(weights=[1 / 3] * 3).effective_atoms == pytest.approx(3.0)


def test_a_sample_is_drawn_by_weight():
    drawn = make().sample(4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 2)
    shares = [(drawn[:, 0] == x).mean() for x in (0, 2, 4)]
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.03)
    np.testing.assert_array_equal(make().sample(5, 1), make().sample(5, 1))
    assert make().sample(0).shape == (0, 2)
    with pytest.raises(ValueError, match="n must be at least 0"):
        make().sample(-1)


def test_repr_says_it_in_words():
    exact = repr(make())
    assert "3 weighted atoms of 2 columns for 900 rows" in exact
    assert "(W2^2): 2 (exact)" in exact
    assert "variance kept: 80 % (exact)" in exact
    assert "distance at reg" not in exact
    soft = repr(make(reg=0.1, distance=2.5, upper=3.0))
    assert "between 2 and 3" in soft
    assert "between 70 % and 80 %" in soft
    assert "distance at reg=0.1: 2.5 (exact)" in soft
    assert "rows are equal" in repr(make(variance=0.0))
    assert "1 weighted atom of 1 column for" in repr(make(atoms=[[1.0]], weights=[1.0]))


def test_what_is_not_known_is_said():
    nan = float("nan")
    for changes in ({"variance": nan}, {"distance": nan, "lower": nan, "upper": nan, "reg": 0.1}):
        coreset = make(**changes)
        assert "variance kept: not known" in repr(coreset)
        assert "nan" not in repr(coreset)
        assert "rows are equal" not in repr(coreset)
        assert "what they keep of the data is not known" in coreset.in_words()
        assert np.isnan(coreset.kept)
        assert coreset.figures()["kept"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"atoms": [1.0, 2.0]}, "atoms must be 2-d"),
        ({"atoms": np.zeros((0, 2)), "weights": []}, "at least one row"),
        ({"weights": [0.5, 0.5]}, "one per atom"),
        ({"weights": [0.5, 0.5, 0.5]}, "sum to 1"),
        ({"weights": [1.5, -0.5, 0.0]}, ">= 0"),
        ({"weights": [np.nan, 0.5, 0.5]}, "sum to 1"),
        ({"atoms": np.full((3, 2), np.inf)}, "finite"),
        ({"feature_names": ("a",)}, "2 different names"),
        ({"feature_names": ("a", 1)}, "2 different names"),
        ({"n": 0}, "n must be a whole number >= 1, not 0"),
        ({"mass": 0.0}, "mass must be greater than 0"),
        ({"mass": "1"}, "mass must be a finite number >= 0, not '1'"),
        ({"reg": -1.0}, "reg must be a finite number >= 0, not -1.0"),
        ({"reg": np.nan}, "reg must be a finite number"),
        ({"distance": -1.0}, "distance must be a finite number"),
        ({"upper": np.inf}, "upper must be a finite number"),
        ({"feature_names": ("a", "a")}, "2 different names"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_repr_shows_no_rounding():
    said = repr(make(distance=10.000000000000002, lower=10.0, upper=10.000000000000002))
    assert "variance kept: 0 % (exact)" in said
    assert "for 1 row\n" in repr(make(n=1))
