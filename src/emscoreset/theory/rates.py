"""How the distance falls with the number of atoms, and where a fixed reg stops it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emscoreset.stats import Floats


def annealed_reg(k: int, dimension: float, scale: float) -> float:
    """reg_k = scale k^(-2/d), under which W_2^2 falls like k^(-2/d) (paper, thm. Sinkhorn bound).

    ``dimension`` is that of the data themselves: of the manifold where they lie on one. W_reg,
    which the theorem bounds, falls like log(k) k^(-2/d): see `entropic_floor`.
    """
    return scale * float(np.power(float(k), -2.0 / dimension))


def rate_slope(k: ArrayLike, squared_distance: ArrayLike) -> float:
    """The slope of log W_2^2 in log k, by least squares; -2/d is what the theory says."""
    return float(np.polyfit(np.log(k), np.log(squared_distance), 1)[0])


def entropic_floor(entropy: float, dimension: int, reg: float) -> float:
    """reg (h - (d / 2) log(pi reg)) <= W_reg(mu, nu) for every nu, h = -integral p log p.

    L(Y, w) = -reg E log integral exp(-|x - y|^2 / reg) dnu(y) <= W_reg, and the integral over
    (pi reg)^(d/2) is a density: by Gibbs' inequality E log of it is at most -h. With
    reg_k = c k^(-2/d) the floor is c (log k + h - (d / 2) log(pi c)) k^(-2/d): the KL term of
    a fine coreset is about log k, and does not fade as the paper's proof has it.
    """
    return reg * (entropy - 0.5 * dimension * float(np.log(np.pi * reg))) if reg > 0 else 0.0


def gaussian_floor(eigenvalues: ArrayLike, reg: float) -> tuple[float, float]:
    """What W_reg and W_2^2 of a normal distribution stop at, however many the atoms, at this reg.

    ``eigenvalues`` are its covariance's. The least W_reg over all measures is attained by the
    normal distribution of covariance eigenvalues max(s - reg / 2, 0): where it can, the
    optimum undoes a blur of variance reg / 2, and where s <= reg / 2 it collapses to the mean.

        W_reg = sum over s of   s                                  where s <= reg / 2
                                (reg / 2) (1 + log(2 s / reg))     elsewhere
        W_2^2 = sum (sqrt(s) - sqrt(max(s - reg / 2, 0)))^2
    """
    s: Floats = np.asarray(eigenvalues, dtype=np.float64)
    if reg == 0:
        return 0.0, 0.0
    half = 0.5 * reg
    regularised = np.where(s > half, half * (1.0 + np.log(np.maximum(s, half) / half)), s)
    plain = np.square(np.sqrt(s) - np.sqrt(np.maximum(s - half, 0.0)))
    return float(regularised.sum()), float(plain.sum())


def collapse_reg(eigenvalues: ArrayLike) -> float:
    """2 x the largest covariance eigenvalue: from here on all atoms of a normal sit at its mean."""
    return 2.0 * float(np.max(np.asarray(eigenvalues, dtype=np.float64)))
