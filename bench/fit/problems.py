"""What is fitted: rows by name, and how many atoms of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emscoreset.datasets import load


@dataclass(frozen=True, order=True)
class Case:
    """A problem and a number of atoms."""

    rows: str
    k: int

    def __str__(self) -> str:
        return f"{self.rows}, k = {self.k}"


def mixture() -> np.ndarray:
    """A: unit Gaussians around 32 overlapping centres."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((32, 10), dtype=np.float32) * np.float32(3 / np.sqrt(10))
    X = rng.standard_normal((1_000_000, 10), dtype=np.float32)
    X += centres[rng.integers(32, size=len(X))]
    return X


def low_rank() -> np.ndarray:
    """D: twenty directions of 784, and a little noise in all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 20)) @ rng.standard_normal((20, 784))
    return (X + 0.5 * rng.standard_normal(X.shape)).astype(np.float32)


def blobs() -> np.ndarray:
    """Sixty far apart."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (60, 8))
    X = centres[rng.integers(60, size=100_000)] + 0.3 * rng.standard_normal((100_000, 8))
    return X.astype(np.float32)


def ring() -> np.ndarray:
    """A noisy circle."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 100_000)
    wide = 1 + 0.05 * rng.standard_normal((100_000, 1))
    return (np.stack([np.cos(t), np.sin(t)], axis=1) * wide).astype(np.float32)


def small() -> np.ndarray:
    """The paper's base case: standard normal rows."""
    return np.random.default_rng(0).standard_normal((10_000, 10)).astype(np.float32)


def _pixels(name: str, mean: float, deviation: float) -> np.ndarray:
    """Images as the paper scales them."""
    X = load(name).X.reshape(-1, 784)
    return ((X / np.float32(255) - np.float32(mean)) / np.float32(deviation)).astype(np.float32)


def _standardised(name: str) -> np.ndarray:
    X = load(name).X.astype(np.float64)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


ROWS: dict[str, Callable[[], np.ndarray]] = {
    "small": small,
    "ring": ring,
    "blobs": blobs,
    "Census": lambda: _standardised("census"),
    "credit default": lambda: _standardised("credit_default"),
    "HIV": lambda: load("hiv_fingerprints").X.astype(np.float32),
    "mixture A": mixture,
    "MNIST": lambda: _pixels("mnist", 0.1307, 0.3081),
    "Fashion-MNIST": lambda: _pixels("fashion_mnist", 0.2860, 0.3530),
    "low rank D": low_rank,
}
SIZES = {"mixture A": (100,), "low rank D": (200,), "blobs": (50, 60), "small": (100,)}
CASES = [Case(rows, k) for rows in ROWS for k in SIZES.get(rows, (10, 50, 200))]
# Where only the best known optimum is asked for.
RECORDS = [Case(rows, k) for rows in ("MNIST", "Fashion-MNIST") for k in (20, 100)]
QUICK = [Case("ring", 50), Case("Census", 50), Case("blobs", 50), Case("small", 100)]

# Distances at reg 0, the lowest that were known before this release.
BEST_KNOWN = {
    "MNIST": {10: 413.1, 20: 370.2, 50: 323.4, 100: 294.3, 200: 267.9},
    "Fashion-MNIST": {10: 255.0, 20: 213.7, 50: 180.9, 100: 162.0, 200: 146.2},
}
