"""More atoms than asked for, of which those that are missed least are taken away.

Where two solutions meet, each place has atoms of the one that did better there; what is left
once the cheapest are gone is better than either. The same holds of a start with twice the
atoms. Atoms go a part at a time, those of the least R_j (by how much the objective rises
without atom j), and the others settle in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from emscoreset.ems import State
from emscoreset.search.accelerate import descend
from emscoreset.search.passes import Passes, heaviest
from emscoreset.search.relocate import cheapest, with_removal
from emscoreset.sources.base import Source

SETTLED = 1e-3  # or until a step lowers the objective by no more than this part of it


@dataclass(frozen=True)
class Pace:
    """How slowly atoms go."""

    part: float  # of the atoms at a time
    first: int  # steps of EM before the first time
    steps: int  # and before each other


QUICK, PATIENT = Pace(0.3, 3, 1), Pace(0.2, 9, 3)


@dataclass(frozen=True, order=True)
class Solution:
    """Atoms after an EM step from where the objective was ``L``."""

    L: float
    state: State = field(compare=False)


def settle(passes: Passes, source: Source, state: State, reg: float, most: int = 1000) -> Solution:
    """The state after EM steps."""
    if passes.left(source) < 1:
        return Solution(math.inf, state)
    here = descend(passes, source, passes.step(source, state, reg), tol=SETTLED, most=most).step
    return Solution(here.L, here.new)


def prune(
    passes: Passes, source: Source, guide: Source, state: State, k: int, reg: float, pace: Pace
) -> Solution:
    """k of the atoms of ``state``, settled; R comes from ``guide``."""
    state = settle(passes, source, state, reg, pace.first).state
    while len(state.w) > k and passes.left(guide) > 0:
        seen = with_removal(passes, guide, state, reg)
        if guide is source:
            state = seen.new  # the pass that sums R is a step of EM, too
        part = math.ceil(pace.part * len(state.w))
        stay = np.ones(len(state.w), dtype=bool)
        stay[cheapest(seen, min(part, len(state.w) - k))] = False
        w = np.maximum(state.w[stay], np.finfo(float).tiny)
        state = State(state.Y[stay], w / w.sum())
        if len(w) > k:
            state = settle(passes, source, state, reg, pace.steps).state
    return settle(passes, source, heaviest(state, k), reg)


def unite(
    passes: Passes, source: Source, guide: Source, one: Solution, other: Solution, reg: float
) -> Solution:
    """The best of two solutions of as many atoms, and of what is left of both together."""
    Y = np.concatenate([one.state.Y, other.state.Y])
    both = State(Y, 0.5 * np.concatenate([one.state.w, other.state.w]))
    return min(one, other, prune(passes, source, guide, both, len(one.state.w), reg, PATIENT))
