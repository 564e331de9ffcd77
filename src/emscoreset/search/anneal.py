"""From a high temperature to the fit's own: atoms spread before they commit themselves.

EMS is EM for a mixture of round Gaussians of variance reg / 2: at a reg above twice the
largest eigenvalue of the covariance all atoms would meet at the mean, and every mode of the
data appears as reg falls past it. From k-means++, starting below that point, the atoms keep
what the seeding found.
"""

from __future__ import annotations

from emscoreset.ems import State
from emscoreset.search.passes import Passes
from emscoreset.search.seeding import uniform
from emscoreset.sources.base import Source

HOT = 0.3  # of the hard cost is the first temperature
COLD = 0.01  # of it, or the fit's own, ends the cooling
COOLING = 0.6  # a temperature over the one before
STEPS = 2  # of EM at each


def anneal(passes: Passes, source: Source, state: State, reg: float) -> State:
    """``state`` after a few EM steps at each of some falling temperatures."""
    if passes.left(source) < 1:
        return state
    cost = passes.step(source, state, 0.0).L
    t = HOT * cost
    while t > max(reg, COLD * cost):
        for _ in range(min(STEPS, passes.left(source))):
            state = passes.step(source, state, t).new
        t *= COOLING
    return uniform(state.Y)
