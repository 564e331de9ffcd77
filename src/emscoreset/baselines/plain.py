"""Random rows, and scikit-learn's k-means with uniform weights or with its clusters' masses."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from emscoreset.baselines.problem import Rng, read
from emscoreset.coreset import Coreset
from emscoreset.kernels.threads import effective_threads


def random(
    X: Any,
    n_atoms: int = 100,
    *,
    sample_weight: ArrayLike | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Coreset:
    """Different rows drawn by their mass, with uniform weights.

    ``X`` is an array or a frame of numbers.
    """
    problem = read("random", X, n_atoms, sample_weight, n_jobs)
    atoms = problem.drawn(np.random.default_rng(rng))
    return problem.with_uniform_weights(atoms, 0.0, {})


def kmeans(
    X: Any,
    n_atoms: int = 100,
    *,
    weights: Literal["uniform", "mass"] = "mass",
    init: str = "k-means++",
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-4,
    sample_weight: ArrayLike | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Coreset:
    """scikit-learn's k-means: its centres with ``weights`` "mass" or "uniform".

    "mass" gives each centre the mass of the rows nearest to it, the best weights there are
    for these centres and the honest rival; "uniform" is what the paper compares with.
    ``init``, ``n_init``, ``max_iter`` and ``tol`` are scikit-learn's.
    """
    if weights not in ("uniform", "mass"):
        raise ValueError(f'weights must be "uniform" or "mass", not {weights!r}')
    problem = read("kmeans", X, n_atoms, sample_weight, n_jobs)
    model = KMeans(
        problem.n_atoms,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        random_state=int(np.random.default_rng(rng).integers(1 << 31)),
    )
    with threadpool_limits(effective_threads(n_jobs)):
        model.fit(problem.source.X, sample_weight=sample_weight)
    atoms = np.asarray(model.cluster_centers_, dtype=np.float64)
    chosen = {"weights": weights, "init": init, "n_init": n_init, "tol": tol}
    chosen |= {"max_iter": max_iter, "n_iter": int(model.n_iter_)}
    if weights == "mass":
        return problem.with_own_masses(atoms, chosen)
    return problem.with_uniform_weights(atoms, 0.0, chosen)
