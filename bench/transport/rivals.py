"""What is timed: each rival from rows and atoms to its answer, in a process of its own.

python -m bench.transport.rivals PROBLEM RIVAL prints one JSON object. An entropic rival is
judged by its atoms' potentials: what they prove, and the mass their plan puts on wrong atoms.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.transport.problems import REG, Problem, make
from emscoreset import sinkhorn_distance, wasserstein_distance
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Pass, Want
from emscoreset.transport.semidual import entropy

LEAST, TURNS = 5.0, 3  # as many turns, unless they take longer than so many seconds

Answer = dict[str, Any]


def ours(p: Problem) -> Answer:
    return _told(wasserstein_distance(p.X, (p.Y, p.w)))


def exact(p: Problem) -> Answer:
    return _told(wasserstein_distance(p.X, (p.Y, p.w), exact=True))


def entropic(p: Problem) -> Answer:
    return _told(sinkhorn_distance(p.X, (p.Y, p.w), reg=REG))


def _told(found: Any) -> Answer:
    names = ("value", "gap", "passes", "list_passes", "converged")
    return {name: getattr(found, name) for name in names}


def emd2(p: Problem, C: np.ndarray) -> Answer:
    import ot

    cost, log = ot.emd2(ot.unif(len(p.X)), p.w, C, numItermax=10**8, log=True)
    return {"value": float(cost), "converged": log["warning"] is None}


def lazy(p: Problem) -> Answer:
    import ot

    X = p.X.astype(np.float64)
    _, g = ot.bregman.empirical_sinkhorn(
        X, p.Y, REG, isLazy=True, batchSize=max(100, 2_000_000 // len(p.Y)), numIterMax=15
    )
    return {"h": REG * g}


def logarithmic(p: Problem, C: np.ndarray) -> Answer:
    import ot

    _, log = ot.bregman.sinkhorn_log(
        ot.unif(len(p.X)), p.w, C, REG, numItermax=100, stopThr=1e-9, log=True
    )
    return {"h": REG * np.asarray(log["log_v"])}


def geomloss(p: Problem) -> Answer:
    import torch
    from geomloss import SamplesLoss

    X, Y = torch.from_numpy(p.X), torch.from_numpy(p.Y.astype(np.float32))
    loss = SamplesLoss(  # its cost is |x - y|^2 / 2, its temperature blur^2
        "sinkhorn",
        p=2,
        blur=(REG / 2) ** 0.5,
        debias=False,
        potentials=True,
        backend="tensorized",
    )
    _, g = loss(torch.full((len(X),), 1 / len(X)), X, torch.full((len(Y),), 1 / len(Y)), Y)
    return {"h": 2.0 * g.numpy().ravel().astype(float) + REG * np.log(p.w)}


WITH_MATRIX: dict[str, Callable[[Problem, np.ndarray], Answer]] = {
    "POT emd2": emd2,
    "POT sinkhorn_log, 100 sweeps": logarithmic,
}
ALONE: dict[str, Callable[[Problem], Answer]] = {
    "W2^2, tol 1e-4": ours,
    "W2^2, exact": exact,
    "W_reg, tol 1e-4": entropic,
    "POT lazy, 15 sweeps": lazy,
    "geomloss": geomloss,
}
RIVALS = (
    *("W2^2, tol 1e-4", "W2^2, exact", "W_reg, tol 1e-4", "POT emd2", "POT lazy, 15 sweeps"),
    *("POT sinkhorn_log, 100 sweeps", "geomloss"),
)


def main() -> None:
    problem, rival = make(sys.argv[1]), sys.argv[2]
    warnings.simplefilter("ignore")
    if rival in ALONE:
        call: Callable[[], Answer] = lambda: ALONE[rival](problem)  # noqa: E731
    else:
        C = matrix(problem)
        call = lambda: WITH_MATRIX[rival](problem, C)  # noqa: E731
    wasserstein_distance(problem.X[:1000], (problem.Y[:10], None))  # start what starts once
    seconds: list[float] = []
    while len(seconds) < TURNS and sum(seconds) < LEAST:
        began = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - began)
    if "h" in answer:
        answer = judged(problem, answer.pop("h"))
    print(json.dumps({"seconds": float(np.median(seconds)), **answer}))


def matrix(p: Problem) -> np.ndarray:
    """The costs, n x k in float64, before the clock starts."""
    C = np.empty((len(p.X), len(p.Y)))
    squares = np.square(p.Y).sum(axis=1)
    for i in range(0, len(C), 10_000):
        X = p.X[i : i + 10_000].astype(float)
        C[i : i + 10_000] = np.square(X).sum(axis=1)[:, None] - 2.0 * X @ p.Y.T + squares
    return np.maximum(C, 0.0, out=C)


def judged(p: Problem, h: np.ndarray) -> Answer:
    """What offsets prove at REG, and the mass that their plan puts on the wrong atoms."""
    source = ArraySource(p.X, kernel=get_kernel())
    request = Pass(p.Y - source.center, h, REG, source.center, Want.MASSES)
    stats = source.run(request).per_mass()
    proved = float(p.w @ h) + stats.L + REG * entropy(p.w)
    return {"proved": proved, "off": 0.5 * float(np.abs(stats.N - p.w).sum())}


if __name__ == "__main__":
    main()
