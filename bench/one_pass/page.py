"""The measured rows as tables and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.common import table
from bench.one_pass.rivals import (
    FAISS,
    LLOYD,
    LLOYD_AVX2,
    LLOYD_AVX512,
    OURS,
    RIVALS,
    TILES,
    TORCH,
    What,
)
from bench.one_pass.sizes import REGS, SIZES

Row = dict[str, str]

# What this release aims at: times a rival's pass over ours, two threads, float32.
GOALS = {
    (LLOYD, "0"): (4, 6, 2, 1.7, 1.8, 1.5, 5),
    (FAISS, "0"): (5, 1.6, 2.6, 2, 1.8, 1.8, 9),
    (TORCH, "0.01"): (20, 35, 5.5, 4.5, 4, 4, 20),
}
COMPARED = [(rival, "0") for rival in (LLOYD, LLOYD_AVX512, LLOYD_AVX2, FAISS, TILES)]
COMPARED += [(rival, "0.01") for rival in (TORCH, TILES)]


class Measured:
    """The rows of the ledger by size, threads and what was timed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = {(r["size"], int(r["threads"]), What(*(r[c] for c in KEY))): r for r in rows}
        self.sizes = [name for name in SIZES if any(key[0] == name for key in self.rows)]
        self.threads = sorted({key[1] for key in self.rows}, reverse=True)

    def cell(self, size: str, threads: int, what: What, column: str = "seconds") -> float | None:
        row = self.rows.get((size, threads, what))
        return float(row[column]) if row and row[column] else None

    def seconds(self, size: str, threads: int, rival: str, reg: str, dtype: str = "float32"):
        return self.cell(size, threads, What(rival, dtype, reg))


KEY = ("rival", "dtype", "reg")


def _shown(value: float | None, digits: int = 3) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}g}" if value < 10**digits - 0.5 else f"{value:.0f}"


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a / b


def ratios(m: Measured, threads: int) -> str:
    """Rival over ours, the goal in brackets."""
    rows = []
    for rival, reg in COMPARED:
        goals = dict(zip(SIZES, GOALS.get((rival, reg), ()), strict=False)) if threads == 2 else {}
        cells = []
        for size in m.sizes:
            shown = _shown(
                _ratio(m.seconds(size, threads, rival, reg), m.seconds(size, threads, OURS, reg)), 2
            )
            cells.append(f"{shown} ({goals[size]})" if shown and size in goals else shown)
        if any(cells):
            rows.append([f"{rival}, reg {reg}", *cells])
    return table(["times ours", *m.sizes], rows)


def shortfalls(m: Measured) -> str:
    """The goals that were missed, and by how much."""
    missed = []
    for (rival, reg), goals in GOALS.items():
        for size, goal in zip(SIZES, goals, strict=True):
            found = _ratio(*(m.seconds(size, 2, who, reg) for who in (rival, OURS)))
            if found is not None and found < goal:
                short = 100 * (1 - found / goal)
                missed.append(f"{rival} at {size}, reg {reg}, by {short:.1f} %")
    return f"Missed: {'; '.join(missed)}." if missed else "None was missed."


def milliseconds(m: Measured, threads: int) -> str:
    """Every median."""
    whats = [What(OURS, "float32", reg) for reg in REGS]
    whats += [What(OURS, "float64", reg) for reg in ("0", "0.01", "10 %")]
    whats += [What(rival, "float32", reg) for rival, reg in COMPARED]
    rows = []
    for w in whats:
        cells = [m.cell(size, threads, w) for size in m.sizes]
        label = f"{w.rival}, reg {w.reg}" + (", float64" if w.dtype == "float64" else "")
        if any(cells):
            rows.append([label, *(_shown(None if c is None else 1000 * c) for c in cells)])
    return table(["ms", *m.sizes], rows)


def shares(m: Measured) -> str:
    """Of the processor's limits, per size; and what float64 and a second thread change."""

    def fma(size: str, threads: int, reg: str) -> float | None:
        seconds, peak = (
            m.cell(size, threads, What(OURS, "float32", reg), c) for c in ("seconds", "flops")
        )
        flops = SIZES[size].score_flops if reg == "0" else SIZES[size].dense_flops
        return None if seconds is None or peak is None else 100 * flops / (seconds * peak)

    def read(size: str, threads: int) -> float | None:
        what = What(OURS, "float32", "0")
        seconds, rate = (m.cell(size, threads, what, c) for c in ("seconds", "bytes"))
        size_ = SIZES[size]
        return (
            None if seconds is None or rate is None else 400 * size_.n * size_.d / (seconds * rate)
        )

    def per_size(label: str, value, digits: int = 2) -> list[str]:
        return [label, *(_shown(value(size), digits) for size in m.sizes)]

    rows = []
    for t in m.threads:
        rows += [
            per_size(f"% of FMA peak, reg 0, {t} thread(s)", lambda s, t=t: fma(s, t, "0")),
            per_size(
                f"% of FMA peak, reg 10 % of variance, {t} thread(s)",
                lambda s, t=t: fma(s, t, "10 %"),
            ),
            per_size(f"% of memory bandwidth, reg 0, {t} thread(s)", lambda s, t=t: read(s, t)),
        ]
        rows += [
            per_size(
                f"float64 / float32, reg {reg}, {t} thread(s)",
                lambda s, t=t, reg=reg: _ratio(
                    m.seconds(s, t, OURS, reg, "float64"), m.seconds(s, t, OURS, reg)
                ),
            )
            for reg in ("0", "0.01", "10 %")
        ]
    if {1, 2} <= set(m.threads):
        rows += [
            per_size(
                f"1 thread / 2 threads, reg {reg}",
                lambda s, reg=reg: _ratio(m.seconds(s, 1, OURS, reg), m.seconds(s, 2, OURS, reg)),
            )
            for reg in ("0", "10 %")
        ]
    return table(["", *m.sizes], rows)


def limits(m: Measured) -> str:
    """FMA peak and memory bandwidth as measured beside each size."""
    rows = []
    what = What(OURS, "float32", "0")
    for t in m.threads:
        for column, unit in (("flops", "GF/s, float32"), ("bytes", "GB/s read")):
            cells = [m.cell(size, t, what, column) for size in m.sizes]
            shown = (_shown(None if c is None else c / 1e9) for c in cells)
            rows.append([f"{unit}, {t} thread(s)", *shown])
    return table(["limit", *m.sizes], rows)


def memory(m: Measured, threads: int) -> str:
    """Extra memory of a pass."""
    rows = []
    for rival in RIVALS:
        cells = []
        for size in m.sizes:
            found = [
                row["memory"]
                for (s, t, what), row in m.rows.items()
                if (s, t, what.rival) == (size, threads, rival)
            ]
            cells.append(_shown(float(found[0])) if found else "")
        if any(cells):
            rows.append([rival, *cells])
    return table(["MB", *m.sizes], rows)


def picture(m: Measured, threads: int, path: Path) -> None:
    """Passes a second against ours at the same reg, per size."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "pass"
    import matplotlib.pyplot as plt

    bars = [OURS, LLOYD, LLOYD_AVX512, LLOYD_AVX2, FAISS, TILES]
    bars = [rival for rival in bars if any(m.seconds(s, threads, rival, "0") for s in m.sizes)]
    panels = [("0", bars), ("0.01", [OURS, TORCH, TILES])]
    figure, axes = plt.subplots(
        2, 1, figsize=(9, 7), layout="constrained", sharex=True, height_ratios=(1, 1)
    )
    colors = dict(zip(RIVALS, plt.get_cmap("tab10").colors, strict=False))
    for ax, (reg, rivals) in zip(axes, panels, strict=True):
        _bars(ax, m, threads, reg, rivals, colors)
    axes[1].set_xlabel("size: " + ", ".join(str(SIZES[s]) for s in m.sizes), wrap=True, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _bars(ax, m: Measured, threads: int, reg: str, rivals: Sequence[str], colors) -> None:
    width = 0.8 / len(rivals)
    for b, rival in enumerate(rivals):
        for i, size in enumerate(m.sizes):
            seconds = m.seconds(size, threads, rival, reg)
            if seconds is None:
                continue
            x = i + (b - (len(rivals) - 1) / 2) * width
            ax.bar(x, 1000 * seconds, width, color=colors[rival], label=rival if i == 0 else None)
            ax.annotate(
                _shown(1000 * seconds, 2),
                (x, 1000 * seconds),
                ha="center",
                va="bottom",
                fontsize=5.5,
            )
    ax.set_yscale("log")
    ax.set_ylabel("ms per pass")
    ax.set_title(f"reg = {reg}, float32, {threads} threads", fontsize=10)
    ax.set_xticks(range(len(m.sizes)), m.sizes)
    ax.margins(y=0.15)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, ncols=len(rivals), loc="upper center", frameon=False)
