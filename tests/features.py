"""Encoded rows by column, and their variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from emscoreset.encode import Encoder


def blocks_of(encoder: Encoder, Z: np.ndarray) -> dict[str, np.ndarray]:
    return {name: Z[:, place].astype(np.float64) for name, place in encoder.places.items()}


def variance(Z: np.ndarray, weight: Any = None) -> float:
    Z = Z.astype(np.float64)
    mean = np.average(Z, axis=0, weights=weight)
    return float(np.average(((Z - mean) ** 2).sum(axis=1), weights=weight))
