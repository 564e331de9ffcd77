"""WCSL: atoms with equal weights that minimise the Sinkhorn loss W_reg(data, (Y, 1/k))."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from emscoreset.baselines.adam import by_adam
from emscoreset.baselines.lloyd import by_means
from emscoreset.baselines.problem import Rng, read
from emscoreset.checks import check_number
from emscoreset.coreset import Coreset


def wcsl(
    X: Any,
    n_atoms: int = 100,
    *,
    preset: Literal["paper", "tuned"] = "paper",
    reg: float = 0.01,
    max_iter: int = 1000,
    sample_weight: ArrayLike | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Coreset:
    """Atoms of equal weights that minimise the Sinkhorn loss at ``reg`` > 0.

    ``preset="paper"`` does as the paper says it did: from random rows, Adam on batches of 1000
    rows with learning rate 0.1, times 0.99 each epoch, until an epoch moves the atoms by less
    than 0.01 (Frobenius norm) or ``max_iter`` epochs have passed. ``preset="tuned"`` minimises
    the same loss as well as we know how: from k-means++, each atom moves to the mean of the
    mass that optimal transport sends it, at a falling temperature, on a sample from several
    starts; then the best goes on with all rows, for ``max_iter`` steps at most.
    """
    if preset not in ("paper", "tuned"):
        raise ValueError(f'preset must be "paper" or "tuned", not {preset!r}')
    check_number("reg", reg, Real, 0)
    if reg == 0:
        raise ValueError(f"reg must be > 0, not {reg!r}: the Sinkhorn loss is smooth only there")
    check_number("max_iter", max_iter, Integral, 1)
    problem = read("wcsl", X, n_atoms, sample_weight, n_jobs)
    generator = np.random.default_rng(rng)
    solve = by_adam if preset == "paper" else by_means
    with threadpool_limits(1):  # products of few rows are over before threads have met
        found = solve(problem, float(reg), int(max_iter), generator)
    chosen = {"weights": "uniform", "preset": preset, "reg": float(reg), "max_iter": int(max_iter)}
    chosen |= {"n_iter": found.n_iter, "converged": found.converged}
    if found.off > 0:
        warnings.warn(
            f"the potentials of some steps were not found at reg={reg:g}: their plans have up to "
            f"{found.off:.1e} of the mass on the wrong atoms; a greater reg may help",
            ConvergenceWarning,
            stacklevel=2,
        )
    return problem.with_uniform_weights(found.Y + problem.source.center, float(reg), chosen)
