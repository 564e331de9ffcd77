"""score: what new rows cost with a coreset that was made of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from emscoreset.coreset import Coreset
from emscoreset.ems import State, ems_pass, exact_distance
from emscoreset.kernels import get_kernel
from emscoreset.problem import row_masses
from emscoreset.sources.array import ArraySource
from emscoreset.sources.packed import PackedSource
from emscoreset.stats import Floats
from emscoreset.strata import nearest_cost
from emscoreset.tables import Read, read_table


@dataclass(frozen=True)
class Score:
    """New rows against a coreset's atoms, in the units of its ``variance``."""

    n: int  # rows
    mass: float
    nearest: float  # the mean squared distance from a row to the nearest atom
    distance: float  # the transport cost at the coreset's reg, to the atoms with these rows' masses
    variance: float  # the rows' own mean squared distance to their mean
    moved: float  # the share of the mass that these rows have on other atoms than the coreset

    @property
    def kept(self) -> float:
        """The share of the rows' variance that the nearest atoms keep."""
        return 1.0 - self.nearest / self.variance if self.variance > 0 else 1.0

    def __str__(self) -> str:
        return "\n".join(
            (
                f"Score: {self.n:,} row{'s' * (self.n != 1)}",
                f"  mean squared distance to the nearest atom: {self.nearest:.6g} (exact)",
                f"  variance kept: {100 * self.kept:.4g} %",
                f"  transport cost at the coreset's reg: {self.distance:.6g} (exact)",
                f"  mass on other atoms than in the coreset: {100 * self.moved:.3g} %",
            )
        )


def score(
    data: Any, coreset: Coreset, *, weight: str | ArrayLike | None = None, n_jobs: int | None = None
) -> Score:
    """How well a coreset stands in for rows that it need not have seen; one exact look at each.

    ``data`` is what `compress` takes, with the columns that the coreset was made from; rows with
    gaps are left out where they were left out then. ``weight`` is a column or one number a row.
    """
    read = read_table(data)
    if read.table.num_rows == 0:
        raise ValueError("data has no rows")
    mass = row_masses(read.table, weight)
    keep = _complete(read.table, coreset)
    if keep is not None:
        read = replace(read, table=read.table.filter(pa.array(keep)))
        mass = None if mass is None else mass[keep]
    source = _source(read, coreset, mass, n_jobs)
    state = State(coreset.atoms - source.center, coreset.weights)
    p, stats = ems_pass(source, state, coreset.reg)
    moments = source.moments
    alive = coreset.weights > 0
    return Score(
        n=moments.n,
        mass=moments.mass,
        nearest=nearest_cost(source, coreset.atoms[alive]),
        distance=exact_distance(p, stats).value,
        variance=moments.variance,
        moved=0.5 * float(np.abs(stats.N / stats.N.sum() - coreset.weights).sum()),
    )


def _complete(table: pa.Table, coreset: Coreset) -> NDArray[np.bool_] | None:
    """The rows without gaps, where the coreset was made of such alone and others are here."""
    dropped = coreset.provenance.get("parameters", {}).get("missing") == "drop"
    if coreset.encoder is None or not dropped:
        return None
    keep = coreset.encoder.complete(table)
    if keep is not None and not keep.any():
        raise ValueError("every row of data has gaps, and the coreset was made of rows without")
    return keep


def _source(read: Read, coreset: Coreset, mass: Floats | None, n_jobs: int | None) -> ArraySource:
    """The rows in the atoms' coordinates."""
    kernel = get_kernel("auto", n_jobs)
    if coreset.encoder is not None:
        packed = coreset.encoder.pack(read.table, n_jobs=n_jobs)
        return PackedSource(packed, mass, kernel=kernel)
    return ArraySource(_numbers(read, coreset), mass, kernel=kernel)


def _numbers(read: Read, coreset: Coreset) -> NDArray[Any]:
    """The columns that a coreset of numbers has."""
    from sklearn.base import BaseEstimator

    from emscoreset.validation import checked_rows

    names = list(coreset.feature_names)
    if read.backend == "numpy" and read.table.num_columns == len(names):
        return checked_rows(BaseEstimator(), read.table.rename_columns(names), reset=True)
    absent = [name for name in names if name not in read.table.column_names]
    if absent:
        raise ValueError(
            f"data lacks columns {absent} of the coreset; it has {read.table.column_names}"
        )
    return checked_rows(BaseEstimator(), read.table.select(names), reset=True)
