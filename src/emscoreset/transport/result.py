"""TransportResult: a transport cost with its proof."""

from __future__ import annotations

from dataclasses import dataclass

from emscoreset.stats import Floats


@dataclass(frozen=True, eq=False)
class TransportResult:
    """A transport cost between rows and weighted atoms, between two bounds that are proved.

    Attributes
    ----------
    value : float
        The cost at ``reg``, with the entropic (Kullback-Leibler) term; the middle of the bracket.
    cost : float
        The transport alone: ``value`` less ``reg`` times the divergence of the plan from the
        one that shares every row among all atoms by their weights. At ``reg=0`` it is ``value``.
    lower, upper : float
        The true cost at ``reg`` lies between them.
    reg : float
    potentials : array of shape (k,)
        The atoms' dual prices g: value = sum_j w_j g_j + what the rows' own prices add. For the
        rows, -reg log sum_j w_j exp((g_j - C_ij) / reg), or min_j (C_ij - g_j) at ``reg=0``.
        NaN for atoms of weight 0.
    passes : int
        Full passes over the rows, not counting the first reading: for their mean, and for
        their costs where those are few enough to be held.
    list_passes : int
        Passes over lists of candidates: of a sample first, of all rows in the end.
    converged : bool
        Whether the bracket is as narrow as was asked for.
    """

    value: float
    cost: float
    lower: float
    upper: float
    reg: float
    potentials: Floats
    passes: int
    list_passes: int
    converged: bool

    @property
    def gap(self) -> float:
        """By how much ``value`` may be wrong at most, as a share of ``upper``, twice over."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        kind = f"W_reg at reg={self.reg:g}" if self.reg > 0 else "W2^2"
        alone = f", of which transport {self.cost:.6g}" if self.reg > 0 else ""
        note = "" if self.converged else "; NOT CONVERGED"
        return (
            f"TransportResult: {kind} = {self.value:.6g}{alone}, "
            f"proved between {self.lower:.8g} and {self.upper:.8g} "
            f"({self.passes} passes over the rows{note})"
        )
