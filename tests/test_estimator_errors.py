"""Every mistake is an error that says what was expected, what came, and how to mend it."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from emscoreset import EMSCoreset
from emscoreset.kernels import ReferenceKernel, native
from emscoreset.sources.sampler import BlockSource

X = np.random.default_rng(0).normal(size=(60, 3))


def holed(dtype: type = np.float64) -> np.ndarray:
    out = X.astype(dtype)
    out[3, 0] = out[3, 2] = np.nan
    out[9, 2] = np.inf
    return out


NAMED = {"age": X[:, 0], "height": X[:, 1]}
TEXT = {**NAMED, "town": ["Bonn"] * 60}

BAD_ROWS = {
    "nan": (holed(), r"NaN or infinity in 2 row\(s\).*0 \(1\), 2 \(2\)\. Drop .* or fill"),
    "nan in float32": (holed(np.float32), r"in 2 row\(s\).*0 \(1\), 2 \(2\)"),
    "nan in float16": (holed(np.float16), r"in 2 row\(s\).*0 \(1\), 2 \(2\)"),
    "nan in Fortran order": (np.asfortranarray(holed()), r"in 2 row\(s\).*0 \(1\), 2 \(2\)"),
    "nan in a frame": (pd.DataFrame(holed(), columns=list("abc")), r"a \(1\), c \(2\)"),
    "null in polars": (pl.DataFrame({"a": [1, None, 3], "b": [1.0, 2.0, 3.0]}), r"a \(1\)"),
    "null in arrow": (pa.table({"a": [1, None, 3], "b": [1.0, 2.0, 3.0]}), r"a \(1\)"),
    "NA in pandas": (pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1, 2]}), r"a \(1\)"),
    "too large to square": (X * 1e200, "squares overflow; scale the columns"),
    "too large for float32": ((X * 1e20).astype(np.float32), "overflow.*pass float64"),
    "sparse": (scipy.sparse.csr_array(X), "(?i)sparse data was passed.*toarray"),
    "sparse column": (
        pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0]), "b": [1.0, 2.0]}),
        "'a'.*make it dense",
    ),
    "text array": (np.array([["a", "b"], ["c", "d"]]), "not text.*emscoreset.compress"),
    "text column, pandas": (pd.DataFrame(TEXT), "1 column.*'town'.*emscoreset.compress"),
    "text column, polars": (pl.DataFrame(TEXT), "1 column.*'town'.*emscoreset.compress"),
    "text column, arrow": (pa.table(TEXT), "1 column.*'town'.*emscoreset.compress"),
    "dates": (
        pl.DataFrame({"day": [dt.date(2026, 1, 1)] * 3, "b": [1.0] * 3}),
        "'day'.*emscoreset.compress",
    ),
    "category": (
        pd.DataFrame({"kind": pd.Categorical(["x", "y"]), "b": [1.0, 2.0]}),
        "'kind'.*emscoreset.compress",
    ),
    "text objects": (np.array([[1.0, "tall"], [2.0, "x"]], dtype=object), "column 1.*'tall'"),
    "complex": (X + 1j, "Complex data not supported.*real and the imaginary parts"),
    "no rows": (np.zeros((0, 3)), r"0 sample.*minimum of 1"),
    "no columns": (np.zeros((5, 0)), r"0 feature.*minimum of 1"),
    "an empty frame": (pd.DataFrame(), "0 "),
    "1-d": (X[:, 0], "(?s)2D array, got 1D.*Reshape"),
    "3-d": (np.zeros((4, 2, 2)), r"2-d.*\(4, 2, 2\).*reshape"),
    "a number": (3.0, "2D array, got scalar"),
    "ragged rows": ([[1.0, 2.0], [3.0]], "all rows of the same length"),
    "masked": (np.ma.masked_greater(X, 1.0), "masked values: fill them, or drop"),
    "structured": (np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]), "."),
    "dates array": (np.zeros((3, 2), dtype="datetime64[s]"), "real numbers, not datetime64"),
    "the same name twice": (pd.DataFrame(X, columns=["a", "b", "a"]), "columns of the same name"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_rows(name: str, method: str):
    rows, message = BAD_ROWS[name]
    model = EMSCoreset(5)
    if method == "predict":
        width = rows.shape[1] if getattr(rows, "ndim", 0) == 2 or hasattr(rows, "columns") else 3
        model.fit(np.zeros((1, max(width, 1))) + np.arange(9)[:, None])
    before = {key: id(value) for key, value in vars(model).items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names, but")
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(model, method)(rows)
    assert {key: id(value) for key, value in vars(model).items()} == before


def test_a_lazy_frame():
    with pytest.raises(TypeError, match=r"is lazy: collect \(compute\) it first"):
        EMSCoreset().fit(pl.DataFrame(NAMED).lazy())


@pytest.mark.parametrize("rows", [None, "rows.parquet", {"a": [1.0]}, object()])
def test_what_are_no_rows(rows):
    with pytest.raises((ValueError, TypeError), match="X must"):
        EMSCoreset().fit(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_atoms": 0}, "n_atoms must be a whole number >= 1, not 0"),
        ({"n_atoms": -3}, "n_atoms must be a whole number >= 1, not -3"),
        ({"n_atoms": 2.5}, "n_atoms must be a whole number >= 1, not 2.5"),
        ({"n_atoms": "ten"}, "n_atoms must be .* not 'ten'"),
        ({"n_atoms": True}, "n_atoms must be .* not True"),
        ({"n_atoms": None}, "n_atoms must be .* not None"),
        ({"reg": -0.1}, "reg must be a finite number >= 0, not -0.1"),
        ({"reg": float("nan")}, "reg must be a finite number >= 0, not nan"),
        ({"reg": float("inf")}, "reg must be a finite number >= 0, not inf"),
        ({"reg": None}, "reg must be a finite number >= 0, not None"),
        ({"tol": -1e-5}, "tol must be a finite number >= 0"),
        ({"shift_tol": float("nan")}, "shift_tol must be a finite number >= 0"),
        ({"max_iter": -1}, "max_iter must be a whole number >= 0, not -1"),
        ({"max_iter": 1.5}, "max_iter must be a whole number >= 0, not 1.5"),
        ({"algorithm": "lloyd"}, "algorithm must be one of .*'plain'.*not 'lloyd'"),
        ({"init": "kmeans"}, '"k-means\\+\\+", "random" or an array of atoms, not \'kmeans\''),
        ({"init": X[:4]}, r"init must have shape \(5, 3\), one row per atom, not \(4, 3\)"),
        ({"init": np.full((5, 3), np.nan)}, "init must be finite"),
        ({"init": None}, "init must"),
        ({"kernel": "cuda"}, 'kernel must be "auto", "native" or "numpy", not \'cuda\''),
        ({"n_jobs": 0}, "n_jobs must"),
        ({"n_jobs": "all"}, "n_jobs must"),
        ({"random_state": -1}, "."),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_parameters(changes, message):
    model = EMSCoreset(**{"n_atoms": 5, **changes})
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "sample_weight is zero for every row: at least one must be positive"),
        (np.ones(59), r"shape \(60,\), one per row, not \(59,\)"),
        (np.ones((60, 1)), r"shape \(60,\), one per row, not \(60, 1\)"),
        (2.0, r"shape \(60,\), one per row, not \(\)"),
        (np.where(np.arange(60) == 7, -1.0, 1.0), "1 of 60 are negative, the first at row 7"),
        (np.where(np.arange(60) > 57, np.nan, 1.0), "2 of 60 are NaN or infinite.*at row 58"),
        (np.where(np.arange(60) == 0, np.inf, 1.0), "NaN or infinite, the first at row 0"),
        (["heavy"] * 60, "sample_weight must hold real numbers"),
        ([None] * 60, "NaN|real numbers"),
        (np.ones(60) * 1j, "sample_weight must hold real numbers, not complex128"),
    ],
)
def test_weights(weight, message):
    fitted = EMSCoreset(5, random_state=0).fit(X)
    for call in (EMSCoreset(5).fit, EMSCoreset(5).fit_predict, fitted.score, fitted.stability):
        with pytest.raises(ValueError, match=message):
            call(X, sample_weight=weight)


ASKED = ["predict", "predict_proba", "transform", "score", "stability"]


@pytest.mark.parametrize("method", ASKED)
def test_before_a_fit(method: str):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(EMSCoreset(), method)(X)


@pytest.mark.parametrize("method", ASKED)
def test_wrong_width_and_names(method: str):
    model = EMSCoreset(5, random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    wide = pd.DataFrame(np.zeros((4, 4)), columns=list("abcd"))
    with pytest.raises(ValueError, match=r"(?s)names should match.*unseen.*\bd\b"):
        getattr(model, method)(wide)
    with pytest.raises(ValueError, match=r"(?s)names should match.*same order"):
        getattr(model, method)(pd.DataFrame(X, columns=["b", "a", "c"]))
    unnamed = EMSCoreset(5, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 4 features, but EMSCoreset is expecting 3"):
        getattr(unnamed, method)(np.zeros((4, 4)))


def test_sources_in_the_wrong_place():
    source = BlockSource(lambda: iter([X]), kernel=ReferenceKernel())
    model = EMSCoreset(5, random_state=0).fit(source)
    for method in ("fit_predict", "fit_transform"):
        with pytest.raises(TypeError, match="call fit on the Source, then"):
            getattr(EMSCoreset(5), method)(source)
    for method in ("predict", "predict_proba", "transform"):
        with pytest.raises(TypeError, match="call it on one block"):
            getattr(model, method)(source)
    for call in (model.fit, model.score, model.stability):
        with pytest.raises(ValueError, match="brings its own weights"):
            call(source, sample_weight=np.ones(60))
    with pytest.raises(AttributeError, match="call predict on the rows"):
        _ = model.labels_
    narrow = BlockSource(lambda: iter([X[:, :2]]), kernel=ReferenceKernel())
    for call in (model.score, model.stability):
        with pytest.raises(ValueError, match="has 2 columns, but EMSCoreset was fitted to 3"):
            call(narrow)


def test_a_native_kernel_that_was_not_built(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "_native", None)
    with pytest.raises(ImportError, match=r'not built; install .* or use kernel="numpy"'):
        EMSCoreset(5, kernel="native").fit(X)
