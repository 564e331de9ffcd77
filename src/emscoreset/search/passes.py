"""Every pass that a driven fit makes: counted, recorded, and told to the callback."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from emscoreset.ems import FLOOR, Callback, Record, State, Step, em_step, record
from emscoreset.sources.base import Source
from emscoreset.stats import Want


class Passes:
    """Makes the passes of one fit, over all rows of ``source`` or over samples of it."""

    def __init__(self, source: Source, k: int, max_iter: int, callback: Callback | None) -> None:
        self.source = source
        self.history: list[Record] = []
        self.least = FLOOR * source.moments.variance  # an objective below it is rounding
        self._k = k
        self._allowed = max_iter + 1
        self._callback = callback
        self._stopped = self._exploring = False
        self._began = time.perf_counter()

    def left(self, source: Source) -> int:
        """How many more passes over ``source`` may be made.

        One over all rows is kept for the end of a fit that was elsewhere last.
        """
        if self._stopped:
            return 0
        reserved = self._exploring or source is not self.source
        return self._allowed - len(self.history) - reserved

    @contextmanager
    def exploring(self) -> Iterator[None]:
        """Passes of tries, which are on record as not kept."""
        before, self._exploring = self._exploring, True
        yield
        self._exploring = before

    def step(
        self,
        source: Source,
        state: State,
        reg: float,
        *,
        below: float = math.inf,
        want: Want = Want.MOMENTS,
    ) -> Step:
        """One EM step; on record as not kept where its objective is above ``below``."""
        step = em_step(source, state, reg, want)
        seconds = time.perf_counter() - self._began
        kept = below >= step.L and not self._exploring
        self.history.append(record(step, seconds, kept))
        told = heaviest(State(state.Y, step.new.w), self._k)
        if self._callback and self._callback(self.history[-1], told):
            self._stopped = True
        return step


def heaviest(state: State, k: int) -> State:
    """The k atoms of the greatest weights, in their order."""
    if len(state.w) <= k:
        return state
    keep = np.sort(np.argsort(-state.w, kind="stable")[:k])
    return State(state.Y[keep], state.w[keep] / state.w[keep].sum())
