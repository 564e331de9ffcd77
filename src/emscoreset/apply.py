"""What weighted atoms say of rows: whose they are, how surely, and how far away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist

from emscoreset.kernels import Kernel
from emscoreset.kernels.base import float_type
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Floats, Ints, Pass, Rows, Want, log_offset


def plan(atoms: Floats, weights: Floats, reg: float, dtype: DTypeLike) -> Pass:
    """The pass of EMS, h_j = reg log w_j, over rows of this type.

    Rows are taken relative to the atoms' mean, rounded to what the rows' own type holds.
    """
    center = (weights @ atoms).astype(float_type(np.dtype(dtype))).astype(np.float64)
    return Pass(atoms - center, log_offset(weights, reg), reg, center, Want.MASSES)


def labels(X: NDArray[Any], p: Pass, kernel: Kernel) -> Ints:
    """Each row's most responsible atom."""
    out = np.empty(len(X), dtype=np.intp)
    for part, rows in _blocks(X, p, kernel):
        out[part] = kernel.assign(rows, p).labels
    return out


def responsibilities(X: NDArray[Any], p: Pass, kernel: Kernel) -> Floats:
    """Each row's shares T_ij among the atoms."""
    out = np.empty((len(X), len(p.atoms)))
    for part, rows in _blocks(X, p, kernel):
        out[part] = kernel.responsibilities(rows, p)
    return out


def distances(X: NDArray[Any], p: Pass, kernel: Kernel) -> NDArray[Any]:
    """Each row's Euclidean distance to every atom, in the rows' own float type."""
    out = np.empty((len(X), len(p.atoms)), dtype=float_type(X.dtype))
    for part, rows in _blocks(X, p, kernel):
        out[part] = cdist(np.asarray(rows.X, dtype=np.float64) - p.center, p.atoms)
    return out


def _blocks(X: NDArray[Any], p: Pass, kernel: Kernel) -> Iterator[tuple[slice, Rows]]:
    start = 0
    for rows in ArraySource(X, kernel=kernel).blocks(len(p.atoms)):
        yield slice(start, start + len(rows.X)), rows
        start += len(rows.X)
