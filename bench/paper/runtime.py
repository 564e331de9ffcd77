"""Table "runtime": a mixture of four Gaussians; rows, columns and atoms varied one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import SLOW, WCSL, fit, measured
from bench.paper.problems import mixture

BASE = {"n": 10_000, "d": 10, "k": 100}
VALUES = {"n": (10_000, 100_000, 1_000_000), "d": (1, 10, 100, 1000), "k": (10, 100, 1000)}
METHODS = (
    *("EMS reg=0", "EMS reg=0.001", "EMS reg=0.01", "EMS reg=0.1"),
    *("k-means, masses", "auto", "best", WCSL),
)
SEEDS = 5  # the paper: 20
FEW = 3  # for the million rows, and for 1000 columns
# WCSL's Adam steps grow with n: the paper's run on a GPU took 2006 s at a million rows.
LEFT_OUT = {(WCSL, "n", 1_000_000)}


def jobs(quick: bool) -> Iterator[Job]:
    """WCSL last."""
    for slow in (False, True):
        for varying, values in VALUES.items():
            for value in values:
                for method in METHODS:
                    if (method in SLOW) is not slow or (method, varying, value) in LEFT_OUT:
                        continue
                    if quick and (slow or value >= 1_000_000):
                        continue
                    for seed in range(_seeds(method, varying, value, quick)):
                        key = {"varying": varying, "value": value, "method": method, "seed": seed}
                        yield Job(key, _Fit(varying, value, method, seed))


def _seeds(method: str, varying: str, value: int, quick: bool) -> int:
    if quick or method in SLOW:
        return 1
    large = value >= 1_000_000 or (varying == "d" and value >= 1000)
    return FEW if large or method == "best" or value == 1000 else SEEDS


class _Fit:
    def __init__(self, varying: str, value: int, method: str, seed: int) -> None:
        self.size = {**BASE, varying: value}
        self.method, self.seed = method, seed

    def __call__(self) -> Row:
        X = mixture(self.size["n"], self.size["d"], seed=self.seed)
        return measured(X, fit(self.method, X, self.size["k"], self.seed))


PART = Part("runtime", ("varying", "value", "method", "seed"), jobs)
