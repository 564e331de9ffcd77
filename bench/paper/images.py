"""The last appendix: coresets of images in a representation, realised as real images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from bench.paper.features import accuracy, representations
from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import ALL, Method, baseline
from emscoreset import baselines
from emscoreset.datasets import load
from emscoreset.kernels import get_kernel
from emscoreset.rows import real_rows
from emscoreset.sources.array import ArraySource

SETS = ("mnist", "fashion_mnist")
SEEDS = {100: 3, 500: 2, 1000: 1}  # of so many atoms
STEPS = 25  # of k-means, after which its centres hardly change
METHODS: Mapping[str, Method] = {
    "k-means, masses": baseline(baselines.kmeans, weights="mass", max_iter=STEPS),
    "auto": ALL["auto"],
}


def jobs(quick: bool) -> Iterator[Job]:
    """Few atoms first. Random images belong to no representation: they are judged once."""
    sizes = {100: 1} if quick else SEEDS
    for (k, seeds), name in product(sizes.items(), SETS[:1] if quick else SETS):
        tried = [("none", "Random"), *product(_names(name, quick), METHODS)]
        for (where, method), seed in product(tried, range(seeds)):
            key = {"dataset": name, "in": where, "k": k, "method": method, "seed": seed}
            yield Job(key, _Judged(name, where, k, method, seed))


def _names(name: str, quick: bool) -> list[str]:
    return [r for r in representations(name) if not (quick and r == "trained network")]


class _Judged:
    def __init__(self, name: str, where: str, k: int, method: str, seed: int) -> None:
        self.name, self.where, self.k, self.method, self.seed = name, where, k, method, seed

    def __call__(self) -> Row:
        if self.method == "Random":
            n = len(load(self.name).y)
            rows = np.random.default_rng(self.seed).choice(n, self.k, replace=False)
            weights, seconds = np.full(self.k, 1 / self.k), 0.0
        else:
            X = np.ascontiguousarray(representations(self.name)[self.where](self.name))
            made = METHODS[self.method](X, self.k, self.seed)
            source = ArraySource(X, kernel=get_kernel())
            real = real_rows(source, made.coreset.atoms, made.coreset.weights, 0.0)
            rows, weights, seconds = real.numbers, real.weights, made.seconds
        return {
            "by_pixels": accuracy(self.name, rows, weights, "pixels"),
            "by_filters": accuracy(self.name, rows, weights, "random filters"),
            "seconds": seconds,
        }


PART = Part("images", ("dataset", "in", "k", "method", "seed"), jobs)
