"""make bench-stopping: how far from its limit plain EM is where `tol` ends it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits

from bench.common import ROOT, Ledger, machine, table, write_page
from emscoreset.datasets import load
from emscoreset.ems import TOL, Record, State, fit_ems
from emscoreset.kernels import get_kernel
from emscoreset.search.seeding import seed
from emscoreset.sources.array import ArraySource

TOLS = (1e-3, 1e-4, 3e-5, 1e-5, 3e-6)
SEEDS = 3
FALL, LONGEST = 1e-9, 4000  # a limit: no pass lowers the objective by more, or so many passes
QUIET = 10  # and so many of them in a row: a plateau is no limit


@dataclass(frozen=True)
class Case:
    data: str
    k: int
    reg: float  # in units of the variance

    def __str__(self) -> str:
        return f"{self.data}, k {self.k}"


def rows(name: str) -> np.ndarray:
    """The rows of a data set, float32."""
    if name == "digits":
        return load_digits().data.astype(np.float32)
    if name in ("mnist", "fashion_mnist"):
        return load(name).X[:10_000].astype(np.float32) / 255.0
    clusters, d, spread = MIXTURES[name]
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((clusters, d)) * spread
    X = centres[rng.integers(clusters, size=50_000)] + rng.standard_normal((50_000, d))
    return X.astype(np.float32)


# clusters, columns, standard deviation of their centres over their own
MIXTURES = {"mixture, apart": (100, 10, 5.0), "mixture, overlapping": (32, 10, 1.0)}
DATA = (*MIXTURES, "digits", "mnist", "fashion_mnist")
CASES = [Case(data, k, reg) for data in DATA for k in (20, 100) for reg in (0.0, 1e-3, 0.02)]


class Flat:
    """Ends a descent at its limit."""

    def __init__(self) -> None:
        self.last, self.quiet = np.inf, 0

    def __call__(self, record: Record, state: State) -> bool:
        still = self.last - record.objective <= FALL * record.objective
        self.quiet = self.quiet + 1 if still else 0
        self.last = record.objective
        return self.quiet >= QUIET


def measure(case: Case, X: np.ndarray, draw: int) -> Iterator[dict[str, object]]:
    """One long descent, and where each ``tol`` would have ended it."""
    source = ArraySource(X, kernel=get_kernel())
    start = seed(source, case.k, "k-means++", np.random.default_rng(draw)).start
    reg = case.reg * source.moments.variance
    # tol = 0 would stop on the first pass that falls by nothing: the callback decides
    fit = fit_ems(source, start, reg, tol=0.0, max_iter=LONGEST, callback=Flat())
    L = [record.objective for record in fit.history]
    for tol in TOLS:
        falls = (before - after <= tol * after for before, after in pairwise(L))
        at = next((t for t, small in enumerate(falls, 1) if small), len(L) - 1)
        gap = L[at] / min(L) - 1.0
        yield {
            "data": case.data, "k": case.k, "reg": case.reg, "seed": draw,
            "tol": tol, "passes": at, "gap": gap, "limit": len(L) - 1,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.stopping", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    args = parser.parse_args()
    path = ROOT / "out" / "bench" / "stopping.csv"
    if args.fresh:
        path.unlink(missing_ok=True)
    ledger = Ledger(path, ("data", "k", "reg", "seed"))
    for name in DATA:
        todo = [
            (case, draw)
            for case in (case for case in CASES if case.data == name)
            for draw in range(SEEDS)
            if not ledger.has(data=name, k=case.k, reg=case.reg, seed=draw)
        ]
        X = rows(name) if todo else np.empty((0, 0))
        for case, draw in todo:
            print(f"{case}, reg {case.reg:g} of the variance, seed {draw}", flush=True)
            ledger.extend(measure(case, X, draw))
    print(write_page("stopping", *page(ledger)))


def page(ledger: Ledger) -> list[str]:
    """The page's parts."""

    def gaps(tol: float, **key: object) -> np.ndarray:
        return 100 * np.array([
            float(r["gap"]) for r in ledger.rows
            if float(r["tol"]) == tol and all(r[c] == str(v) for c, v in key.items())
        ])  # fmt: skip

    def passes(tol: float, column: str) -> float:
        return float(np.median([float(r[column]) for r in ledger.rows if float(r["tol"]) == tol]))

    every = [gaps(tol) for tol in TOLS]
    summary = [
        (f"{tol:g}", f"{np.median(g):.3f}", f"{np.quantile(g, 0.9):.3f}", f"{g.max():.3f}",
         f"{100 * (g <= 0.1).mean():.0f} %", f"{passes(tol, 'passes'):.0f}")
        for tol, g in zip(TOLS, every, strict=True)
    ]  # fmt: skip
    each = []
    for case in CASES:
        key = {"data": case.data, "k": case.k, "reg": case.reg}
        worst = (gaps(tol, **key).max() for tol in TOLS)
        each.append((str(case), f"{case.reg:g}", *(f"{gap:.3f}" for gap in worst)))
    return [
        "# Where plain EM stops",
        f"How far above the limit of its own descent the objective is where a full pass lowers it "
        f"by less than `tol` of itself, in per cent. The limit: {QUIET} passes in a row that lower "
        f"it by less than {FALL:g} of itself. Three starts of greedy k-means++ each; 50,000 rows "
        "of mixtures of round Gaussians in 10 columns, 1,797 digits, 10,000 images of MNIST and "
        "Fashion-MNIST; reg in units of the variance. Written by `make bench-stopping`.",
        f"{machine()}.",
        table(("tol", "median %", "nine in ten below", "worst", "within 0.1 %", "passes"), summary),
        f"The median descent took {passes(TOLS[0], 'limit'):.0f} passes to its limit. "
        f"The default is {TOL:g}.",
        "## The worst of the starts, per cent",
        table(("data", "reg", *(f"tol {tol:g}" for tol in TOLS)), each),
    ]


if __name__ == "__main__":
    main()
