"""Classes that a coreset keeps apart: each gets atoms by its mass, and its mass is exact.

A coreset of rows with classes is one of pairs (row, class): no mass moves from one class to
another. With s_c the classes' shares and W_c the classes' own distances at ``reg``, its distance is
sum_c s_c W_c + reg H(s), H the entropy of the shares: a row says as much more of its atom as its
class does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from emscoreset.checks import in_words
from emscoreset.ems import Distance
from emscoreset.rows import Placed
from emscoreset.search.drive import Outcome, Settings, fit
from emscoreset.sources.array import ArraySource, checked_masses
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Ints, Pass, Want


@dataclass(frozen=True)
class Strata:
    """The rows of each class that has mass."""

    labels: tuple[Any, ...]  # the classes
    members: tuple[Ints, ...]  # their rows' numbers, in order
    masses: Floats

    @property
    def shares(self) -> Floats:
        """Each class's share of the mass."""
        out: Floats = self.masses / self.masses.sum()
        return out


@dataclass(frozen=True)
class Part:
    """The coreset of one class, or of all rows where there are none."""

    label: Any
    share: float  # of the data's mass
    source: ArraySource  # its rows
    settings: Settings
    found: Outcome  # where the fit ended
    outcome: Outcome  # where its atoms were placed
    numbers: Ints | None  # the rows that they are, among all rows


# Where a fit's atoms end, given the rows, the atoms, their weights and reg.
Place = Callable[[ArraySource, Floats, Floats, float], Placed]


def classes_of(y: ArrayLike, n: int) -> tuple[NDArray[Any], Ints]:
    """The classes of y, and which of them each of the n rows has."""
    from sklearn.utils import column_or_1d  # which takes a while to load

    values = column_or_1d(y)
    if len(values) != n:
        raise ValueError(f"y must have {n} values, one per row, not {len(values)}")
    names, codes = np.unique(values, return_inverse=True)
    return names, codes.astype(np.intp)


def strata(labels: Any, codes: Ints, sample_weight: ArrayLike | None) -> Strata:
    """The classes of rows that have the class ``labels[codes[i]]``."""
    mass, unit = checked_masses(sample_weight, len(codes))
    a = np.ones(len(codes)) if mass is None else mass
    masses = np.asarray(np.bincount(codes, a, minlength=len(labels)) * unit, dtype=np.float64)
    order = np.argsort(codes, kind="stable")
    order = order[a[order] > 0]
    members = np.split(order, np.searchsorted(codes[order], np.arange(1, len(labels))))
    some = np.flatnonzero(masses > 0)
    return Strata(
        labels=tuple(labels[c] for c in some),
        members=tuple(members[c] for c in some),
        masses=masses[some],
    )


def apportion(n_atoms: int, shares: Floats, most: Ints) -> Ints:
    """Atoms for each class by largest remainder: at least one, and at most ``most``."""
    quota = n_atoms * shares
    atoms = np.clip(np.floor(quota).astype(np.intp), 1, most)
    while atoms.sum() > n_atoms:
        atoms[np.where(atoms > 1, atoms - quota, -np.inf).argmax()] -= 1
    while atoms.sum() < min(n_atoms, most.sum()):
        atoms[np.where(atoms < most, quota - atoms, -np.inf).argmax()] += 1
    return atoms


def fit_whole(
    source: ArraySource, settings: Settings, rng: np.random.Generator, place: Place | None = None
) -> Part:
    """A fit to all rows; ``place`` moves its atoms to other places."""
    found = fit(source, settings, rng)
    if place is None:
        return Part(None, 1.0, source, settings, found, found, None)
    at = place(source, found.atoms, found.weights, settings.reg)
    outcome = replace(found, atoms=at.atoms, weights=at.weights, distance=at.distance)
    return Part(None, 1.0, source, settings, found, outcome, at.numbers)


def fit_strata(
    source: ArraySource,
    classes: Strata,
    settings: Settings,
    rng: np.random.Generator,
    place: Place | None = None,
) -> list[Part]:
    """The same for the rows of each class alone, its atoms by its share of the mass."""
    many = len(classes.labels)
    if many > settings.n_atoms:
        raise ValueError(
            f"stratify has {many:,} classes, more than n_atoms={settings.n_atoms:,}: each needs "
            "an atom of its own; raise n_atoms, or join classes"
        )
    most = np.array([len(rows) for rows in classes.members])
    parts = []
    for label, members, share, k in zip(
        *(classes.labels, classes.members, classes.shares),
        apportion(settings.n_atoms, classes.shares, most),
        strict=True,
    ):
        wanted = replace(settings, n_atoms=int(k))
        part = fit_whole(source.subset(members), wanted, rng, place)
        numbers = None if part.numbers is None else members[part.numbers]
        parts.append(replace(part, label=label, share=float(share), numbers=numbers))
    return parts


@dataclass(frozen=True)
class Joined:
    """The parts as one."""

    outcome: Outcome
    labels: list[Any]  # the class of each atom
    numbers: Ints | None


def join(source: ArraySource, parts: Sequence[Part], reg: float) -> Joined:
    """One coreset of all parts, with the distance at which no mass changes its class.

    Its bounds are those on W_2^2 without that condition: the plan that keeps it is one of many,
    and no plan is cheaper than sending every row to the nearest atom.
    """
    found = [part.outcome for part in parts]
    labels = [part.label for part in parts for _ in part.outcome.atoms]
    if len(parts) == 1:
        return Joined(found[0], labels, parts[0].numbers)
    s = np.array([part.share for part in parts])
    atoms = np.concatenate([one.atoms for one in found])
    value = float(s @ [one.distance.value for one in found]) - reg * float(s @ np.log(s))
    upper = float(s @ [one.distance.upper for one in found])
    numbers = [part.numbers for part in parts if part.numbers is not None]
    outcome = Outcome(
        atoms=atoms,
        weights=np.concatenate([part.share * part.outcome.weights for part in parts]),
        distance=Distance(value, min(nearest_cost(source, atoms), upper), upper),
        history=tuple(record for one in found for record in one.history),
        n_iter=max(one.n_iter for one in found),
        converged=all(one.converged for one in found),
        few_rows=any(one.few_rows for one in found),
    )
    return Joined(outcome, labels, np.concatenate(numbers) if numbers else None)


def nearest_cost(source: Source, atoms: Floats) -> float:
    """The mean squared distance from a row to the nearest atom."""
    Y = atoms - source.center
    p = Pass(Y, np.zeros(len(Y)), 0.0, source.center, Want.MASSES)
    return max(source.run(p).per_mass().L, 0.0)


def told(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The classes as JSON holds them: label, share of the mass, atoms."""
    return [
        {"label": in_words(part.label), "share": part.share, "n_atoms": len(part.outcome.atoms)}
        for part in parts
    ]
