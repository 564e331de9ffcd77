"""make bench-shap [ARGS="--quick | --fresh | --part fidelity"]: resumes where it was stopped."""

from __future__ import annotations

import argparse

from bench.common import ROOT, Ledger, machine, write_page
from bench.shap import fidelity, speed

PARTS = {
    "fidelity": (fidelity.run, fidelity.parts, fidelity.KEY),
    "speed": (speed.measure, speed.parts, ("case", "n", "what")),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.shap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few trees; prints and keeps nothing")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    parser.add_argument("--part", choices=PARTS, help="measure this part alone")
    args = parser.parse_args()
    page = [
        "# SHAP with weighted backgrounds",
        "Written by `make bench-shap`.",
        f"{machine('shap', 'lightgbm')}.",
    ]
    for name, (measure, parts, key) in PARTS.items():
        path = ROOT / "out" / "bench" / f"shap-{name}{'-quick' * args.quick}.csv"
        if args.part in (None, name):
            if args.fresh or args.quick:
                path.unlink(missing_ok=True)
            ledger = Ledger(path, key)
            measure(ledger, quick=args.quick)
        page += parts(Ledger(path, key))
    if args.quick:
        print("\n\n".join(page))
    else:
        print(write_page("shap", *page))


if __name__ == "__main__":
    main()
