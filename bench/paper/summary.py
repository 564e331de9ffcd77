"""Means and standard deviations of measured rows, and how they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean, stdev

from bench.common import Ledger

Rows = Iterable[Mapping[str, str]]
Key = tuple[str, ...]


class Summary:
    """The rows of a ledger, grouped by some of their columns."""

    def __init__(self, rows: Rows, by: tuple[str, ...]) -> None:
        groups: dict[Key, list[Mapping[str, str]]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[c] for c in by)].append(row)
        self.groups = dict(groups)

    def values(self, column: str, *key: object) -> list[float]:
        """One column of one group; empty where nothing was measured."""
        rows = self.groups.get(tuple(map(str, key)), ())
        return [float(row[column]) for row in rows if row.get(column)]

    def mean(self, column: str, *key: object) -> float | None:
        """The mean of one column of one group."""
        found = self.values(column, *key)
        return mean(found) if found else None

    def spread(self, column: str, *key: object) -> float:
        """The standard deviation over the seeds."""
        found = self.values(column, *key)
        return stdev(found) if len(found) > 1 else 0.0

    def seen(self, place: int) -> list[str]:
        """The values of the place-th grouping column, in the order of measurement."""
        return list(dict.fromkeys(key[place] for key in self.groups))


def read(folder: Path, name: str, by: tuple[str, ...]) -> Summary:
    """A part's rows."""
    return Summary(Ledger(folder / f"{name}.csv", by).rows, by)


def number(value: float | None, digits: int = 4) -> str:
    """A figure to so many significant digits; an en dash where there is none."""
    if value is None:
        return "–"
    if value != 0 and not 1e-4 <= abs(value) < 1e5:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def seconds(value: float | None) -> str:
    """Seconds to two digits."""
    return number(value, 2)


def beside(paper: float | None, ours: float | None, spread: float = 0.0) -> str:
    """Ours ± its spread, and in brackets the paper's and the ratio of ours to it."""
    if ours is None:
        return "–" if paper is None else f"– ({number(paper)})"
    own = number(ours) + (f" ± {number(spread, 1)}" if spread else "")
    return own if paper is None else f"{own} ({number(paper)}; {ours / paper:.3f})"


def timed(paper: float | None, ours: float | None, spread: float = 0.0) -> str:
    """The same of seconds, without a ratio: the machines differ."""
    if ours is None:
        return "–"
    own = seconds(ours) + (f" ± {number(spread, 1)}" if spread else "")
    return own if paper is None else f"{own} ({seconds(paper)})"
