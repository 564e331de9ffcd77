"""The entropic cost of weighted points to themselves."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from emscoreset.kernels.reference import cost_matrix
from emscoreset.stats import Floats


def entropic_self_cost(Y: Floats, w: Floats, reg: float) -> float:
    """W_reg of a weighted set of points to itself: what entropy alone costs, at most reg H(w).

    Symmetric Sinkhorn: both potentials are one f, and averaging each step with the last
    makes it converge without a swing. The value is 2 w.f at the fixed point.
    """
    if reg == 0:
        return 0.0
    Y, w = Y[w > 0], w[w > 0]
    logits = np.log(w) - cost_matrix(Y, Y) / reg  # log w_j - C_ij / reg
    f = np.zeros(len(w))  # in units of reg
    for _ in range(1000):
        new = 0.5 * (f - logsumexp(logits + f, axis=1))
        done = np.abs(new - f).max() < 1e-13
        f = new
        if done:
            break
    return max(2.0 * reg * float(w @ f), 0.0)
