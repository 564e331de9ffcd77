"""Measurements as jobs: each is kept as soon as it is made, so that a run can be stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import ROOT, Ledger

RESULTS = ROOT / "bench" / "paper" / "results"
QUICK = ROOT / "out" / "paper-quick"
CELL_SECONDS = 12.0  # of fits, after which a method has had seeds enough on a case

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """One measurement: what it is, and the call that makes its figures."""

    key: Row
    run: Callable[[], Row | list[Row]]  # a list: several rows of the same key


@dataclass(frozen=True)
class Part:
    """One table or figure of the paper."""

    name: str
    key: tuple[str, ...]
    jobs: Callable[[bool], Iterable[Job]]  # takes quick


class OutOfTimeError(Exception):
    """The run's time is up; what was measured is kept."""


def ledger(part: Part, quick: bool) -> Ledger:
    """The part's rows on disk."""
    return Ledger((QUICK if quick else RESULTS) / f"{part.name}.csv", part.key)


def do(part: Part, quick: bool, until: float) -> None:
    """Make what has not been made of this part, or as much of it as the clock allows."""
    kept = ledger(part, quick)
    for job in missing(part, kept, quick):
        if time.monotonic() > until:
            raise OutOfTimeError(part.name)
        print(part.name, *job.key.values(), flush=True)
        began, worked = time.perf_counter(), time.process_time()
        found = job.run()
        # What it takes here, or would take on a machine without other work.
        took = min(time.perf_counter() - began, time.process_time() - worked)
        rows = found if isinstance(found, list) else [found]
        kept.extend({**job.key, **row, "took": took / len(rows)} for row in rows)
        print(f"  {took:.1f} s", flush=True)


def missing(part: Part, kept: Ledger, quick: bool) -> Iterator[Job]:
    """The jobs that have no row yet, and whose cell has not had its time."""
    for job in part.jobs(quick):
        if not kept.has(**job.key) and spent(kept, job.key) < CELL_SECONDS:
            yield job


def spent(kept: Ledger, key: Row) -> float:
    """Seconds that the other seeds of this key took."""
    cell = {name: str(value) for name, value in key.items() if name != "seed"}
    return sum(
        float(row["seconds"])
        for row in kept.rows
        if row.get("seconds") and all(row[name] == value for name, value in cell.items())
    )


def results_folder(quick: bool) -> Path:
    """Where the rows are."""
    return QUICK if quick else RESULTS
