"""The page's tables, a function a chapter: (folder of rows, of pictures, of the page) -> text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.common import table
from bench.paper import distance as distance_part
from bench.paper import figures, published
from bench.paper import runtime as runtime_part
from bench.paper.checks import IMAGES, best_of_paper
from bench.paper.methods import ALL, EPOCHS, LIMIT, SLOW
from bench.paper.real_world import EXACT
from bench.paper.summary import Key, Summary, beside, number, read, timed
from emscoreset.datasets import CATALOGUE

NOT_YET = "Not measured yet: `make paper` goes on with it."


def distance(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """Distance and runtime on three sets."""
    found = read(folder, "distance", ("dataset", "k", "method"))
    if not found.groups:
        return ["## Distance and time", NOT_YET]
    out = ["## Distance and time", DISTANCE, figures.distance(found, pictures, page)]
    paper = published.figures("distance_runtime")
    for dataset in found.seen(0):
        ks = [k for k in distance_part.ATOMS if (dataset, str(k)) in {g[:2] for g in found.groups}]
        lines = {
            m: [((dataset, k, m), paper.get((dataset, "k", str(k), m), NONE)) for k in ks]
            for m in ALL
        }
        head = ["", *(f"k = {k}" for k in ks)]
        costs, times = _tables(found, lines)
        out += [f"### {dataset}: distance", table(head, costs), _verdict(found, dataset, ks)]
        out += [f"### {dataset}: seconds", table(head, times)]
    return [*out, *NOTES, *_untimed(found)]


Published = tuple[float | None, float | None]  # a distance and seconds
NONE: Published = (None, None)


def _untimed(found: Summary) -> Iterator[str]:
    """Which figures have no time, and why."""
    rows = [row for group in found.groups.values() for row in group if not row.get("seconds")]
    epochs = sorted({int(row["epochs"]) for row in rows if row.get("epochs")})
    if rows:
        yield (
            f"*Without a time*: {len(rows)} fits that were made while the machine had other work"
            + (f"; WCSL then ran {epochs[0]} epochs" if epochs else "")
            + ". Their distances stand, their times would say nothing."
        )


def _cost(found: Summary, key: Sequence[object], paper: Published) -> str:
    return beside(paper[0], found.mean("cost", *key), found.spread("cost", *key))


def _time(found: Summary, key: Sequence[object], paper: Published) -> str:
    """Seconds; of WCSL also its epochs."""
    cell = timed(paper[1], found.mean("seconds", *key), found.spread("seconds", *key))
    epochs = found.values("epochs", *key)
    return cell + (f"; {epochs[0]:.0f} epochs" if epochs else "")


def _tables(
    found: Summary, lines: Mapping[str, Sequence[tuple[Key, Published]]]
) -> tuple[list[list[str]], list[list[str]]]:
    """The lines of distances and those of times, of the methods that were measured."""
    shown = {m: c for m, c in lines.items() if any(found.values("cost", *k) for k, _ in c)}
    return tuple(
        [[method, *(cell(found, *c) for c in cells)] for method, cells in shown.items()]
        for cell in (_cost, _time)
    )


def _verdict(found: Summary, dataset: str, ks: Sequence[int]) -> str:
    """In words: where ours stand against the paper's best."""
    if dataset not in IMAGES:
        return "The paper's own data are not known: the ratios to its figures say nothing."
    said = []
    for ours in ("auto", "best"):
        known = {k: c for k in ks if (c := found.mean("cost", dataset, k, ours)) is not None}
        ratios = [cost / best_of_paper(dataset, str(k)) for k, cost in known.items()]
        if ratios:
            said.append(
                f"`{ours}` over the best of all the paper's methods: {min(ratios):.3f} to "
                f"{max(ratios):.3f}, below 1 on {sum(r < 1 for r in ratios)} of {len(ratios)}."
            )
    return " ".join(said)


DISTANCE = (
    "k atoms for 60,000 images of 784 pixels, or for 10,000 rows in 100 dimensions. The picture "
    "has each method's distance over the smallest one measured here, without random rows and "
    "k-means with equal weights, which are far above."
)
NOTES = (
    "*Gaussian*: the paper gives no eigenvalues. Ours fall off exponentially, with decay and sum "
    "fitted to how the paper's distances fall with k; only comparisons within the table say "
    "something. `auto` fits at reg 0; there EMS at reg 0.1 finds better optima, because a soft "
    "start is forgiving.",
    "*K-means* with equal weights is at the mercy of its random start: ours and the paper's differ "
    "either way.",
    f"*WCSL*: one seed; so many of its {EPOCHS} epochs as fit into {LIMIT:.0f} seconds, their "
    "number is in the table of times. Its potentials are solved for each batch, so that few "
    "epochs bring it below where the paper's stands. Whole runs on MNIST, by the paper's own "
    "rule: [wcsl.md](benchmarks/wcsl.md). *tuned*: images with 10 atoms alone, larger ones take "
    "minutes.",
)


def passes(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """When the paper's method, run here, has the paper's distance."""
    found = read(folder, "passes", ("dataset", "k"))
    rows = [
        [
            *key,
            *(number(found.mean(column, *key)) for column in ("reached", "passes")),
            beside(_paper_ems(*key), found.mean("end", *key)),
        ]
        for key in found.groups
    ]
    head = ["data", "k", "moves until the paper's distance", "until its rule ends", "distance then"]
    return [
        "### Why EMS comes out lower here than in the paper",
        "One fit of EMS at reg 0 from random rows, by the paper's rule (stop when all atoms "
        "together move less than 0.01): how often the atoms have moved when the distance is the "
        "paper's, and when the rule ends the fit. Where the first is far below the second, the "
        "paper's figures are those of fits that were stopped earlier than its text says.",
        table(head, rows) if rows else NOT_YET,
    ]


def _paper_ems(dataset: str, k: str) -> float | None:
    return published.figures("distance_runtime")[(dataset, "k", k, "EMS reg=0")][0]


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
    if not found.groups:
        return [*out, NOT_YET]
    out.append(figures.runtime(found, pictures, page))
    for varying, values in runtime_part.VALUES.items():
        lines = {
            m: [((varying, v, m), paper.get(("mixture", varying, str(v), m), NONE)) for v in values]
            for m in runtime_part.METHODS
        }
        costs, times = _tables(found, lines)
        for line in times:
            line.append(_slope(found, varying, values, line[0]))
        head = ["", *(f"{varying} = {v:,}" for v in values)]
        if times:
            out += [f"### {varying}: seconds", table([*head, "slope"], times)]
            out += [f"### {varying}: distance", table(head, costs)]
    return out


RUNTIME = (
    "A mixture of four Gaussians, n = 10,000, d = 10, k = 100, one of them varied, "
    f"{runtime_part.SEEDS} seeds at most (the paper: 20). Standard deviations behind ±, the slope "
    "is that of log time over log size between the first and the last. The paper's standard "
    "deviation of a component is 0.8 by its distances at d = 100 and 1000, whatever its text "
    "says; its row n = 1,000,000 (0.15) is on another scale than the rows above it, and d = 1 "
    "depends on where the means lie, which it does not give. WCSL at a million rows is left out; "
    "its slopes and the picture have the time of all its epochs, by the time of one."
)


def _slope(found: Summary, varying: str, values: Sequence[int], method: str) -> str:
    """Of log time over log size, between the first and the last; of WCSL of its whole time."""
    column = "full_seconds" if method in SLOW else "seconds"
    known = [(v, t) for v in values if (t := found.mean(column, varying, v, method)) is not None]
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
        theirs = named.get(name, "")
        lines = {
            m: [((name, k, m), paper.get((theirs, "k", str(k), m), NONE)) for k in ks] for m in ALL
        }
        about = CATALOGUE[name]
        out += [f"### {theirs or name} ({about.standing})", f"{about.about}."]
        out.append(table(["", *(f"k = {k}" for k in ks)], _tables(found, lines)[0]))
    return out if found.groups else [*out, NOT_YET]


def shapley(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """SHAP backgrounds."""
    found = read(folder, "shapley", ("dataset", "output", "method"))
    paper = published.figures("shapley")
    out = ["## SHAP backgrounds", SHAPLEY]
    for dataset, output in dict.fromkeys(key[:2] for key in found.groups):
        methods = [key[2] for key in found.groups if key[:2] == (dataset, output)]
        rows = []
        for method in methods:
            theirs = {} if output == "margin" else paper
            cells = [
                beside(
                    theirs.get((dataset, "metric", metric, method), NONE)[0],
                    found.mean(metric, dataset, output, method),
                    found.spread(metric, dataset, output, method) if metric == "MeanAE" else 0.0,
                )
                for metric in ("MeanAE", "MaxAE", "BVE")
            ]
            rows.append([method, *cells])
        out += [f"### {dataset}, {output}", table(["", "MeanAE", "MaxAE", "BVE"], rows)]
        out.append(_beside_random(found, dataset, output, methods))
    return out if found.groups else [*out, NOT_YET]


def _beside_random(found: Summary, dataset: str, output: str, methods: Sequence[str]) -> str:
    """In words: mean errors over that of random rows."""
    errors = {m: found.mean("MeanAE", dataset, output, m) for m in methods}
    random = errors.pop("Random")
    said = [f"{m} {number(error / random, 2)}" for m, error in errors.items()]
    return f"MeanAE over that of Random: {'; '.join(said)}."


SHAPLEY = (
    "How well 64 rows stand in for the whole training set as the background of SHAP values: mean "
    "and largest absolute error of the attributions of the test rows (MeanAE, MaxAE), and the "
    "error of the base value (BVE), against the full background; 400 boosted trees of depth 3, "
    "five seeds. The paper does not say whether its Census output is the margin or the "
    "probability; both are here, and its figures stand beside the probability, whose size they "
    "have. EMS atoms are averages, and averages leave the data: on Census plain random rows beat "
    "EMS as the paper has it. `background` is this library's answer, real rows with weights "
    "([how](guide/shap.md)); *model*: chosen for the model that is explained. The same "
    "measurements, with times: [shap.md](benchmarks/shap.md). *EMS* is fitted by `auto` here."
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
    out = ["## Images in a representation", REPRESENTED]
    for dataset in found.seen(0):
        ks = sorted({int(key[3]) for key in found.groups if key[0] == dataset})
        rows = [
            [where, method, *(_accuracy(found, dataset, where, method, k) for k in ks)]
            for where, method in dict.fromkeys(k[1:3] for k in found.groups if k[0] == dataset)
        ]
        out += [f"### {dataset}", table(["coreset in", "method", *(f"k = {k}" for k in ks)], rows)]
    return out if found.groups else [*out, NOT_YET]


REPRESENTED = (
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


def budget(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """What each part takes."""
    minutes = {
        path.stem: sum(read(folder, path.stem, ()).values("took")) / 60
        for path in sorted(folder.glob("*.csv"))
    }
    rows = [[name, f"{took:.1f}" if took else "–"] for name, took in minutes.items()]
    return [
        "## How long it takes",
        'Minutes of each part, as in `make paper ARGS="--only images"`:',
        table(["part", "minutes"], [*rows, ["all", f"{sum(minutes.values()):.1f}"]]),
    ]
