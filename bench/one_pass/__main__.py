"""make bench-pass [ARGS="--quick | --sizes A,B --threads 2 --repeats 5 --fresh"]."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from bench.common import PAGES, ROOT, Ledger, machine, table, write_page
from bench.one_pass import beyond, conduct, page, roofline
from bench.one_pass.lanes import Lanes
from bench.one_pass.sizes import QUICK, SIZES, Size, make


def main() -> None:
    args = _arguments()
    path = ROOT / "out" / "bench" / ("pass-quick.csv" if args.quick else "pass.csv")
    if args.fresh or args.quick:
        path.unlink(missing_ok=True)
    ledger = Ledger(path, ("size", "threads"))
    for threads in args.threads:
        sizes = [SIZES[s] for s in args.sizes if not ledger.has(size=s, threads=threads)]
        if not sizes:
            continue
        with Lanes(threads) as lanes:
            for size in sizes:
                print(f"{size}, {threads} thread(s)", flush=True)
                _measure(lanes, size, args.repeats, args.patience, ledger)
    measured = page.Measured(ledger.rows)
    parts = _parts(measured, ledger)
    if args.quick:
        print("\n\n".join(parts))
        return
    parts += _conduct({"conduct": args.conduct, "beyond": args.beyond})
    page.picture(measured, max(measured.threads), PAGES / "pass.svg")
    print(write_page("pass", *parts, "![Milliseconds of a pass](pass.svg)"))


def _conduct(asked: dict[str, bool]) -> list[str]:
    """Figures in words: those asked for measured, the others as they were last."""
    rows = []
    for name, figures in {"conduct": conduct.figures, "beyond": beyond.figures}.items():
        ledger = Ledger(ROOT / "out" / "bench" / f"pass-{name}.csv", ("what",))
        if asked[name]:
            ledger.rows.clear()
            ledger.extend([{"what": what, "figure": figure} for what, figure in figures()])
        rows += [(row["what"], row["figure"]) for row in ledger.rows]
    return ["## How it behaves", table(["what", "figure"], rows)] if rows else []


def _measure(lanes: Lanes, size: Size, repeats: int, patience: float, ledger: Ledger) -> None:
    limits = roofline.measure(lanes.threads)
    problem = make(size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        problem.save(path)
        seconds, memory = lanes.measure(path, repeats, patience)
    ledger.extend(
        {
            "size": size.name,
            "threads": lanes.threads,
            "rival": what.rival,
            "dtype": what.dtype,
            "reg": what.reg,
            "seconds": median(taken),
            "turns": len(taken),
            "memory": memory[what.rival],
            "flops": limits.flops,
            "bytes": limits.bytes,
            "blas": lanes.blas[what.rival],
        }
        for what, taken in seconds.items()
    )


def _parts(m: page.Measured, ledger: Ledger) -> list[str]:
    threads = max(m.threads)
    blas = {r["rival"]: r["blas"] for r in ledger.rows if r["rival"].startswith("scikit-learn")}
    parts = [
        "# One pass",
        "The sums of one pass (N, S, Q, L) over n rows and k atoms in the native kernel, against "
        "what else would do the same work. Medians of turns in which each rival ran once; every "
        "rival in a process of its own. Rows are unit Gaussians around 32 overlapping centres; "
        'atoms are three steps into a fit. "10 %" is a reg of a tenth of the variance, where every '
        "atom has weight on every row. scikit-learn and faiss have no call for one pass: theirs is "
        "the difference of two fits, per iteration. Written by `make bench-pass`.",
        f"{machine('torch', 'faiss-cpu')}.",
        "; ".join(f"{rival}: {found}" for rival, found in blas.items()) + ".",
        "Sizes: " + ", ".join(str(SIZES[s]) for s in m.sizes) + ".",
        f"## How many times as long as ours, {threads} threads, float32",
        f"In brackets what was aimed at with two threads. {page.shortfalls(m)} "
        "What limits a pass: [kernel.md](../kernel.md#where-the-time-goes).",
        page.ratios(m, threads),
        f"## Milliseconds, {threads} threads",
        page.milliseconds(m, threads),
    ]
    for t in m.threads[1:]:
        parts += [f"## {t} thread(s)", page.ratios(m, t), page.milliseconds(m, t)]
    return [
        *parts,
        "## Shares of the machine's limits",
        "Measured beside each size. A pass at reg 0 is counted as its scores, 2 n d k operations; "
        "at 10 % of the variance as scores and sums, 2 n k (2 d + 1). Exponentials, comparisons "
        "and packing count as nothing.",
        page.limits(m),
        page.shares(m),
        f"## Extra memory, {threads} threads",
        "By how much the process's greatest resident size grows in its first pass, libraries' own "
        "start included; for scikit-learn and faiss in two fits, without a copy of the rows.",
        page.memory(m, threads),
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.one_pass", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="A, C, D, G; prints and keeps nothing")
    parser.add_argument("--sizes", type=lambda s: s.split(","), help="letters, as in A,D")
    parser.add_argument("--threads", type=lambda s: [int(t) for t in s.split(",")])
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--conduct", action="store_true", help="small, beside others, interrupted")
    parser.add_argument(
        "--beyond", action="store_true", help="a file larger than the memory: so much disk"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    args = parser.parse_args()
    args.sizes = args.sizes or list(QUICK if args.quick else SIZES)
    args.threads = args.threads or ([2] if args.quick else [2, 1])
    args.repeats = args.repeats or (3 if args.quick else 7)
    args.patience = 1.0 if args.quick else 6.0
    return args


if __name__ == "__main__":
    main()
