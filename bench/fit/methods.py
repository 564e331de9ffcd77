"""The rivals: each a function from rows, a number of centres and a seed to the centres."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

Method = Callable[[np.ndarray, int, int], np.ndarray]


def ours(algorithm: str) -> Method:
    from emscoreset import EMSCoreset

    def fit(X: np.ndarray, k: int, seed: int) -> np.ndarray:
        model = EMSCoreset(k, reg=0.0, algorithm=algorithm, random_state=seed).fit(X)
        return model.atoms_

    return fit


def lloyd(n_init: int | str) -> Method:
    from sklearn.cluster import KMeans

    return lambda X, k, seed: KMeans(k, n_init=n_init, random_state=seed).fit(X).cluster_centers_


def minibatch(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=seed).fit(X).cluster_centers_


def faiss(iterations: int) -> Method:
    import faiss as library

    def fit(X: np.ndarray, k: int, seed: int) -> np.ndarray:
        model = library.Kmeans(
            X.shape[1], k, niter=iterations, seed=seed, max_points_per_centroid=len(X)
        )
        model.train(X)
        return model.centroids

    return fit


def breathing(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from bkmeans import BKMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return BKMeans(n_clusters=k, random_state=seed).fit(X).cluster_centers_


AUTO, BEST, PLAIN = '"auto"', '"best"', '"plain"'
LLOYD, LLOYD_10, MINIBATCH = "KMeans", "KMeans, n_init=10", "MiniBatchKMeans"
FAISS_25, FAISS_100, BREATHING = "faiss, 25", "faiss, 100", "breathing"

METHODS: dict[str, Callable[[], Method]] = {
    AUTO: lambda: ours("auto"),
    BEST: lambda: ours("best"),
    PLAIN: lambda: ours("plain"),
    LLOYD: lambda: lloyd("auto"),
    LLOYD_10: lambda: lloyd(10),
    MINIBATCH: lambda: minibatch,
    FAISS_25: lambda: faiss(25),
    FAISS_100: lambda: faiss(100),
    BREATHING: lambda: breathing,
}
