"""The free energy, the softmax that minimises it, and what it says of the Sinkhorn distance.

Shapes: X (n, d) rows, a (n,) their masses (sum 1), Y (k, d) atoms, w (k,) weights (sum 1),
T (n, k) a plan whose rows sum to 1. On a finite space f, p and q are vectors.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, rel_entr

from emscoreset.ems import relative_entropy
from emscoreset.kernels import ReferenceKernel
from emscoreset.kernels.reference import cost_matrix
from emscoreset.stats import Floats, Pass, Rows, Want, log_offset


def free_energy(f: Floats, p0: Floats) -> float:
    """log E_{T ~ p0} exp f(T) (paper, lemma Fenchel)."""
    return float(logsumexp(f, b=p0))


def variational_value(q: Floats, f: Floats, p0: Floats) -> float:
    """E_q f - KL(q || p0), at most the free energy (paper, lemma Fenchel)."""
    return float(np.where(q > 0, q * f, 0.0).sum() - rel_entr(q, p0).sum())


def gibbs(f: Floats, p0: Floats) -> Floats:
    """The q that attains the free energy: q proportional to p0 exp f (paper, lemma Fenchel)."""
    with np.errstate(divide="ignore"):
        q: Floats = np.exp(np.log(p0) + f - free_energy(f, p0))
    return q


def assignment(X: Floats, Y: Floats, w: Floats, reg: float) -> Floats:
    """The E-step's plan: T_ij = softmax over j of log w_j - C_ij / reg (paper, eq. estep)."""
    return ReferenceKernel().responsibilities(Rows(X), _pass(X, Y, w, reg))


def objective(X: Floats, a: Floats, Y: Floats, w: Floats, reg: float) -> float:
    """L(Y, w) = -reg sum_i a_i log sum_j w_j exp(-C_ij / reg), what EMS lowers.

    It is the Sinkhorn loss of the E-step's plan, the least over all plans whose rows sum
    to 1, and so at most W_reg(data, (Y, w)), whose plans must also have the column masses w
    (paper, corollary "Sinkhorn loss as negative free energy lower bound", with its sign
    turned round).
    """
    return ReferenceKernel().stats(Rows(X, a), _pass(X, Y, w, reg)).L


def sinkhorn_loss(T: Floats, X: Floats, a: Floats, Y: Floats, w: Floats, reg: float) -> float:
    """<C, T> + reg KL(pi_T || data x (Y, w)) of any plan (paper, eq. sinkhornloss)."""
    cost = float(a @ (T * cost_matrix(X, Y)).sum(axis=1))
    return cost + reg * float(a @ rel_entr(T, w).sum(axis=1))


def distance_to_masses(L: float, N: Floats, w: Floats, reg: float) -> float:
    """W_reg(data, (Y, N)) = L(Y, w) - reg KL(N || w), N the masses of the E-step's plan."""
    return L - reg * relative_entropy(N, w)


def _pass(X: Floats, Y: Floats, w: Floats, reg: float) -> Pass:
    return Pass(Y, log_offset(w, reg), reg, np.zeros(X.shape[1]), Want.MASSES)
