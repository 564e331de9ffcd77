"""The pictures of docs/theory.md and the figures beside them: python -m bench.theory."""

from __future__ import annotations

import numpy as np
import ot
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.common import ROOT, table
from emscoreset.ems import State, ems_pass, m_step
from emscoreset.kernels import get_kernel
from emscoreset.kernels.reference import cost_matrix
from emscoreset.search.drive import Outcome, Settings, fit
from emscoreset.sources.array import ArraySource
from emscoreset.theory import (
    annealed_reg,
    assignment,
    centre_density,
    correction_weights,
    diameter,
    gaussian_floor,
    leverage_bound,
    lipschitz_in_data,
    objective,
    rate_slope,
    sharp_lipschitz_in_data,
)

FIGURES = ROOT / "docs" / "figures"


def source(X: np.ndarray, mass: np.ndarray | None = None) -> ArraySource:
    return ArraySource(X, mass, kernel=get_kernel("auto"))


def fitted(X: np.ndarray, k: int, reg: float) -> Outcome:
    return fit(source(X), Settings(k, reg=reg, tol=1e-6), np.random.default_rng(0))


def save(figure: Figure, name: str) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(FIGURES / f"{name}.png", dpi=110)
    plt.close(figure)


def inequality() -> None:
    """L(Y, w) and W_reg(data, (Y, w)) where the weights are wrong for the data."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], [150, 50], axis=0)
    Y, w, a = np.array([[0.0, 0.0], [6.0, 0.0]]), np.array([0.5, 0.5]), np.full(200, 1 / 200)
    C, regs = cost_matrix(X, Y), np.geomspace(0.3, 100, 25)
    exact, lower = [], []
    for reg in regs:
        P = ot.bregman.sinkhorn_log(a, w, C, reg, numItermax=20000, stopThr=1e-10)
        kl = np.where(P > 0, P * np.log(np.where(P > 0, P, 1.0) / np.outer(a, w)), 0.0).sum()
        exact.append(float((P * C).sum() + reg * kl))
        lower.append(objective(X, a, Y, w, reg))
    figure, axis = plt.subplots(figsize=(5.2, 3.4))
    axis.semilogx(regs, exact, "C1", label="W_reg(data, (Y, w))")
    axis.semilogx(regs, lower, "C0", label="L(Y, w), the loss of the softmax plan")
    axis.set(xlabel="reg", ylabel="cost", title="Clusters of 3/4 and 1/4, weights 1/2 and 1/2")
    axis.legend()
    save(figure, "theory-inequality")
    print(f"inequality: at reg {regs[0]:.2g} L = {lower[0]:.2f}, W_reg = {exact[0]:.2f}\n")


def rates() -> None:
    """W_2^2 against k with reg_k ~ k^(-2/d)."""
    rng, n, ks = np.random.default_rng(1), 50_000, [8, 16, 32, 64, 128]
    angles = 2 * np.pi * rng.random((n, 2))
    data = {
        "unit square": (rng.random((n, 2)), 2, 0.05),
        "torus in 4-d": (np.concatenate([np.cos(angles), np.sin(angles)], axis=1), 2, 2.0),
        "10-d normal": (rng.normal(size=(n, 10)), 10, 0.3),
    }
    figure, axis = plt.subplots(figsize=(5.2, 3.8))
    rows = []
    for colour, (name, (X, dimension, scale)) in enumerate(data.items()):
        found = [fitted(X, k, annealed_reg(k, dimension, scale)) for k in ks]
        upper = np.array([f.distance.upper for f in found])
        slope = rate_slope(ks, upper)
        rows.append((name, f"{-2 / dimension:.2f}", f"{slope:.3f}"))
        line = upper[-1] * (np.array(ks) / ks[-1]) ** (-2 / dimension)
        axis.loglog(ks, upper, f"C{colour}o", label=f"{name}: slope {slope:.2f}")
        axis.loglog(ks, line, f"C{colour}-", lw=1)
    axis.set(xlabel="k", ylabel="upper end of W_2^2", title="Points: fits. Lines: slope -2/d")
    axis.set_ylim(5e-4, 200)
    axis.legend(loc="upper right")
    save(figure, "theory-rates")
    print(table(("data", "-2/d", "slope of W_2^2"), rows) + "\n")


def floors() -> None:
    """A normal distribution on the line: reg fixed, and reg falling with k."""
    X = np.random.default_rng(4).normal(size=(50_000, 1))
    X *= 1.0 / X.std()
    ks, fixed = [2, 4, 8, 16, 32, 64, 128], 1.0

    def exact(reg: float, k: int) -> float:
        f = fitted(X, k, reg)
        return float(ot.emd2_1d(X[:, 0], f.atoms[:, 0], b=f.weights))

    stays = [exact(fixed, k) for k in ks]
    falls = [exact(annealed_reg(k, 1, 4.0), k) for k in ks]
    floor = gaussian_floor([1.0], fixed)[1]
    figure, axis = plt.subplots(figsize=(5.2, 3.4))
    axis.loglog(ks, stays, "C1o-", label="reg = 1")
    axis.axhline(floor, color="C1", ls="--", lw=1, label="floor at reg = 1")
    axis.loglog(ks, falls, "C0o-", label="reg = 4 / k^2")
    axis.set(xlabel="k", ylabel="W_2^2, exact", title="Standard normal on the line")
    axis.legend()
    save(figure, "theory-floor")
    print(
        f"floor: {floor:.4f}; reg = 1, k = {ks[-1]}: {stays[-1]:.4f}; annealed: {falls[-1]:.2g}\n"
    )


def density() -> None:
    """Where k-means puts its centres on a line whose density rises twentyfold."""
    m, ks = 10_000, [4, 8, 16, 32, 64, 128]
    x = (np.arange(m) + 0.5) / m
    p = (1.0 + 19.0 * x) / 10.5
    g = centre_density(p, 1 / m, 1)
    limit = float(ot.emd2_1d(x, x, p / p.sum(), g / g.sum()))
    costs = []
    for k in ks:
        # From the quantiles of g Lloyd's algorithm ends in the one optimum there is.
        start = np.interp((np.arange(k) + 0.5) / k, np.cumsum(g) / m, x)[:, None]
        settings = Settings(k, reg=0.0, init=start, tol=1e-10, max_iter=5000)
        f = fit(source(x[:, None], p), settings, np.random.default_rng(0))
        y, own = f.atoms[:, 0], f.weights
        corrected = correction_weights(np.interp(y, x, p), np.interp(y, x, g))
        weights = (np.full(k, 1 / k), corrected, own)
        costs.append([ot.emd2_1d(x, y, p / p.sum(), w) for w in weights])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    left.plot(x, p, "C7--", label="p")
    left.plot(x, g, "C0", label="p^(1/3), scaled")
    middles = 0.5 * (y[1:] + y[:-1])
    left.plot(middles, 1 / (np.diff(y) * ks[-1]), "C1.", ms=3, label=f"centres of k = {ks[-1]}")
    left.set(xlabel="x", ylabel="density")
    left.legend()
    lines = (("C1o-", "uniform weights"), ("C0o-", "weights p / g"), ("C2x--", "cells' masses"))
    for values, (style, name) in zip(np.transpose(costs), lines, strict=True):
        right.loglog(ks, values, style, label=name)
    right.axhline(limit, color="C7", ls="--", lw=1, label="W_2^2(p, g)")
    right.set(xlabel="k", ylabel="W_2^2, exact")
    right.legend()
    save(figure, "theory-density")
    shown = [(k, *(f"{c:.3g}" for c in row)) for k, row in zip(ks, costs, strict=True)]
    print(table(("k", "uniform", "p / g", "masses"), shown) + f"\nlimit {limit:.3g}\n")


def stability() -> None:
    """A row walks between two atoms; one row of many is moved, and moves the atoms."""
    two, halves = np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    for reg, colour in ((1.0, "C0"), (0.2, "C1"), (0.0, "C3")):
        share = assignment(x, two, halves, reg)[:, 1]
        name = (
            "hard" if reg == 0 else f"reg {reg}: steepest {np.gradient(share, x[:, 0]).max():.3g}"
        )
        left.plot(x, share, colour, label=f"{name}, D/(2 reg) = {1 / reg:.3g}" if reg else name)
    left.set(xlabel="where the row is", ylabel="its share of the right atom", ylim=(-0.05, 1.5))
    left.legend(fontsize=8, loc="upper left")
    tightness(right)
    save(figure, "theory-stability")


def tightness(axis: Axes) -> None:
    """How far atoms move when one row does, over what the leverage bound allows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 2))
    for reg, colour in ((1.0, "C0"), (0.2, "C1")):
        f = fitted(X, 8, reg)
        before, S = updated(X, f, reg)
        reach = np.sqrt(cost_matrix(X, before).max(axis=0))
        ratios: list[list[float]] = [[], []]
        for _ in range(400):
            step = rng.normal(size=2)
            moved = X.copy()
            delta = 10 ** rng.uniform(-3, -0.5)
            moved[rng.integers(500)] += delta * step / np.linalg.norm(step)
            move = np.linalg.norm(updated(moved, f, reg)[0] - before, axis=1)
            constants = (
                sharp_lipschitz_in_data(f.atoms, reg),
                lipschitz_in_data(f.atoms, reg),
            )
            for kept, constant in zip(ratios, constants, strict=True):
                kept.append(float((move / leverage_bound(S, reach, constant, delta)).max()))
        for kept, style, name in zip(ratios, ("-", "--"), ("D/(2 reg)", "2D/reg"), strict=True):
            axis.plot(
                np.sort(kept), np.linspace(0, 1, 400), colour + style, label=f"reg {reg}, {name}"
            )
        print(
            f"leverage at reg {reg}, D = {diameter(f.atoms):.2f}: move / bound at most "
            f"{max(ratios[0]):.2f} with D/(2 reg), {max(ratios[1]):.2f} with 2D/reg"
        )
    axis.set(xlabel="largest move of an atom / its bound", ylabel="share of 400 moved rows")
    axis.set_xscale("log")
    axis.legend(fontsize=8)


def updated(X: np.ndarray, f: Outcome, reg: float) -> tuple[np.ndarray, np.ndarray]:
    """The M-step's atoms from those of the fit, and the rows' worth of mass of each."""
    data = source(X)
    state = State(f.atoms - data.center, f.weights)
    _, stats = ems_pass(data, state, reg)
    return m_step(stats, state).Y + data.center, stats.N * len(X)


if __name__ == "__main__":
    for part in (inequality, rates, floors, density, stability):
        part()
