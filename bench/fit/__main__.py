"""make bench-fit [ARGS="--quick | --minutes 8 --fresh --page"]: goes on where it was stopped."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import numpy as np

from bench.common import PAGES, ROOT, Ledger
from bench.fit import page, passes
from bench.fit.methods import AUTO, BEST, BREATHING, LLOYD, LLOYD_10, METHODS
from bench.fit.problems import CASES, QUICK, RECORDS, ROWS, Case
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Pass, Want

SEEDS = 10
SLOW = (BREATHING, LLOYD_10)  # their turns come last, on few seeds
QUICKER = tuple(name for name in METHODS if name not in SLOW)
ROUNDS = (
    (QUICKER, range(1)),
    (SLOW, range(1)),
    (QUICKER, range(1, 3)),
    (tuple(METHODS), range(1, SEEDS)),
)
CELL_SECONDS = 5.0  # after so many, a method has had seeds enough on a case
ONE_START = 1.5  # seconds of one KMeans above which ten are not waited for
MOST_SECONDS = page.MOST_SECONDS  # after so many, a slow one's fit is stopped
REST = 0.15  # before each fit, so that no library's idle threads still spin


def main() -> None:
    args = _arguments()
    path = ROOT / "out" / "bench" / ("fit-quick.csv" if args.quick else "fit.csv")
    if args.fresh or args.quick:
        path.unlink(missing_ok=True)
    ledger = Ledger(path, ("rows", "k", "method", "seed"))
    counted = args.page or args.quick or _count_passes(ledger, args)
    finished = counted and (args.page or _measure(ledger, args))
    if args.quick:
        print("\n\n".join(page.parts(page.Measured(ledger.rows))))
        return
    measured = page.Measured(ledger.rows)
    page.picture(measured, PAGES / "fit.svg")
    print(page.write(measured), "complete" if finished else "so far: run again to go on")


def _measure(ledger: Ledger, args: argparse.Namespace) -> bool:
    """Whether all was measured in the time given."""
    rounds = ((tuple(METHODS), range(3)),) if args.quick else ROUNDS
    for methods, seeds in rounds:
        jobs = [job for job in _jobs(args.quick, seeds) if job[1] in methods]
        todo = [job for job in jobs if _wanted(ledger, *job)]
        for name, jobs in groupby(todo, key=lambda job: job[0].rows):
            X = ROWS[name]()
            for case, method, seed in jobs:
                if time.monotonic() > args.until:
                    return False
                if _wanted(ledger, case, method, seed):
                    _fit(ledger, X, case, method, seed)
    return True


def _jobs(quick: bool, seeds: range) -> Iterator[tuple[Case, str, int]]:
    """By rows, then by seed, so that the methods take turns."""
    cases = QUICK if quick else [*CASES, *RECORDS]
    for name in ROWS:
        for case in [c for c in cases if c.rows == name]:
            for seed in seeds:
                for method in _methods(case):
                    yield case, method, seed


def _methods(case: Case) -> list[str]:
    if case in RECORDS:
        return [AUTO, BEST]
    return [AUTO, BEST, LLOYD] if case.rows == "small" else list(METHODS)


def _wanted(ledger: Ledger, case: Case, method: str, seed: int) -> bool:
    if ledger.has(rows=case.rows, k=case.k, method=method, seed=seed):
        return False
    if method == LLOYD_10 and _spent(ledger, case, LLOYD, 0) > ONE_START:
        return False
    return _spent(ledger, case, method) < CELL_SECONDS


def _spent(ledger: Ledger, case: Case, method: str, seed: int | None = None) -> float:
    """Seconds of a method on a case so far."""
    cell = {"rows": case.rows, "k": str(case.k), "method": method}
    cell |= {} if seed is None else {"seed": str(seed)}
    return sum(
        float(row["seconds"])
        for row in ledger.rows
        if all(row[name] == value for name, value in cell.items())
    )


def _fit(ledger: Ledger, X: np.ndarray, case: Case, method: str, seed: int) -> None:
    call = METHODS[method]()
    if not ledger.has(rows=case.rows, k=case.k, method=method, seed=0):
        call(X[:2000], min(case.k, 20), 0)  # what a library does once
    time.sleep(REST)
    began = time.perf_counter()
    try:
        with at_most(MOST_SECONDS if method in SLOW else 0.0):
            centres = call(X, case.k, seed)
        seconds = time.perf_counter() - began
        found = distance(X, centres)
    except OutOfTime:
        seconds, found = MOST_SECONDS, float("nan")
    print(f"{case}, {method}, seed {seed}: {seconds:.3g} s, {found:.6g}", flush=True)
    row = {"rows": case.rows, "k": case.k, "method": method, "seed": seed, "seconds": seconds}
    ledger.add(row | {"distance": found})


class OutOfTime(Exception):
    """A fit took too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What runs within is stopped after so long, once Python has its turn; 0 is no limit."""

    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def distance(X: np.ndarray, centres: np.ndarray) -> float:
    """The mean squared distance to the nearest centre, the same computation for all."""
    source = ArraySource(X, kernel=get_kernel("auto"))
    Y = np.asarray(centres, dtype=np.float64) - source.center
    p = Pass(Y, np.zeros(len(Y)), 0.0, source.center, Want.MASSES)
    return source.run(p).per_mass().L


def _count_passes(ledger: Ledger, args: argparse.Namespace) -> bool:
    for rows, k, reg, _ in passes.GOALS:
        for seed in range(3):
            cell = {"rows": rows, "k": k, "method": f"passes, reg {reg:g}", "seed": seed}
            if ledger.has(**cell):
                continue
            if time.monotonic() > args.until:
                return False
            print(*cell.values(), flush=True)
            ledger.add(cell | passes.count(rows, k, reg, seed))
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.fit", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four cases; prints, keeps nothing")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop cleanly after")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    parser.add_argument("--page", action="store_true", help="write the page of what there is")
    args = parser.parse_args()
    args.until = time.monotonic() + 60.0 * args.minutes
    return args


if __name__ == "__main__":
    main()
