"""Table "distance and runtime": Gaussian, MNIST and Fashion-MNIST, 10 to 200 atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import ALL, REG, SLOW, TUNED, WCSL, Made, fit, measured
from bench.paper.problems import DISTANCE, Problem
from emscoreset.ems import atom_costs
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Pass, log_offset

ATOMS = (10, 20, 50, 100, 200)
SEEDS = 5
IMAGE_SEEDS = 3
TUNED_ATOMS = (10,)  # of images: minutes each
SWEEPS = 1000  # the paper's cap


def jobs(quick: bool) -> Iterator[Job]:
    """Quick ones first, then WCSL, its strongest form last and on few sizes."""
    quicker = [method for method in ALL if method not in SLOW]
    for methods in (quicker,) if quick else (quicker, [WCSL], [TUNED]):
        for dataset, rows in DISTANCE.items():
            if quick and dataset == "Fashion MNIST":
                continue
            for k in (10,) if quick and dataset != "Gaussian" else ATOMS:
                for method in methods:
                    if method == TUNED and dataset != "Gaussian" and k not in TUNED_ATOMS:
                        continue
                    for seed in range(_seeds(dataset, method, quick)):
                        key = {"dataset": dataset, "k": k, "method": method, "seed": seed}
                        yield Job(key, _Fit(rows, k, method, seed))


def _seeds(dataset: str, method: str, quick: bool) -> int:
    if quick or method in SLOW:
        return 1
    return SEEDS if dataset == "Gaussian" else IMAGE_SEEDS


class _Fit:
    """A fit and its distance."""

    def __init__(self, rows: Problem, k: int, method: str, seed: int) -> None:
        self.rows, self.k, self.method, self.seed = rows, k, method, seed

    def __call__(self) -> Row:
        X = self.rows()
        return measured(X, fit(self.method, X, self.k, self.seed))


def capped_jobs(quick: bool) -> Iterator[Job]:
    """What 1000 Sinkhorn sweeps say of the coresets whose weights are not their own masses."""
    for dataset, rows in DISTANCE.items():
        if dataset == "Fashion MNIST" and quick:
            continue
        for k in (10,) if quick else (10, 50, 200):
            for method in ("Random", "K-means"):
                key = {"dataset": dataset, "k": k, "method": method}
                yield Job(key, _Capped(rows, k, method))


class _Capped:
    """The cost that the paper's capped Sinkhorn has reached, beside the converged one."""

    def __init__(self, rows: Problem, k: int, method: str) -> None:
        self.rows, self.k, self.method = rows, k, method

    def __call__(self) -> Row:
        X = self.rows()
        made = fit(self.method, X, self.k, 0)
        cost, error = sinkhorn_sweeps(X, made, SWEEPS)
        return {**measured(X, made), "capped": cost, "weights_missed": error}


def sinkhorn_sweeps(X: np.ndarray, made: Made, sweeps: int) -> tuple[float, float]:
    """The plan's cost and |N - w|_1 after so many sweeps from zero potentials.

    A sweep is a pass: it scales the rows of the plan, and its masses N say by how much to
    scale the columns. All happens in the span of the atoms: what a row has outside of it is
    the same for every atom.
    """
    w, center = made.coreset.weights, X.mean(axis=0, dtype=float)
    basis, coordinates = np.linalg.qr((made.coreset.atoms - center).T)
    Y = np.ascontiguousarray(coordinates.T)
    centred = X - center.astype(X.dtype)
    Z = centred @ basis.astype(X.dtype)
    outside = float(np.square(centred).sum(dtype=float) - np.square(Z).sum(dtype=float)) / len(X)
    source = ArraySource(Z, kernel=get_kernel())
    Y = Y - source.center
    h = log_offset(w, REG)
    for _ in range(sweeps):
        stats = source.run(Pass(Y, h, REG, source.center)).per_mass()
        missed = float(np.abs(stats.N - w).sum())
        h = h + REG * (np.log(w) - np.log(np.maximum(stats.N, 1e-300)))
    return float(atom_costs(stats, Y).sum()) + outside, missed


PART = Part("distance", ("dataset", "k", "method", "seed"), jobs)
CAPPED = Part("capped", ("dataset", "k", "method"), capped_jobs)
