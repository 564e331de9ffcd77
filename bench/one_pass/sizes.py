"""The problems: rows from overlapping clusters, atoms a few steps into a fit of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows


@dataclass(frozen=True)
class Size:
    name: str
    n: int
    d: int
    k: int

    @property
    def score_flops(self) -> float:
        """Multiplications and additions of the scores x.y alone."""
        return 2.0 * self.n * self.d * self.k

    @property
    def dense_flops(self) -> float:
        """The scores, and the sums N and S with a weight on every atom."""
        return self.score_flops + 2.0 * self.n * (self.d + 1) * self.k

    def __str__(self) -> str:
        return f"{self.name} ({self.n:,} x {self.d}, k {self.k:,})"


SIZES = {
    size.name: size
    for size in (
        Size("A", 1_000_000, 10, 100),
        Size("B", 1_000_000, 10, 1000),
        Size("C", 100_000, 100, 100),
        Size("D", 60_000, 784, 200),
        Size("E", 200_000, 384, 1000),
        Size("F", 10_000, 1000, 100),
        Size("G", 1_000_000, 2, 64),
    )
}
QUICK = ("A", "C", "D", "G")
CLUSTERS, SPREAD = 32, 3.0

# Temperatures by their names in the tables; None is 10 % of the variance.
REGS: dict[str, float | None] = {
    "0": 0.0,
    "1e-3": 1e-3,
    "0.01": 1e-2,
    "0.1": 0.1,
    "1": 1.0,
    "10 %": None,
}


@dataclass(frozen=True)
class Problem:
    """Centred float32 rows (n, d), atoms (k, d) and their weights."""

    X: np.ndarray
    Y: np.ndarray
    w: np.ndarray

    def reg(self, name: str) -> float:
        given = REGS[name]
        return 0.1 * float(self.X.var(axis=0).sum()) if given is None else given

    def save(self, path: Path) -> None:
        np.savez(path, X=self.X, Y=self.Y, w=self.w)

    @classmethod
    def load(cls, path: Path) -> Problem:
        with np.load(path) as file:
            return cls(file["X"], file["Y"], file["w"])


def make(size: Size, steps: int = 3) -> Problem:
    """Unit Gaussians around centres that are about as far apart as they are wide in any d.

    Atoms are random rows after a few EM steps.
    """
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLUSTERS, size.d), dtype=np.float32)
    X = rng.standard_normal((size.n, size.d), dtype=np.float32)
    centres *= SPREAD / np.sqrt(size.d)
    X += centres[rng.integers(CLUSTERS, size=size.n)]
    X -= X.mean(axis=0)
    Y = X[rng.choice(size.n, size.k, replace=False)].astype(np.float64)
    w = np.full(size.k, 1.0 / size.k)
    for _ in range(steps):
        stats = NativeKernel().stats(Rows(X), Pass(Y, np.zeros(size.k), 0.0, np.zeros(size.d)))
        S, _ = stats.moments()
        Y = np.where(stats.N[:, None] > 0, S / np.maximum(stats.N, 1.0)[:, None], Y)
        w = (stats.N + 1.0) / (stats.N + 1.0).sum()
    return Problem(X, Y, w)
