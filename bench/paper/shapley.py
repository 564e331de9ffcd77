"""Table "shapley": 64 rows in place of the training set as the background of SHAP values.

The measurements are those of `make bench-shap`.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.paper.jobs import Job, Part
from bench.shap import fidelity


def jobs(quick: bool) -> Iterator[Job]:
    """Every background of every seed; quick: Diabetes alone."""
    for key, run in fidelity.jobs(quick):
        if not quick or key["dataset"] == "Diabetes":
            yield Job(key, run)


PART = Part("shapley", fidelity.KEY, jobs)
