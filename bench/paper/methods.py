"""The methods that the paper compares, and ours, each with the settings it has there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from emscoreset import Coreset, EMSCoreset, baselines, sinkhorn_distance

Array = np.ndarray
REG = 0.01  # at which the paper measures every distance
PAPER_SHIFT = 1e-2  # the paper's stopping rule: the Frobenius norm of the centres' move


@dataclass(frozen=True)
class Made:
    """A coreset and what it took."""

    coreset: Coreset
    seconds: float


Method = Callable[[Array, int, int], Made]  # rows, atoms, seed


def _baseline(make: Callable[..., Coreset], **options: object) -> Method:
    def run(X: Array, k: int, seed: int) -> Made:
        coreset = make(X, k, rng=seed, **options)
        return Made(coreset, float(coreset.provenance["seconds"]))

    return run


def _ems(algorithm: str, reg: float) -> Method:
    rule = {"tol": 0.0, "shift_tol": PAPER_SHIFT} if algorithm == "plain" else {}

    def run(X: Array, k: int, seed: int) -> Made:
        model = EMSCoreset(k, reg=reg, algorithm=algorithm, random_state=seed, **rule)
        began = time.perf_counter()
        coreset = model.fit(X).coreset_
        return Made(coreset, time.perf_counter() - began)

    return run


# The paper's name of a method -> the same here. k-means there starts from random rows.
PAPER: Mapping[str, Method] = {
    "Random": _baseline(baselines.random),
    "K-means": _baseline(baselines.kmeans, weights="uniform", init="random"),
    "EMS reg=0": _ems("plain", 0.0),
    "EMS reg=0.001": _ems("plain", 0.001),
    "EMS reg=0.01": _ems("plain", 0.01),
    "EMS reg=0.1": _ems("plain", 0.1),
}
WCSL = "WCSL reg=0.01"
OURS: Mapping[str, Method] = {
    "k-means, masses": _baseline(baselines.kmeans, weights="mass"),
    "auto": _ems("auto", 0.0),
    "best": _ems("best", 0.0),
}
SLOW: Mapping[str, Method] = {
    WCSL: _baseline(baselines.wcsl, preset="paper"),
    "WCSL tuned": _baseline(baselines.wcsl, preset="tuned"),
}
ALL: Mapping[str, Method] = {**PAPER, **SLOW, **OURS}


def measured(X: Array, made: Made) -> dict[str, float]:
    """The transport cost to the coreset's own weights, as the paper's tables have it."""
    found = sinkhorn_distance(X, made.coreset, reg=REG)
    return {"cost": found.cost, "gap": found.gap, "seconds": made.seconds}
