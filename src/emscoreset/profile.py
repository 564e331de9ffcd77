"""What the columns of a table hold, in figures; those of the data travel with a coreset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emscoreset.stats import Floats

if TYPE_CHECKING:
    import pyarrow as pa

QUANTILES = (5, 25, 50, 75, 95)  # per cent
LEVELS = 10  # so many categories of a column are named, the most frequent ones
# A column of text is told by its categories if the first rows hold few enough of them.
LOOKED_AT = 10_000
MOST_LEVELS = 1_000

OTHERS, MISSING = "share of others", "share of gaps"

Figure = float | str
Figures = dict[str, Figure]


class Comparison(NamedTuple):
    """One figure of a column, of the data and of the coreset's weighted rows.

    Dates are text, shares and all else numbers.
    """

    column: str
    figure: str
    data: Figure
    coreset: Figure


def profile(table: pa.Table, weights: Floats | None = None) -> dict[str, dict[str, Any]]:
    """Each column's figures: mean, spread and quantiles, or the shares of its categories.

    Columns of lists, of bytes and of text with a thousand values or more have none.
    """
    out: dict[str, dict[str, Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = _kind(column)
        if kind == "category":
            levels = _frequent(column, weights)
            out[name] = {"levels": levels, "figures": _shares(column, weights, levels)}
        elif kind is not None:
            out[name] = {"figures": _figures(column, weights)}
    return out


def compare(
    known: Mapping[str, Mapping[str, Any]], table: pa.Table, weights: Floats
) -> list[Comparison]:
    """The figures of `profile`, beside those of a table with the same columns, or some of them."""
    out = []
    for name, one in known.items():
        if name not in table.column_names:
            continue
        if "levels" in one:
            own = _shares(table[name], weights, one["levels"])
        else:
            own = _figures(table[name], weights)
        for figure, value in one["figures"].items():
            here = own.get(figure, float("nan"))
            if figure not in (OTHERS, MISSING) or value or here:
                out.append(Comparison(name, figure, value, here))
    return out


def as_text(lines: list[Comparison]) -> str:
    """The figures in columns."""
    rows = [("column", "", "data", "coreset")]
    last = None
    for one in lines:
        name = one.column if one.column != last else ""
        rows.append((name, one.figure, in_short(one.data), in_short(one.coreset)))
        last = one.column
    widths = [max(len(row[j]) for row in rows) for j in range(4)]
    return "\n".join(
        f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}"
        for a, b, c, d in rows
    )


def in_short(value: Figure) -> str:
    """A figure as it is shown."""
    return value if isinstance(value, str) else f"{value:,.4g}"


def _kind(column: pa.ChunkedArray) -> str | None:
    import pyarrow.types as t

    kind = column.type
    if t.is_dictionary(kind) or t.is_boolean(kind):
        return "category"
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        head = column.slice(0, LOOKED_AT)
        return "category" if len(head.unique()) <= MOST_LEVELS else None
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_duration(kind):
        return "number"
    return "date" if t.is_timestamp(kind) or t.is_date(kind) else None


def _figures(column: pa.ChunkedArray, weights: Floats | None) -> Figures:
    """Mean, spread and quantiles of numbers or dates, and the share of gaps."""
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    show: Any = float
    if t.is_timestamp(kind) or t.is_date(kind):
        column = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        whole = t.is_date(kind)
        zone = "" if getattr(kind, "tz", None) is None else "Z"

        def show(v: float) -> str:
            text = str(np.datetime64(int(v), "us").astype("M8[D]" if whole else "M8[s]"))
            return text + zone

    values, w, gaps = _plain_values(column, weights)
    out: Figures = {}
    if len(values):
        mean = float(values.mean() if w is None else np.average(values, weights=w))
        off = values - mean
        spread = float(np.sqrt(np.average(np.square(off, out=off), weights=w)))
        del off
        out["mean"] = show(mean)
        out["spread"] = spread if show is float else f"{spread / 86_400e6:.4g} days"
        for q, value in zip(QUANTILES, quantiles(values, w), strict=True):
            out[f"{q} % quantile"] = show(value)
    return out | {MISSING: gaps}


def _plain_values(
    column: pa.ChunkedArray, weights: Floats | None
) -> tuple[Floats, Floats | None, float]:
    """The finite values as float64, their weights, and the share of the rest."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_duration(column.type):
        seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[column.type.unit]
        column = column.cast(pa.int64())
    else:
        seconds = 1.0
        if t.is_timestamp(column.type):
            column = column.cast(pa.int64())
    values = column.cast(pa.float64(), safe=False).to_numpy()  # gaps are NaN
    if seconds != 1.0:
        values = values * seconds
    fine = np.isfinite(values)
    total = len(values) if weights is None else weights.sum()
    kept = fine.sum() if weights is None else weights[fine].sum()
    if fine.all():
        return values, weights, 0.0
    return values[fine], None if weights is None else weights[fine], float(1 - kept / total)


def quantiles(values: NDArray[np.float64], weights: Floats | None) -> Floats:
    """The least value with at least each share of the mass at or below it."""
    shares = np.array(QUANTILES) / 100
    if weights is None:
        ranks = np.maximum(np.ceil(shares * len(values)).astype(np.intp) - 1, 0)
        return np.partition(values, ranks)[ranks]
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    places = np.searchsorted(cumulated, shares * cumulated[-1] * (1 - 1e-12))
    found: Floats = values[order][places]
    return found


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.intp], list[str]]:
    """Each row's category, -1 where it has none, and the categories' names."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.combine_chunks()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy().astype(np.intp)
    return codes, [str(level) for level in array.dictionary.to_pylist()]


def _frequent(column: pa.ChunkedArray, weights: Floats | None) -> list[str]:
    codes, names = _codes(column)
    counts = np.bincount(codes[codes >= 0], None if weights is None else weights[codes >= 0])
    order = np.argsort(-counts, kind="stable")[:LEVELS]
    return [names[i] for i in order if counts[i] > 0]


def _shares(column: pa.ChunkedArray, weights: Floats | None, levels: list[str]) -> Figures:
    codes, names = _codes(column)
    mass = np.bincount(codes + 1, weights, minlength=len(names) + 1)
    mass = mass / mass.sum()
    by_name = dict(zip(names, mass[1:], strict=True))
    out: Figures = {f"share of {level}": float(by_name.get(level, 0.0)) for level in levels}
    rest = 1.0 - mass[0] - sum(by_name.get(level, 0.0) for level in levels)
    return out | {OTHERS: float(rest) if rest > 1e-12 else 0.0, MISSING: float(mass[0])}
