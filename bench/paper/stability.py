"""Figure "stability": how far apart the coresets of ten seeds are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import ALL, REG, WCSL
from bench.paper.problems import mixture
from emscoreset import sinkhorn_distance

ROWS, ATOMS, SEEDS = 1000, 64, 10
RADII = (2.0, 5.0)
METHODS = (
    *("Random", "K-means", WCSL, "EMS reg=0", "EMS reg=0.01"),
    *("k-means, masses", "auto", "best"),
)


def jobs(quick: bool) -> Iterator[Job]:
    """One job a mixture and a method; it gives a row for each pair of seeds."""
    for radius in RADII:
        for method in METHODS:
            if not (quick and method == WCSL):
                yield Job({"radius": radius, "method": method}, _Pairs(radius, method, quick))


class _Pairs:
    def __init__(self, radius: float, method: str, quick: bool) -> None:
        self.radius, self.method, self.seeds = radius, method, 4 if quick else SEEDS

    def __call__(self) -> list[Row]:
        X = mixture(ROWS, 2, self.radius, spread=1.0)
        made = [ALL[self.method](X, ATOMS, seed).coreset for seed in range(self.seeds)]
        return [
            {
                "one": i,
                "other": j,
                "cost": sinkhorn_distance(made[i], made[j], reg=REG).cost,
                "to_data": made[i].upper,
            }
            for i, j in combinations(range(self.seeds), 2)
        ]


PART = Part("stability", ("radius", "method"), jobs)
