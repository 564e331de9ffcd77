"""The plan at reg itself, not only its cost: offsets at which every atom gets its weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emscoreset.kernels.base import float_type
from emscoreset.sources.base import Source
from emscoreset.stats import Floats
from emscoreset.transport.semidual import Goal, climb
from emscoreset.transport.solve import Problem, Search

ROUGH = 1e-3  # how well the cost is known before the exact finish
MOST = 200  # passes over lists from the exact prices on


@dataclass(frozen=True)
class Offsets:
    """Offsets of the plan at reg."""

    h: Floats  # (k,)
    off: float  # the mass that the plan has on the wrong atoms
    reached: bool  # whether that is as little as it was to be


def offsets_at(source: Source, Y: Floats, w: Floats, reg: float, residual: float) -> Offsets:
    """From the exact prices, which lie in the middle of their kind, Newton's steps at reg.

    They end where moving the mass on wrong atoms would cost ``residual`` of the loss. All weights
    are positive.
    """
    kind = float_type(next(source.blocks()).X.dtype)
    search = Search(Problem(source, Y, w, 0.0, float(np.finfo(kind).eps)), ROUGH)
    h = search.run(exact=True).h
    goal = Goal(reg, 1.0, residual, search.unit)
    listing = search.listing
    with search.threads.limit(limits=1, user_api="blas"):
        found = climb(listing.sums, w, h, reg, goal, MOST, listing.room)
    return Offsets(found.h, 0.5 * float(np.abs(found.sums.N - w).sum()), found.reached)
