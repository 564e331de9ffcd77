"""Arrow values as plain numbers and labels, and back to valid values of their type."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from emscoreset.stats import Floats

Bools = NDArray[np.bool_]

SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # units in a second
STEPS = (86_400, 3_600, 60, 1)  # seconds: days, hours, minutes


class Kind(Enum):
    """What a column's type makes of it."""

    NUMBER = "a number"
    TIME = "a date, a time or a duration"
    CATEGORY = "text or a category"
    BINARY = "binary data"
    OTHER = "of a type that has no distances"


def kind_of(type_: pa.DataType) -> Kind:
    """What columns of this type are to the encoder."""
    if pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_):
        return Kind.NUMBER
    if pt.is_decimal(type_):
        return Kind.NUMBER
    if pt.is_date(type_) or pt.is_timestamp(type_) or pt.is_time(type_) or pt.is_duration(type_):
        return Kind.TIME
    if pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_):
        return Kind.CATEGORY
    if pt.is_null(type_):
        return Kind.CATEGORY
    if pt.is_dictionary(type_):
        inner = kind_of(type_.value_type)
        return inner if inner in (Kind.BINARY, Kind.OTHER) else Kind.CATEGORY
    if pt.is_binary(type_) or pt.is_large_binary(type_) or pt.is_fixed_size_binary(type_):
        return Kind.BINARY
    return Kind.BINARY if pt.is_binary_view(type_) else Kind.OTHER


def units_per_day(type_: pa.DataType) -> int:
    """How many of the integers that a time type stores make a day."""
    if pt.is_date(type_):
        return 1 if pt.is_date32(type_) else 86_400_000
    return 86_400 * SECONDS[type_.unit]


def as_floats(array: pa.Array) -> Floats:
    """Numbers and times, these in their own unit, as float64 with NaN in the gaps."""
    type_ = array.type
    if pt.is_null(type_):
        return np.full(len(array), np.nan)
    if pt.is_date32(type_) or pt.is_time32(type_):
        array = array.cast(pa.int32())
    elif kind_of(type_) is Kind.TIME:
        array = array.cast(pa.int64())
    elif pt.is_boolean(type_):
        array = array.cast(pa.uint8())
    elif pt.is_decimal(type_) or pt.is_float16(type_):
        array = array.cast(pa.float64())
    values: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values


def from_floats(values: Floats, gaps: Bools, type_: pa.DataType) -> pa.Array:
    """Numbers within the type's range as values of this type, null where there are gaps."""
    values = np.where(gaps, 0.0, values)
    if pt.is_boolean(type_):
        return pa.array(values > 0.5, mask=gaps)
    if pt.is_decimal(type_):
        return pa.array(values, mask=gaps).cast(type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(type_.to_pandas_dtype()), mask=gaps)
    if pt.is_integer(type_):
        return pa.array(_whole(values, np.dtype(type_.to_pandas_dtype())), mask=gaps)
    small = pt.is_date32(type_) or pt.is_time32(type_)
    stored = np.dtype(np.int32 if small else np.int64)
    return pa.array(_whole(values, stored), mask=gaps).cast(type_)


def _whole(values: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Rounded, and within what the type holds also where float64 has no such number."""
    info = np.iinfo(dtype)
    most = float(info.max) if dtype.itemsize < 8 else np.nextafter(float(info.max), 0)
    return np.clip(np.rint(values), float(info.min), most).astype(dtype)


def label_type(type_: pa.DataType) -> pa.DataType:
    """The plain type in which the labels of a column of this type are kept."""
    if pt.is_dictionary(type_):
        return label_type(type_.value_type)
    if pt.is_null(type_) or pt.is_boolean(type_):
        return type_
    if pt.is_date32(type_) or pt.is_time32(type_):
        return pa.int32()
    if kind_of(type_) is Kind.TIME:
        return pa.int64()
    if pt.is_uint64(type_):
        return type_
    if pt.is_integer(type_):
        return pa.int64()
    return pa.float64() if pt.is_floating(type_) else pa.large_string()


def as_labels(array: pa.Array) -> pa.Array:
    """Values of any type as labels of a plain one; in a float column NaN is a gap."""
    type_ = array.type
    if pt.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(array.indices, as_labels(array.dictionary))
    array = array.cast(label_type(type_))
    if pt.is_floating(type_):
        return pc.if_else(pc.is_nan(array), None, array)
    return array


def from_labels(
    labels: list[Any], type_: pa.DataType, categories: list[Any] | None = None
) -> pa.Array:
    """Labels, None in the gaps, as values of the type they once had.

    A dictionary type gets these categories, or else those that are there.
    """
    if not pt.is_dictionary(type_):
        return pa.array(labels, label_type(type_)).cast(type_)
    there = [label for label in labels if label is not None]
    known = {label: code for code, label in enumerate(dict.fromkeys([*(categories or ()), *there]))}
    return pa.DictionaryArray.from_arrays(
        pa.array([known.get(label) for label in labels], type_.index_type),
        from_labels(list(known), type_.value_type),
        ordered=type_.ordered,
    )
