"""Which policies a fit goes through, by the name of its algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emscoreset.ems import Fit, State, Step, finished
from emscoreset.search.accelerate import descend
from emscoreset.search.grow import noise, samples
from emscoreset.search.passes import Passes
from emscoreset.search.relocate import relocate
from emscoreset.search.seeding import sample_rows
from emscoreset.sources.base import Source
from emscoreset.stats import Rows


@dataclass(frozen=True)
class Effort:
    """How much a driven fit spends on better places for its atoms."""

    share: float  # atoms move on the first sample of at least this share of the rows,
    reads: float  # reading at most so many times all rows


EFFORTS = {"auto": Effort(1 / 64, 8.0), "best": Effort(1 / 4, 200.0)}


def drive(
    passes: Passes,
    start: State,
    reg: float,
    effort: Effort,
    rng: np.random.Generator,
    *,
    tol: float,
    shift_tol: float | None,
) -> Fit:
    """Descend on growing samples and then on all rows; on one of them, move atoms."""
    whole, k = passes.source, len(start.w)
    n, state, moved = whole.moments.n, start, False
    for sample in samples(whole, k, rng):
        if passes.left(sample) < 1:
            break
        here = descend(passes, sample, passes.step(sample, state, reg), tol=noise(k, sample)).step
        if not moved and sample.n >= effort.share * n:
            here, moved = _relocated(passes, sample, here, effort, rng), True
        state = here.new
    here = passes.step(whole, state, reg)
    if whole.steady and not moved:
        here = descend(passes, whole, here, tol=COARSE).step
        here = _relocated(passes, whole, here, effort, rng)
    tol = WORTH * tol if whole.steady else tol
    end = descend(passes, whole, here, tol=tol, shift_tol=shift_tol)
    return finished(end.step, passes.history, end.settled)


# With momentum so many times tol a pass is as near the end as plain EM is at tol.
WORTH = 3.0
COARSE = 1e-3  # a fall, as a part of the objective, after which atoms may move


def _relocated(
    passes: Passes, source: Source, here: Step, effort: Effort, rng: np.random.Generator
) -> Step:
    rows = source.sample(sample_rows(len(here.state.w)), rng)
    kind = rows.X.dtype
    near = Rows(np.subtract(rows.X, source.center.astype(kind), dtype=kind), rows.mass)
    most = int(effort.reads * passes.source.moments.n / source.moments.n)
    return relocate(passes, source, here, near, rng, most_passes=most)
