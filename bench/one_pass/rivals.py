"""What is timed: each rival as functions that return the seconds of one pass.

A rival lives in a process of its own, which has its threads and its BLAS as they are named
here. Libraries without a call for one pass are timed as the difference of two fits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bench.one_pass.sizes import REGS, Problem

Seconds = Callable[[], float]
FITS = (1, 6)  # iterations of the two fits
LEAST = 0.03  # a shorter pass is timed several times in a row


@dataclass(frozen=True, order=True)
class What:
    """One measured quantity: a rival's pass in a float type at a temperature."""

    rival: str
    dtype: str
    reg: str


@dataclass(frozen=True)
class Rival:
    """How to make a rival's passes, and the environment its process starts in."""

    make: Callable[[Problem, int], Mapping[tuple[str, str], Seconds]]
    env: Mapping[str, str] = field(default_factory=dict)


def _timed(call: Callable[[], object]) -> Seconds:
    """The mean over as many calls in a row as take LEAST seconds."""

    def seconds() -> float:
        began = time.perf_counter()
        calls = 0
        while calls == 0 or time.perf_counter() - began < LEAST:
            call()
            calls += 1
        return (time.perf_counter() - began) / calls

    return seconds


def _per_iteration(fit: Callable[[int], object]) -> Seconds:
    """The seconds of one iteration, from a fit of few and a fit of more of them."""

    def seconds() -> float:
        few, more = FITS
        began = time.perf_counter()
        fit(few)
        between = time.perf_counter()
        fit(more)
        ended = time.perf_counter()
        return ((ended - between) - (between - began)) / (more - few)

    return seconds


def ours(problem: Problem, threads: int) -> dict[tuple[str, str], Seconds]:
    from emscoreset.kernels import NativeKernel
    from emscoreset.stats import Pass, Rows, log_offset

    kernel = NativeKernel(threads)
    center = np.zeros(problem.X.shape[1])
    wide = problem.X.astype(np.float64)
    passes = {}
    for name in REGS:
        reg = problem.reg(name)
        offset = log_offset(problem.w, reg)
        p = Pass(problem.Y, offset, reg, center)
        passes["float32", name] = _timed(lambda p=p: kernel.stats(Rows(problem.X), p))
        if name in ("0", "0.01", "10 %"):
            passes["float64", name] = _timed(lambda p=p: kernel.stats(Rows(wide), p))
    return passes


def scikit_learn(problem: Problem, threads: int) -> dict[tuple[str, str], Seconds]:
    from sklearn.cluster import KMeans

    start = problem.Y.astype(np.float32)

    def fit(iterations: int) -> None:  # without a copy, whose page faults are no part of a pass
        model = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0.0, copy_x=False)
        with np.errstate(all="ignore"):
            model.fit(problem.X)
        if model.n_iter_ != iterations:
            raise RuntimeError(f"KMeans converged after {model.n_iter_} of {iterations}")

    return {("float32", "0"): _per_iteration(fit)}


def faiss(problem: Problem, threads: int) -> dict[tuple[str, str], Seconds]:
    import faiss as library

    library.omp_set_num_threads(threads)
    (n, d), start = problem.X.shape, problem.Y.astype(np.float32)

    def fit(iterations: int) -> None:
        model = library.Kmeans(d, len(start), niter=iterations, max_points_per_centroid=n)
        model.cp.min_points_per_centroid = 1
        model.train(problem.X, init_centroids=start)

    return {("float32", "0"): _per_iteration(fit)}


def torch_loop(problem: Problem, threads: int) -> dict[tuple[str, str], Seconds]:
    """The paper's E-step in batches of 1000 rows: distances, softmax, two sums."""
    import torch

    torch.set_num_threads(threads)
    X, Y = torch.from_numpy(problem.X), torch.from_numpy(problem.Y).float()
    log_w, reg = torch.from_numpy(problem.w).float().log(), problem.reg("0.01")

    def loop() -> None:
        N, S = torch.zeros(len(Y)), torch.zeros_like(Y)
        squares = (Y * Y).sum(1)
        for x in X.split(1000):
            C = (x * x).sum(1, keepdim=True) - 2 * x @ Y.T + squares
            T = torch.softmax(log_w - C / reg, dim=1)
            N += T.sum(0)
            S += T.T @ x

    return {("float32", "0.01"): _timed(loop)}


def numpy_tiles(problem: Problem, threads: int, rows: int = 1024) -> dict:
    """The pass in NumPy, a tile of rows at a time, tiles shared among threads."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # the pool's threads multiply side by side
    X, Y = problem.X, problem.Y.astype(np.float32)
    squares, pool = np.square(Y).sum(1), ThreadPoolExecutor(threads)

    def tile(i: int, reg: float, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = X[i : i + rows]
        H = x @ (2 * Y.T) + (h - squares)
        if reg == 0:
            T = np.zeros_like(H)
            T[np.arange(len(H)), H.argmax(1)] = 1
        else:
            H -= H.max(1, keepdims=True)
            H /= reg
            T = np.exp(H, out=H)
            T /= T.sum(1, keepdims=True)
        return T.sum(0), T.T @ x

    def run(reg: float) -> None:
        h = (reg * np.log(problem.w)).astype(np.float32)
        parts = pool.map(lambda i: tile(i, reg, h), range(0, len(X), rows))
        N, S = np.zeros(len(Y)), np.zeros(Y.shape)
        for n, s in parts:
            N += n
            S += s

    regs = {name: problem.reg(name) for name in ("0", "0.01")}
    return {("float32", name): _timed(lambda reg=reg: run(reg)) for name, reg in regs.items()}


OURS, LLOYD, FAISS = "emscoreset", "scikit-learn", "faiss"
TORCH, TILES = "torch loop", "NumPy tiles"
# OpenBLAS takes some processors for lesser ones: scikit-learn also with the BLAS named.
LLOYD_AVX512, LLOYD_AVX2 = "scikit-learn, AVX-512 BLAS", "scikit-learn, AVX2 BLAS"

RIVALS = {
    OURS: Rival(ours),
    LLOYD: Rival(scikit_learn),
    LLOYD_AVX512: Rival(scikit_learn, {"OPENBLAS_CORETYPE": "SkylakeX"}),
    LLOYD_AVX2: Rival(scikit_learn, {"OPENBLAS_CORETYPE": "Haswell"}),
    FAISS: Rival(faiss),
    TORCH: Rival(torch_loop),
    TILES: Rival(numpy_tiles),
}
