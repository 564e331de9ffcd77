"""make bench-encode [ARGS="--rows 1000000 --repeats 5"]: a mixed table as vectors."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.common import ROOT, alternate, machine, table, write_page
from bench.encode.rivals import BLOCK, PARTS, RIVALS, made, parts

PEER = "pandas + ColumnTransformer"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        made(args.rows, path)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in RIVALS}
        for _ in range(args.repeats):
            for name in RIVALS:
                found[name].append(_in_its_own_process(name, path))
        alone = {
            what: {name: median(taken) for name, taken in alternate(calls, 3).items()}
            for what, calls in parts(path).items()
        }
    print(write_page("encode", *_page(args.rows, found, alone)))


def _in_its_own_process(name: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.encode.rivals", name, str(path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


def _page(n: int, found: Any, alone: Any) -> list[str]:
    figures = {
        name: {key: median(turn[key] for turn in turns) for key in turns[0]}
        for name, turns in found.items()
    }
    peer = figures[PEER]
    d = int(peer["features"])
    rows = [
        (name, *(f"{peer[key] / own[key]:.1f}" for key in ("read", "encode", "both", "memory")))
        for name, own in figures.items()
    ]
    return [
        "# A mixed table as vectors",
        f"{n:,} rows of 13 columns (numbers, whole numbers, a boolean, a timestamp, text with 3 to "
        f"30 labels) in a Parquet file become {d} features. How many times the time, and the peak "
        "memory of the process over that after its imports, that pandas with StandardScaler and "
        "OneHotEncoder takes. Medians of turns, every rival in a process of its own. Our result is "
        f"float32 and its memory includes it ({n * d * 4 / 2**20:.0f} MiB); that of the rival is "
        "float64. Written by `make bench-encode`.",
        f"{machine('pandas', 'pyarrow')}.",
        table(("", "read", "encode", "both", "memory"), rows),
        "## Parts",
        "How many times as long scikit-learn's component takes to fit one column that is there as "
        "an array (of floats, of Python strings), against our look at the same column in Arrow, "
        f"{BLOCK:,} rows at a time. " + PARTS,
        table(
            ("", "times"),
            [(what, f"{took['scikit-learn'] / took['ours']:.1f}") for what, took in alone.items()],
        ),
    ]


if __name__ == "__main__":
    main()
