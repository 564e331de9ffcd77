"""The page's pictures, each as SVG and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from bench.common import Ledger, table
from bench.paper import stability as stability_part
from bench.paper.methods import ALL, SLOW
from bench.paper.problems import manifolds, mixture
from bench.paper.summary import Summary, number

NOT_YET = "Not measured yet: `make paper` goes on with it."
DATA, ATOMS = "#b8c4ce", "#c8452d"
SHOWN = ("Random", "K-means", "WCSL reg=0.01", "EMS reg=0.01", "auto")


def save(figure: Any, folder: Path, name: str, page: Path) -> str:
    """Both files, and the line that shows the picture."""
    for ending in ("svg", "png"):
        figure.savefig(folder / f"{name}.{ending}", dpi=110, bbox_inches="tight")
    plt.close(figure)
    return f"![{name}]({(folder / f'{name}.png').relative_to(page)})"


def overview(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Coresets of two-dimensional sets, and the two mixtures of the stability experiment."""
    quick = folder.name != "results"
    methods = [m for m in SHOWN if not (quick and m in SLOW)]
    sets = manifolds()
    figure, axes = plt.subplots(
        len(sets), len(methods) + 1, figsize=(2.3 * (len(methods) + 1), 2.3 * len(sets))
    )
    for line, (name, X) in zip(axes, sets.items(), strict=True):
        _scatter(line[0], X)
        line[0].set_title(name if line is not axes[0] else f"data: {name}", fontsize=9)
        for axis, method in zip(line[1:], methods, strict=True):
            coreset = ALL[method](X, 40, 0).coreset
            _scatter(axis, X)
            axis.scatter(*coreset.atoms.T, s=1500 * coreset.weights, c=ATOMS, alpha=0.75, lw=0)
            axis.set_title(f"{method}: {coreset.upper:.2g}", fontsize=9)
    first = save(figure, pictures, "overview", page)
    return [
        "## What a coreset looks like",
        "40 atoms for 2,000 rows. The area of a disc is its weight; the number is the squared "
        "distance to the data.",
        first,
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
    axis.scatter(*X.T, s=3, c=DATA, lw=0)
    axis.set_aspect("equal", "datalim")
    axis.set_xticks([])
    axis.set_yticks([])


def stability(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Bars of the distances between the coresets of different seeds."""
    kept = Ledger(folder / "stability.csv", ("radius", "method"))
    out = ["## Stability over seeds", STABILITY]
    if not kept.rows:
        return [*out, NOT_YET]
    found = Summary(kept.rows, ("radius", "method"))
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharex=False)
    rows = []
    for axis, radius in zip(axes, found.seen(0), strict=False):
        methods = [key[1] for key in found.groups if key[0] == radius]
        means = [found.mean("cost", radius, m) for m in methods]
        axis.barh(
            methods, means, xerr=[found.spread("cost", radius, m) for m in methods], color=ATOMS
        )
        axis.invert_yaxis()
        axis.set_title(f"R = {float(radius):g}: cost between two seeds' coresets", fontsize=10)
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
    "Ten seeds, 64 atoms, 1,000 rows of four Gaussians whose means lie R from the origin: the "
    "transport cost between the coresets of each pair of seeds, mean ± standard deviation, and "
    "each coreset's squared distance to the data. The first cannot be much below the second: two "
    "good coresets may differ by about what each of them leaves out."
)


def sensitivity(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """The distance's bracket, and the effective number of atoms, against reg."""
    kept = Ledger(folder / "sensitivity.csv", ("dataset", "share", "seed"))
    out = ["## The choice of reg", SENSITIVITY]
    if not kept.rows:
        return [*out, NOT_YET]
    found = Summary(kept.rows, ("dataset", "share"))
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
