"""Real rows for atoms: which rows of the data stand nearest, and the exact distance to them.

Of all rows the nearest to a barycentre costs least in its place: a mass N moved from y to r costs
N |r - y|^2 more. No n x k matrix is formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from emscoreset.ems import Distance, State, ems_pass, exact_distance
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Assignment, Floats, Ints, Pass, Rows, log_offset

POOL = 1024  # rows that are looked at, at least, for atoms without a row of their own


@dataclass(frozen=True)
class Placed:
    """Atoms at their last places, the masses of a pass there, and its exact distance."""

    atoms: Floats  # (k, d)
    weights: Floats  # (k,) sums to 1
    distance: Distance
    numbers: Ints | None = None  # (k,) which rows they are, counted from 0


def place(source: ArraySource, atoms: Floats, weights: Floats, reg: float) -> Placed:
    """The weights and the distance of atoms here, from one pass."""
    p, stats = ems_pass(source, State(atoms - source.center, weights), reg)
    return Placed(atoms, stats.N / stats.N.sum(), exact_distance(p, stats))


def real_rows(source: ArraySource, atoms: Floats, weights: Floats, reg: float) -> Placed:
    """A different row of positive mass for each atom, and weights and distance for these rows.

    Every row belongs to its most responsible atom, and an atom takes the nearest of its own. An
    atom that has none takes the row that is farthest from those taken, by its mass. Equal rows
    are taken only where there are fewer distinct ones than atoms.
    """
    numbers = _nearest_own(source, State(atoms - source.center, weights), reg)
    return placed_at(source, numbers, weights, reg)


def placed_at(source: ArraySource, numbers: Ints, weights: Floats, reg: float) -> Placed:
    """These rows, far ones for -1, and their weights and distance."""
    own = numbers >= 0
    w = np.where(own, np.maximum(weights, 1.0 / source.n), 1.0 / source.n)
    if not own.all():
        numbers = numbers.copy()
        numbers[~own] = _far_rows(source, numbers[own], int((~own).sum()))
    rows = np.asarray(source.X[numbers], dtype=np.float64)
    return replace(place(source, rows, w / w.sum(), reg), numbers=numbers)


def _nearest_own(source: ArraySource, state: State, reg: float) -> Ints:
    """For each atom the nearest row of those it is most responsible for; -1 without any."""
    k = len(state.w)
    numbers, least = np.full(k, -1, dtype=np.intp), np.full(k, np.inf)
    for start, rows, found in assigned(source, state.Y, log_offset(state.w, reg)):
        cost = np.where(rows.masses() > 0, found.cost, np.inf)
        order = np.lexsort((cost, found.labels))  # stable: the lowest number of equals
        labels = found.labels[order]
        first = np.append(True, labels[1:] != labels[:-1])
        atom, row = labels[first], order[first]
        nearer = cost[row] < least[atom]
        atom, row = atom[nearer], row[nearer]
        numbers[atom], least[atom] = start + row, cost[row]
    return numbers


def _far_rows(source: ArraySource, numbers: Ints, count: int) -> Ints:
    """So many rows that are not taken yet, each the one that costs most where it is served now."""
    found = np.empty(0, dtype=np.intp)
    while len(found) < count:
        taken = np.concatenate([numbers, found])
        pool, mass, cost = _costliest(source, taken, max(POOL, 4 * count))
        Y = _values(source, pool)
        before = len(found)
        while len(found) < count and (mass * cost).max(initial=0.0) > 0:
            i = int((mass * cost).argmax())
            found = np.append(found, pool[i])
            cost = np.minimum(cost, np.square(Y - Y[i]).sum(axis=1))
            cost[i] = 0.0
        if len(found) == before:  # all that is left equals what is taken
            masses = np.concatenate([rows.masses() for rows in source.blocks()])
            free = np.setdiff1d(np.flatnonzero(masses), taken)
            return np.concatenate([found, free[: count - len(found)]])
    return found


def _costliest(source: ArraySource, taken: Ints, m: int) -> tuple[Ints, Floats, Floats]:
    """The m rows of largest mass times cost to the nearest row taken: numbers, masses, costs."""
    Y = _values(source, taken)
    numbers, mass, cost = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    for start, rows, found in assigned(source, Y, np.zeros(len(Y))):
        numbers = np.concatenate([numbers, np.arange(start, start + len(rows.X))])
        mass, cost = np.concatenate([mass, rows.masses()]), np.concatenate([cost, found.cost])
        stay = np.sort(np.argsort(-mass * cost, kind="stable")[:m])
        numbers, mass, cost = numbers[stay], mass[stay], cost[stay]
    cost[np.isin(numbers, taken)] = 0.0
    return numbers, mass, cost


def assigned(
    source: ArraySource, Y: Floats, offset: Floats
) -> Iterator[tuple[int, Rows, Assignment]]:
    """Each block: the number of its first row, the rows, and whose they are."""
    p = Pass(Y, offset, 0.0, source.center)
    start = 0
    for rows in source.blocks(len(Y)):
        yield start, rows, source.kernel.assign(rows, p)
        start += len(rows.X)


def _values(source: ArraySource, numbers: Ints) -> Floats:
    """These rows, relative to the center. OUT (k, d)."""
    return np.asarray(source.X[numbers], dtype=np.float64) - source.center
