"""What a look through one column tells: weighted mean and spread, quantiles, labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from emscoreset.encode.values import (
    SECONDS,
    STEPS,
    Kind,
    as_floats,
    as_labels,
    kind_of,
    label_type,
)
from emscoreset.stats import Floats

BLOCK = 1 << 16  # rows
FULL = 1.1  # a range of whole numbers is full with a little more than as many
MOST_DISTINCT = 50_000  # labels that are told apart


@dataclass
class Moments:
    """Of the values that are there and have weight; ``n_gaps`` counts all that are not."""

    mass: float = 0.0
    gap_mass: float = 0.0
    n_gaps: int = 0
    mean: float = 0.0
    squares: float = 0.0  # mass times variance
    least: float = np.inf
    most: float = -np.inf
    steps: list[float] = field(default_factory=list)  # of which all values are multiples

    @property
    def variance(self) -> float:
        """Mean squared distance to the mean."""
        return max(self.squares, 0.0) / self.mass

    @property
    def constant(self) -> bool:
        """Whether there are no two different values."""
        return not self.least < self.most

    def add(self, values: Floats, weight: Floats | None) -> None:
        """Take in a block; its mean and squares are merged as Chan, Golub and LeVeque do."""
        gaps = np.isnan(values)
        if gaps.any():
            self.n_gaps += int(gaps.sum())
            self.gap_mass += float(gaps.sum() if weight is None else weight[gaps].sum())
            values, weight = values[~gaps], None if weight is None else weight[~gaps]
        if weight is not None and not weight.all():
            values, weight = values[weight > 0], weight[weight > 0]
        if len(values) == 0:
            return
        mass = float(len(values) if weight is None else weight.sum())
        mean = float((values if weight is None else weight * values).sum()) / mass
        off = values - mean
        squares = float((off * off if weight is None else weight * off * off).sum())
        total, shift = self.mass + mass, mean - self.mean
        self.squares += squares + shift * shift * self.mass * mass / total
        self.mean += shift * mass / total
        self.mass = total
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        self.steps = [step for step in self.steps if _multiples(values, step)]


def _multiples(values: Floats, step: float) -> bool:
    """Whether all are multiples; the first few mostly tell."""
    parts = values / step
    few = parts[:64]
    return bool((few == np.rint(few)).all() and (parts == np.rint(parts)).all())


def moments(column: pa.ChunkedArray, weight: Floats | None) -> Moments:
    """A look through a column of numbers or times."""
    out = Moments(steps=_steps(column.type))
    with np.errstate(over="ignore", invalid="ignore"):
        for block, a in blocks(column, weight):
            out.add(as_floats(block), a)
    return out


def _steps(type_: pa.DataType) -> list[float]:
    """Steps that values of a type may have, the largest first."""
    if pt.is_decimal(type_):
        return [10.0**-type_.scale]
    if pt.is_date64(type_):
        return [86_400_000.0]
    if kind_of(type_) is Kind.TIME and not pt.is_date(type_):
        unit = SECONDS[type_.unit]
        parts = [unit // small for small in (10**3, 10**6, 10**9) if small <= unit]
        return [float(step) for step in (*(unit * s for s in STEPS), *parts)]
    return [1.0]


def blocks(
    column: pa.ChunkedArray, weight: Floats | None
) -> Iterator[tuple[pa.Array, Floats | None]]:
    """A column's values and their weights, some rows at a time."""
    start = 0
    for chunk in column.chunks:
        for i in range(0, len(chunk), BLOCK):
            part = chunk.slice(i, BLOCK)
            yield part, None if weight is None else weight[start : start + len(part)]
            start += len(part)


def quantiles(values: Floats, weight: Floats | None, at: Floats) -> Floats:
    """Quantiles as NumPy's, linear between neighbours; with weights those of repeated rows.

    With weights the inverse of the distribution function is taken, the mean of both
    neighbours where it jumps: that depends on the shares alone.
    """
    if weight is None:
        out: Floats = np.quantile(values, at)
        return out
    order = np.argsort(values)
    values, heap = values[order], np.cumsum(weight[order])
    target = at * heap[-1]
    below = np.searchsorted(heap, target * (1 - 1e-12))
    above = np.searchsorted(heap, target * (1 + 1e-12), side="right")
    last = len(values) - 1
    middle: Floats = (values[np.minimum(below, last)] + values[np.minimum(above, last)]) / 2
    return middle


@dataclass
class Shares:
    """The mass of each label with weight, in the order of labels; of the gaps, and how many."""

    labels: list[Any]
    mass: Floats
    gap_mass: float
    n_gaps: int
    n: int
    too_many: bool  # labels: the count was broken off


def shares(column: pa.ChunkedArray, weight: Floats | None) -> Shares:
    """A look through a column of labels, broken off where they are more than MOST_DISTINCT."""
    if pt.is_null(column.type):
        n = len(column)
        return Shares([], np.zeros(0), float(n if weight is None else weight.sum()), n, n, False)
    total: dict[Any, float] = {}
    gap_mass, n_gaps, too_many = 0.0, 0, False
    for block, a in blocks(column, weight):
        labels, mass, missing, count = _shares_of_block(as_labels(block), a)
        for label, more in zip(labels, mass.tolist(), strict=True):
            if more > 0:
                total[label] = total.get(label, 0.0) + more
        gap_mass, n_gaps = gap_mass + missing, n_gaps + count
        if len(total) > MOST_DISTINCT:
            too_many = True
            break
    known = sorted(total)
    found = np.array([total[label] for label in known])
    return Shares(known, found, gap_mass, n_gaps, len(column), too_many)


def _shares_of_block(
    array: pa.Array, weight: Floats | None
) -> tuple[list[Any], Floats, float, int]:
    """Labels and their masses; then the mass and the number of gaps."""
    if not pt.is_dictionary(array.type):
        array = array.dictionary_encode()
    elif len(array.dictionary) > len(array):
        array = array.cast(array.type.value_type).dictionary_encode()
    size = len(array.dictionary)
    codes = array.indices.cast(pa.int64()).fill_null(size).to_numpy(zero_copy_only=False)
    mass = np.bincount(codes, weights=weight, minlength=size + 1).astype(np.float64)
    count = int((codes == size).sum())
    labels = array.dictionary.to_pylist()
    gap_mass = float(mass[size])
    for i, label in enumerate(labels):
        if label is None:  # a gap among the categories
            gap_mass += float(mass[i])
            count += int((codes == i).sum())
            mass[i] = 0.0
    return labels, mass[:size], gap_mass, count


def numbering(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers all differ and fill their range almost."""
    ends = pc.min_max(column)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    if most - least >= FULL * len(column):
        return False
    seen = np.zeros(most - least + 1, np.bool_)
    for block, _ in blocks(column, None):
        values = block.to_numpy()
        # The difference fits where it has no sign, though it may not where it has.
        seen[(values - least).view(f"u{values.itemsize}")] = True
    return int(seen.sum()) == len(column)


def more_different(column: pa.ChunkedArray, most: int) -> bool:
    """Whether there are more than so many different numbers."""
    found: set[Any] = set()
    for block, _ in blocks(column, None):
        found.update(value for value in block.unique().to_pylist() if value == value)
        if len(found - {None}) > most:
            return True
    return False


def n_gaps(column: pa.ChunkedArray) -> int:
    """How many values are missing; NaN counts as missing."""
    if pt.is_floating(column.type):
        return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)
    return (
        int(column.null_count) if not pt.is_dictionary(column.type) else int(gap_mask(column).sum())
    )


def gap_mask(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where values are missing."""
    if pt.is_dictionary(column.type):
        column = column.cast(label_type(column.type))
    nan = pt.is_floating(column.type)
    mask: NDArray[np.bool_] = pc.is_null(column, nan_is_null=nan).to_numpy()
    return mask
