"""The page's pictures, each as SVG and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from bench.common import table
from bench.paper import distance as distance_part
from bench.paper import overview as overview_part
from bench.paper import runtime as runtime_part
from bench.paper import stability as stability_part
from bench.paper.methods import ALL, SLOW
from bench.paper.problems import manifolds, mixture
from bench.paper.summary import Summary, number, read

NOT_YET = "Not measured yet: `make paper` goes on with it."
matplotlib.rcParams["svg.hashsalt"] = "paper"  # the same rows give the same file
UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None}, "png": {}}
DATA, ATOMS = "#b8c4ce", "#c8452d"
COLOURS = dict(zip(ALL, plt.get_cmap("tab20").colors, strict=False)) | {"auto": ATOMS}
FAR = ("Random", "K-means")  # and left out of the picture of distances
COLOURS["best"] = "#111111"


def save(figure: Any, folder: Path, name: str, page: Path) -> str:
    """Both files, and the line that shows the picture."""
    for ending in ("svg", "png"):
        target = folder / f"{name}.{ending}"
        figure.savefig(target, dpi=110, bbox_inches="tight", metadata=UNDATED[ending])
    plt.close(figure)
    return f"![{name}]({(folder / f'{name}.png').relative_to(page)})"


def overview(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Coresets of two-dimensional sets, and the two mixtures of the stability experiment."""
    found = read(folder, "overview", ("set", "method"))
    out = ["## What a coreset looks like"]
    if not found.groups:
        return [*out, NOT_YET]
    methods = [m for m in overview_part.METHODS if m in found.seen(1)]
    sets = manifolds()
    figure, axes = plt.subplots(
        len(sets), len(methods) + 1, figsize=(2.3 * (len(methods) + 1), 2.5 * len(sets))
    )
    for line, (name, X) in zip(axes, sets.items(), strict=True):
        _scatter(line[0], X)
        line[0].set_title(f"data: {name}", fontsize=9)
        for axis, method in zip(line[1:], methods, strict=True):
            _scatter(axis, X)
            if (name, method) in found.groups:
                x, y, w = (found.values(c, name, method) for c in ("x", "y", "weight"))
                axis.scatter(x, y, s=1500 * np.array(w), c=ATOMS, alpha=0.75, lw=0)
                axis.set_title(
                    f"{method}: {number(found.mean('to_data', name, method), 2)}", fontsize=9
                )
    figure.tight_layout()
    return [
        *out,
        f"{overview_part.ATOMS} atoms for 2,000 rows. The area of a disc is its weight; the number "
        "is the squared distance to the data. Random rows leave gaps; the centres of k-means with "
        "equal weights are too many where rows are few, and WCSL, bound to equal weights, cannot "
        "spend an atom on a thin tail; EMS gives such atoms small weights.",
        save(figure, pictures, "overview", page),
        "The mixtures of the stability experiment:",
        save(_mixtures(), pictures, "mixtures", page),
    ]


def _mixtures() -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.5))
    for axis, radius in zip(axes, stability_part.RADII, strict=True):
        _scatter(axis, mixture(stability_part.ROWS, 2, radius, spread=1.0))
        axis.set_title(f"R = {radius:g}", fontsize=10)
    return figure


def _scatter(axis: Any, X: np.ndarray) -> None:
    axis.scatter(*X.T, s=3, c=DATA, lw=0, rasterized=True)
    axis.set_aspect("equal", "datalim")
    axis.set_xticks([])
    axis.set_yticks([])


def distance(found: Summary, pictures: Path, page: Path) -> str:
    """Each method's distance over the smallest measured, against k."""
    names = found.seen(0)
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.8), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        ks = [k for k in distance_part.ATOMS if found.values("cost", name, k, "auto")]
        costs = {m: [found.mean("cost", name, k, m) for k in ks] for m in ALL if m not in FAR}
        least = [min(c for line in costs.values() if (c := line[i])) for i in range(len(ks))]
        for method, line in costs.items():
            points = [(k, c / b) for k, c, b in zip(ks, line, least, strict=True) if c]
            if points:
                axis.plot(*zip(*points, strict=True), label=method, **_style(method))
        _sizes(axis, ks, f"{name}: distance / smallest measured", "k")
    axes[0][0].set_ylabel("ratio")
    return _with_legend(figure, axes[0], pictures, "distance", page)


def runtime(found: Summary, pictures: Path, page: Path) -> str:
    """Seconds against n, d and k; WCSL's until its own rule would end it."""
    figure, axes = plt.subplots(1, len(runtime_part.VALUES), figsize=(13, 3.8))
    for axis, (varying, values) in zip(axes, runtime_part.VALUES.items(), strict=True):
        for method in runtime_part.METHODS:
            column = "full_seconds" if method in SLOW else "seconds"
            points = [
                (v, t) for v in values if (t := found.mean(column, varying, v, method)) is not None
            ]
            if points:
                label = f"{method}, all epochs" if method in SLOW else method
                axis.plot(*zip(*points, strict=True), label=label, **_style(method))
        _sizes(axis, values, f"time against {varying}", varying)
        axis.set_yscale("log")
    axes[0].set_ylabel("seconds")
    return _with_legend(figure, axes, pictures, "runtime", page)


def _style(method: str) -> dict[str, Any]:
    """A colour for each method, the same in all pictures; the paper's are dashed."""
    ours = method in ("auto", "best")
    return {
        "color": COLOURS[method],
        "marker": "o",
        "ms": 4,
        "lw": 2 if ours else 1.2,
        "ls": "-" if ours else "--",
    }


def _sizes(axis: Any, values: Sequence[int], title: str, label: str) -> None:
    axis.set_xscale("log")
    axis.set_xticks(values, [f"{v:,}" for v in values])
    axis.minorticks_off()
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(label)
    axis.grid(alpha=0.3)


def _with_legend(figure: Any, axes: Any, pictures: Path, name: str, page: Path) -> str:
    """The legend below the panels, where it covers nothing."""
    lines = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.tight_layout()
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=5,
        fontsize=8,
    )
    return save(figure, pictures, name, page)


def stability(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Bars of the distances between the coresets of different seeds."""
    found = read(folder, "stability", ("radius", "method"))
    out = ["## Stability over seeds", STABILITY]
    if not found.groups:
        return [*out, NOT_YET]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharex=False)
    rows = []
    for axis, radius in zip(axes, found.seen(0), strict=False):
        methods = [key[1] for key in found.groups if key[0] == radius]
        means = [found.mean("cost", radius, m) for m in methods]
        axis.barh(
            methods, means, xerr=[found.spread("cost", radius, m) for m in methods], color=ATOMS
        )
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.grid(axis="x", which="both", alpha=0.2)
        axis.set_title(
            f"R = {float(radius):g}: cost between the coresets of two seeds", fontsize=10
        )
    for method in found.seen(1):
        cells = [
            f"{number(found.mean('cost', r, method), 3)} ± "
            f"{number(found.spread('cost', r, method), 2)} / "
            f"{number(found.mean('to_data', r, method), 3)}"
            for r in found.seen(0)
            if (r, method) in found.groups
        ]
        rows.append([method, *cells])
    figure.tight_layout()
    head = ["", *(f"R = {float(r):g}: between / to data" for r in found.seen(0))]
    return [*out, save(figure, pictures, "stability", page), table(head, rows)]


STABILITY = (
    f"Ten seeds (WCSL: {stability_part.FEW}), 64 atoms, 1,000 rows of four Gaussians whose means "
    "lie R from the origin: the transport cost between the coresets of each pair of seeds, mean ± "
    "standard deviation, and each coreset's squared distance to the data. The first cannot be "
    "much below the second: two good coresets may differ by about what each of them leaves out. "
    "The paper has this as a picture of bars, without numbers."
)


def sensitivity(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """The distance's bracket, and the effective number of atoms, against reg."""
    found = read(folder, "sensitivity", ("dataset", "share"))
    out = ["## The choice of reg", SENSITIVITY]
    if not found.groups:
        return [*out, NOT_YET]
    names = found.seen(0)
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.4), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        shares = sorted({key[1] for key in found.groups if key[0] == name}, key=float)
        x = [max(float(s), 3e-6) for s in shares]
        low, high = (
            [found.mean(c, name, s) / found.mean("variance", name, s) for s in shares]
            for c in ("lower", "upper")
        )
        axis.fill_between(x, low, high, color=ATOMS, alpha=0.3, label="bracket on W2²")
        axis.plot(x, high, color=ATOMS, label="transport cost")
        axis.set_xscale("log")
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("reg / variance (leftmost: 0)")
    axes[0][0].set_ylabel("share of the variance")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    return [*out, save(figure, pictures, "sensitivity", page)]


SENSITIVITY = (
    "The transport cost of the plan and the bracket on W2² against reg, as shares of the "
    "variance. Up to about a hundredth of the distance reg changes next to nothing; the "
    "paper's values, 0.001 to 0.1, all lie there. Far above, atoms merge, and at twice the "
    "largest eigenvalue of the covariance all of them are the mean."
)
