"""One call from a source to a finished fit: the one place where the policies are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emscoreset.checks import check_number
from emscoreset.coreset import Coreset
from emscoreset.ems import TOL, Callback, Distance, Fit, Record, State, fit_ems
from emscoreset.search.passes import Passes
from emscoreset.search.seeding import (
    DRAW_WORK,
    Candidates,
    Distinct,
    candidates,
    canonical,
    given,
    sample_rows,
)
from emscoreset.search.select import EFFORTS, Draw, drive
from emscoreset.sources.base import Source
from emscoreset.stats import Floats

ALGORITHMS = ("plain", *EFFORTS)


@dataclass(frozen=True)
class Settings:
    """What a user may choose of a fit."""

    n_atoms: int
    reg: float = 0.01
    init: str | ArrayLike = "k-means++"
    algorithm: str = "auto"
    tol: float = TOL
    shift_tol: float | None = None
    max_iter: int = 1000


@dataclass(frozen=True)
class Outcome:
    """A finished fit in the data's own coordinates."""

    atoms: Floats  # (k, d)
    weights: Floats  # (k,)
    distance: Distance
    history: tuple[Record, ...]
    n_iter: int
    converged: bool
    few_rows: bool  # the data have no more distinct rows than atoms were asked for: these are all

    def coreset(
        self,
        source: Source,
        settings: Settings,
        *,
        feature_names: Sequence[str] = (),
        provenance: Mapping[str, Any],
    ) -> Coreset:
        """The coreset of this fit."""
        moments = source.moments
        return Coreset(
            atoms=self.atoms,
            weights=self.weights,
            mass=moments.mass,
            n=moments.n,
            reg=settings.reg,
            distance=self.distance.value,
            lower=self.distance.lower,
            upper=self.distance.upper,
            variance=moments.variance,
            feature_names=tuple(feature_names),
            provenance=provenance,
        )


def fit(
    source: Source,
    settings: Settings,
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> Outcome:
    """Seed, then descend as ``settings.algorithm`` says."""
    settings = check(settings)
    source = in_canonical_order(source, settings.n_atoms)
    callback = callback and _in_data_coordinates(callback, source.center)
    k, init = settings.n_atoms, settings.init
    if not isinstance(init, str):
        start = given(source, k, init)
        if source.whole(k) is None:
            found = _descend(source, start, settings, rng, callback)
            return _outcome(found, found.Y + source.center)
        init = "random"  # no more rows than atoms: they are the atoms
    if settings.algorithm == "plain":
        init = "random"  # Algorithm 1 of the paper starts there
    rows = candidates(source, k, init, rng)
    if len(rows.rows.X) <= k:
        return _all_rows(source, rows, settings.reg, callback)
    found = _descend(source, lambda m, work: rows.draw(m, init, rng, work), settings, rng, callback)
    return _outcome(found, found.Y + source.center)


def _descend(
    source: Source,
    start: State | Draw,
    settings: Settings,
    rng: np.random.Generator,
    callback: Callback | None,
) -> Fit:
    k, reg, tol, shift_tol = settings.n_atoms, settings.reg, settings.tol, settings.shift_tol
    most = settings.max_iter
    if settings.algorithm == "plain":
        first = start if isinstance(start, State) else start(k, DRAW_WORK)
        return fit_ems(
            source, first, reg, tol=tol, shift_tol=shift_tol, max_iter=most, callback=callback
        )
    passes, effort = Passes(source, k, most, callback), EFFORTS[settings.algorithm]
    return drive(passes, start, k, reg, effort, rng, tol=tol, shift_tol=shift_tol)


def in_canonical_order(source: Source, k: int) -> Source:
    """The distinct rows in canonical order, where all of them fit the seeding sample.

    Then every number of the fit is the same, to the last bit, in whatever order the rows
    came and whether they were repeated or weighted.
    """
    rows = source.whole(sample_rows(k))
    if rows is None:
        return source
    rows = canonical(rows)
    return Distinct(rows.X, rows.mass, kernel=source.kernel)


def _in_data_coordinates(callback: Callback, center: Floats) -> Callback:
    return lambda record, state: callback(record, State(state.Y + center, state.w))


def _outcome(found: Fit, atoms: Floats, *, few_rows: bool = False) -> Outcome:
    return Outcome(
        atoms, found.N, found.distance, found.history, found.n_iter, found.converged, few_rows
    )


def _all_rows(source: Source, found: Candidates, reg: float, callback: Callback | None) -> Outcome:
    """Every distinct row with its mass: the data themselves, at distance W_2 = 0."""
    from emscoreset.transport import entropic_self_cost  # which loads scikit-learn

    start = found.all_rows()
    looked = fit_ems(source, start, reg, max_iter=0, callback=callback)
    own = Distance(entropic_self_cost(start.Y, start.w, reg), 0.0, 0.0)
    exact = replace(looked, N=start.w, distance=own, n_iter=1, converged=True)  # one step: all set
    return _outcome(exact, np.asarray(found.rows.X, dtype=np.float64), few_rows=True)


def check(settings: Settings) -> Settings:
    """The settings with plain numbers; those that make no sense are refused by name."""
    check_number("n_atoms", settings.n_atoms, Integral, 1)
    check_number("reg", settings.reg, Real, 0)
    check_number("tol", settings.tol, Real, 0)
    check_number("max_iter", settings.max_iter, Integral, 0)
    if settings.shift_tol is not None:
        check_number("shift_tol", settings.shift_tol, Real, 0)
    if settings.algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {ALGORITHMS}, not {settings.algorithm!r}")
    return replace(
        settings,
        n_atoms=int(settings.n_atoms),
        reg=float(settings.reg),
        tol=float(settings.tol),
        max_iter=int(settings.max_iter),
    )
