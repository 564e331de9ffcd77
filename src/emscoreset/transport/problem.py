"""What the transport functions take: rows of any kind on one side, weighted atoms on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from emscoreset.coreset import Coreset
from emscoreset.kernels import get_kernel
from emscoreset.kernels.base import float_type
from emscoreset.sources.array import ArraySource, checked_masses
from emscoreset.sources.base import Source
from emscoreset.stats import Floats
from emscoreset.transport.solve import Problem
from emscoreset.validation import checked_rows

SMALL = 1 << 22  # numbers in rows that are worked in float64 whatever they came in


def source_of(X: Any, sample_weight: ArrayLike | None, n_jobs: int | None) -> Source:
    """The rows of an array, a frame, a Source, a Coreset or a pair (atoms, weights)."""
    if sample_weight is not None and isinstance(X, (Source, Coreset, tuple)):
        raise ValueError(f"a {type(X).__name__} brings its own weights: leave sample_weight out")
    if isinstance(X, Source):
        return X.fixed()
    rows: NDArray[np.generic]
    if isinstance(X, (Coreset, tuple)):
        rows, sample_weight = weighted(X, "X")
    else:
        rows = checked_rows(BaseEstimator(), X, reset=True)
    if rows.size <= SMALL:
        rows = np.asarray(rows, dtype=np.float64)
    return ArraySource(rows, sample_weight, kernel=get_kernel("auto", n_jobs))


def weighted(points: Any, name: str) -> tuple[Floats, Floats]:
    """Atoms and weights of a Coreset or of a pair, the weights as shares."""
    if isinstance(points, Coreset):
        return points.atoms, points.weights
    if not isinstance(points, tuple) or len(points) != 2:
        raise TypeError(
            f"{name} must be a Coreset or a pair (atoms, weights), not {type(points).__name__}"
        )
    atoms = np.asarray(checked_rows(BaseEstimator(), points[0], reset=True), dtype=np.float64)
    masses, _ = checked_masses(points[1], len(atoms), f"the weights of {name}")
    if masses is None:
        return atoms, np.full(len(atoms), 1.0 / len(atoms))
    return atoms, masses / masses.sum()


def problem_of(source: Source, atoms: Floats, w: Floats, reg: float) -> Problem:
    """The problem, without the atoms of weight 0."""
    if atoms.shape[1] != source.d:
        raise ValueError(
            f"the atoms have {atoms.shape[1]} columns, the rows {source.d}: they must lie in "
            "the same space"
        )
    alive = w > 0
    kind = float_type(next(source.blocks()).X.dtype)
    return Problem(
        source=source,
        Y=atoms[alive] - source.center,
        w=w[alive] / w[alive].sum(),
        reg=reg,
        rounding=float(np.finfo(kind).eps),
    )
