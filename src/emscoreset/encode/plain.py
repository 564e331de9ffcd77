"""An encoder as plain values that JSON can hold, and back; nothing is taken on trust."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pyarrow as pa

from emscoreset.encode.columns import Column, Labels, Number
from emscoreset.encode.encoder import Encoder
from emscoreset.encode.values import Kind, from_labels, kind_of

KINDS: dict[str, type[Number] | type[Labels]] = {"number": Number, "labels": Labels}
LABEL = (str, int, float, bool)


def to_plain(encoder: Encoder) -> dict[str, Any]:
    """The encoder as a dictionary of plain values."""
    names = {class_: kind for kind, class_ in KINDS.items()}
    return {
        "columns": [{"kind": names[type(c)], **_lists(asdict(c))} for c in encoder.columns],
        "schema": base64.b64encode(encoder.schema.serialize().to_pybytes()).decode(),
    }


def _lists(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}


def from_plain(plain: Any) -> Encoder:
    """The encoder that `to_plain` wrote; anything else is a ValueError."""
    if not isinstance(plain, dict) or set(plain) != {"columns", "schema"}:
        raise ValueError("the encoder is not a mapping of columns and schema")
    if not isinstance(plain["columns"], list) or not isinstance(plain["schema"], str):
        raise ValueError("the encoder has no list of columns, or no schema")
    try:
        raw = base64.b64decode(plain["schema"], validate=True)
        schema = pa.ipc.read_schema(pa.py_buffer(raw))
        columns = tuple(_column(column) for column in plain["columns"])
        if [column.name for column in columns] != schema.names:
            raise ValueError("its columns are not those of its schema")
        if len(set(schema.names)) < len(columns):
            raise ValueError("two of its columns have the same name")
        for column, field in zip(columns, schema, strict=True):
            _check_type(column, field.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, OSError) as error:
        raise ValueError(f"the encoder is not whole: {error}") from error
    return Encoder(columns, schema)


def _column(plain: Any) -> Column:
    if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
        raise ValueError(f"a column must be one of {', '.join(KINDS)}")
    kind = KINDS[plain["kind"]]
    names = {field.name for field in fields(kind)}
    if set(plain) != {"kind", *names}:
        raise ValueError(f"a column has {sorted(set(plain) ^ {'kind', *names})} amiss")
    for name in names:
        if not CHECKS[name](plain[name]):
            raise ValueError(f"{name} of column {plain['name']!r} must not be {plain[name]!r}")
    values = {key: plain[key] for key in names}
    if kind is Number:
        return Number(**values)
    for key in ("labels", "categories"):
        values[key] = tuple(values[key])
        if len(set(values[key])) < len(values[key]):
            raise ValueError(f"{key} of column {plain['name']!r} are not all different")
    return Labels(**values)


def _real(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _not_negative(value: Any) -> bool:
    return _real(value) and value >= 0


def _labels(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(label, LABEL) for label in value)


def _label(value: Any) -> bool:
    return value is None or isinstance(value, LABEL)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    **dict.fromkeys(("center", "least", "most"), _real),
    "factor": lambda value: _real(value) and value > 0,
    **dict.fromkeys(("step", "presence", "height"), _not_negative),
    **dict.fromkeys(("fills", "gap"), _flag),
    **dict.fromkeys(("labels", "categories"), _labels),
    **dict.fromkeys(("pooled", "fill"), _label),
}


def _check_type(column: Column, type_: pa.DataType) -> None:
    """Whether the column's values can be of this type; its labels are made to find out."""
    kind = kind_of(type_)
    if isinstance(column, Number):
        fits = kind in (Kind.NUMBER, Kind.TIME)
        if fits and column.least <= column.most:
            ends = column.center + np.zeros((2, len(column.features)))
            column.read(ends, type_)
            return
    elif kind not in (Kind.BINARY, Kind.OTHER) and column.options:
        from_labels([*column.options, column.fill], type_, list(column.categories))
        return
    raise ValueError(f"column {column.name!r} cannot hold values of type {type_}")
