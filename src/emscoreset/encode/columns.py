"""How one column becomes features and comes back: a number, or one of several labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from emscoreset.encode.values import (
    Bools,
    Kind,
    as_floats,
    as_labels,
    from_floats,
    from_labels,
    kind_of,
    label_type,
)
from emscoreset.stats import Floats

Block = NDArray[np.float32]
LARGEST = 1e16  # of a feature: float32 holds the squares of differences, summed


class GapError(ValueError):
    """A value is missing where none was when the encoder was fitted."""


@dataclass(frozen=True)
class Number:
    """A number, boolean, date, time or duration: (value - center) * factor.

    Where ``presence`` is above 0, gaps have the value ``center`` and a feature of their own,
    ``presence`` in gaps and 0 elsewhere. ``fills``: gaps have the value ``center``.
    """

    name: str
    center: float
    factor: float
    least: float
    most: float
    step: float  # values are multiples of it; 0: any
    presence: float = 0.0
    fills: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """What the features are called."""
        return (self.name, f"{self.name}=(missing)") if self.presence else (self.name,)

    @property
    def takes_gaps(self) -> bool:
        """Whether values may be missing."""
        return self.fills or self.presence > 0

    def check(self, found: pa.DataType, fitted: pa.DataType) -> None:
        """Refuse a column of a type that does not mean the same."""
        if pt.is_null(found) or _same_meaning(found, fitted):
            return
        raise ValueError(
            f"column {self.name!r} was {fitted} when the encoder was fitted, now {found}"
        )

    @property
    def kept_as(self) -> np.dtype[Any]:
        """What `pack` makes of a value."""
        return np.dtype(np.float32)

    def pack(self, array: pa.Array, fitted: pa.DataType) -> Block:
        """The first feature of these values, NaN in gaps that have a feature of their own."""
        if kind_of(fitted) is Kind.TIME and array.type != fitted and not pt.is_null(array.type):
            array = array.cast(fitted, safe=False)
        values = as_floats(array)
        values = (values - self.center) * self.factor
        gaps = np.isnan(values)
        if gaps.any():
            if not self.takes_gaps:
                raise GapError(self.name)
            values[gaps] = 0.0
        with np.errstate(over="ignore"):
            packed: Block = values.astype(np.float32)
        if not (np.abs(packed) <= LARGEST).all():
            raise ValueError(
                f"column {self.name!r} holds infinity, or a number that is too large in the "
                f"unit of scale= and importance=, more than {LARGEST:g}: replace it, drop its "
                "row, or scale the column"
            )
        if self.presence:
            packed[gaps] = np.nan
        return packed

    def spread(self, packed: NDArray[Any], out: Block, at: int) -> None:
        """The features of packed values, from ``at`` on. OUT out (b, d), zero there before."""
        if not self.presence:
            out[:, at] = packed
            return
        gaps = np.isnan(packed)
        out[:, at] = np.where(gaps, np.float32(0), packed)
        out[:, at + 1] = gaps * np.float32(self.presence)

    def read(self, Z: Floats, fitted: pa.DataType) -> pa.Array:
        """Valid values from features (k, width): of the seen range, gaps where most mass is."""
        missing = np.clip(Z[:, 1] / self.presence, 0, 1) if self.presence else np.zeros(len(Z))
        gaps = missing > 0.5
        there = np.where(gaps, 1.0, 1.0 - missing)  # gaps pulled the feature towards 0
        values = self.center + Z[:, 0] / (self.factor * there)
        if self.step:
            values = np.rint(values / self.step) * self.step
        return from_floats(np.clip(values, self.least, self.most), gaps, fitted)


@dataclass(frozen=True)
class Labels:
    """Text, a category, or a column with a single value: one feature for each option.

    The options are ``labels``, then those pooled as rare, then a gap. The feature of a value's
    option is ``height``, the others 0. With a single option there is no feature.
    """

    name: str
    labels: tuple[Any, ...]  # strings, numbers or booleans, sorted
    height: float
    pooled: Any = None  # the most frequent of the rare labels; None where none was rare
    gap: bool = False  # whether a gap is an option
    fill: Any = None  # the label that gaps are given; None where they are given none
    categories: tuple[Any, ...] = ()  # of a dictionary type, all, in their order

    @cached_property
    def options(self) -> list[Any]:
        """The label that each option is decoded to; None is a gap."""
        rare = [] if self.pooled is None else [self.pooled]
        return [*self.labels, *rare, *([None] if self.gap else [])]

    @property
    def features(self) -> tuple[str, ...]:
        """What the features are called."""
        names = [str(label) for label in self.labels]
        names += ["(other)"] * (self.pooled is not None) + ["(missing)"] * self.gap
        return tuple(f"{self.name}={name}" for name in names) if len(names) > 1 else ()

    @property
    def takes_gaps(self) -> bool:
        """Whether values may be missing."""
        return self.gap or self.fill is not None or not self.features

    def check(self, found: pa.DataType, fitted: pa.DataType) -> None:
        """Refuse a column of a type whose labels are not of the same kind."""
        if pt.is_null(found) or _same_labels(found, fitted):
            return
        raise ValueError(
            f"column {self.name!r} was {fitted} when the encoder was fitted, now {found}"
        )

    @property
    def kept_as(self) -> np.dtype[Any]:
        """What `pack` makes of a value."""
        return np.min_scalar_type(-len(self.options))

    def pack(self, array: pa.Array, fitted: pa.DataType) -> NDArray[np.int32]:
        """The options of these values; a label never seen counts as a rare one, or as -1, none."""
        option = self._options(as_labels(array), label_type(fitted))
        if not self.takes_gaps and (option == -2).any():
            raise GapError(self.name)
        return option

    def spread(self, packed: NDArray[Any], out: Block, at: int) -> None:
        """The features of packed values, from ``at`` on. OUT out (b, d), zero there before."""
        rows = np.arange(0, out.size, out.shape[1])
        if packed.min(initial=0) < 0:
            seen = packed >= 0
            rows, packed = rows[seen], packed[seen]
        out.reshape(-1)[rows + at + packed] = self.height  # faster than two indices

    def _options(self, array: pa.Array, kept: pa.DataType) -> NDArray[np.int32]:
        """Each value's option; -1 where it has none, -2 for a gap that is none."""
        known = pa.array(self.labels, kept)
        other = len(self.labels) if self.pooled is not None else -1
        gap = len(self.options) - 1 if self.gap else -2
        if self.fill is not None:
            gap = self.labels.index(self.fill) if self.fill in self.labels else other
        if pt.is_null(array.type):
            return np.full(len(array), gap, np.int32)
        if pt.is_dictionary(array.type):
            codes: NDArray[np.int32] = self._codes(array.dictionary, known, other, gap)
            if array.null_count == 0:
                whole: NDArray[np.int32] = codes[array.indices.to_numpy(zero_copy_only=False)]
                return whole
            codes = np.append(codes, np.int32(gap))
            last = pa.scalar(len(codes) - 1, pa.int64())
            places = array.indices.cast(pa.int64()).fill_null(last)
            codes = codes[places.to_numpy(zero_copy_only=False)]
            return codes
        return self._codes(array, known, other, gap)

    @staticmethod
    def _codes(array: pa.Array, known: pa.Array, other: int, gap: int) -> NDArray[np.int32]:
        found = pc.index_in(array, value_set=known)
        codes: NDArray[np.int32] = found.fill_null(other).to_numpy(zero_copy_only=False)
        if array.null_count:
            codes = np.where(_nulls(array), np.int32(gap), codes)
        return codes

    def read(self, Z: Floats, fitted: pa.DataType) -> pa.Array:
        """For each row of features the label with the largest share."""
        best = np.argmax(Z, axis=1) if self.features else np.zeros(len(Z), np.intp)
        chosen = [self.options[j] for j in best]
        return from_labels(chosen, fitted, list(self.categories))


def _nulls(array: pa.Array) -> Bools:
    nulls: Bools = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _same_labels(found: pa.DataType, fitted: pa.DataType) -> bool:
    """Labels are kept as plain values; those of times, as numbers of one unit."""
    a, b = (t.value_type if pt.is_dictionary(t) else t for t in (found, fitted))
    if Kind.TIME in (kind_of(a), kind_of(b)):
        return bool(a == b)
    return kind_of(a) not in (Kind.BINARY, Kind.OTHER) and bool(label_type(a) == label_type(b))


def _same_meaning(found: pa.DataType, fitted: pa.DataType) -> bool:
    """Numbers are numbers; times must be of one sort, with a time zone both or neither."""
    if kind_of(fitted) is Kind.NUMBER:
        return kind_of(found) is Kind.NUMBER
    day = pt.is_date(found) or pt.is_timestamp(found)
    if day and (pt.is_date(fitted) or pt.is_timestamp(fitted)):
        return (getattr(found, "tz", None) is None) == (getattr(fitted, "tz", None) is None)
    same = (pt.is_time, pt.is_duration)
    return any(sort(found) and sort(fitted) for sort in same)


Column = Number | Labels
