"""Atoms that a large reg has merged: how many are left, and a reg that keeps them apart.

EMS is EM for a mixture of round Gaussians of variance reg / 2 (paper, sec. on the E-step), and
such a mixture cannot tell apart two atoms much closer than its standard deviation: their
responsibilities are proportional, and each M-step draws them nearer. At reg > 2 lambda_max,
with the largest eigenvalue of the data's covariance, all of them end at the mean.
"""

from __future__ import annotations

import numpy as np

from emscoreset.ems import fit_ems
from emscoreset.kernels import Kernel
from emscoreset.search.drive import Outcome, Settings, in_canonical_order
from emscoreset.search.seeding import sample_rows, seed
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Pass

NEAR = 0.1  # atoms closer than this share of sqrt(reg) count as one
ENOUGH = 0.8  # no word where so large a share of the atoms is apart
# Neighbours 4 standard deviations apart: (sqrt(reg / 2) * 4)^2 = 8 reg.
APART = 8.0


def merged_note(source: Source, settings: Settings, found: Outcome, seed_: int) -> str | None:
    """What to tell a user whose atoms merged; None where they did not."""
    if found.few_rows or settings.reg == 0:
        return None
    k = settings.n_atoms
    left = count_apart(found.atoms[found.weights > 0], settings.reg)
    if left >= ENOUGH * k:
        return None
    said = f"atoms merged: {k} were asked for, the effective number is {left}"
    better = separating_reg(source, k, np.random.default_rng(seed_))
    if better == 0:
        return f"{said}. To float64 the rows are all at one place: scale the columns up"
    if better > settings.reg:
        return (
            f"{said}. reg={settings.reg:g} alone does not explain it: "
            'start elsewhere (init="k-means++" spreads the atoms), or lower reg'
        )
    return f"reg={settings.reg:g} is so large that {said}. reg={better:g} keeps them apart"


def count_apart(Y: Floats, reg: float) -> int:
    """How many of the atoms are at different places, at the resolution of ``reg``."""
    near = NEAR**2 * reg
    axis = int(Y.var(axis=0).argmax())  # only neighbours along it can be near
    Y = Y[Y[:, axis].argsort()]
    ends = np.searchsorted(Y[:, axis], Y[:, axis] + np.sqrt(near), side="right")
    taken = np.zeros(len(Y), dtype=bool)
    count = 0
    for i, end in enumerate(ends):
        if not taken[i]:
            taken[i:end] |= np.square(Y[i:end] - Y[i]).sum(axis=1) <= near
            count += 1
    return count


def separating_reg(source: Source, k: int, rng: np.random.Generator) -> float:
    """A reg at which nearly all of k atoms stay apart, to two digits.

    From a quick hard fit to the seeding sample: nine of ten atoms have their nearest
    neighbour four standard deviations of the mixture away, and so much farther that their
    offset reg log w_j does not hand their own rows to it.
    """
    rows = source.sample(sample_rows(k), rng)
    sample = in_canonical_order(ArraySource(rows.X, rows.mass, kernel=source.kernel), k)
    hard = fit_ems(sample, seed(sample, k, "k-means++", rng).start, 0.0, tol=0.01, max_iter=20)
    alive = hard.N > 0
    if alive.sum() == 1:
        return 0.0  # to float64 the rows are all at one place
    gaps = nearest_gaps(hard.Y[alive], source.kernel)
    least = float(np.quantile(gaps / (APART - np.log(hard.N[alive])), 0.1))
    return float(f"{least:.1e}")


def nearest_gaps(Y: Floats, kernel: Kernel) -> Floats:
    """The squared distance from each atom to the nearest other one."""
    p = Pass(atoms=Y, offset=np.zeros(len(Y)), reg=0.0, center=np.zeros(Y.shape[1]))
    blocks = ArraySource(Y, kernel=kernel).blocks(len(Y))
    return np.concatenate([kernel.assign(rows, p).gap for rows in blocks])
