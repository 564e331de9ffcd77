"""What the tests of explanations share: both implementations and troublesome rows."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from emscoreset.kernels import native

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # compiling takes longer than these tests
with warnings.catch_warnings():  # of its own import, which pytest would take for errors
    warnings.simplefilter("ignore")
    import shap  # noqa: F401


@pytest.fixture(params=["numpy", "native"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path algorithm in NumPy and in C++."""
    if request.param == "numpy":
        monkeypatch.setattr(native, "available", lambda: False)
    elif not native.available():
        pytest.skip("the C++ extension was not built")
    return request.param


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    gaps: np.ndarray  # X with missing values
    y: np.ndarray
    binary: np.ndarray
    three: np.ndarray
    rows = slice(200, 212)  # to explain

    def weights(self, k: int) -> np.ndarray:
        return np.random.default_rng(k).dirichlet(np.ones(k))


@pytest.fixture(scope="session")
def data() -> Data:
    """Rows with ties (a rounded column), whole numbers, duplicates; and the same with gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 2] = np.round(X[:, 2], 1)
    X[:, 3] = rng.integers(0, 5, 300)
    X[5:8] = X[2]
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] == 2) + 0.1 * rng.normal(size=300)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    gaps[1::5, 0] = np.nan
    gaps[2::9, 3] = np.nan
    return Data(X, gaps, y, (y > 0.3).astype(int), np.digitize(y, [-0.3, 0.7]))
