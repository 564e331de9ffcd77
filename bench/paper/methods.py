"""The methods that the paper compares, and ours, each with the settings it has there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from emscoreset import Coreset, EMSCoreset, baselines, sinkhorn_distance

Array = np.ndarray
REG = 0.01  # at which the paper measures every distance
PAPER_SHIFT = 1e-2  # the paper's stopping rule: the Frobenius norm of the centres' move
EPOCHS = 1000  # of WCSL at most, in the paper
TRIAL = 2
WIDE = 1e-3  # of the cost
LIMIT = 10.0  # seconds for WCSL: its epochs are cut to what fits, and the page says so
REST = 0.15  # seconds before a fit, so that no library's idle threads still spin


@dataclass(frozen=True)
class Made:
    """A coreset and what it took."""

    coreset: Coreset
    seconds: float
    epochs: int | None = None  # of WCSL
    full_seconds: float | None = None  # until its own rule would end it, by the time of an epoch


Method = Callable[[Array, int, int], Made]  # rows, atoms, seed


def baseline(make: Callable[..., Coreset], **options: object) -> Method:
    """One of the package's rivals."""

    def run(X: Array, k: int, seed: int) -> Made:
        coreset = make(X, k, rng=seed, **options)
        return Made(coreset, float(coreset.provenance["seconds"]))

    return run


def _wcsl(X: Array, k: int, seed: int) -> Made:
    """As many of WCSL's epochs as a trial of a few says will fit into the limit."""
    trial = _epochs(X, k, seed, TRIAL)
    fitting = min(int(LIMIT / trial.seconds * TRIAL), EPOCHS)
    return trial if fitting <= TRIAL else _epochs(X, k, seed, fitting)


def _epochs(X: Array, k: int, seed: int, epochs: int) -> Made:
    coreset = baselines.wcsl(X, k, preset="paper", reg=REG, rng=seed, max_iter=epochs)
    about = coreset.provenance
    seconds, ran = float(about["seconds"]), about["parameters"]["n_iter"]
    full = seconds if about["parameters"]["converged"] else seconds / ran * EPOCHS
    return Made(coreset, seconds, ran, full)


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
    "Random": baseline(baselines.random),
    "K-means": baseline(baselines.kmeans, weights="uniform", init="random"),
    "EMS reg=0": _ems("plain", 0.0),
    "EMS reg=0.001": _ems("plain", 0.001),
    "EMS reg=0.01": _ems("plain", 0.01),
    "EMS reg=0.1": _ems("plain", 0.1),
}
WCSL = "WCSL reg=0.01"
OURS: Mapping[str, Method] = {
    "k-means, masses": baseline(baselines.kmeans, weights="mass"),
    "auto": _ems("auto", 0.0),
    "best": _ems("best", 0.0),
}
TUNED = "WCSL tuned"
STEPS = 20  # of it, over all rows
SLOW: Mapping[str, Method] = {
    WCSL: _wcsl,
    TUNED: baseline(baselines.wcsl, preset="tuned", reg=REG, max_iter=STEPS),
}
ALL: Mapping[str, Method] = {**PAPER, **SLOW, **OURS}


def fit(method: str, X: Array, k: int, seed: int) -> Made:
    """A method's coreset; what its library does once in a process is done before."""
    if method not in SLOW:
        _warmed(method)
    time.sleep(REST)
    return ALL[method](X, k, seed)


@cache
def _warmed(method: str) -> None:
    ALL[method](np.random.default_rng(0).standard_normal((2000, 10)), 20, 0)


def measured(X: Array, made: Made) -> dict[str, object]:
    """The transport cost to the coreset's own weights, as the paper's tables have it.

    A cost that is not known to WIDE is left out.
    """
    found = sinkhorn_distance(X, made.coreset, reg=REG)
    cost = found.cost if found.gap < WIDE else ""
    row: dict[str, object] = {"cost": cost, "gap": found.gap, "seconds": made.seconds}
    if made.epochs is not None:
        row |= {"epochs": made.epochs, "full_seconds": made.full_seconds}
    return row
