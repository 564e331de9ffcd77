"""Every pass that a driven fit makes: counted, recorded, and told to the callback."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from emscoreset.ems import FLOOR, Callback, Record, State, Step, em_step, record
from emscoreset.sources.base import Source
from emscoreset.stats import Want


class Passes:
    """Makes the passes of one fit, over all rows of ``source`` or over samples of it."""

    def __init__(self, source: Source, max_iter: int, callback: Callback | None) -> None:
        self.source = source
        self.history: list[Record] = []
        self.least = FLOOR * source.moments.variance  # an objective below it is rounding
        self._allowed = max_iter + 1
        self._callback = callback
        self._stopped = False
        self._par = math.inf
        self._began = time.perf_counter()

    def left(self, source: Source) -> int:
        """How many more passes over ``source`` may be made.

        One over all rows is kept for the end of a fit that was on a sample last.
        """
        if self._stopped:
            return 0
        return self._allowed - len(self.history) - (source is not self.source)

    @contextmanager
    def trial(self, par: float) -> Iterator[None]:
        """Passes of a try: on record as not kept until their objective is below ``par``."""
        self._par = par
        yield
        self._par = math.inf

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
        self.history.append(record(step, seconds, kept=min(below, self._par) >= step.L))
        if self._callback and self._callback(self.history[-1], State(state.Y, step.new.w)):
            self._stopped = True
        return step
