"""What benchmarks share: the machine in words, fair timing, tables, rows that survive a stop."""

from __future__ import annotations

import csv
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import joblib

from emscoreset.kernels import native

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "benchmarks"


def machine(*packages: str) -> str:
    """The processor, its instruction set and the versions of what was measured, in a line."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            ln.split(":", 1)[1].strip()
            for ln in info.read_text().splitlines()
            if "model name" in ln
        ]
        cpu = names[0] if names else cpu
    level = native.levels()[-1] if native.available() else "numpy"
    shown = ", ".join(
        f"{p} {_version(p)}" for p in ("emscoreset", "numpy", "scikit-learn", *packages)
    )
    python = platform.python_version()
    return f"{cpu}, {joblib.cpu_count()} CPUs, kernel {level}, Python {python}; {shown}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def alternate(
    rivals: Mapping[str, Callable[[], Any]], repeats: int, *, warm: bool = True
) -> dict[str, list[float]]:
    """Seconds of each rival, in turns, so that a disturbance of the machine hits all alike."""
    if warm:
        for call in rivals.values():
            call()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, call in rivals.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write_page(name: str, *parts: str) -> Path:
    """docs/benchmarks/<name>.md from its parts, a blank line between them."""
    PAGES.mkdir(parents=True, exist_ok=True)
    page = PAGES / f"{name}.md"
    page.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n")
    return page


class Ledger:
    """Measured rows in a CSV file: a run that was stopped goes on where it was.

    A row is a mapping; the columns in ``key`` say which measurement it is.
    """

    def __init__(self, path: Path, key: Sequence[str]) -> None:
        self.path = path
        self.key = tuple(key)
        self.rows: list[dict[str, str]] = []
        if path.is_file():
            with path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key: Any) -> bool:
        """Whether this was measured already."""
        return any(all(row[c] == str(key[c]) for c in self.key) for row in self.rows)

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a row, on disk before the next is measured."""
        self.extend([row])

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep rows that were measured together: all of them or none."""
        self.rows += [{name: str(value) for name, value in row.items()} for row in rows]
        columns = list(dict.fromkeys(name for r in self.rows for name in r))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".new")
        with beside.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(beside, self.path)
