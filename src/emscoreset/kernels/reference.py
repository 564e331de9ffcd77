"""The pass in NumPy: the specification every other kernel is tested against.

Everything is float64. Callers cut long inputs into blocks; here a block is one matrix.
"""

from __future__ import annotations

import numpy as np

from emscoreset.kernels.base import Kernel
from emscoreset.stats import Assignment, Floats, Ints, Pass, Rows, Stats, Want


def centred(rows: Rows, center: Floats) -> Floats:
    """The rows in float64, less the center. OUT (n, d)."""
    X: Floats = np.subtract(rows.X, center, dtype=np.float64)
    return X


def cost_matrix(X: Floats, Y: Floats) -> Floats:
    """Squared distances C_ij = |x_i|^2 - 2 x_i.y_j + |y_j|^2 >= 0. OUT (n, k)."""
    C = X @ (-2.0 * Y.T)
    C += np.einsum("ij,ij->i", X, X)[:, None]
    C += np.einsum("ij,ij->i", Y, Y)[None, :]
    return np.maximum(C, 0.0, out=C)


class ReferenceKernel(Kernel):
    """Plain NumPy in float64."""

    name = "numpy"

    def reads(self, dtype: np.dtype[np.generic], strides: tuple[int, ...]) -> bool:
        """Never: a block is always copied to float64."""
        return False

    def row_bytes(self, d: int, k: int) -> int:
        """X once, C twice and T: all float64."""
        return 8 * (2 * d + 4 * k)

    def stats(self, rows: Rows, p: Pass) -> Stats:
        """The sums of one pass."""
        X, a = centred(rows, p.center), rows.masses()
        H = p.offset - cost_matrix(X, p.atoms)  # (n, k) h_j - C_ij
        best = H.argmax(axis=1)
        top = H[np.arange(len(H)), best]  # (n,)
        L0 = -float(a @ top)
        if p.reg == 0:
            T = np.zeros_like(H)
            T[np.arange(len(H)), best] = 1.0
            L = L0
        else:
            with np.errstate(over="ignore"):  # a vanishing reg: -inf, and 0 in T
                T = np.exp((H - top[:, None]) / p.reg)
            s = T.sum(axis=1)
            T /= s[:, None]
            L = L0 - p.reg * float(a @ np.log(s))
        aT = a[:, None] * T
        S = Q = R = None
        if Want.MOMENTS in p.want:
            S = aT.T @ X
            Q = aT.T @ np.einsum("ij,ij->i", X, X)
        if Want.REMOVAL in p.want:
            R = a @ removal(H, T, best, p.reg)
        return Stats(N=aT.sum(axis=0), L=L, L0=L0, mass=float(a.sum()), n=len(X), S=S, Q=Q, R=R)

    def assign(self, rows: Rows, p: Pass) -> Assignment:
        """Each row's best atom."""
        X = centred(rows, p.center)
        H = p.offset - cost_matrix(X, p.atoms)
        i = np.arange(len(H))
        labels = H.argmax(axis=1)
        top = H[i, labels]
        H[i, labels] = -np.inf
        return Assignment(
            labels=labels,
            cost=np.square(X - p.atoms[labels]).sum(axis=1),
            gap=top - H.max(axis=1),
        )

    def responsibilities(self, rows: Rows, p: Pass) -> Floats:
        """The plan's rows T_ij."""
        H = p.offset - cost_matrix(centred(rows, p.center), p.atoms)
        best = H.argmax(axis=1)
        if p.reg == 0:
            onehot: Floats = np.eye(len(p.atoms))[best]
            return onehot
        with np.errstate(over="ignore"):  # a vanishing reg: -inf, and 0 in T
            T: Floats = np.exp((H - H.max(axis=1, keepdims=True)) / p.reg)
        T /= T.sum(axis=1, keepdims=True)
        return T

    def plusplus(self, rows: Rows, first: int, uniforms: Floats) -> Ints:
        """Greedy k-means++."""
        X, a = np.asarray(rows.X, dtype=np.float64), rows.masses()
        chosen = [first]
        D = np.square(X - X[first]).sum(axis=1)  # squared distance to the nearest chosen row
        for u in uniforms:
            cumulated = np.cumsum(a * D)
            if not cumulated[-1] > 0:
                break
            picks = np.searchsorted(cumulated, u * cumulated[-1], side="right")
            # Rounding may push a draw past the last row of positive mass.
            picks = np.minimum(picks, np.searchsorted(cumulated, cumulated[-1]))
            trials = np.minimum(cost_matrix(X, X[picks]), D[:, None])  # (n, trials)
            winner = int((a @ trials).argmin())
            chosen.append(int(picks[winner]))
            D = trials[:, winner]
            D[chosen[-1]] = 0.0  # the expanded square leaves rounding on the diagonal
        return np.array(chosen, dtype=np.intp)


def removal(H: Floats, T: Floats, best: Ints, reg: float) -> Floats:
    """How much each row's share of L rises without atom j: -reg log(1 - T_ij). OUT (n, k).

    For the row's best atom the difference is taken from the runner-up on, where 1 - T
    would round to nothing; at reg = 0 it is the gap to the runner-up, and 0 for the others.
    Without a runner-up the rise is infinite.
    """
    i = np.arange(len(H))
    rest = H.copy()
    rest[i, best] = -np.inf
    second = rest.max(axis=1)
    gap = H[i, best] - second
    if reg == 0:
        out = np.zeros_like(H)
        out[i, best] = gap
        return out
    out = -reg * np.log1p(-np.where(T < 1, T, 0.0))
    # No runner-up: -inf less -inf, replaced below. A vanishing reg: exp(-inf) = 0.
    with np.errstate(invalid="ignore", over="ignore"):
        tail = np.exp((rest - second[:, None]) / reg).sum(axis=1)  # sum over the others, scaled
        rise = gap + reg * (np.log1p(np.exp(-gap / reg) * tail) - np.log(tail))
    out[i, best] = np.where(np.isinf(gap), np.inf, rise)
    return out
