"""compress: data in any form to a coreset. The one place where the parts are put together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from emscoreset.balance import balanced_rows
from emscoreset.checks import drawn_seed, in_words
from emscoreset.coreset import Coreset
from emscoreset.encode import Encoder
from emscoreset.kernels import get_kernel
from emscoreset.problem import Problem
from emscoreset.profile import profile
from emscoreset.rows import Placed, place, real_rows
from emscoreset.search.drive import Settings, check
from emscoreset.search.merging import merged_note
from emscoreset.sources.array import ArraySource
from emscoreset.sources.packed import PackedSource
from emscoreset.stats import Floats
from emscoreset.strata import Joined, Part, Place, fit_strata, fit_whole, join, strata, told

ROWS = ("real", "balanced", "atoms")


def compress(
    data: Any,
    n_atoms: int,
    *,
    reg: float = 0.0,
    rows: Literal["real", "balanced", "atoms"] = "real",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    weight: str | ArrayLike | None = None,
    stratify: str | ArrayLike | None = None,
    missing: Literal["error", "indicator", "impute", "drop"] = "error",
    scale: Literal["standard", "robust", "none"] = "standard",
    importance: Mapping[str, float] | None = None,
    algorithm: str = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Coreset:
    """Shrink a table to weighted rows that stand in for it, and know what was lost.

    Parameters
    ----------
    data : pandas or polars frame, pyarrow table, array, or path
        A path is that of a Parquet, CSV or Feather file.
    n_atoms : int
        How many rows to keep.
    reg : float, default=0
        The temperature, in squared standard deviations of a column. At 0 each row is served by
        one row of the coreset, and the variance kept is known exactly; more shares it among
        several, and then there are bounds.
    rows : {"real", "balanced", "atoms"}
        "real" rows are rows of the data, all columns with their types: the nearest to the fit's
        averages, which have too much of frequent categories. "balanced" are real rows, too, near
        and so chosen that the means and the shares of categories are almost the data's. They are
        real people where the data are: "atoms" are averages as valid values, which nobody has.
    columns, exclude : list of str, optional
        Which columns tell rows apart. Real rows keep the others, too.
    weight : str or array, optional
        The rows' masses: a column, or one number per row.
    stratify : str or array, optional
        Classes to keep apart: a column, or one label per row. Each gets atoms by its mass, and
        its mass in the coreset is exact.
    missing : {"error", "indicator", "impute", "drop"}
        What a gap is: an error, a feature of its own, the column's middle, or a row to leave out.
    scale : {"standard", "robust", "none"}
        What numbers are divided by: their standard deviation, a robust one, or nothing.
    importance : mapping, optional
        By how much the differences in a column count, such as ``{"age": 2}``.
    algorithm : {"auto", "plain", "best"}
        As in `EMSCoreset`.
    random_state : int, RandomState, Generator or None
        The seed used is in the coreset's ``provenance``.
    n_jobs : int, optional
        Threads. The result is the same for any number of them.

    Returns
    -------
    Coreset
        ``to_frame()`` gives the rows with their weights, ``summary()`` says how good they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from emscoreset import compress
    >>> data = pd.DataFrame({"age": [20, 21, 60, 61], "town": ["Bonn", "Bonn", "Rome", "Rome"]})
    >>> compress(data, 2, random_state=0).to_frame()["weight"].tolist()
    [2.0, 2.0]
    """
    settings = check(Settings(n_atoms=n_atoms, reg=reg, algorithm=algorithm))
    if rows not in ROWS:
        raise ValueError(f"rows must be one of {ROWS}, not {rows!r}")
    asked: dict[str, Any] = {"columns": columns, "exclude": exclude, "missing": missing}
    asked |= {"scale": scale, "importance": importance}
    given: dict[str, Any] = {"n_atoms": n_atoms, "reg": reg, "rows": rows, "algorithm": algorithm}
    given |= {"weight": weight, "stratify": stratify}
    seed = drawn_seed(random_state)
    problem = Problem.of(data, weight, stratify, n_jobs=n_jobs, **asked)
    made: dict[str, Any] = {
        "made_by": "compress",
        "version": version("emscoreset"),
        "seed": seed,
        "parameters": in_words(given | asked),
        "messages": list(problem.messages),
        "columns": profile(problem.told, problem.mass),
    }
    parts, joined, source = _fit(problem, settings, rows, seed, n_jobs)
    for note in (*problem.messages, *_notes(parts, settings, seed)):
        warnings.warn(note, stacklevel=2)
    if problem.classes is not None:
        made["strata"] = told(parts)
    names = problem.encoder.feature_names
    coreset = joined.outcome.coreset(source, settings, feature_names=names, provenance=made)
    return replace(
        coreset,
        n=problem.n,
        rows=_shown(problem, joined),
        row_numbers=problem.counted(joined.numbers),
        encoder=problem.encoder,
    )


def _fit(
    problem: Problem, settings: Settings, rows: str, seed: int, n_jobs: int | None
) -> tuple[list[Part], Joined, ArraySource]:
    """The fit to the encoded rows, class by class where there are classes."""
    pa.default_memory_pool().release_unused()  # what the looks took, before the rows need memory
    packed = problem.encoder.pack(problem.table, n_jobs=n_jobs)
    source = PackedSource(packed, problem.mass, kernel=get_kernel("auto", n_jobs))
    rng = np.random.default_rng(seed)
    endings = {"real": real_rows, "balanced": balanced_rows}
    ending: Place = endings.get(rows, _valid_values(problem.encoder))
    if problem.classes is None:
        parts = [fit_whole(source, settings, rng, ending)]
    else:
        classes = strata(problem.classes.labels, problem.classes.codes, problem.mass)
        parts = fit_strata(source, classes, settings, rng, ending)
    return parts, join(source, parts, settings.reg), source


def _valid_values(encoder: Encoder) -> Place:
    """Atoms go to the nearest values that their columns can have; those left without mass go."""

    def ending(source: ArraySource, atoms: Floats, weights: Floats, reg: float) -> Placed:
        Z = encoder.transform(encoder.decode(atoms)).astype(np.float64)
        found = place(source, Z, weights, reg)
        alive = found.weights > 0
        return Placed(Z[alive], found.weights[alive], found.distance)

    return ending


def _shown(problem: Problem, joined: Joined) -> pa.Table:
    """The atoms as rows with all columns, and their class."""
    if joined.numbers is None:
        shown = problem.encoder.decode(joined.outcome.atoms)
    else:
        shown = problem.table.take(pa.array(joined.numbers))
    classes = problem.classes
    if classes is None or (classes.own and joined.numbers is not None):
        return shown
    name = classes.name
    while name in shown.column_names:
        name += "_"
    return shown.append_column(name, pa.array(joined.labels, type=classes.kind))


def _notes(parts: Sequence[Part], settings: Settings, seed: int) -> list[str]:
    """What a user should know of the fit."""
    notes = [merged_note(part.source, part.settings, part.found, seed) for part in parts]
    k = sum(len(part.outcome.atoms) for part in parts)
    if k < settings.n_atoms and any(part.outcome.few_rows for part in parts):
        whose = "the data have" if len(parts) == 1 else "some classes have"
        notes.append(
            f"{whose} fewer distinct rows in the columns used than atoms: the coreset has {k} "
            f"rows, not n_atoms={settings.n_atoms}"
        )
    return [note for note in notes if note]
