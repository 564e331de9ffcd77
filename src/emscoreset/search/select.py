"""Which policies a fit goes through, by the name of its algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from emscoreset.ems import Fit, State, finished
from emscoreset.search.accelerate import descend
from emscoreset.search.anneal import anneal
from emscoreset.search.grow import Sample, noise, samples
from emscoreset.search.passes import Passes
from emscoreset.search.relocate import near_rows, relocate
from emscoreset.search.seeding import DRAW_WORK, sample_rows
from emscoreset.search.unite import PATIENT, QUICK, Pace, Solution, prune, settle, unite
from emscoreset.sources.base import Source


@dataclass(frozen=True)
class Effort:
    """How much a driven fit spends on finding places for its atoms."""

    work: float  # on all rows, where a pass over them takes no more multiplications,
    share: float  # or else on the first sample of at least this share of the rows, or the last
    starts: int  # that are united, every second one annealed
    draw: float  # of multiplications for a start
    pace: Pace  # of taking away a start's spare atoms
    moves: float  # relocation may read so many times the rows
    last_moves: float  # and after it all rows so many times, where it was on a sample
    slow: float  # so many times tol is the fall that ends the descent, twice as many at reg = 0


EFFORTS = {
    "auto": Effort(
        work=0.0,
        share=1 / 80,
        starts=1,
        draw=DRAW_WORK,
        pace=QUICK,
        moves=0.0,
        last_moves=0.0,
        slow=10.0,
    ),
    "best": Effort(
        work=1e9,
        share=1 / 5,
        starts=4,
        draw=1e9,
        pace=PATIENT,
        moves=100.0,
        last_moves=30.0,
        slow=0.25,
    ),
}
MOVES_OF_GIVEN = 8.0  # of atoms that the user gave
SPARE = 2  # a start has so many times the atoms
MANY = 4  # times the rows of a seeding sample
ENOUGH = 60  # passes must be left, or a start has just the atoms asked for

Draw = Callable[[int, float], State]  # so many atoms, with so much work


def drive(
    passes: Passes,
    start: State | Draw,
    k: int,
    reg: float,
    effort: Effort,
    rng: np.random.Generator,
    *,
    tol: float,
    shift_tol: float | None,
) -> Fit:
    """Find places on a sample, or on all rows where they are few; then descend on ever more.

    ``start`` is the user's atoms, or draws as many as it is asked for.
    """
    whole = passes.source
    search = Search(passes, k, reg, effort, rng)
    state: State | None = None
    few = whole.n is not None and whole.n * whole.d * k <= effort.work
    grown = [] if few else list(samples(whole, k, rng))
    for sample in grown:
        short = sample.n < effort.share * whole.moments.n and sample is not grown[-1]
        if short or passes.left(sample) < 1:
            continue
        if state is None:
            state = search.explore(sample, start)
        if passes.left(sample) > 0:
            here = passes.step(sample, state, reg)
            state = descend(passes, sample, here, tol=noise(k, sample)).step.new
    if state is None:
        state = search.explore(whole, start) if whole.steady else search.first(start, k)
    elif effort.last_moves > 0:
        state = search.moved(whole, state, effort.last_moves)
    here = passes.step(whole, state, reg)
    if whole.steady:
        tol *= effort.slow if reg > 0 else 2.0 * effort.slow
    end = descend(passes, whole, here, tol=tol, shift_tol=shift_tol)
    return finished(end.step, passes.history, end.settled)


@dataclass(frozen=True)
class Search:
    """Places for k atoms on the rows of one source."""

    passes: Passes
    k: int
    reg: float
    effort: Effort
    rng: np.random.Generator

    def first(self, start: State | Draw, k: int) -> State:
        """The user's atoms, or k drawn."""
        return start if isinstance(start, State) else start(k, self.effort.draw)

    def explore(self, source: Source, start: State | Draw) -> State:
        """The best atoms found; the first where there are too few passes left to look for more."""
        if self.passes.left(source) < ENOUGH:
            return self.first(start, self.k)
        few, moves = self._few(source), self.effort.moves
        guide = self._guide(source, few)
        with self.passes.exploring():
            if isinstance(start, State):
                best = settle(self.passes, source, start, self.reg)
                moves = max(moves, MOVES_OF_GIVEN)
            else:
                starts = range(self.effort.starts)
                found = [self._start(source, guide, few, start, i) for i in starts]
                best = reduce(lambda a, b: self._united(source, guide, a, b), sorted(found))
        return self._moved(source, guide, few, best.state, moves)

    def moved(self, source: Source, state: State, reads: float) -> State:
        """The atoms with some relocated that are better placed elsewhere."""
        few = self._few(source)
        return self._moved(source, self._guide(source, few), few, state, reads)

    def _few(self, source: Source) -> Source:
        """Few enough rows for what need not be exact."""
        n, most = source.moments.n, sample_rows(self.k)
        return source if n <= most else Sample(source.sample(most, self.rng), source)

    def _guide(self, source: Source, few: Source) -> Source:
        """The rows that R is summed over: all, lest an atom of a few far rows seem idle.

        Where there are many and they are shared among atoms, R is slow, and few must do.
        """
        many = source.moments.n > MANY * sample_rows(self.k)
        return few if self.reg > 0 and many else source

    def _start(self, source: Source, guide: Source, few: Source, draw: Draw, i: int) -> Solution:
        state = draw(SPARE * self.k, self.effort.draw)
        if i % 2 == 1:
            state = anneal(self.passes, few, state, self.reg)
        return prune(self.passes, source, guide, state, self.k, self.reg, self.effort.pace)

    def _united(self, source: Source, guide: Source, a: Solution, b: Solution) -> Solution:
        return unite(self.passes, source, guide, a, b, self.reg)

    def _moved(
        self, source: Source, guide: Source, few: Source, state: State, reads: float
    ) -> State:
        if reads == 0 or self.passes.left(source) < 5:
            return state
        most = int(reads * self.passes.source.moments.n / source.moments.n)
        here = self.passes.step(source, state, self.reg)
        return relocate(
            self.passes, source, guide, near_rows(few), here, self.rng, most_passes=most
        ).new
