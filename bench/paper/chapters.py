"""The page's tables, a function a chapter: (folder of rows, of pictures, of the page) -> text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench.common import Ledger, table
from bench.paper import distance as distance_part
from bench.paper import published
from bench.paper import runtime as runtime_part
from bench.paper.methods import ALL, SLOW, WCSL
from bench.paper.real_world import EXACT
from bench.paper.summary import Summary, beside, number, seconds
from emscoreset.datasets import CATALOGUE

NOT_YET = "Not measured yet: `make paper` goes on with it."


def read(folder: Path, name: str, by: tuple[str, ...]) -> Summary:
    """A part's rows."""
    return Summary(Ledger(folder / f"{name}.csv", by).rows, by)


def distance(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Distance and runtime on three sets."""
    found = read(folder, "distance", ("dataset", "k", "method"))
    paper = published.figures("distance_runtime")
    out = ["## Distance and time"]
    for dataset in found.seen(0):
        ks = [k for k in distance_part.ATOMS if (dataset, str(k)) in {g[:2] for g in found.groups}]
        costs, times = [], []
        for method in ALL:
            published_ = [paper.get((dataset, "k", str(k), method), (None, None)) for k in ks]
            ours = [found.mean("cost", dataset, k, method) for k in ks]
            if any(value is not None for value in ours):
                costs.append(
                    [method, *(beside(p[0], o) for p, o in zip(published_, ours, strict=True))]
                )
                took = [found.mean("seconds", dataset, k, method) for k in ks]
                times.append(
                    [method, *(_time(p[1], o) for p, o in zip(published_, took, strict=True))]
                )
        head = ["", *(f"k = {k}" for k in ks)]
        out += [f"### {dataset}: distance", table(head, costs)]
        out += [_deviations(found, dataset, ks), _verdict(found, dataset, ks)]
        out += [f"### {dataset}: seconds", table(head, times)]
    return [*out, *NOTES] if len(out) > 1 else [*out, NOT_YET]


NOTES = (
    "*Gaussian*: the paper gives no eigenvalues. Ours fall off exponentially, with decay and sum "
    "fitted to how the paper's distances fall with k; only comparisons within the table say "
    "something.",
    "*Uniform k-means on images*: ours is run to its end and evaluated to convergence; the paper's "
    "is 2 to 4 % higher. *EMS as in the paper*: its rule stops when all atoms together move less "
    "than 0.01, which on images is late, and the fits end in whatever optimum their random rows "
    "lead to.",
    "*WCSL*: one seed.",
)


def _time(paper: float | None, ours: float | None) -> str:
    if ours is None:
        return "–"
    return seconds(ours) if paper is None else f"{seconds(ours)} ({seconds(paper)})"


def _deviations(found: Summary, dataset: str, ks: Sequence[int]) -> str:
    """How far the seeds are apart."""
    shares = [
        found.spread("cost", dataset, k, m) / found.mean("cost", dataset, k, m)
        for k in ks
        for m in ALL
        if m not in ("Random", *SLOW) and len(found.values("cost", dataset, k, m)) > 1
    ]
    if not shares:
        return ""
    return (
        f"Standard deviations over the seeds: at most {100 * max(shares):.2f} % of the mean, in "
        f"the median {100 * sorted(shares)[len(shares) // 2]:.2f} % (Random apart)."
    )


def _verdict(found: Summary, dataset: str, ks: Sequence[int]) -> str:
    """In words: where auto stands against the paper's best and our own WCSL."""
    paper = published.figures("distance_runtime")
    below_paper, below_wcsl, faster, lost = 0, 0, [], []
    with_wcsl = 0
    for k in ks:
        ours = found.mean("cost", dataset, k, "auto")
        best = min(v[0] for key, v in paper.items() if key[0] == dataset and key[2] == str(k))
        rivals = [c for m in SLOW if (c := found.mean("cost", dataset, k, m)) is not None]
        if ours is None:
            continue
        below_paper += ours < best
        if rivals:
            with_wcsl += 1
            below_wcsl += ours < min(rivals)
            time = found.mean("seconds", dataset, k, WCSL)
            if time is not None:
                faster.append(time / found.mean("seconds", dataset, k, "auto"))
        if ours >= best or (rivals and ours >= min(rivals)):
            lost.append(k)
    text = (
        f"`auto` is below the best of all the paper's methods at {below_paper} of {len(ks)} sizes"
    )
    if with_wcsl:
        text += f", below both of our WCSL at {below_wcsl} of {with_wcsl}"
    if faster:
        text += f", and {min(faster):.0f} to {max(faster):.0f} times as fast as our WCSL"
    return text + (f". It loses at k = {', '.join(map(str, lost))}." if lost else ".")


def capped(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """What 1000 sweeps give."""
    found = read(folder, "capped", ("dataset", "k", "method"))
    rows = []
    for key in found.groups:
        cost, true = found.mean("capped", *key), found.mean("cost", *key)
        missed = found.mean("weights_missed", *key)
        rows.append(
            [
                *key,
                number(cost),
                number(true),
                f"{100 * (cost / true - 1):+.2f} %",
                number(missed, 2),
            ]
        )
    head = ["data", "k", "method", "after 1000 sweeps", "converged", "difference", "weights missed"]
    return [
        "### What the paper's measuring rule gives",
        "The paper measures with at most 1000 Sinkhorn sweeps at reg 0.01. For equal weights that "
        "has not converged: the plan gives the atoms other masses than their weights (the last "
        "column sums the differences; 0 is right, 2 the most), and its cost is too low.",
        table(head, rows) if rows else NOT_YET,
    ]


def runtime(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Time against rows, columns and atoms."""
    found = read(folder, "runtime", ("varying", "value", "method"))
    paper = published.figures("runtime_summary")
    out = ["## Time against size", RUNTIME]
    for varying, values in runtime_part.VALUES.items():
        costs, times = [], []
        for method in runtime_part.METHODS:
            keys = [(varying, v, method) for v in values]
            if not any(found.values("seconds", *key) for key in keys):
                continue
            theirs = [paper.get(("mixture", varying, str(v), method), (None, None)) for v in values]
            took = [found.mean("seconds", *key) for key in keys]
            spread = [found.spread("seconds", *key) for key in keys]
            cells = [
                _spread(*cell) for cell in zip((t[1] for t in theirs), took, spread, strict=True)
            ]
            times.append([method, *cells, _slope(values, took)])
            costs.append(
                [
                    method,
                    *(
                        beside(t[0], found.mean("cost", *key))
                        for t, key in zip(theirs, keys, strict=True)
                    ),
                ]
            )
        head = ["", *(f"{varying} = {v:,}" for v in values)]
        if times:
            out += [f"### {varying}: seconds", table([*head, "slope"], times)]
            out += [f"### {varying}: distance", table(head, costs)]
    return out if len(out) > 2 else [*out, NOT_YET]


RUNTIME = (
    "A mixture of four Gaussians, n = 10,000, d = 10, k = 100, one of them varied. Standard "
    "deviations of the time behind ±, the slope is that of log time over log size between the "
    "first and the last. The paper's standard deviation of a component is 0.8 by its distances at "
    "d = 100 and 1000, whatever its text says; its row n = 1,000,000 (0.15) is on another scale "
    "than the rows above it, and d = 1 depends on where the means lie, which it does not give. "
    "WCSL at a million rows is left out: at the rate below it would take hours here."
)


def _spread(paper: float | None, mean: float | None, deviation: float) -> str:
    if mean is None:
        return "–"
    own = f"{seconds(mean)} ± {seconds(deviation)}"
    return own if paper is None else f"{own} ({seconds(paper)})"


def _slope(values: Sequence[int], took: Sequence[float | None]) -> str:
    known = [(v, t) for v, t in zip(values, took, strict=True) if t is not None]
    if len(known) < 2:
        return "–"
    (v0, t0), (v1, t1) = known[0], known[-1]
    return f"{math.log(t1 / t0) / math.log(v1 / v0):.2f}"


def real_world(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """The paper's three sets where they are at hand, else what there is."""
    found = read(folder, "real_world", ("dataset", "k", "method"))
    paper = published.figures("real_world")
    named = {ours: theirs for theirs, ours in EXACT.items()}
    out = [
        "## Real data",
        "The paper's Transactions, ChemReact100 and Music are read when their files are in the "
        "data folder (`emscoreset.datasets`, by checksum) and then stand beside its figures. The "
        "sets below that bear other names are parts of them or other data: they have no figure of "
        "the paper to stand beside. All are standardised and whitened.",
    ]
    for name in found.seen(0):
        ks = sorted({int(key[1]) for key in found.groups if key[0] == name})
        theirs = named.get(name)
        rows = []
        for method in ALL:
            ours = [found.mean("cost", name, k, method) for k in ks]
            beside_ = [paper.get((theirs, "k", str(k), method), (None,))[0] for k in ks]
            if any(value is not None for value in ours):
                rows.append([method, *(beside(p, o) for p, o in zip(beside_, ours, strict=True))])
        about = CATALOGUE[name]
        out += [f"### {theirs or name} ({about.standing})", f"{about.about}."]
        out.append(table(["", *(f"k = {k}" for k in ks)], rows))
    return out if found.groups else [*out, NOT_YET]


def shapley(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """SHAP backgrounds."""
    found = read(folder, "shapley", ("dataset", "output", "method"))
    paper = published.figures("shapley")
    out = ["## SHAP backgrounds", SHAPLEY]
    for dataset, output in dict.fromkeys(key[:2] for key in found.groups):
        rows = []
        for method in [key[2] for key in found.groups if key[:2] == (dataset, output)]:
            cells = [
                beside(
                    paper.get((dataset, "metric", metric, method), (None,))[0],
                    found.mean(metric, dataset, output, method),
                )
                for metric in ("MeanAE", "MaxAE", "BVE")
            ]
            rows.append([method, *cells])
        out += [f"### {dataset}, {output}", table(["", "MeanAE", "MaxAE", "BVE"], rows)]
    return out if found.groups else [*out, NOT_YET]


SHAPLEY = (
    "How well 64 rows stand in for the whole training set as the background of SHAP values: mean "
    "and largest absolute error of the attributions of the test rows, and the error of the base "
    "value, against the full background; 400 boosted trees of depth 3, five seeds. The paper does "
    "not say whether its Census output is the margin or the probability; both are here. EMS atoms "
    "are averages, and averages leave the data: on Census plain random rows beat every averaged "
    "background, the paper's method among them."
)


def theory(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Where the theory's pictures are."""
    return [
        "## Density, rates, stability",
        "Where k-means puts its centres and how weights mend it, the fall of the distance with k, "
        "and the leverage of a row against its bound are measured in [theory.md](theory.md).",
    ]


def images(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Coresets of images."""
    by = ("dataset", "in", "method", "k")
    found = read(folder, "images", by)
    out = ["## Images in a representation", IMAGES]
    for dataset in found.seen(0):
        ks = sorted({int(key[3]) for key in found.groups if key[0] == dataset})
        rows = [
            [where, method, *(_accuracy(found, dataset, where, method, k) for k in ks)]
            for where, method in dict.fromkeys(k[1:3] for k in found.groups if k[0] == dataset)
        ]
        out += [f"### {dataset}", table(["coreset in", "method", *(f"k = {k}" for k in ks)], rows)]
    return out if found.groups else [*out, NOT_YET]


IMAGES = (
    "The paper's last appendix proposes coresets in a learnt representation, atoms realised as "
    "real images; it shows none. Here the atoms found in a representation are replaced by the "
    "nearest real images, weighted by the images nearest to them, and judged by how many test "
    "images a logistic regression gets right that saw only those images with their weights: in % "
    "by pixels / by random convolutional features. The trained network saw the training labels. "
    "Other features can be handed in: see `bench/paper/features.py`."
)


def _accuracy(found: Summary, *key: object) -> str:
    by = [found.mean(column, *key) for column in ("by_pixels", "by_filters")]
    return " / ".join("–" if value is None else f"{100 * value:.1f}" for value in by)
