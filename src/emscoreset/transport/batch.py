"""The optimal entropic plan of a few rows, as a descent on the atoms needs it at every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emscoreset.kernels import Kernel
from emscoreset.lists import ListSums
from emscoreset.stats import Floats, Pass, Rows, Stats, Want
from emscoreset.transport.semidual import Goal, climb
from emscoreset.transport.solve import start_of


@dataclass(frozen=True)
class Plan:
    """The plan between rows and weighted atoms at ``reg``, as sums over the rows."""

    h: Floats  # (k,) offsets at reg: a start for the plan of rows and atoms alike
    stats: Stats  # N, S and Q per unit of mass; 2 (N_j y_j - S_j) is the gradient at atom j
    passes: int
    converged: bool


def batch_plan(
    rows: Rows,
    Y: Floats,
    w: Floats,
    reg: float,
    *,
    kernel: Kernel,
    start: Floats | None = None,
    tol: float = 1e-4,
    most: int = 300,
) -> Plan:
    """The optimal plan for reg > 0, but for misplaced mass that costs ``tol`` of the distance.

    Rows and atoms share an origin near them; all weights are positive and sum to 1. ``start``
    is the ``h`` of a plan of other rows, or of these atoms before they moved a little. Every atom
    is listed for every row: n x k numbers are kept.
    """
    p = Pass(Y, np.zeros(len(w)), 0.0, np.zeros(Y.shape[1]))
    lists = kernel.candidates(rows, p, np.inf).shares()
    unit, _, h = start_of(lists, w, reg)
    # Few rows make D a function of many corners, which a falling temperature would round one
    # by one. The exact prices lie at its top: from there it is a few steps at reg itself.
    h = kernel.settle(lists, h if start is None else start, w).h

    def sums(h: Floats, eps: float, hessian: bool) -> ListSums:
        return kernel.list_sums(lists, h, eps, hessian=hessian)

    found = climb(sums, w, h, reg, Goal(reg, 1e-9, tol, unit), most)
    plan = Pass(Y, found.h, reg, p.center, Want.MOMENTS)
    return Plan(found.h, kernel.stats(rows, plan).per_mass(), found.passes, found.reached)
