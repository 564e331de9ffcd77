"""How many passes' worth of rows a descent reads before it is near where plain EM ends."""

from __future__ import annotations

import numpy as np

from bench.fit.problems import ROWS
from emscoreset.ems import fit_ems
from emscoreset.kernels import get_kernel
from emscoreset.search.drive import Settings, fit
from emscoreset.search.seeding import seed
from emscoreset.sources.array import ArraySource

NEAR = 1.001
# Rows, atoms, reg, and at most how many passes were aimed at.
GOALS = [
    ("mixture A", 100, 0.0, 20),
    ("low rank D", 200, 0.0, 26),
    ("mixture A", 100, 1.0, 10),
    ("small", 100, 0.0, ""),
]


def count(rows: str, k: int, reg: float, number: int) -> dict[str, float]:
    """Passes of plain EM from k-means++, and of "auto", until within 0.1 % of plain EM's end."""
    source = ArraySource(ROWS[rows](), kernel=get_kernel("auto"))
    start = seed(source, k, "k-means++", np.random.default_rng(number)).start
    plain = fit_ems(source, start, reg).history
    target = NEAR * plain[-1].objective
    reads = next(i for i, record in enumerate(plain, 1) if record.objective <= target)
    auto = fit(source, Settings(k, reg), np.random.default_rng(number)).history
    read = 0
    for record in auto:
        read += record.rows
        if record.kept and record.rows == source.n and record.objective <= target:
            break
    return {
        "plain": reads,
        "plain, to its end": len(plain),
        "auto": read / source.n,
        "auto, to its end": sum(record.rows for record in auto) / source.n,
        "end": auto[-1].objective / plain[-1].objective - 1.0,
    }
