"""What one pass proves about the transport cost to given weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emscoreset.ems import atom_costs, independent_cost
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass, Stats, Want
from emscoreset.transport.semidual import entropy


@dataclass(frozen=True)
class Bracket:
    """lower <= W_reg(rows, (Y, w)) <= upper, from the pass at an offset and a temperature."""

    lower: float
    upper: float
    information: float  # KL(plan | a x w) of the plan behind ``upper``, at most
    off: float  # the mass that the pass put on the wrong atoms
    moved: float  # what moving it costs
    N: Floats  # (k,) the pass's masses
    height: float  # w.h + L(h, eps): the dual value at the pass's own temperature

    @property
    def gap(self) -> float:
        """By how much the two differ."""
        return self.upper - self.lower

    def narrowed(self, new: Bracket) -> Bracket:
        """The better of either bound; the rest of the newer."""
        upper = self if self.upper < new.upper else new
        return replace(
            new,
            lower=max(self.lower, new.lower),
            upper=upper.upper,
            information=upper.information,
        )


def bracket(
    source: Source, Y: Floats, w: Floats, h: Floats, eps: float, reg: float, rounding: float
) -> Bracket:
    """Both bounds. One pass, or two where 0 < reg < eps.

    Lower: any offset is feasible for the dual, w.h + L(h, reg) + reg H(w). Upper: the pass's plan
    T has masses N; a coupling pi of N and w sends what lies too much on atom j to those that
    lack it, and the rows of j cost E_jl on average there. Moving mass on makes no information:

        W_reg <= sum_jl pi_jl E_jl + reg KL(T | a x N).

    ``rounding`` is the relative error of one number in the rows' float type.
    """
    stats = source.run(Pass(Y, h, eps, source.center, Want.MOMENTS)).per_mass()
    if reg == eps or reg == 0:
        low = stats.L0 if reg == 0 else stats.L
    else:
        low = source.run(Pass(Y, h, reg, source.center, Want.MASSES)).per_mass().L
    N = stats.N / stats.N.sum()
    own = float(atom_costs(stats, Y).sum())
    spread = (float(N @ h) - own + stats.L) / eps if eps > 0 else 0.0
    information = min(max(spread + entropy(N), 0.0), entropy(N))
    moved = glue(stats, Y, N, w)
    sizes = float((N + w) @ (np.square(Y).sum(axis=1) + np.abs(h)))
    slack = 4.0 * rounding * (float(stats.moments()[1].sum()) + sizes)
    upper = own + moved + reg * information
    independent = independent_cost(stats, Y, w)
    if independent < upper:
        upper, information = independent, 0.0
    return Bracket(
        lower=max(float(w @ h) + low + reg * entropy(w) - slack, 0.0),
        upper=upper + slack,
        information=information,
        off=0.5 * float(np.abs(N - w).sum()),
        moved=moved,
        N=N,
        height=float(w @ h) + stats.L,
    )


def glue(stats: Stats, Y: Floats, N: Floats, w: Floats) -> float:
    """By how much the cost rises when every atom's excess is spread over all atoms that lack mass.

    E_jl - E_jj = |y_l|^2 - |y_j|^2 - 2 (y_l - y_j).S_j / N_j.
    """
    S, _ = stats.moments()
    excess, lack = np.maximum(N - w, 0.0), np.maximum(w - N, 0.0)
    over = np.flatnonzero(excess)
    if not len(over) or not lack.sum() > 0:
        return 0.0
    lack /= lack.sum()
    squares = np.square(Y).sum(axis=1)
    means = S[over] / stats.N[over, None]
    own = squares[over] - 2.0 * np.einsum("jd,jd->j", means, Y[over])
    there = float(lack @ squares) - 2.0 * means @ (lack @ Y)
    return float(excess[over] @ (there - own))
