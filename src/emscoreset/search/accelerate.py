"""EM with momentum: fewer passes to the same objective, which still never rises.

From the ends x_t of the M-steps so far, the next pass is made at

    x_t + b_t (x_t - x_{t-1}),   b_t = (s_t - 1) / s_{t+1},   s_{t+1} = (1 + sqrt(1 + 4 s_t^2)) / 2

in (Y, log w): Nesterov's sequence. Where the objective there is not as low as the M-step alone
guarantees, the leap is taken back and the momentum starts anew from the M-step's end. A descent
is over only once a plain step is slow.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emscoreset.ems import State, Step, is_slow
from emscoreset.search.passes import Passes
from emscoreset.sources.base import Source
from emscoreset.stats import Floats

MOMENTUM = 5.0  # s_0: from there b_t rises from 0.7
MOST_MOMENTUM = 0.9


@dataclass(frozen=True)
class Descent:
    """Where a descent ended: the last step that was kept."""

    step: Step
    settled: bool


def descend(
    passes: Passes,
    source: Source,
    here: Step,
    *,
    tol: float,
    shift_tol: float | None = None,
    most: int = sys.maxsize,
) -> Descent:
    """Go on from ``here`` until a plain EM step lowers the objective by less than ``tol`` of it.

    Or moves the atoms by less than ``shift_tol``; or after ``most`` passes.
    """
    reg, before, s, plain = here.p.reg, here.state, MOMENTUM, True
    end = len(passes.history) + most
    while len(passes.history) < end and passes.left(source) > 0:
        if shift_tol is not None and here.shift < shift_tol:  # the paper's rule
            return Descent(passes.step(source, here.new, reg), True)
        longer = (1.0 + np.sqrt(1.0 + 4.0 * s * s)) / 2.0
        if plain:
            there = passes.step(source, here.new, reg)
        else:
            trial = leap(before, here.new, min((s - 1.0) / longer, MOST_MOMENTUM))
            bound = here.L - here.fall
            there = passes.step(source, trial, reg, below=bound)
            if bound < there.L:
                s, plain = MOMENTUM, True
                continue
        slow = is_slow(here, there, tol, passes.least)
        if slow and plain:
            return Descent(there, True)
        before, here, s = here.new, there, MOMENTUM if slow else longer
        plain = slow or not source.steady
    return Descent(here, False)


def leap(old: State, new: State, b: float) -> State:
    """Beyond ``new``, by ``b`` times the way from ``old``; dead atoms stay."""
    alive = (new.w > 0) & (old.w > 0)
    log_w = (1.0 + b) * _log(new.w, alive) - b * _log(old.w, alive)
    w = np.where(alive, np.maximum(np.exp(log_w - log_w.max()), np.finfo(float).tiny), new.w)
    return State(new.Y + b * (new.Y - old.Y), w / w.sum())


def _log(w: Floats, alive: NDArray[np.bool_]) -> Floats:
    logarithms: Floats = np.log(np.where(alive, w, 1.0))
    return logarithms
