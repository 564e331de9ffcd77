"""Seconds of WeightedExplainer and of SHAP's TreeExplainer on Census."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import shap
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.model_selection import train_test_split

from bench.common import Ledger, alternate, table
from emscoreset.datasets import load
from emscoreset.explain import WeightedExplainer

K = 64
TREE = "TreeExplainer, unweighted"
LOOP = "a TreeExplainer for each of the 64 rows"
OURS = "ours"
ONE = "ours, one thread"
TREE_P = "TreeExplainer, unweighted, probability"
OURS_P = "ours, probability"
FULL = "ours, all 26,048 training rows"
GOALS = {500: 0.2, 6513: 0.05}  # ours over TREE, of the first case


@dataclass(frozen=True)
class Case:
    """A model of Census, and how many test rows are explained."""

    about: str
    make: Callable[[int], Any]  # from the number of trees
    trees: int
    sizes: tuple[int, ...] = (10, 500)
    full: tuple[int, ...] = ()  # those explained against all training rows, too


def _boosted(depth: int) -> Callable[[int], Any]:
    return lambda trees: GradientBoostingRegressor(
        n_estimators=trees, max_depth=depth, subsample=0.5, random_state=0
    )


CASES = {
    "depth 3": Case(
        "GradientBoostingClassifier, 400 trees of depth 3",
        lambda trees: GradientBoostingClassifier(
            n_estimators=trees, max_depth=3, subsample=0.5, random_state=0
        ),
        400,
        (10, 500, 6513),
        (10, 500, 6513),
    ),
    "depth 8": Case("GradientBoostingRegressor, 100 trees of depth 8", _boosted(8), 100),
    "depth 12": Case("GradientBoostingRegressor, 30 trees of depth 12", _boosted(12), 30),
    "RandomForest": Case(
        "RandomForestClassifier, 20 trees grown to the end",
        lambda trees: RandomForestClassifier(n_estimators=trees, random_state=0),
        20,
    ),
    "LightGBM": Case(
        "LGBMClassifier, 400 trees of 31 leaves",
        lambda trees: lightgbm.LGBMClassifier(n_estimators=trees, verbose=-1, random_state=0),
        400,
        full=(500,),
    ),
}


def measure(ledger: Ledger, *, quick: bool) -> None:
    """All cases that are not in the ledger yet."""
    census = load("census")
    X = np.asarray(census.X, dtype=np.float64)
    train, test, y, _ = train_test_split(X, census.y, test_size=0.2, random_state=0)
    rng = np.random.default_rng(0)
    Y, w = train[rng.choice(len(train), K, replace=False)], rng.dirichlet(np.ones(K))
    for name, case in CASES.items():
        sizes = case.sizes[:2] if quick else case.sizes
        if all(ledger.has(case=name, n=n, what=TREE) for n in sizes):
            continue
        model = case.make(max(2, case.trees // 20) if quick else case.trees).fit(train, y)
        for n in sizes:
            if not ledger.has(case=name, n=n, what=TREE):
                print(f"{name}, {n} rows", flush=True)
                seconds = _times(
                    *(model, train, test[:n], Y, w),
                    full=n in case.full,
                    probability=name == "depth 3",
                )
                ledger.extend(
                    {"case": name, "n": n, "what": what, "seconds": taken}
                    for what, taken in seconds.items()
                )


def _times(
    model: Any, train: Any, x: Any, Y: Any, w: Any, *, full: bool, probability: bool
) -> dict[str, float]:
    """Medians of seconds; explainers are made beforehand, but for the full background."""
    rivals: dict[str, Callable[[], Any]] = {
        TREE: _tree(model, Y, x, "raw"),
        OURS: _ours(model, (Y, w), x),
        ONE: _ours(model, (Y, w), x, n_jobs=1),
    }
    if full:
        rivals[FULL] = lambda: WeightedExplainer(model, (train, None))(x)
    if probability:
        rivals[TREE_P] = _tree(model, Y, x, "probability")
        rivals[OURS_P] = _ours(model, (Y, w), x, output="probability")
    if len(x) <= 10:
        one = [_tree(model, Y[j : j + 1], x, "raw") for j in range(K)]
        rivals[LOOP] = lambda: [explain() for explain in one]
    began = time.perf_counter()
    rivals[TREE]()
    slow = time.perf_counter() - began > 2.0
    seconds = alternate(rivals, 1 if slow else 5, warm=not slow)
    return {what: median(taken) for what, taken in seconds.items()}


def _tree(model: Any, Y: Any, x: Any, output: str) -> Callable[[], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap.TreeExplainer(
            model, Y, feature_perturbation="interventional", model_output=output
        )
    return lambda: explainer.shap_values(x, check_additivity=False)


def _ours(model: Any, background: Any, x: Any, **given: Any) -> Callable[[], Any]:
    explainer = WeightedExplainer(model, background, **given)
    return lambda: explainer(x)


def parts(ledger: Ledger) -> list[str]:
    """The page's section on speed."""
    seconds = {(r["case"], int(r["n"]), r["what"]): float(r["seconds"]) for r in ledger.rows}
    header = ["model", "rows", OURS, ONE, FULL, LOOP]
    rows = []
    for name, case in CASES.items():
        for n in case.sizes:
            tree = seconds.get((name, n, TREE))
            if tree is None:
                continue
            cells = [seconds.get((name, n, what)) for what in header[2:]]
            shown = ["" if c is None else f"{c / tree:.2g}" for c in cells]
            if name == "depth 3" and n in GOALS:
                shown[0] += f" (aim {GOALS[n]})"
            rows.append([name, f"{n:,}", *shown])
    return [
        "## Speed",
        f"Census (26,048 training rows, 12 columns), a background of {K} rows with weights. One "
        "call of `shap.TreeExplainer` with the same rows *without* weights takes 1, its check of "
        "additivity left out, ours made. The last column is how TreeExplainer can be given "
        "weights; *all training rows* includes making the explainer.",
        "; ".join(f"{name}: {case.about}" for name, case in CASES.items()) + ".",
        table(header, rows),
        _in_words(seconds),
    ]


def _in_words(seconds: dict[tuple[str, int, str], float]) -> str:
    lines = []
    n = max((n for case, n, _ in seconds if case == "depth 3"), default=0)
    full, tree = seconds.get(("depth 3", n, FULL)), seconds.get(("depth 3", n, TREE))
    if full and tree:
        lines.append(
            f"All 26,048 training rows as the background of {n:,} test rows (400 trees of depth 3) "
            f"take {full / tree:.2g} of what TreeExplainer takes for {K} background rows."
        )
    for size in CASES["depth 3"].sizes:
        ours, theirs = (seconds.get(("depth 3", size, what)) for what in (OURS_P, TREE_P))
        if ours and theirs:
            lines.append(
                f"Probabilities of {size:,} rows, where every pair of rows has to be visited: "
                f"{ours / theirs:.2g} of TreeExplainer's time."
            )
    return " ".join(lines)
