"""Generated tables of every type, and the same table in every form a user may bring."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

BACKENDS = ("pandas", "polars", "pyarrow")


def as_backend(table: pa.Table, backend: str) -> Any:
    """The table as this library's frame."""
    if backend == "pandas":
        return table.to_pandas()
    return table if backend == "pyarrow" else pl.from_arrow(table)


def plain_table(n: int = 400, seed: int = 0) -> pa.Table:
    """Numbers, booleans and text without gaps, as scikit-learn's pipelines take them."""
    rng = np.random.default_rng(seed)
    jobs = np.array(["clerk", "cook", "farmer", "judge", "poet", "smith"])
    return pa.table(
        {
            "age": rng.integers(18, 90, n).astype(np.int32),
            "income": rng.lognormal(10, 1, n),
            "job": jobs[rng.choice(6, n, p=[0.5, 0.3, 0.19, 0.004, 0.003, 0.003])],
            "owns": rng.random(n) < 0.3,
            "town": np.array(["Bonn", "Köln"])[rng.integers(0, 2, n)],
        }
    )


def every_type(n: int = 300, gaps: float = 0.1, seed: int = 0) -> pa.Table:
    """A column of every type that has distances, each with its share of gaps."""
    rng = np.random.default_rng(seed)
    mask = rng.random((20, n)) < gaps
    codes = rng.integers(0, 4, n)
    days = rng.integers(10_000, 20_000, n)
    seconds = days * 86_400 + rng.integers(0, 86_400, n)
    cents = rng.integers(-10_000, 10_000, n)
    prices = [decimal.Decimal(int(c)).scaleb(-2) for c in cents]
    levels = np.array(["S", "M", "L", "XL"])

    def whole(kind: pa.DataType, values: Any, j: int) -> pa.Array:
        narrow = pa.int32() if kind in (pa.date32(), pa.time32("s")) else pa.int64()
        return pa.array(values, narrow, mask=mask[j]).cast(kind)

    return pa.table(
        {
            "int8": pa.array(codes.astype(np.int8), mask=mask[0]),
            "uint64": pa.array(rng.integers(0, 10**6, n).astype(np.uint64), mask=mask[1]),
            "float32": pa.array(rng.normal(size=n).astype(np.float32), mask=mask[2]),
            "float64": pa.array(rng.normal(1e6, 1.0, n), mask=mask[3]),
            "whole": pa.array(rng.integers(0, 9, n).astype(np.float64), mask=mask[4]),
            "bool": pa.array(rng.random(n) < 0.4, mask=mask[5]),
            "decimal": pa.array(prices, pa.decimal128(10, 2), mask=mask[6]),
            "date": whole(pa.date32(), days, 7),
            "date64": whole(pa.date64(), days * 86_400_000, 8),
            "seen": whole(pa.timestamp("us", "Europe/Berlin"), seconds * 10**6, 9),
            "local": whole(pa.timestamp("ns"), days * 86_400 * 10**9, 10),
            "took": whole(pa.duration("ms"), rng.integers(0, 10**6, n), 11),
            "clock": whole(pa.time32("s"), seconds % 86_400, 12),
            "text": pa.array(levels[codes], mask=mask[13]),
            "size": pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int8), mask=mask[14]), levels.tolist(), ordered=True
            ),
            "grade": pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int32), mask=mask[15]), pa.array([1, 2, 3, 5])
            ),
            "day_of": pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int16), mask=mask[16]),
                pa.array([dt.date(2024, 1, d) for d in (1, 2, 3, 9)]),
            ),
        }
    )


def repeated(table: pa.Table, times: np.ndarray) -> pa.Table:
    """Each row as often as it says."""
    return table.take(pa.array(np.repeat(np.arange(table.num_rows), times)))


__all__ = ["BACKENDS", "as_backend", "every_type", "pd", "plain_table", "repeated"]
