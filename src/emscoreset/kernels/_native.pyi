"""The compiled kernel of emscoreset. Arrays are NumPy's; None stands for a sum not wanted."""

import numpy as np
from numpy.typing import NDArray

from emscoreset.stats import Floats, Ints

Starts = NDArray[np.int64]
Numbers = NDArray[np.int32]

def levels() -> list[str]:
    """Instruction sets this build can use here, best last."""

def stats(
    X: NDArray[np.generic],
    mass: Floats | None,
    atoms: Floats,
    offset: Floats,
    center: Floats,
    reg: float,
    N: Floats,
    S: Floats | None,
    Q: Floats | None,
    R: Floats | None,
    threads: int,
    level: str,
) -> tuple[float, float, float]:
    """Fills N and, unless None, S, Q and R, which must be zero; returns (L, L0, mass)."""

def assign(
    X: NDArray[np.generic],
    atoms: Floats,
    offset: Floats,
    center: Floats,
    labels: Ints,
    cost: Floats,
    gap: Floats,
    threads: int,
    level: str,
) -> None:
    """Fills each row's best atom, its cost and its lead over the second best."""

def responsibilities(
    X: NDArray[np.generic],
    atoms: Floats,
    offset: Floats,
    center: Floats,
    reg: float,
    out: Floats,
    threads: int,
    level: str,
) -> None:
    """Fills the plan's rows."""

def plusplus(
    X: NDArray[np.generic],
    mass: Floats | None,
    first: int,
    uniforms: Floats,
    steps: int,
    trials: int,
    threads: int,
    level: str,
) -> list[int]:
    """The rows that greedy k-means++ chooses."""

class Candidates:
    """Lists not yet copied to arrays."""

    def entries(self) -> int: ...
    def fill(self, start: Starts, atom: Numbers, cost: Floats) -> None: ...

def candidates(
    X: NDArray[np.generic],
    atoms: Floats,
    offset: Floats,
    center: Floats,
    reach: float,
    threads: int,
    level: str,
) -> Candidates:
    """The atoms of each row in reach of its best."""

def list_sums(
    start: Starts,
    atom: Numbers,
    cost: Floats,
    mass: Floats,
    h: Floats,
    eps: float,
    N: Floats,
    H: Floats | None,
    threads: int,
) -> tuple[float, float, float]:
    """Fills N and, unless None, H, which must be zero; returns (L, L0, cost)."""

def settle(
    start: Starts, atom: Numbers, cost: Floats, mass: Floats, w: Floats, h: Floats
) -> tuple[float, float]:
    """Moves the prices h to those of the cheapest plan with columns w; returns (cost, left)."""

def forest_contributions(
    forest: tuple[object, ...], x: Floats, y: Floats, w: Floats, out: Floats, threads: int
) -> None:
    """Adds sum_j w_j phi(x_i; y_j) to out (n, features, outputs); x and y by columns."""

def forest_pairs(
    forest: tuple[object, ...], x: Floats, y: Floats, out: Floats, threads: int
) -> None:
    """Adds phi(x_i; y_j) to out (n, k, features, outputs)."""

def forest_margins(forest: tuple[object, ...], x: Floats, out: Floats, threads: int) -> None:
    """Adds the trees' values at each row to out (n, outputs)."""
