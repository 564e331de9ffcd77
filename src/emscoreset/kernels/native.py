"""The compiled kernel, where the C++ extension was built."""

from __future__ import annotations

import os

import numpy as np

from emscoreset.kernels.base import Kernel, float_type
from emscoreset.kernels.threads import effective_threads
from emscoreset.lists import Flow, Lists, ListSums
from emscoreset.stats import Assignment, Floats, Ints, Pass, Rows, Stats, Want

try:
    from emscoreset.kernels import _native
except ImportError:  # built without a C++ compiler
    _native = None  # type: ignore[assignment]

LEVEL_VARIABLE = "EMSCORESET_KERNEL_LEVEL"


def available() -> bool:
    """Whether the extension was built."""
    return _native is not None


def levels() -> list[str]:
    """The instruction sets that this build has and this processor runs, best last."""
    return _native.levels() if available() else []


class NativeKernel(Kernel):
    """Vectorised and threaded C++, in the rows' own float type.

    float32 rows are multiplied in float32 and summed in double from one chunk of rows to the
    next. Chunks depend on the number of rows alone, so the sums have the same bits for any
    number of threads. Ctrl-C stops a pass.
    """

    name = "native"

    def __init__(self, n_threads: int | None = None, level: str | None = None) -> None:
        """``level``: an instruction set of `levels`; the environment's choice or the best if None.

        ``n_threads``: see `effective_threads`.
        """
        if not available():
            raise ImportError(
                "the C++ kernel was not built; install emscoreset where a C++17 compiler is "
                'found, or use kernel="numpy"'
            )
        self.n_threads = effective_threads(n_threads)
        self.level = level or os.environ.get(LEVEL_VARIABLE) or levels()[-1]
        if self.level not in levels():
            raise ValueError(
                f"the kernel's instruction set (argument level or {LEVEL_VARIABLE}) must be one "
                f"that this processor runs, {', '.join(levels())}, not {self.level!r}"
            )

    def reads(self, dtype: np.dtype[np.generic], strides: tuple[int, ...]) -> bool:
        """float32 and float64 rows whose values lie side by side."""
        return dtype in (np.float32, np.float64) and strides[-1] == dtype.itemsize

    def row_bytes(self, d: int, k: int) -> int:
        """The copy of a row that cannot be read in place; a pass's own scratch is fixed."""
        return 8 * d

    def stats(self, rows: Rows, p: Pass) -> Stats:
        """The sums of one pass."""
        k, d = p.atoms.shape
        N = np.zeros(k)
        S, Q = (np.zeros((k, d)), np.zeros(k)) if Want.MOMENTS in p.want else (None, None)
        R = np.zeros(k) if Want.REMOVAL in p.want else None
        L, L0, mass = _native.stats(
            self._readable(rows.X),
            _masses(rows),
            *_atoms(p),
            p.reg,
            N,
            S,
            Q,
            R,
            self.n_threads,
            self.level,
        )
        return Stats(N=N, L=L, L0=L0, mass=mass, n=len(rows.X), S=S, Q=Q, R=R)

    def assign(self, rows: Rows, p: Pass) -> Assignment:
        """Each row's best atom; float32's near ties are decided in double."""
        n = len(rows.X)
        labels, cost, gap = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        X = self._readable(rows.X)
        _native.assign(X, *_atoms(p), labels, cost, gap, self.n_threads, self.level)
        return Assignment(labels=labels.astype(np.intp, copy=False), cost=cost, gap=gap)

    def responsibilities(self, rows: Rows, p: Pass) -> Floats:
        """The plan's rows T_ij."""
        out = np.empty((len(rows.X), len(p.atoms)))
        X = self._readable(rows.X)
        _native.responsibilities(X, *_atoms(p), p.reg, out, self.n_threads, self.level)
        return out

    def plusplus(self, rows: Rows, first: int, uniforms: Floats) -> Ints:
        """Greedy k-means++."""
        steps, trials = uniforms.shape
        chosen = _native.plusplus(
            self._readable(rows.X),
            _masses(rows),
            first,
            np.ascontiguousarray(uniforms, dtype=np.float64),
            steps,
            trials,
            self.n_threads,
            self.level,
        )
        return np.array(chosen, dtype=np.intp)

    def candidates(self, rows: Rows, p: Pass, reach: float) -> Lists:
        """The atoms of each row in reach of its best; float32's rounding may add some."""
        X, threads = self._readable(rows.X), self.n_threads
        found = _native.candidates(X, *_atoms(p), reach, threads, self.level)
        start = np.empty(len(X) + 1, dtype=np.int64)
        atom, cost = np.empty(found.entries(), dtype=np.int32), np.empty(found.entries())
        found.fill(start, atom, cost)
        return Lists(start, atom, cost, rows.masses().astype(np.float64), len(p.atoms))

    def list_sums(self, lists: Lists, h: Floats, eps: float, *, hessian: bool = False) -> ListSums:
        """The sums of a pass over lists."""
        N, H = np.zeros(lists.k), np.zeros((lists.k, lists.k)) if hessian else None
        h = np.ascontiguousarray(h, dtype=np.float64)
        L, L0, cost = _native.list_sums(*_parts(lists), h, eps, N, H, self.n_threads)
        return ListSums(N=N, L=L, L0=L0, cost=cost, H=H)

    def settle(self, lists: Lists, h: Floats, w: Floats) -> Flow:
        """The cheapest plan within the lists whose atoms get exactly the masses w."""
        prices = np.array(h, dtype=np.float64)
        weights = np.ascontiguousarray(w, dtype=np.float64)
        cost, left = _native.settle(*_parts(lists), weights, prices)
        return Flow(prices, cost, left)

    def _readable(self, X: np.ndarray) -> np.ndarray:
        """The rows where they lie if they can be read there, else copied."""
        if self.reads(X.dtype, X.strides):
            return X
        return np.ascontiguousarray(X, dtype=float_type(X.dtype))


def _masses(rows: Rows) -> Floats | None:
    return None if rows.mass is None else np.ascontiguousarray(rows.mass, dtype=np.float64)


def _parts(lists: Lists) -> tuple[np.ndarray, np.ndarray, Floats, Floats]:
    """The arrays of lists as the extension takes them."""
    return (
        np.ascontiguousarray(lists.start, dtype=np.int64),
        np.ascontiguousarray(lists.atom, dtype=np.int32),
        np.ascontiguousarray(lists.cost, dtype=np.float64),
        np.ascontiguousarray(lists.mass, dtype=np.float64),
    )


def _atoms(p: Pass) -> tuple[Floats, Floats, Floats]:
    """Atoms, offset and center as the extension takes them."""
    atoms, offset, center = (
        np.ascontiguousarray(a, dtype=np.float64) for a in (p.atoms, p.offset, p.center)
    )
    return atoms, offset, center
