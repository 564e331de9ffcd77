"""What the tables say in short: claims, each counted on the rows that were measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.common import table
from bench.fit.problems import BEST_KNOWN
from bench.paper import published
from bench.paper.methods import ALL, EPOCHS, SLOW, WCSL
from bench.paper.summary import Summary, number, read

IMAGES = {"MNIST": "MNIST", "Fashion MNIST": "Fashion-MNIST"}  # the paper's name -> bench.fit's
NEAR, FASTER = 1.003, 100.0
PLAIN = [name for name in ALL if name.startswith("EMS")]
BY = ("dataset", "k", "method")
WHOLE = "times of whole runs: [wcsl.md](benchmarks/wcsl.md)"


def best_of_paper(dataset: str, k: str) -> float:
    """The smallest distance of all the paper's methods."""
    paper = published.figures("distance_runtime")
    return min(v[0] for key, v in paper.items() if key[0] == dataset and key[2] == k)


def short(folder: Path, pictures: Path, page: Path) -> Sequence[str]:
    """The claims, and on how many rows each holds."""
    found = read(folder, "distance", BY)
    cases = [key[:2] for key in found.groups if key[0] in IMAGES and key[2] == "auto"]
    if not cases:
        return []
    rows = [*_distances(found, cases), *_wcsl(found, cases), *_plain(found, cases)]
    return [
        "## In short",
        f"Of MNIST and Fashion-MNIST with 10 to 200 atoms, {len(cases)} cases (means of the "
        "seeds):",
        table(["claim", "holds on", "how far"], rows),
        _losses(found),
    ]


def _distances(found: Summary, cases: Sequence[tuple[str, ...]]) -> Iterator[list[str]]:
    yield _counted(
        "`auto` is below the best of all the paper's methods",
        [found.mean("cost", *case, "auto") / best_of_paper(*case) for case in cases],
        1.0,
    )
    for method in ("auto", "best"):
        known = [c for c in cases if found.values("cost", *c, method)]
        yield _counted(
            f"`{method}` is within 0.3 % of the best known",
            [found.mean("cost", *c, method) / BEST_KNOWN[IMAGES[c[0]]][int(c[1])] for c in known],
            NEAR,
        )


def _counted(claim: str, ratios: Sequence[float], limit: float) -> list[str]:
    """A claim that each ratio is below a limit."""
    if not ratios:
        return [claim, "not measured yet", ""]
    holds = sum(ratio < limit for ratio in ratios)
    far = f"ratios {min(ratios):.4f} to {max(ratios):.4f}"
    return [claim, f"{holds} of {len(ratios)}", far]


def _wcsl(found: Summary, cases: Sequence[tuple[str, ...]]) -> Iterator[list[str]]:
    """`auto` against our own WCSL: distance, and time as run and as the epochs would take."""
    for method in SLOW:
        known = [case for case in cases if found.values("cost", *case, method)]
        costs = [found.mean("cost", *c, "auto") / found.mean("cost", *c, method) for c in known]
        early = ", stopped early (see below)" if method == WCSL else ""
        yield _counted(f"`auto` is below our own {method}{early}", costs, 1.0)
    known = [case for case in cases if found.values("seconds", *case, WCSL)]
    if not known:
        yield [f"`auto` is {FASTER:.0f} times as fast as our {WCSL}", "not measured here", WHOLE]
        return
    auto = [found.mean("seconds", *c, "auto") for c in known]
    times = [found.mean("seconds", *c, WCSL) / a for c, a in zip(known, auto, strict=True)]
    holds = sum(ratio >= FASTER for ratio in times)
    epochs = [int(found.values("epochs", *c, WCSL)[0]) for c in known]
    yield [
        f"`auto` is {FASTER:.0f} times as fast as our {WCSL}, as run",
        f"{holds} of {len(known)}",
        f"{min(times):.0f} to {max(times):.0f} times, after {min(epochs)} to {max(epochs)} of at "
        f"most {EPOCHS} epochs",
    ]
    full = [found.mean("full_seconds", *c, WCSL) / a for c, a in zip(known, auto, strict=True)]
    yield [
        f"the same, for all its {EPOCHS} epochs or until its own rule ends it",
        f"{sum(ratio >= FASTER for ratio in full)} of {len(known)}",
        f"{min(full):.0f} to {max(full):.0f} times, by the time of an epoch",
    ]


def _plain(found: Summary, cases: Sequence[tuple[str, ...]]) -> Iterator[list[str]]:
    paper = published.figures("distance_runtime")
    ratios = [
        found.mean("cost", *case, m) / paper[(case[0], "k", case[1], m)][0]
        for case in cases
        for m in PLAIN
        if found.values("cost", *case, m)
    ]
    yield _counted("EMS as in the paper comes out below the paper's own figure for it", ratios, 1.0)


def _losses(found: Summary) -> str:
    """Every row in which `auto` or `best` is not the best of all that was measured."""
    lost = []
    for dataset, k in dict.fromkeys(key[:2] for key in found.groups):
        costs = {m: c for m in ALL if (c := found.mean("cost", dataset, k, m)) is not None}
        for ours in ("auto", "best"):
            others = {m: c for m, c in costs.items() if m not in ("auto", "best")}
            if ours in costs and others and min(others.values()) < costs[ours]:
                winner = min(others, key=lambda m: others[m])
                by = 100 * (costs[ours] / others[winner] - 1)
                lost.append(f"{dataset} k = {k}: `{ours}` to {winner} by {number(by, 2)} %")
    if not lost:
        return "Where `auto` or `best` loses to another method of the distance tables: nowhere."
    return "Where `auto` or `best` loses in the distance tables: " + "; ".join(lost) + "."
