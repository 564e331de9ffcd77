"""make bench-transport [ARGS="--minutes 7 --fresh"]."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from bench.common import ROOT, Ledger, machine, table, write_page
from bench.transport.problems import MILLION, NAMES, draws
from bench.transport.rivals import RIVALS

PATIENCE = 300  # seconds that a rival is given
MEMORY = 14 * 10**9  # and bytes
PAPER = {10: 778.7, 200: 476.6}  # random rows on MNIST, the paper's table
DRAWS = 12
STORING = ("POT emd2", "POT sinkhorn_log, 100 sweeps", "geomloss")
ENTROPIC = tuple(r for r in RIVALS if not r.startswith("W2^2") and "emd2" not in r)


def main() -> None:
    args = _arguments()
    began = time.monotonic()
    folder = ROOT / "out" / "bench"
    measured = Ledger(folder / "transport.csv", ("problem", "rival"))
    checked = Ledger(folder / "transport-paper.csv", ("k",))
    if args.fresh:
        measured.rows, checked.rows = [], []
    for k in PAPER:
        if not checked.has(k=k):
            found = draws(k, DRAWS)
            checked.add({"k": k, "mean": np.mean(found), "sd": np.std(found, ddof=1)})
    todo = [(p, r) for r in RIVALS for p in NAMES if not measured.has(problem=p, rival=r)]
    todo.sort(key=lambda pair: pair[0] in MILLION and not pair[1].startswith("W"))  # the longest
    for problem, rival in todo:
        if time.monotonic() - began > 60.0 * args.minutes:
            print("time is up: the next call goes on from here")
            break
        print(f"{problem}: {rival}", flush=True)
        measured.add({"problem": problem, "rival": rival, **_run(problem, rival)})
    print(write_page("transport", *_parts(measured, checked)))


def _run(problem: str, rival: str) -> dict[str, object]:
    """A rival's answer, or how it failed."""
    matrix = (4 if rival == "geomloss" else 8) * 10**6 * MILLION.get(problem, 0)
    if rival in STORING and matrix > MEMORY / 4:
        return {"note": f"not run: one matrix of costs is {matrix / 1e9:g} GB, it holds several"}
    command = [sys.executable, "-m", "bench.transport.rivals", problem, rival]
    try:
        out = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=ROOT,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return {"note": f"not done in {PATIENCE} s"}
    if out.returncode != 0:
        return {"note": (out.stderr.strip().splitlines() or [f"ended, code {out.returncode}"])[-1]}
    found: dict[str, object] = json.loads(out.stdout.strip().splitlines()[-1])
    return found


class Rows:
    """The ledger's rows by problem and rival."""

    def __init__(self, ledger: Ledger) -> None:
        self.rows = {(r["problem"], r["rival"]): r for r in ledger.rows}

    def number(self, problem: str, rival: str, name: str) -> float:
        text = self.rows.get((problem, rival), {}).get(name, "")
        return float(text) if text else float("nan")

    def note(self, problem: str, rival: str) -> str:
        if (problem, rival) not in self.rows:
            return "not measured yet"
        return self.rows[problem, rival].get("note", "")


def _parts(measured: Ledger, checked: Ledger) -> list[str]:
    rows = Rows(measured)
    return [
        "# Transport costs to given weights",
        "From rows and atoms with uniform weights to the cost, against other solvers. MNIST is the "
        "training set, 60,000 x 784, in the paper's units; the million rows are unit Gaussians "
        "around 32 overlapping centres, d = 10, with random rows for atoms. Rows are float32. "
        "Every rival runs in a process of its own, with all CPUs, and is given 5 minutes and 14 "
        "GB; the median of up to three turns. POT's `emd2` and `sinkhorn_log` get a stored cost "
        "matrix, which is not timed. geomloss works on whole matrices (`tensorized`); its "
        "`online` backend, which does not, needs KeOps. Written by `make bench-transport`.",
        f"{machine('POT', 'geomloss', 'torch')}.",
        "## What it took",
        "Full passes read all rows (a first reading, for the mean or for costs that are few enough "
        "to be held, is not counted); list passes read lists of candidates, of a sample at first.",
        _ours(rows),
        "## W2^2: how many times as long as `wasserstein_distance`",
        _exact_rivals(rows),
        "## W_reg at reg = 0.01: how many times as long as `sinkhorn_distance`, and how wrong",
        "In brackets: by how much the dual value of a rival's potentials falls short of the true "
        "cost, and the share of the mass that its plan puts on the wrong atoms.",
        _entropic_rivals(rows),
        "## The paper's figures from outside",
        f"MNIST, random rows with uniform weights, W2^2, {DRAWS} draws.",
        table(
            ("k", "mean", "standard deviation", "the paper's"),
            [
                (r["k"], f"{float(r['mean']):.1f}", f"{float(r['sd']):.1f}", PAPER[int(r["k"])])
                for r in checked.rows
            ],
        ),
    ]


def _ours(rows: Rows) -> str:
    def line(problem: str, rival: str) -> tuple[str, ...]:
        n = [rows.number(problem, rival, name) for name in ("passes", "list_passes", "gap")]
        seconds = rows.number(problem, rival, "seconds")
        return problem, rival, f"{n[0]:.0f}", f"{n[1]:.0f}", f"{n[2]:.1e}", f"{seconds:.2f}"

    header = ("problem", "asked for", "full passes", "list passes", "relative gap", "seconds")
    return table(header, [line(p, r) for p in NAMES for r in RIVALS if r.startswith("W")])


def _exact_rivals(rows: Rows) -> str:
    lines = []
    for p in NAMES:
        ours, exact, theirs = "W2^2, tol 1e-4", "W2^2, exact", "POT emd2"
        seconds = rows.number(p, theirs, "seconds")
        truth, value = (rows.number(p, r, "value") for r in (exact, theirs))
        ratios = [
            f"{seconds / rows.number(p, r, 'seconds'):.1f}" if seconds > 0 else "-"
            for r in (ours, exact)
        ]
        differ = f"{abs(value - truth) / truth:.1e}" if value > 0 else "-"
        error = abs(rows.number(p, ours, "value") - truth) / truth
        lines.append((p, *ratios, differ, f"{error:.1e}", rows.note(p, theirs)))
    header = (
        *("problem", "emd2 / tol 1e-4", "emd2 / exact", "emd2 against exact"),
        *("tol 1e-4 against exact", ""),
    )
    return table(header, lines)


def _entropic_rivals(rows: Rows) -> str:
    def cell(problem: str, rival: str) -> str:
        if rows.note(problem, rival):
            return rows.note(problem, rival)
        ours = "W_reg, tol 1e-4"
        ratio = rows.number(problem, rival, "seconds") / rows.number(problem, ours, "seconds")
        truth = rows.number(problem, ours, "value")
        short = 1.0 - rows.number(problem, rival, "proved") / truth
        return f"{ratio:.0f} ({short:.1e}, {rows.number(problem, rival, 'off'):.1e})"

    rivals = [r for r in ENTROPIC if not r.startswith("W_reg")]
    return table(("problem", *rivals), [(p, *(cell(p, r) for r in rivals)) for p in NAMES])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.transport", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing new after these")
    return parser.parse_args()


if __name__ == "__main__":
    main()
