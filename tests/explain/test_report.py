"""Reports of backgrounds: against every coalition, and the number of rows they pick."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression

from emscoreset.explain import background, background_report
from oracles import shapley_values


@pytest.fixture(scope="module")
def boosted(data):
    return GradientBoostingRegressor(n_estimators=30, random_state=0).fit(data.X, data.y)


def test_errors_are_those_of_all_coalitions(data, boosted):
    x, Y, large = data.X[200:203], data.X[:5], data.X[20:60]
    w = data.weights(5)
    report = background_report(boosted, (Y, w), x, reference=large)
    even = np.full(len(large), 1 / len(large))

    def f(rows):
        return boosted.predict(rows)[:, None]

    theirs = np.array([shapley_values(f, one, large, even) for one in x])
    off = np.abs([shapley_values(f, one, Y, w) for one in x] - theirs)
    assert report.mean_error == pytest.approx(off.mean(), rel=1e-9)
    assert report.max_error == pytest.approx(off.max(), rel=1e-9)
    assert report.scale == pytest.approx(np.abs(theirs).mean(), rel=1e-9)
    base = abs(w @ boosted.predict(Y) - boosted.predict(large).mean())
    assert report.base_error == pytest.approx(base, rel=1e-9)
    assert (report.n_rows, report.n_reference, report.n_explained) == (5, 40, 3)


def test_a_model_without_trees_and_x_as_the_reference(data):
    model = LinearRegression().fit(data.X, data.y)
    x = data.X[200:210]
    report = background_report(model, (data.X[:4], None), x)
    off = np.abs(model.coef_ * (data.X[:4].mean(axis=0) - x.mean(axis=0)))
    assert report.mean_error == pytest.approx(off.mean(), abs=1e-9)
    assert report.n_reference == 10


def test_several_outputs(data):
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(data.X, data.three)
    report = background_report(model, (data.X[:4], None), data.X[200:203], reference=data.X)
    mean = model.predict_proba(data.X).mean(axis=0)
    off = np.abs(model.predict_proba(data.X[:4]).mean(axis=0) - mean)
    assert report.base_error == pytest.approx(off.max())


def test_within_picks_the_fewest_rows(data, boosted):
    rows = data.X[200:230]
    report = background_report(
        boosted, None, rows, reference=data.X[:200], within=0.02, random_state=0
    )
    assert report.mean_error <= 0.02
    k = max(k for k, error in report.tried.items() if error <= 0.02 and error == report.mean_error)
    assert report.tried[k - 1] > 0.02
    chosen = background(data.X[:200], k, model=boosted, random_state=0)
    np.testing.assert_array_equal(report.background.row_numbers, chosen.row_numbers)
    again = background_report(boosted, report.background, rows, reference=data.X[:200])
    assert again.mean_error == report.mean_error
    assert f"{k}: " in repr(report)


def test_within_ends_at_all_rows(data, boosted):
    few = data.X[:9]  # eight different ones, one of them twice
    report = background_report(boosted, None, data.X[200:202], reference=few, within=1e-13)
    assert len(report.background) == len(np.unique(few, axis=0))


def test_it_reads_like_a_sentence(data, boosted):
    report = background_report(boosted, (data.X[:5], None), data.X[200:203], reference=data.X)
    assert repr(report).startswith("Background of 5 rows beside 300 rows: 3 rows explained")
    assert f"mean error of the values: {report.mean_error:.3g}" in repr(report)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"coreset": None}, "within="),
        ({"within": 0.1}, "either a background"),
        ({"coreset": None, "within": 0.0}, "within must be"),
        ({"coreset": None, "within": 0.1, "reference": None}, "reference="),
        ({"output": "log"}, "output"),
    ],
)
def test_errors_name_the_argument(data, boosted, given, match: str):
    arguments = {"coreset": (data.X[:5], None), "reference": data.X} | given
    with pytest.raises(ValueError, match=match):
        background_report(boosted, arguments.pop("coreset"), data.X[200:202], **arguments)
