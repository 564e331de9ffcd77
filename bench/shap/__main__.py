"""make bench-shap [ARGS="--quick | --fresh"]: resumes where it was stopped."""

from __future__ import annotations

import argparse

from bench.common import ROOT, Ledger, machine, write_page
from bench.shap import speed


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.shap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few trees; prints and keeps nothing")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    args = parser.parse_args()
    path = ROOT / "out" / "bench" / ("shap-speed-quick.csv" if args.quick else "shap-speed.csv")
    if args.fresh or args.quick:
        path.unlink(missing_ok=True)
    ledger = Ledger(path, ("case", "n", "what"))
    speed.measure(ledger, quick=args.quick)
    parts = [
        "# SHAP with weighted backgrounds",
        "Written by `make bench-shap`.",
        f"{machine('shap', 'lightgbm')}.",
        *speed.parts(ledger),
    ]
    if args.quick:
        print("\n\n".join(parts))
    else:
        print(write_page("shap", *parts))


if __name__ == "__main__":
    main()
