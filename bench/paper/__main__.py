"""make paper [ARGS="--only distance,images --minutes 10"]; make paper-quick."""

from __future__ import annotations

import argparse
import os
import time

from bench.paper import (
    distance,
    images,
    overview,
    page,
    passes,
    real_world,
    runtime,
    sensitivity,
    shapley,
    stability,
)
from bench.paper.jobs import OutOfTimeError, do

PARTS = {
    part.name: part
    for part in (
        *(overview.PART, stability.PART, sensitivity.PART, distance.PART, distance.CAPPED),
        *(passes.PART, runtime.PART, images.PART, shapley.PART, real_world.PART),
    )
}


def main() -> None:
    args = _arguments()
    if args.data_dir:
        os.environ["EMSCORESET_DATA"] = args.data_dir
    until = time.monotonic() + 60 * args.minutes
    try:
        for name in args.only:
            do(PARTS[name], args.quick, until)
    except OutOfTimeError:
        print(f"stopped after {args.minutes:g} minutes; the next run goes on from here")
    print(page.write(args.quick))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few sizes, one seed, five minutes")
    parser.add_argument(
        *("--only",), type=lambda s: s.split(","), default=list(PARTS), help=", ".join(PARTS)
    )
    parser.add_argument(
        "--minutes", type=float, help="stop after so long; the rest is kept for later"
    )
    parser.add_argument("--data-dir", help="folder of the data sets (or EMSCORESET_DATA)")
    args = parser.parse_args()
    unknown = set(args.only) - set(PARTS)
    if unknown:
        parser.error(f"--only takes {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    args.minutes = args.minutes or (4.0 if args.quick else 60.0)
    return args


if __name__ == "__main__":
    main()
