"""How a fit depends on reg: distance, softness, passes and time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

from bench.paper.jobs import Job, Part, Row
from bench.paper.problems import gaussian, images, mixture
from emscoreset import EMSCoreset

# As shares of the data's variance, and the paper's own values beside them.
SHARES = (0.0, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 2.0)
SETS = {
    "Gaussian": (gaussian, 100),
    "mixture": (lambda: mixture(10_000, 10), 100),
    "MNIST": (lambda: images("mnist"), 50),
}
SEEDS = 3


def jobs(quick: bool) -> Iterator[Job]:
    """Every share of every set."""
    for name in SETS:
        if quick and name == "MNIST":
            continue
        for share in SHARES:
            for seed in range(1 if quick else SEEDS):
                yield Job({"dataset": name, "share": share, "seed": seed}, _Fit(name, share, seed))


class _Fit:
    def __init__(self, name: str, share: float, seed: int) -> None:
        self.name, self.share, self.seed = name, share, seed

    def __call__(self) -> Row:
        make, k = SETS[self.name]
        X = make()
        reg = self.share * float(X.var(axis=0, dtype=float).sum())
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "reg=")  # atoms that merge are what is looked at
            c = EMSCoreset(k, reg=reg, random_state=self.seed).fit(X).coreset_
        return {
            "reg": reg,
            "distance": c.distance,
            "lower": c.lower,
            "upper": c.upper,
            "variance": c.variance,
            "effective_atoms": c.effective_atoms,
            "seconds": time.perf_counter() - began,
        }


PART = Part("sensitivity", ("dataset", "share", "seed"), jobs)
