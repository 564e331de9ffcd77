"""EMSCoreset: one coreset for one set of rows, however they come; a good scikit-learn citizen."""

from __future__ import annotations

import pickle
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emscoreset import Coreset, EMSCoreset
from emscoreset.ems import TOL
from emscoreset.kernels import Kernel
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import BlockSource, DrawSource
from oracles import costs, entropic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) * [1.0, 2.0, 0.5] + 4.0
COUNTS = RNG.integers(0, 4, size=400)
REGS = [0.0, 0.01, 0.5]


def model(**changes) -> EMSCoreset:
    return EMSCoreset(**{"n_atoms": 12, "random_state": 0, **changes})


def assert_same_fit(a: EMSCoreset, b: EMSCoreset, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(a.atoms_, b.atoms_, atol=atol)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=atol)
    for name in ("distance_", "lower_", "upper_"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), abs=atol)


class TestWeightsAndOrder:
    """Same atoms to 1e-9, for zero weights, repeated rows and permuted rows."""

    @pytest.mark.parametrize("kernel", ["numpy", "auto"])
    @pytest.mark.parametrize("reg", REGS)
    @pytest.mark.parametrize("algorithm", ["auto", "plain"])
    def test_weights_are_repetitions_in_any_order(self, kernel, reg, algorithm):
        def fit(rows, weight=None):
            made = model(reg=reg, kernel=kernel, algorithm=algorithm)
            return made.fit(rows, sample_weight=weight)

        weighted = fit(X, COUNTS)
        order = np.random.default_rng(1).permutation(400)
        assert_same_fit(fit(X[order], COUNTS[order]), weighted)
        assert_same_fit(fit(X[COUNTS > 0], COUNTS[COUNTS > 0]), weighted)
        repeated = np.repeat(X, COUNTS, axis=0)
        assert_same_fit(fit(repeated), weighted)
        assert_same_fit(fit(repeated[::-1]), weighted)
        assert fit(repeated).coreset_.mass == weighted.coreset_.mass == COUNTS.sum()

    @pytest.mark.filterwarnings("ignore:.*atoms merged:UserWarning")
    @given(st.integers(0, 2**32 - 1), st.sampled_from(REGS))
    @settings(max_examples=25)
    def test_on_ugly_rows(self, seed, reg):
        rng = np.random.default_rng(seed)
        rows = np.round(rng.normal(size=(60, 2)) * 2) / 2  # a lattice: ties and duplicates
        a = rng.integers(0, 3, size=60)
        a[0] = 1
        made = model(n_atoms=7, reg=reg, random_state=seed % 100)
        weighted = clone(made).fit(rows, sample_weight=a)
        order = rng.permutation(int(a.sum()))
        assert_same_fit(made.fit(np.repeat(rows, a, axis=0)[order]), weighted)

    def test_the_scale_of_the_weights_is_only_the_mass(self):
        a = RNG.random(400)
        one, two = (model().fit(X, sample_weight=a * scale) for scale in (1.0, 2.0**60))
        assert_same_fit(one, two, atol=0.0)
        assert two.coreset_.mass == pytest.approx(a.sum() * 2.0**60)
        assert_same_fit(model().fit(X, sample_weight=a * 1e-300), one)


class TestInputs:
    def test_every_layout_and_type(self, tmp_path):
        rows = np.round(X * 4)  # whole numbers: any type holds them
        expected = model(reg=0.0).fit(rows)
        wide = np.zeros((800, 6))
        wide[::2, ::2] = rows
        np.save(tmp_path / "x.npy", rows)
        locked = rows.copy()
        locked.flags.writeable = False
        same = {
            "Fortran": np.asfortranarray(rows),
            "strided": wide[::2, ::2],
            "memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
            "read-only": locked,
            "big-endian": rows.astype(">f8"),
            "list": rows.tolist(),
            "objects": rows.astype(object),
            **{kind: rows.astype(kind) for kind in ("int8", "int16", "int64", "float16", "f4")},
        }
        for name, given_ in same.items():
            found = model(reg=0.0).fit(given_)
            # other types are drawn from in the order of other bytes: another start
            close = 0.3 if name in ("int8", "int16", "float16", "f4") else 1e-12
            assert found.distance_ == pytest.approx(expected.distance_, rel=close), name
            exact = costs(rows, found.atoms_).min(axis=1).mean()
            assert found.distance_ == pytest.approx(exact, rel=1e-5), name
            np.testing.assert_array_equal(found.labels_, found.predict(given_))

    def test_frames_of_three_libraries(self):
        plain = model().fit(X)
        columns = {name: X[:, j] for j, name in enumerate(("age", "height", "kg"))}
        for make in (pd.DataFrame, pl.DataFrame, pa.table):
            frame = make(columns)
            found = model().fit(frame)
            assert_same_fit(found, plain, atol=0.0)
            assert found.feature_names_in_.tolist() == ["age", "height", "kg"]
            assert found.coreset_.feature_names == ("age", "height", "kg")
            np.testing.assert_array_equal(found.predict(frame), plain.predict(X))
            assert found.score(frame) == plain.score(X)
            assert list(found.coreset_.to_frame().columns) == ["age", "height", "kg", "weight"]

    def test_nullable_and_object_columns(self):
        rows = np.round(X)
        frame = pd.DataFrame({"a": pd.array(rows[:, 0], "Int64"), "b": rows[:, 1].astype(object)})
        assert_same_fit(model().fit(frame), model().fit(rows[:, :2]))

    def test_an_input_is_never_changed(self):
        rows, a = X.copy(), COUNTS.astype(float)
        model().fit(rows, sample_weight=a).score(rows, sample_weight=a)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(a, COUNTS)

    def test_blocks_and_draws(self, kernel: Kernel):
        source = BlockSource(
            lambda: ((X[i : i + 90], COUNTS[i : i + 90]) for i in range(0, 400, 90)), kernel=kernel
        )
        found = model().fit(source)
        assert found.coreset_.mass == COUNTS.sum()
        exact = costs(X, found.atoms_).min(axis=1) @ COUNTS / COUNTS.sum()
        assert found.score(source) == pytest.approx(-exact)
        assert found.upper_ == pytest.approx(exact, rel=0.1)
        drawn = DrawSource(lambda m, rng: rng.random((m, 2)), kernel=kernel, rows_per_pass=4000)
        square = EMSCoreset(4, reg=0.0, tol=1e-3, random_state=0).fit(drawn)
        assert square.distance_ == pytest.approx(1 / 24, rel=0.05)  # four quarters of the square

    def test_an_array_source_of_ones_own_has_no_labels(self, kernel: Kernel):
        found = model().fit(ArraySource(X, COUNTS, kernel=kernel))
        with pytest.raises(AttributeError, match="labels_ is kept only for rows that were given"):
            _ = found.labels_

    def test_fewer_distinct_rows_than_atoms(self):
        few = np.repeat(X[:5], [1, 2, 3, 4, 5], axis=0)
        with pytest.warns(UserWarning, match="only 5 distinct rows, fewer than n_atoms=12"):
            found = model().fit(few)
        order = found.atoms_[:, 0].argsort()
        np.testing.assert_array_equal(found.atoms_[order], X[:5][X[:5, 0].argsort()])
        np.testing.assert_allclose(np.sort(found.weights_) * 15, [1, 2, 3, 4, 5])
        assert (found.lower_, found.upper_) == (0.0, 0.0)
        C, w = costs(found.atoms_, found.atoms_), found.weights_
        assert found.distance_ == pytest.approx(entropic(w, w, C, 0.01, np.log(w)), rel=1e-6)
        assert found.score(few) == pytest.approx(0.0, abs=1e-12)
        with pytest.warns(UserWarning, match="only 1 distinct row, fewer than n_atoms=12"):
            model().fit(np.ones((7, 2)))
        with pytest.warns(UserWarning, match="only 5 distinct rows"):
            given_ = model(init=X[:12]).fit(few)
        np.testing.assert_array_equal(given_.atoms_, found.atoms_)
        model(n_atoms=5).fit(few)  # as many: nothing to say
        a = np.arange(400) < 3
        with pytest.warns(UserWarning, match="only 3 distinct rows"):
            model().fit(X, sample_weight=a)


class TestAnswers:
    @pytest.mark.parametrize("reg", REGS)
    def test_against_the_definitions(self, reg, kernel: Kernel):
        found = model(reg=reg, kernel=kernel.name).fit(X, sample_weight=COUNTS)
        C = costs(X, found.atoms_)
        shares = found.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        np.testing.assert_allclose(found.transform(X), np.sqrt(C), atol=1e-9)
        np.testing.assert_array_equal(found.predict(X), shares.argmax(axis=1))
        np.testing.assert_array_equal(found.labels_, found.predict(X))
        a = COUNTS / COUNTS.sum()
        assert found.score(X, sample_weight=COUNTS) == pytest.approx(-(a @ C.min(axis=1)))
        if reg > 0:
            logits = np.log(found.weights_) - C / reg
            expected = np.exp(logits - logits.max(axis=1, keepdims=True))
            expected /= expected.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(shares, expected, atol=1e-9)
        else:
            np.testing.assert_array_equal(found.labels_, C.argmin(axis=1))
            assert found.distance_ == pytest.approx(a @ C.min(axis=1))
        assert -found.score(X, sample_weight=COUNTS) <= found.upper_ * (1 + 1e-9)
        assert found.weights_.sum() == pytest.approx(1.0)

    def test_fit_predict_and_fit_transform_are_fit_then_the_other(self):
        found = model().fit(X)
        np.testing.assert_array_equal(model().fit_predict(X), found.predict(X))
        np.testing.assert_array_equal(model().fit_transform(X), found.transform(X))

    def test_the_coreset_is_the_fit(self):
        found = model(reg=0.1).fit(X, sample_weight=COUNTS)
        coreset = found.coreset_
        assert isinstance(coreset, Coreset)
        np.testing.assert_array_equal(coreset.atoms, found.atoms_)
        np.testing.assert_array_equal(coreset.weights, found.weights_)
        assert coreset.sample_weight.sum() == pytest.approx(COUNTS.sum())
        assert (coreset.distance, coreset.reg) == (found.distance_, 0.1)
        again = clone(found).set_params(random_state=coreset.provenance["seed"])
        assert_same_fit(again.fit(X, sample_weight=COUNTS), found, atol=0.0)

    def test_random_states(self):
        for state in (3, np.int64(3), np.random.RandomState(3), np.random.default_rng(3), None):
            found = model(random_state=state).fit(X)
            again = model(random_state=found.coreset_.provenance["seed"]).fit(X)
            assert_same_fit(again, found, atol=0.0)

    def test_threads_do_not_change_a_bit(self):
        one, two = (model(n_jobs=n).fit(X.astype(np.float32)) for n in (1, 2))
        assert_same_fit(one, two, atol=0.0)

    def test_verbose_says_what_happens(self, capsys):
        found = model(verbose=1).fit(X)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(found.history_)
        assert "pass 1, 400 rows, objective" in lines[0]
        model().fit(X)
        assert not capsys.readouterr().out


class TestInterrupted:
    def test_a_raising_callback_leaves_the_estimator_as_it_was(self, monkeypatch):
        found = model().fit(X)
        before = dict(vars(found))

        def stop(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr("emscoreset.callbacks.Reporter.__call__", stop)
        with pytest.raises(KeyboardInterrupt):
            found.fit(X[:, :2])
        assert vars(found) == before
        fresh = model()
        with pytest.raises(KeyboardInterrupt):
            fresh.fit(X)
        assert vars(fresh) == vars(model())

    @pytest.mark.parametrize("kernel", ["numpy", "auto"])
    def test_ctrl_c(self, kernel):
        rows = RNG.normal(size=(60_000, 8))
        endless = {"algorithm": "plain", "tol": 0.0, "max_iter": 10**6, "reg": 0.3}
        found = model(kernel=kernel, n_atoms=50, **endless)
        timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
        timer.start()
        began = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            found.fit(rows)
        assert time.perf_counter() - began < 30
        assert not hasattr(found, "atoms_")
        again = found.set_params(n_atoms=12, reg=0.01, tol=TOL, algorithm="auto", max_iter=1000)
        assert_same_fit(again.fit(X), model().fit(X))


class TestCitizen:
    def test_pipeline_and_grid_search(self):
        y = (X[:, 0] > 4).astype(int)
        pipe = make_pipeline(StandardScaler(), model(), LogisticRegression())
        assert pipe.fit(X, y).score(X, y) > 0.8
        assert pipe[:-1].get_feature_names_out()[:2].tolist() == ["emscoreset0", "emscoreset1"]
        search = GridSearchCV(model(), {"n_atoms": [2, 20], "reg": [0.0, 0.05]}, cv=3, n_jobs=2)
        assert search.fit(X).best_params_["n_atoms"] == 20
        assert search.predict(X).shape == (400,)

    def test_clone_and_pickle(self):
        found = model(init=X[:12], reg=0.1).fit(pd.DataFrame(X, columns=list("abc")))
        again = pickle.loads(pickle.dumps(found))
        assert_same_fit(again, found, atol=0.0)
        np.testing.assert_array_equal(again.labels_, found.labels_)
        assert again.coreset_.provenance == found.coreset_.provenance
        assert not hasattr(clone(found), "atoms_")
        assert "EMSCoreset" in repr(found)

    @pytest.mark.parametrize("output", ["pandas", "polars", "default"])
    def test_set_output(self, output):
        kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "default": np.ndarray}
        found = model().set_output(transform=output).fit(X)
        for made in (found.transform(X), model().set_output(transform=output).fit_transform(X)):
            assert type(made) is kinds[output]
            assert made.shape == (400, 12)
        if output != "default":
            assert list(found.transform(X).columns) == [f"emscoreset{j}" for j in range(12)]

    def test_metadata_routing(self):
        weighted = model().fit(X, sample_weight=COUNTS)
        with sklearn.config_context(enable_metadata_routing=True):
            asked = model().set_fit_request(sample_weight=True)
            pipe = make_pipeline(asked.set_score_request(sample_weight=True))
            pipe.fit(X, sample_weight=COUNTS)
            assert_same_fit(pipe[-1], weighted, atol=0.0)
            assert pipe.score(X, sample_weight=COUNTS) == weighted.score(X, sample_weight=COUNTS)
            search = GridSearchCV(asked, {"n_atoms": [3, 12]}, cv=2)
            search.fit(X, sample_weight=COUNTS)
            assert search.best_estimator_.coreset_.mass == COUNTS.sum()
            with pytest.raises(ValueError, match="sample_weight"):
                make_pipeline(model()).fit(X, sample_weight=COUNTS)

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_joblib_with_a_read_only_memory_map(self, backend, tmp_path):
        np.save(tmp_path / "x.npy", X)
        rows = np.load(tmp_path / "x.npy", mmap_mode="r")
        expected = model().fit(X)
        fits = joblib.Parallel(2, backend=backend, max_nbytes=1)(
            joblib.delayed(model().fit)(rows) for _ in range(3)
        )
        for found in fits:
            assert_same_fit(found, expected, atol=0.0)
            np.testing.assert_array_equal(found.labels_, expected.labels_)

    def test_predict_from_many_threads(self):
        found = model(n_atoms=40).fit(X)
        rows = RNG.normal(size=(20_000, 3))
        methods = [found.predict, found.predict_proba, found.transform, found.score]
        expected = [method(rows) for method in methods]
        calls = [i % len(methods) for i in range(16)]
        got = joblib.Parallel(4, backend="threading")(
            joblib.delayed(methods[i])(rows) for i in calls
        )
        for i, answer in zip(calls, got, strict=True):
            np.testing.assert_array_equal(answer, expected[i])
