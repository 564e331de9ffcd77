"""What every baseline does before and after its own work: read the rows, measure the atoms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from emscoreset.coreset import Coreset
from emscoreset.ems import Distance, State, ems_pass, exact_distance
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Floats
from emscoreset.transport import distance_to_weights
from emscoreset.validation import checked_rows

Rng = np.random.Generator | int | None


@dataclass(frozen=True)
class Found:
    """Atoms relative to the source's center, and how they were found."""

    Y: Floats  # (k, d)
    n_iter: int
    converged: bool
    off: float = 0.0  # the most mass on wrong atoms in a plan that missed its goal


@dataclass(frozen=True)
class Problem:
    """Rows, how many atoms are asked of them, and when."""

    method: str
    source: ArraySource
    n_atoms: int
    names: tuple[str, ...]
    began: float

    def masses(self) -> Floats:
        """The rows' shares of the mass. (n,) sums to 1"""
        a = np.concatenate([rows.masses() for rows in self.source.blocks()])
        shares: Floats = a / a.sum()
        return shares

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Different rows drawn by their mass, in the data's order. (n_atoms, d)"""
        a = self.masses()
        drawable = int(np.count_nonzero(a))
        if drawable < self.n_atoms:
            raise ValueError(
                f"n_atoms={self.n_atoms} different rows cannot be drawn: "
                f"only {drawable} have weight > 0"
            )
        picks = rng.choice(len(a), size=self.n_atoms, replace=False, p=a)
        return np.asarray(self.source.X[np.sort(picks)], dtype=np.float64)

    def with_uniform_weights(
        self, atoms: Floats, reg: float, parameters: Mapping[str, Any]
    ) -> Coreset:
        """The coreset of these atoms with weights 1/k, as in the paper."""
        seconds = time.perf_counter() - self.began
        w = np.full(len(atoms), 1.0 / len(atoms))
        distance = distance_to_weights(self.source, atoms - self.source.center, w, reg)
        return self._coreset(atoms, w, reg, distance, parameters, seconds)

    def with_own_masses(self, atoms: Floats, parameters: Mapping[str, Any]) -> Coreset:
        """The coreset of these atoms, each with the mass of the rows nearest to it."""
        start = State(atoms - self.source.center, np.full(len(atoms), 1.0 / len(atoms)))
        p, stats = ems_pass(self.source, start, 0.0)
        seconds = time.perf_counter() - self.began
        N = stats.N / stats.N.sum()
        return self._coreset(atoms, N, 0.0, exact_distance(p, stats), parameters, seconds)

    def _coreset(
        self,
        atoms: Floats,
        weights: Floats,
        reg: float,
        distance: Distance,
        parameters: Mapping[str, Any],
        seconds: float,
    ) -> Coreset:
        moments = self.source.moments
        return Coreset(
            atoms=atoms,
            weights=weights,
            mass=moments.mass,
            n=moments.n,
            reg=reg,
            distance=distance.value,
            lower=distance.lower,
            upper=distance.upper,
            variance=moments.variance,
            feature_names=self.names,
            provenance={
                "made_by": f"baselines.{self.method}",
                "version": version("emscoreset"),
                "seconds": seconds,
                "parameters": {"n_atoms": self.n_atoms, **parameters},
            },
        )


def read(
    method: str, X: Any, n_atoms: Any, sample_weight: ArrayLike | None, n_jobs: int | None
) -> Problem:
    """The rows of an array or a frame, checked; the clock starts."""
    began = time.perf_counter()
    noted = BaseEstimator()
    rows = checked_rows(noted, X, reset=True)
    source = ArraySource(rows, sample_weight, kernel=get_kernel("auto", n_jobs))
    names = tuple(getattr(noted, "feature_names_in_", ()))
    whole = isinstance(n_atoms, Integral) and not isinstance(n_atoms, bool)
    if not whole or not 1 <= n_atoms <= source.n:
        raise ValueError(
            f"n_atoms must be a whole number from 1 to the {source.n} rows of X, not {n_atoms!r}"
        )
    return Problem(method, source, int(n_atoms), names, began)
