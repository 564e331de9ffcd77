"""After how many passes the paper's EMS, run here, stands where the paper's figures do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.paper import published
from bench.paper.checks import IMAGES
from bench.paper.distance import ATOMS
from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import PAPER_SHIFT
from bench.paper.problems import DISTANCE
from emscoreset import EMSCoreset

METHOD = "EMS reg=0"


def jobs(quick: bool) -> Iterator[Job]:
    """One fit for each size of each set."""
    for dataset in IMAGES:
        for k in ATOMS[:1] if quick else ATOMS:
            yield Job({"dataset": dataset, "k": k}, _Watched(dataset, k))


@dataclass(frozen=True)
class _Watched:
    """A fit whose objective is known at each pass: at reg 0 it is the distance."""

    dataset: str
    k: int

    def __call__(self) -> Row:
        rule = {"tol": 0.0, "shift_tol": PAPER_SHIFT, "algorithm": "plain"}
        model = EMSCoreset(self.k, random_state=0, **rule).fit(DISTANCE[self.dataset]())
        costs = [record.objective for record in model.history_]
        figures = published.figures("distance_runtime")
        theirs, _ = figures[(self.dataset, "k", str(self.k), METHOD)]
        reached = next((i for i, cost in enumerate(costs) if cost <= theirs), "")
        return {"reached": reached, "passes": model.n_iter_, "end": costs[-1]}


PART = Part("passes", ("dataset", "k"), jobs)
