"""WCSL on MNIST, as in the paper and tuned: make bench-wcsl [ARGS="--minutes 7 --fresh"]."""

from __future__ import annotations

import argparse
import time

import numpy as np

from bench.common import ROOT, Ledger, machine, table, write_page
from bench.transport.problems import mnist
from emscoreset import wasserstein_distance
from emscoreset.baselines import wcsl

PAPER = {10: 417.3, 50: 329.8, 200: 276.0}  # the paper's WCSL on MNIST
CASES = [
    *((k, preset, 0) for k in (10, 50) for preset in ("paper", "tuned")),
    *((10, preset, seed) for seed in (1, 2) for preset in ("paper", "tuned")),
    *((200, preset, 0) for preset in ("tuned", "paper")),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.wcsl", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing new after these")
    args = parser.parse_args()
    began, X = time.monotonic(), mnist()
    measured = Ledger(ROOT / "out" / "bench" / "wcsl.csv", ("k", "preset", "seed"))
    if args.fresh:
        measured.rows = []
    for k, preset, seed in CASES:
        if measured.has(k=k, preset=preset, seed=seed):
            continue
        if time.monotonic() - began > 60.0 * args.minutes:
            print("time is up: the next call goes on from here")
            break
        print(k, preset, seed, flush=True)
        measured.add({"k": k, "preset": preset, "seed": seed, **_made(X, k, preset, seed)})
    print(write_page("wcsl", *_parts(measured)))


def _made(X: np.ndarray, k: int, preset: str, seed: int) -> dict[str, object]:
    coreset = wcsl(X, k, preset=preset, rng=seed)
    chosen = coreset.provenance["parameters"]
    return {
        "distance": wasserstein_distance(X, coreset, exact=True).value,
        "seconds": coreset.provenance["seconds"],
        "n_iter": chosen["n_iter"],
        "converged": chosen["converged"],
    }


def _parts(measured: Ledger) -> list[str]:
    lines = [
        (
            r["k"],
            r["preset"],
            r["seed"],
            f"{float(r['distance']):.3f}",
            PAPER[int(r["k"])],
            f"{r['n_iter']} {'epochs' if r['preset'] == 'paper' else 'steps'}",
            f"{float(r['seconds']):.0f}",
        )
        for r in sorted(measured.rows, key=lambda r: (int(r["k"]), r["preset"], r["seed"]))
    ]
    return [
        "# WCSL on MNIST",
        "The training images, 60,000 x 784, in the paper's units; the squared Wasserstein-2 "
        "distance to the equal weights, exact. `paper` ends by the paper's rule, less than 0.01 of "
        "a move in an epoch, or after 1000 epochs; the steps of `tuned` are those over all rows. "
        "Seconds are those of finding the atoms. Written by `make bench-wcsl`.",
        f"{machine()}.",
        table(("k", "preset", "seed", "distance", "the paper's", "took", "seconds"), lines),
    ]


if __name__ == "__main__":
    main()
