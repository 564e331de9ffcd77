"""Where k-means puts its centres, and the weights that make up for it.

Paper, appendix "High-resolution asymptotics". Densities are given by their
values on points, each of which stands for a cell of the same volume.
"""

from __future__ import annotations

import math

import numpy as np

from emscoreset.stats import Floats

# The mean squared distance to the centre of a cell of volume 1 in the best partition of the line
# (an interval) and of the plane (a regular hexagon: Fejes Toth).
CELL_COST = {1: 1.0 / 12.0, 2: 5.0 / (18.0 * math.sqrt(3.0))}


def centre_density(p: Floats, volume: float, d: int) -> Floats:
    """p^(d/(d+2)) over its integral, where k-means puts its centres (paper, eq. kmeans-dd2)."""
    power = np.power(p, d / (d + 2.0))
    g: Floats = power / (power.sum() * volume)
    return g


def correction_weights(p: Floats, g: Floats) -> Floats:
    """Weights proportional to p(y_j) / g(y_j), summing to 1 (paper, prop. weights-fix)."""
    weights: Floats = p / g
    return weights / float(weights.sum())


def high_resolution_cost(p: Floats, volume: float, d: int, k: int) -> float:
    """k-means' W_2^2 for large k, c_d (integral p^(d/(d+2)))^((d+2)/d) k^(-2/d), d = 1 or 2."""
    if d not in CELL_COST:
        raise ValueError(f"the best cell is known for d = 1 and 2, not {d}")
    integral = float(np.power(p, d / (d + 2.0)).sum()) * volume
    return CELL_COST[d] * float(np.power(integral, (d + 2.0) / d) * np.power(float(k), -2.0 / d))
