"""What readers share: rows as numbers, trees that libraries give as nested mappings, offsets."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from emscoreset.explain.shapley import margins
from emscoreset.explain.trees import Forest
from emscoreset.stats import Floats


def as_doubles(X: Any) -> Floats:
    """Rows as float64, NaN where a value is missing."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return np.asarray(X, dtype=np.float64)
    columns = [as_numbers(column) for column in frame.iter_columns()]
    return np.column_stack(columns).astype(np.float64)


def as_numbers(column: Any) -> NDArray[Any]:
    """A narwhals column of numbers as float64, NaN where a value is missing."""
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise TypeError(f"column {column.name!r} must hold numbers for this model's trees")
    values: NDArray[Any] = column.cast(nw.Float64).to_numpy()
    return values


def as_singles(X: Any) -> Floats:
    """Rows rounded to float32, as these trees test them, in float64."""
    return as_doubles(X).astype(np.float32).astype(np.float64)


def columns(values: Any) -> Floats:
    """A model's output as (n, outputs)."""
    out = np.asarray(values, dtype=np.float64)
    return out[:, None] if out.ndim == 1 else out


def offset_of(forest: Forest, encoded: Floats, raw: Floats) -> Floats:
    """What the model adds to its trees: the middle of what it adds at some rows. OUT (outputs,)."""
    added: Floats = np.median(raw - margins(forest, encoded), axis=0)
    return added


def bit_set(categories: NDArray[Any], size: int) -> NDArray[np.uint64]:
    """Whole numbers as a set of bits, in words enough for 0 .. size - 1."""
    bits = np.zeros(-(-max(1, size) // 64) * 64, dtype=np.uint8)
    bits[np.asarray(categories, dtype=np.int64)] = 1
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def flattened(root: dict[str, Any], left: str, right: str) -> tuple[list[dict[str, Any]], Any, Any]:
    """A nested tree's nodes in a list, root first, and the numbers of their children."""
    nodes, lefts, rights = [root], [0], [0]
    for number, node in enumerate(nodes):  # grows as it goes
        for name, numbers in ((left, lefts), (right, rights)):
            if name in node:
                numbers[number] = len(nodes)
                nodes.append(node[name])
                lefts.append(0)
                rights.append(0)
    return nodes, np.array(lefts), np.array(rights)
