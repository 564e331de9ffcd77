"""Figure "stability": how far apart the coresets of ten seeds are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import REG, WCSL, fit
from bench.paper.problems import mixture
from emscoreset import sinkhorn_distance

ROWS, ATOMS, SEEDS, FEW = 1000, 64, 10, 5  # FEW: of WCSL
RADII = (2.0, 5.0)
METHODS = (
    *("Random", "K-means", "EMS reg=0", "EMS reg=0.01"),
    *("k-means, masses", "auto", "best", WCSL),
)


def jobs(quick: bool) -> Iterator[Job]:
    """One job a mixture and a method; it gives a row for each pair of seeds. WCSL last."""
    for slow in (False,) if quick else (False, True):
        for radius in RADII:
            for method in (m for m in METHODS if (m == WCSL) is slow):
                yield Job({"radius": radius, "method": method}, _Pairs(radius, method, quick))


class _Pairs:
    def __init__(self, radius: float, method: str, quick: bool) -> None:
        self.radius, self.method = radius, method
        self.seeds = 4 if quick else FEW if method == WCSL else SEEDS

    def __call__(self) -> list[Row]:
        X = mixture(ROWS, 2, self.radius, spread=1.0)
        made = [fit(self.method, X, ATOMS, seed).coreset for seed in range(self.seeds)]
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
