"""The problems: MNIST with random rows or k-means centres for atoms, and a million rows."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from bench.common import ROOT
from emscoreset.baselines import kmeans, random

REG = 0.01


@dataclass(frozen=True)
class Problem:
    """Rows of equal mass, atoms of equal weight."""

    name: str
    X: np.ndarray  # (n, d) float32
    Y: np.ndarray  # (k, d)

    @property
    def w(self) -> np.ndarray:
        return np.full(len(self.Y), 1.0 / len(self.Y))


MNIST = {f"MNIST {kind} {k}": (kind, k) for kind in ("random", "k-means") for k in (10, 100, 200)}
MILLION = {f"1e6 x 10, {k}": k for k in (100, 1000)}
NAMES = (*MNIST, *MILLION)


def mnist() -> np.ndarray:
    """The training images, in the paper's units. (60000, 784)"""
    beside = ROOT.parent / "shared" / "data"
    path = os.path.join(os.environ.get("EMSCORESET_DATA", beside), "mnist.npz")
    with np.load(path) as file:
        pixels = file["X_train"].astype(np.float32)
    return (pixels / np.float32(255) - np.float32(0.1307)) / np.float32(0.3081)


def make(name: str) -> Problem:
    """The problem of this name, the same in every process."""
    if name in MILLION:
        rng = np.random.default_rng(0)
        centres = 3.0 * rng.normal(size=(32, 10))
        X = centres[rng.integers(32, size=10**6)] + rng.normal(size=(10**6, 10))
        X = X.astype(np.float32)
        return Problem(name, X, X[rng.choice(10**6, MILLION[name], replace=False)].astype(float))
    kind, k = MNIST[name]
    X = mnist()
    if kind == "random":
        atoms = X[np.random.default_rng(k).choice(len(X), k, replace=False)].astype(float)
    else:
        cache = ROOT / "out" / "bench" / f"mnist-kmeans-{k}.npy"
        if not cache.is_file():
            cache.parent.mkdir(parents=True, exist_ok=True)
            np.save(cache, kmeans(X, k, max_iter=30, rng=0).atoms)
        atoms = np.load(cache)
    return Problem(name, X, atoms)


def draws(k: int, many: int) -> list[float]:
    """W_2^2 from MNIST to `many` draws of k random rows with uniform weights."""
    X = mnist()
    found = [random(X, k, rng=seed) for seed in range(many)]
    return [(c.lower + c.upper) / 2 for c in found]
