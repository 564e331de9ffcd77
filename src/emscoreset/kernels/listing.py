"""Candidate lists in NumPy: the specification of what the compiled kernel does with them."""

from __future__ import annotations

import numpy as np

from emscoreset.lists import Lists, ListSums
from emscoreset.stats import Floats, Pass, Rows


def candidates(rows: Rows, p: Pass, reach: float) -> Lists:
    """The atoms of each row whose h_j - C_ij is within ``reach`` of the row's best."""
    from scipy.spatial.distance import cdist  # which takes a while to load, as below

    X = np.subtract(rows.X, p.center, dtype=np.float64)
    C = cdist(X, p.atoms, "sqeuclidean")
    scores = p.offset - C
    near = (scores >= scores.max(axis=1, keepdims=True) - reach) & (scores > -np.inf)
    start = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64)
    atom = np.nonzero(near)[1].astype(np.int32)
    return Lists(start, atom, C[near], rows.masses().astype(np.float64), C.shape[1])


def list_sums(lists: Lists, h: Floats, eps: float, *, hessian: bool = False) -> ListSums:
    """The sums of a pass over lists at the offset h; one-hot at eps = 0."""
    begin, lengths = lists.start[:-1], np.diff(lists.start)
    score = h[lists.atom] - lists.cost
    top = np.maximum.reduceat(score, begin)
    L0 = -float(lists.mass @ top)
    score -= np.repeat(top, lengths)
    if eps == 0:
        T = _first_of_the_best(score, begin, lengths)
        L = L0
    else:
        with np.errstate(under="ignore", over="ignore"):
            T = np.exp(score / eps)
        total = np.add.reduceat(T, begin)
        T /= np.repeat(total, lengths)
        L = L0 - eps * float(lists.mass @ np.log(total))
    aT = T * np.repeat(lists.mass, lengths)
    N: Floats = np.bincount(lists.atom, weights=aT, minlength=lists.k).astype(np.float64)
    H = _products(lists, T, aT) if hessian else None
    return ListSums(N=N, L=L, L0=L0, cost=float(aT @ lists.cost), H=H)


def _first_of_the_best(score: Floats, begin: np.ndarray, lengths: np.ndarray) -> Floats:
    """One-hot rows: 1 at the first score of 0 in each list."""
    best = score == 0
    before = np.cumsum(best) - best  # how many of the best lie before an entry
    first: Floats = (best & (before == np.repeat(before[begin], lengths))).astype(np.float64)
    return first


def _products(lists: Lists, T: Floats, aT: Floats) -> Floats:
    """H_jl = sum_i a_i T_ij T_il."""
    if lists.complete:
        H: Floats = T.reshape(lists.n, lists.k).T @ aT.reshape(lists.n, lists.k)
        return H
    from scipy.sparse import csr_array

    shape = (lists.n, lists.k)
    plain, weighed = (csr_array((v, lists.atom, lists.start), shape) for v in (T, aT))
    H = (plain.T @ weighed).toarray()
    return H
