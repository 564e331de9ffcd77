"""scikit-learn's callbacks: its ProgressBar, and one that looks, stops or raises."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset import EMSCoreset

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.8 has no callbacks")

X = np.random.default_rng(0).normal(size=(300, 3))


class Watch:
    """Keeps what it is told; answers as ``answer`` says at the end of each task."""

    def __init__(self, answer=lambda told: None):
        self.answer, self.ends, self.begun = answer, [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.ends.append((context.task_name, X, fitted_estimator))
        return self.answer(self.ends)


def test_progress_bar(capsys):
    plain = EMSCoreset(5, random_state=0).fit(X)
    shown = EMSCoreset(5, random_state=0).set_callbacks(callback.ProgressBar()).fit(X)
    assert "EMSCoreset" in capsys.readouterr().out
    np.testing.assert_array_equal(shown.atoms_, plain.atoms_)


def test_a_task_for_each_pass():
    watch = Watch()
    found = EMSCoreset(5, random_state=0).set_callbacks(watch).fit(X)
    assert [name for name, *_ in watch.ends] == ["pass"] * len(found.history_) + ["fit"]
    assert watch.begun == len(watch.ends)
    assert all(rows is X for _, rows, _ in watch.ends)
    scores = [fitted.score(X) for *_, fitted in watch.ends]  # each state is an estimator
    assert scores[0] < scores[-1] == found.score(X)


def test_a_true_answer_ends_the_descent():
    watch = Watch(lambda ends: len(ends) == 3)
    model = EMSCoreset(5, algorithm="plain", random_state=0)
    found = model.set_callbacks(watch).fit(X)
    assert len(found.history_) == 3
    assert not found.converged_
    assert found.coreset_.distance == found.distance_


def test_an_error_leaves_the_estimator_as_it_was():
    def stop(ends):
        raise RuntimeError("enough")

    model = EMSCoreset(5, random_state=0).fit(X)
    atoms, labels = model.atoms_, model.labels_
    model.set_callbacks(Watch(stop))
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X[:, :2])
    assert model.atoms_ is atoms
    assert model.labels_ is labels
    assert model.n_features_in_ == 3
