"""compress: data in any form to a coreset. The one place where the parts are put together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from emscoreset.checks import drawn_seed, in_words
from emscoreset.coreset import Coreset
from emscoreset.encode import Encoder
from emscoreset.kernels import get_kernel
from emscoreset.profile import profile
from emscoreset.rows import Placed, place, real_rows
from emscoreset.search.drive import Settings, check
from emscoreset.search.merging import merged_note
from emscoreset.sources.array import ArraySource, checked_masses
from emscoreset.stats import Floats, Ints
from emscoreset.strata import Joined, Part, Place, fit_strata, fit_whole, join, strata, told
from emscoreset.tables import index_columns, read_table


def compress(
    data: Any,
    n_atoms: int,
    *,
    reg: float = 0.0,
    rows: Literal["real", "atoms"] = "real",
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
    rows : {"real", "atoms"}
        "real" rows are rows of the data, all columns with their types. They are real people
        where the data are: "atoms" are averages as valid values, which nobody has.
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
    if rows not in ("real", "atoms"):
        raise ValueError(f'rows must be "real" or "atoms", not {rows!r}')
    seed = drawn_seed(random_state)
    table = read_table(data).table
    mass, classes = row_masses(table, weight), _classes(table, stratify)
    apart = [name for name in (weight, stratify) if isinstance(name, str)]
    fitted = Encoder.fit(
        table,
        columns=columns,
        exclude=[*(exclude or ()), *apart],
        missing=missing,
        scale=scale,
        importance=importance,
        sample_weight=mass,
        n_jobs=n_jobs,
    )
    problem = Problem(table, mass, classes, fitted.encoder).only(fitted.keep)
    parts, joined, source = _fit(problem, settings, rows == "real", seed, n_jobs)
    for note in (*fitted.messages, *_notes(parts, settings, seed)):
        warnings.warn(note, stacklevel=2)
    given: dict[str, Any] = {"n_atoms": n_atoms, "reg": reg, "rows": rows, "columns": columns}
    given |= {"exclude": exclude, "weight": weight, "stratify": stratify, "missing": missing}
    given |= {"scale": scale, "importance": importance, "algorithm": algorithm}
    made: dict[str, Any] = {
        "made_by": "compress",
        "version": version("emscoreset"),
        "seed": seed,
        "parameters": in_words(given),
        "messages": list(fitted.messages),
        "columns": profile(problem.told(columns, [*(exclude or ()), *apart]), problem.mass),
    }
    if stratify is not None:
        made["strata"] = told(parts)
    coreset = joined.outcome.coreset(
        source, settings, feature_names=fitted.encoder.feature_names, provenance=made
    )
    numbers = joined.numbers
    if numbers is not None and fitted.keep is not None:
        numbers = np.flatnonzero(fitted.keep)[numbers]
    return replace(
        coreset,
        n=table.num_rows,
        rows=_shown(problem, joined),
        row_numbers=numbers,
        encoder=fitted.encoder,
    )


@dataclass(frozen=True)
class Classes:
    """The class of each row."""

    name: str
    kind: pa.DataType
    labels: list[Any]
    codes: Ints
    own: bool  # a column of the table


@dataclass(frozen=True)
class Problem:
    """The rows of a table, and what they are taken for."""

    table: pa.Table
    mass: Floats | None
    classes: Classes | None
    encoder: Encoder

    def only(self, keep: NDArray[np.bool_] | None) -> Problem:
        """Some of the rows; all of them for None."""
        if keep is None:
            return self
        mass = None if self.mass is None else self.mass[keep]
        classes = self.classes and replace(self.classes, codes=self.classes.codes[keep])
        return Problem(self.table.filter(pa.array(keep)), mass, classes, self.encoder)

    def told(self, columns: Sequence[str] | None, exclude: Sequence[str]) -> pa.Table:
        """The columns but for the index, and for those in which nothing was found."""
        looked_at = set(columns or self.table.column_names) - set(exclude)
        silent = looked_at - {column.name for column in self.encoder.columns}
        return self.table.drop_columns(sorted(silent | set(index_columns(self.table))))


def _fit(
    problem: Problem, settings: Settings, real: bool, seed: int, n_jobs: int | None
) -> tuple[list[Part], Joined, ArraySource]:
    """The fit to the encoded rows, class by class where there are classes."""
    pa.default_memory_pool().release_unused()  # what reading took, before the rows need memory
    X = problem.encoder.transform(problem.table, n_jobs=n_jobs)
    source = ArraySource(X, problem.mass, kernel=get_kernel("auto", n_jobs))
    rng = np.random.default_rng(seed)
    ending = real_rows if real else _valid_values(problem.encoder)
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


def row_masses(table: pa.Table, weight: str | ArrayLike | None) -> Floats | None:
    """The rows' masses from a column or an array; None where all rows count alike."""
    if weight is None:
        return None
    values: Any = weight
    if isinstance(weight, str):
        column = named_column(table, weight, "weight")
        kind = column.type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ):
            raise ValueError(f"weight={weight!r} must be a column of numbers, not {kind}")
        values = column.cast(pa.float64(), safe=False).to_numpy()  # gaps are NaN
    try:
        mass, unit = checked_masses(values, table.num_rows)
    except ValueError as error:
        name = f"weight={weight!r}" if isinstance(weight, str) else "weight"
        raise ValueError(str(error).replace("sample_weight", name)) from None
    return None if mass is None else mass * unit


def named_column(table: pa.Table, name: str, argument: str) -> pa.ChunkedArray:
    """A column, or an error that says which there are."""
    if name not in table.column_names:
        raise ValueError(
            f"{argument}={name!r} is no column of the data; it has {table.column_names}"
        )
    return table[name]


def _classes(table: pa.Table, stratify: str | ArrayLike | None) -> Classes | None:
    """The rows' classes from a column or an array; a gap is a class of its own."""
    if stratify is None:
        return None
    own = isinstance(stratify, str)
    if isinstance(stratify, str):
        name, column = stratify, named_column(table, stratify, "stratify")
    else:
        values = np.asarray(stratify)
        if values.shape != (table.num_rows,):
            raise ValueError(
                f"stratify must be the name of a column or have shape ({table.num_rows},), one "
                f"label per row, not {values.shape}"
            )
        name = str(getattr(stratify, "name", None) or "label")
        column = pa.chunked_array([pa.array(values, from_pandas=True)])
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise ValueError(f"stratify={name!r} must hold labels, not {kind}") from None
    codes = encoded.indices.to_numpy().astype(np.intp)
    return Classes(name, kind, encoded.dictionary.to_pylist(), codes, own)
