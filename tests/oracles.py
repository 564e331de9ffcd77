"""The slow, obvious answers, and the problems they are asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
import ot
from hypothesis import strategies as st
from scipy.special import logsumexp


@dataclass(frozen=True)
class Problem:
    """Rows with masses, atoms with weights."""

    X: np.ndarray
    a: np.ndarray | None
    Y: np.ndarray
    w: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        a = np.ones(len(self.X)) if self.a is None else self.a
        return a / a.sum()


@st.composite
def problems(draw: st.DrawFn, max_n: int = 40, max_k: int = 6) -> Problem:
    """Small problems, ugly ones among them: ties, duplicates, constant columns, dead atoms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k, d = (draw(st.integers(1, m)) for m in (max_n, max_k, 4))
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([0.1, 1.0, 3.0]))
    if draw(st.booleans()):
        X = np.round(X)  # a lattice: ties and duplicates
    if draw(st.booleans()):
        X[:, 0] = 1.5
    a = None if draw(st.booleans()) else rng.integers(1, 4, size=n).astype(float)
    Y = X[rng.integers(n, size=k)] + rng.normal(size=(k, d)) * draw(st.sampled_from([0.0, 1.0]))
    w = rng.dirichlet(np.ones(k))
    if k > 1 and draw(st.booleans()):
        w[rng.integers(k)] = 0.0
    return Problem(X, a, Y, w / w.sum())


KINDS = ("plain", "lattice", "duplicates", "far", "large", "masses", "all")


@st.composite
def ugly(draw: st.DrawFn, max_n: int, max_k: int) -> Problem:
    """Transport problems that solvers fail on: see KINDS; some weights are 0 in any of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, kind = draw(st.integers(1, max_n)), draw(st.integers(1, 5)), draw(st.sampled_from(KINDS))
    k = min(n, draw(st.integers(1, max_k)))
    X = rng.normal(size=(n, d))
    if kind == "lattice":
        X = np.round(2.0 * X)
    if kind == "duplicates":
        X = X[rng.integers(0, 1 + n // 10, n)]
    Y = X[rng.choice(n, k, replace=False)]
    if draw(st.booleans()) and kind != "lattice":
        Y = Y + rng.normal(size=Y.shape)
    if kind == "far":
        Y[0] += 100.0
    if kind == "large":
        X, Y = 1e3 * X, 1e3 * Y
    if kind == "all":
        Y, k = X[rng.permutation(n)[:max_k]] + 0.1, min(n, max_k)
        X, n = X[:k], k
    a = 10.0 ** rng.uniform(-6, 0, n) if kind == "masses" else None
    w = 10.0 ** rng.uniform(-6, 0, k) if kind == "masses" else np.ones(k)
    if draw(st.booleans()):
        w[1:] *= rng.random(k - 1) > 0.3
    return Problem(X, a, Y, w / w.sum())


def costs(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Squared distances, by subtraction."""
    return np.square(X[:, None, :] - Y[None, :, :]).sum(axis=2)


def w2(problem: Problem, masses: np.ndarray) -> float:
    """W_2^2 between the rows and the atoms with these masses, by POT's network simplex."""
    C = costs(problem.X, problem.Y)
    return float(ot.emd2(problem.shares, masses / masses.sum(), C, numItermax=10**6))


def entropic(a: np.ndarray, b: np.ndarray, C: np.ndarray, reg: float, start: np.ndarray) -> float:
    """W_reg with the KL term by POT's Sinkhorn in the log domain.

    ``start`` are column potentials over reg to begin from: Sinkhorn leaves any start for the
    one fixed point, a good start only spares it thousands of sweeps.
    """
    keep = b > 0
    C, b, start = C[:, keep], b[keep], start[keep]
    u = np.log(a) - logsumexp(start - C / reg, axis=1)
    P = ot.bregman.sinkhorn_log(a, b, C, reg, numItermax=5000, stopThr=1e-12, warmstart=(u, start))
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(P > 0, P * np.log(P / np.outer(a, b)), 0.0).sum()
    return float((P * C).sum() + reg * kl)


def solved(problem: Problem, reg: float) -> tuple[float, float]:
    """W_reg with the KL term by POT's solver from its own start, and its plan's misplaced mass.

    The value may be wrong by about that mass times the dearest cost.
    """
    keep = problem.w > 0
    a, b, Y = problem.shares, problem.w[keep], problem.Y[keep]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where its sweeps are not enough the mass says so
        P = ot.solve_sample(
            problem.X, Y, a, b, reg=reg, reg_type="KL", max_iter=3000, tol=1e-10
        ).plan
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(P > 0, P * np.log(P / np.outer(a, b)), 0.0).sum()
    off = float(np.abs(P.sum(axis=0) - b).sum() + np.abs(P.sum(axis=1) - a).sum())
    return float((P * costs(problem.X, Y)).sum() + reg * kl), off


def shapley_values(f: Callable, x: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Shapley values of v(S) = sum_j w_j f(x_S, y_j outside S) from all coalitions."""
    d = len(x)
    inside = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    Z = np.where(inside[:, None, :], x, Y)  # (coalitions, k, d)
    said = np.asarray(f(Z.reshape(-1, d))).reshape(2**d, len(Y), -1)
    v = np.einsum("ckq,k->cq", said, w)
    size = inside.sum(axis=1)
    phi = np.zeros((d, v.shape[1]))
    for i in range(d):
        without = np.flatnonzero(~inside[:, i])
        share = [factorial(s) * factorial(d - s - 1) / factorial(d) for s in size[without]]
        phi[i] = share @ (v[without + 2**i] - v[without])
    return phi
