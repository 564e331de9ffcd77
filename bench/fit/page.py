"""The measured fits as tables and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from bench.common import machine, table, write_page
from bench.fit.methods import AUTO, BEST, BREATHING, FAISS_25, FAISS_100, LLOYD, METHODS
from bench.fit.passes import GOALS
from bench.fit.problems import BEST_KNOWN, CASES, RECORDS, Case

Row = dict[str, str]
SMALL = Case("small", 100)
MOST_SECONDS = 30.0  # of a slow rival's fit


class Measured:
    """The rows of the ledger by case and method."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.passes = [r for r in rows if r["method"].startswith("passes")]
        self.fits: dict[tuple[Case, str], dict[int, Row]] = {}
        for r in rows:
            if r["method"] in METHODS:
                cell = self.fits.setdefault((Case(r["rows"], int(r["k"])), r["method"]), {})
                cell[int(r["seed"])] = r
        self.cases = [c for c in [*CASES, *RECORDS] if any(case == c for case, _ in self.fits)]

    def values(self, case: Case, method: str, column: str) -> dict[int, float]:
        """A column by seed; no distance of a fit that was stopped."""
        found = self.fits.get((case, method), {})
        values = {seed: float(row[column]) for seed, row in sorted(found.items())}
        return {seed: value for seed, value in values.items() if not np.isnan(value)}

    def stopped(self, case: Case, method: str) -> bool:
        """Whether a fit took too long."""
        both = (self.values(case, method, column) for column in ("distance", "seconds"))
        return len(set(map(len, both))) > 1

    def centre(self, case: Case, method: str) -> float | None:
        """The mean distance; the median on blobs, where one lost blob outweighs all else."""
        d = list(self.values(case, method, "distance").values())
        if not d:
            return None
        return float(np.median(d) if case.rows == "blobs" else np.mean(d))

    def seconds(self, case: Case, method: str) -> float | None:
        """The median."""
        s = list(self.values(case, method, "seconds").values())
        return float(np.median(s)) if s else None

    def ratio(self, case: Case, method: str, ours: str) -> str:
        """`times` in words: at least so many, of a fit that was stopped."""
        times = self.times(case, method, ours)
        if times is None:
            return ""
        said = f"{times:.0f}" if times >= 100 else f"{times:.2g}"
        return f"over {said}" if self.stopped(case, method) else said

    def times(self, case: Case, method: str, ours: str) -> float | None:
        """How many times as long as ours, the median over the seeds that both ran."""
        theirs, own = self.values(case, method, "seconds"), self.values(case, ours, "seconds")
        both = theirs.keys() & own.keys()
        return float(np.median([theirs[s] / own[s] for s in both])) if both else None

    def excess(self, case: Case, ours: str, method: str) -> tuple[float, float] | None:
        """Ours over theirs less 1 in %, and its standard error, over the seeds that both ran."""
        theirs, own = self.values(case, method, "distance"), self.values(case, ours, "distance")
        ratios = [100 * (own[s] / theirs[s] - 1) for s in theirs.keys() & own.keys()]
        if not ratios:
            return None
        if case.rows == "blobs":
            return 100 * (self.centre(case, ours) / self.centre(case, method) - 1), 0.0
        error = np.std(ratios, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
        return float(np.mean(ratios)), float(error)


def _distances(m: Measured) -> str:
    rows = []
    for case in [c for c in m.cases if c in CASES and c != SMALL]:
        cells = []
        for method in METHODS:
            centre, d = m.centre(case, method), list(m.values(case, method, "distance").values())
            if centre is None:
                cells.append("stopped" if m.stopped(case, method) else "")
                continue
            error = np.std(d, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else float("nan")
            spread = "" if case.rows == "blobs" or len(d) == 1 else f" ± {error:.1g}"
            cells.append(f"{centre:.6g}{spread} ({len(d)})")
        rows.append([str(case), *cells])
    return table(["distance", *METHODS], rows)


def _seconds(m: Measured) -> str:
    rows = []
    for case in [c for c in m.cases if c in CASES]:
        cells = [m.ratio(case, method, AUTO) for method in METHODS]
        rows.append([str(case), f"{m.seconds(case, AUTO) or float('nan'):.3g}", *cells[1:]])
    return table(["times auto's", "auto, seconds", *list(METHODS)[1:]], rows)


def _percent(pair: tuple[float, float] | None) -> str:
    if pair is None:
        return ""
    return f"{pair[0]:+.3f}" + ("" if np.isnan(pair[1]) else f" ± {pair[1]:.3f}")


def _claims(m: Measured) -> str:
    """What is claimed, case by case."""
    rows = []
    for case in [c for c in m.cases if c in CASES and c != SMALL]:
        pairs = [m.excess(case, AUTO, r) for r in (LLOYD, FAISS_25, FAISS_100)]
        known = [p for p in pairs if p is not None]
        worst = max(known, key=lambda p: p[0], default=None)
        breath = m.excess(case, BEST, BREATHING)
        rows.append(
            [
                str(case),
                _percent(worst),
                "" if worst is None else _verdict(worst[0] <= max(0.1, 2 * _error(worst))),
                _percent(breath),
                "" if breath is None else _verdict(breath[0] <= max(1e-3, _error(breath))),
                m.ratio(case, BREATHING, BEST),
            ]
        )
    head = ["", "auto over the best of KMeans and faiss, %", "at most 0.1 % or 2 errors"]
    head += ["best over breathing, %", "at most an error", "breathing takes times best's"]
    return table(head, rows)


def _error(pair: tuple[float, float]) -> float:
    return 0.0 if np.isnan(pair[1]) else pair[1]


def _verdict(fine: bool) -> str:
    return "yes" if fine else "**no**"


def _records(m: Measured) -> str:
    rows = []
    for name, known in BEST_KNOWN.items():
        for k, value in known.items():
            d = list(m.values(Case(name, k), BEST, "distance").values())
            if d:
                reached = _verdict(round(np.mean(d), 1) <= value)
                rows.append(
                    [f"{name}, k = {k}", value, f"{np.mean(d):.2f}", f"{min(d):.2f}", reached]
                )
    return table(["", "best known", "best, mean", "best, lowest", "mean reaches it"], rows)


def _speeds(m: Measured) -> str:
    rows = []
    for case, rival, goal in [
        (Case("mixture A", 100), LLOYD, 50),
        (Case("mixture A", 100), FAISS_100, 8),
        (Case("MNIST", 200), LLOYD, 8),
        (SMALL, LLOYD, 10),
    ]:
        times = m.times(case, rival, AUTO)
        if times is not None:
            rows.append([str(case), rival, f"{times:.3g}", goal, _verdict(times >= goal)])
    return table(["", "against", "times auto's", "aimed at", "reached"], rows)


def _passes(m: Measured) -> str:
    rows = []
    for name, k, reg, goal in GOALS:
        found = [
            r
            for r in m.passes
            if (r["rows"], int(r["k"]), r["method"]) == (name, k, f"passes, reg {reg:g}")
        ]
        if found:
            mean = {c: np.mean([float(r[c]) for r in found]) for c in ("plain", "auto", "end")}
            cells = [f"{mean['plain']:.0f}", f"{mean['auto']:.1f}", goal]
            cells += ["" if goal == "" else _verdict(mean["auto"] <= goal)]
            cells += [f"{100 * mean['end']:+.2f}"]
            rows.append([f"{name}, k = {k}, reg = {reg:g}", *cells])
    head = ["", "plain EM", "auto", "aimed at", "reached", "auto's end over plain EM's, %"]
    return table(head, rows)


def parts(m: Measured) -> list[str]:
    """The page, a part at a time."""
    return [
        "# Whole fits",
        "Distance at reg 0 (the mean squared distance to the nearest centre, computed alike for "
        "all) and time of whole fits, start and checks included, float32 rows, two threads. "
        "Methods take turns, seed by seed; means over the seeds in brackets with standard errors, "
        "medians on blobs. A method has up to ten seeds, but no further one on a case once it has "
        "spent 5 s there: slow rivals have fewer, down to one; ten starts of KMeans are left out "
        f"where one takes over 1.5 s, and neither they nor breathing are waited for longer than "
        f"{MOST_SECONDS:.0f} s (stopped). Differences and ratios are of the seeds that both ran. "
        "Written by `make bench-fit`, which goes on where it was stopped.",
        "KMeans and MiniBatchKMeans are scikit-learn's with their defaults, faiss runs 25 or 100 "
        "iterations on all points, breathing is bkmeans with its defaults, plain is Algorithm 1 "
        "from random rows. MNIST and Fashion-MNIST are scaled as in the paper, Census and credit "
        "default per column; A is a mixture (1,000,000 x 10), D of low rank (60,000 x 784), blobs "
        "are 60 far apart, small is (10,000 x 10).",
        f"{machine('faiss-cpu', 'bkmeans')}.",
        "## What was aimed at",
        _speeds(m),
        _claims(m),
        "## Best known optima",
        _records(m),
        "## Passes' worth of rows to plain EM's end + 0.1 %",
        "Plain EM from the start that auto has; three starts. A pass over a sample counts by the "
        "share of the rows it reads.",
        _passes(m),
        "## Distances",
        _distances(m),
        "## Times",
        "Over auto's on the same seed, medians.",
        _seconds(m),
    ]


def write(m: Measured) -> Path:
    return write_page("fit", *parts(m), "![Distance against time](fit.svg)")


def picture(m: Measured, path: Path) -> None:
    """A panel for each set of rows: time against the excess over the lowest distance."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "fit"
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(c.rows for c in m.cases if c in CASES and c != SMALL))
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(11, 3.1 * lines + 0.6), layout="constrained", squeeze=False
    )
    colors = dict(zip(METHODS, plt.get_cmap("tab10").colors, strict=False))
    for ax, name in zip(axes.flat, names, strict=False):
        _panel(ax, m, [c for c in m.cases if c in CASES and c.rows == name], colors)
        ax.set_title(name, fontsize=10)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    marks = [plt.Line2D([], [], color=c, marker="o", ls="", label=n) for n, c in colors.items()]
    marks += [
        plt.Line2D([], [], color="grey", marker=mark, ls="", label=text)
        for mark, text in zip("os^", ("smallest k", "next", "largest"), strict=True)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    for ax in axes[-1]:
        ax.set_xlabel("seconds", fontsize=9)
    figure.supylabel("% above the lowest distance", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _panel(ax, m: Measured, cases: Sequence[Case], colors) -> None:
    for case, mark in zip(cases, "os^", strict=False):
        centres = {method: m.centre(case, method) for method in METHODS}
        least = min(c for c in centres.values() if c is not None)
        for method, centre in centres.items():
            if centre is not None:
                y = 100 * (centre / least - 1)
                ax.plot(m.seconds(case, method), y, mark, color=colors[method], alpha=0.85)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_ylim(bottom=-0.02)
    ax.spines[["top", "right"]].set_visible(False)
