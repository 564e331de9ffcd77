"""The distance to atoms whose weights are given, by passes over the rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from emscoreset.ems import Distance
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Stats, Want, log_offset


def distance_to_weights(source: Source, Y: Floats, w: Floats, reg: float) -> Distance:
    """W_reg and a bracket on W_2^2 between the rows and (Y, w), Y relative to the center."""

    def stats(g: Floats, eps: float, want: Want = Want.MASSES) -> Stats:
        offset = log_offset(w, eps) + g
        return source.run(Pass(Y, offset, eps, source.center, want)).per_mass()

    def fall(g: Floats, eps: float) -> tuple[float, Floats]:
        found = stats(g, eps)
        return -float(w @ g) - found.L, found.N - w

    g = np.zeros(len(w))
    scale = source.moments.variance
    eps = 0.05 * scale
    while True:
        g = minimize(fall, g, (eps,), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        g -= w @ g
        if eps <= max(reg, 1e-3 * scale):
            break
        eps = max(0.2 * eps, reg, 1e-3 * scale)
    last = stats(g, eps, Want.MOMENTS)
    upper = glued_cost(last, Y, w)
    lower = max(float(w @ g) + stats(g, 0.0).L0, 0.0)
    value = max(-fall(g, reg)[0], lower) if reg > 0 else upper
    return Distance(max(value, lower), min(lower, upper), upper)


def glued_cost(stats: Stats, Y: Floats, w: Floats) -> float:
    """The cost of the pass's plan once excess mass has moved on to the atoms that lack it."""
    S, Q = stats.moments()
    N = np.maximum(stats.N, 1e-300)
    to = (Q / N)[:, None] - 2.0 * (S / N[:, None]) @ Y.T + np.square(Y).sum(axis=1)[None, :]
    excess, lack = np.maximum(stats.N - w, 0.0), np.maximum(w - stats.N, 0.0)
    cost = float(np.minimum(stats.N, w) @ np.diag(to))
    if lack.sum() > 0:
        cost += float(excess @ to @ lack) / float(lack.sum())
    return max(cost, 0.0)
