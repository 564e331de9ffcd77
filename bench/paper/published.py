"""The paper's own figures (Yin, Liu, Wang: EMS Coreset), as they stand in its tables."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("published.csv")


@cache
def figures(table: str) -> dict[tuple[str, str, str, str], tuple[float, float | None]]:
    """(data set, what varies, its value, method) -> the paper's result and seconds."""
    out: dict[tuple[str, str, str, str], tuple[float, float | None]] = {}
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == table:
                key = (row["dataset"], row["varying"], row["value"], row["method"])
                seconds = float(row["seconds"]) if row["seconds"] else None
                out[key] = (float(row["result"]), seconds)
    return out
