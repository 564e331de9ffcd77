"""background: few weighted real rows whose explanations are those of all rows."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from emscoreset.checks import check_number, drawn_seed, in_words
from emscoreset.coreset import Coreset
from emscoreset.explain.backgrounds import is_frame, model_names, model_rows, take
from emscoreset.explain.different import Different
from emscoreset.explain.explainer import ExactTrees, Output, check_kind
from emscoreset.explain.features import Features, GameFeatures, RowFeatures, TreeFeatures
from emscoreset.explain.games import function_of
from emscoreset.explain.readers import read_trees
from emscoreset.recombine import Chosen, recombine
from emscoreset.stats import Floats, Ints

PER_ROW = 8  # candidates at least for each row to choose
MOST_AT_ONCE = 256  # rows: a programme's time grows faster than with their square


def background(
    data: Any,
    n_rows: int = 64,
    *,
    model: Any = None,
    output: Output = "raw",
    weight: str | ArrayLike | None = None,
    random_state: Any = None,
) -> Coreset:
    """A background for SHAP values: real rows with weights that stand in for all of them.

    Parameters
    ----------
    data : array, frame of any library, or Coreset
        The rows, such as those that the model was trained on. Of a coreset its weighted rows.
    n_rows : int
        How many rows at most.
    model : object, optional
        The model to be explained, or a function of rows: the rows are then chosen so that its
        mean output, and as much as can be of its explanations, is that of all rows. Without it
        rows are chosen that keep means of leaves of random trees, of the columns and deciles.
    output : {"raw", "probability"}
        What will be explained, as in `WeightedExplainer`: weights for one are not the best for
        the other.
    weight : str or array, optional
        The rows' masses: a column, or one number per row.
    random_state : int, RandomState, Generator or None
        The seed used is in the coreset's ``provenance``.

    Returns
    -------
    Coreset
        With ``rows``, ``row_numbers`` and ``weights``; ``provenance["messages"]`` tell what was
        kept, and among how many rows the choice was made. Its distance is known to 1 %.
    """
    check_number("n_rows", n_rows, Integral, 1)
    check_kind(output)
    if model is None and output != "raw":
        raise ValueError(f'output="{output}" is an output of a model: pass model=, too')
    seed = drawn_seed(random_state)
    table = Different.of(data, weight)
    rng = np.random.default_rng(seed)
    if len(table.first) <= n_rows:
        chosen, how = Chosen(np.arange(len(table.first)), table.a, 0), ["all different rows"]
    else:
        features = _features(table, data, model, output, n_rows, rng)
        chosen, how = _chosen(features, table.a, n_rows, rng)
    made: dict[str, Any] = {
        "made_by": "explain.background",
        "version": version("emscoreset"),
        "seed": seed,
        "parameters": in_words(
            {"n_rows": n_rows, "model": model, "output": output, "weight": weight}
        ),
        "messages": [*how, *table.messages],
    }
    return table.coreset(chosen, made)


def _features(
    table: Different, data: Any, model: Any, output: Output, n_rows: int, rng: np.random.Generator
) -> Features:
    """What is kept of the different rows: by their looks, or by what the model makes of them."""
    if model is None:
        columns = [part for part in table.encoder.places.values() if part.stop > part.start]
        return RowFeatures(table.encoded(), table.a, columns, rng)
    rows = take(_model_rows(data, model), table.first)
    trees = read_trees(model, rows)
    if trees is None:
        return GameFeatures(function_of(model, output), rows, table.a, n_rows, rng)
    exact = ExactTrees(trees, rows, table.a, output, check=False, n_jobs=None)
    return TreeFeatures(exact, rows, table.a, rng)


def _model_rows(data: Any, model: Any) -> Any:
    """All rows as the model takes them: of a frame the columns that it was fitted on."""
    if isinstance(data, Coreset):
        return model_rows(data, model)
    names = model_names(model)
    if names is None or not is_frame(data):
        return data
    frame = nw.from_native(data, eager_only=True)
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise ValueError(
            f"data lacks columns that the model was fitted on: {absent}; it has {frame.columns}"
        )
    return frame.select(names).to_native()


def _chosen(
    features: Features, a: Floats, k: int, rng: np.random.Generator
) -> tuple[Chosen, list[str]]:
    """The rows, and in words among how many they were chosen.

    Many rows are the mean of several choices among different candidates: what each has exactly,
    their mean has, too.
    """
    n, times = len(a), -(-k // MOST_AT_ONCE)
    parts = [_at_once(features, a, k // times, n // times, rng) for _ in range(times)]
    w = np.zeros(n)
    for found, _ in parts:
        w[found.numbers] += found.weights / times
    numbers, means, looked_at = np.flatnonzero(w), parts[0][0].means, parts[0][1]
    how = [f"chosen for the means of {features.about}; of {means} combinations exactly"]
    if times > 1:
        how.append(f"the mean of {times} choices of {k // times} rows at most")
    if looked_at < n:
        how.append(f"chosen among {looked_at:,} of {n:,} different rows, drawn at random")
        how.extend(features.sampled)
    return Chosen(numbers, w[numbers], means), how


def _at_once(
    features: Features, a: Floats, k: int, most: int, rng: np.random.Generator
) -> tuple[Chosen, int]:
    """At most k rows, and among how many they were chosen.

    Where so many candidates cannot have the means of all, twice as many are looked at, at last
    all rows.
    """
    n = len(a)
    m = min(max(features.candidates, PER_ROW * k), most)
    while True:
        numbers, mass = drawn(a, min(m, n), rng)
        F = features.of(numbers)
        found = recombine(F, features.means(F, mass), mass, k, features.exact)
        if found is not None:
            return replace(found, numbers=numbers[found.numbers]), len(numbers)
        if m >= n:
            raise RuntimeError(
                f"no weights of {k} of {n} rows were found that have the means of all {n}: "
                "the model's outputs differ too much in size to be computed with"
            )
        m *= 2


def drawn(a: Floats, m: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """At most m rows, one from each m-th of the mass, and how often each was drawn."""
    if m >= len(a):
        return np.arange(len(a)), a
    reached = np.cumsum(a)
    picks = np.searchsorted(reached, (np.arange(m) + rng.random(m)) / m * reached[-1], side="right")
    numbers, counts = np.unique(np.minimum(picks, len(a) - 1), return_counts=True)
    return numbers, counts / m
