"""The background as the model takes it: rows in the model's own columns, and their weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from emscoreset.coreset import Coreset
from emscoreset.stats import Floats
from emscoreset.tables import index_columns


@dataclass(frozen=True)
class Background:
    """Rows as the model takes them, arrays or frames, and weights that sum to 1."""

    rows: Any
    weights: Floats
    feature_names: list[str] | None  # None where nobody knows them

    @classmethod
    def of(cls, given: Any, model: Any) -> Background:
        """From a coreset, or from (rows, weights); rows of weight 0 are left out."""
        if isinstance(given, Coreset):
            rows, weights = model_rows(given, model), given.weights
        elif isinstance(given, tuple) and len(given) == 2:
            rows, weights = given[0], given[1]
        else:
            raise TypeError(
                "the background must be a Coreset or a pair (rows, weights), not "
                f"{type(given).__name__}: pass (rows, None) for rows of equal weight"
            )
        rows = rows if is_frame(rows) else np.asarray(rows)
        if len(rows.shape) != 2 or len(rows) == 0:
            raise ValueError(f"the background's rows must be 2-d, at least one, not {rows.shape}")
        weights = _checked_weights(weights, len(rows))
        used = np.flatnonzero(weights > 0)
        kept = rows if len(used) == len(rows) else take(rows, used)
        return cls(kept, weights[used], _names(given, rows, model))


def take(rows: Any, numbers: Any) -> Any:
    """Rows by number, in the form they came in."""
    if is_frame(rows):
        frame = nw.from_native(rows, eager_only=True)
        return frame[np.asarray(numbers, dtype=np.int64).tolist()].to_native()
    return rows[numbers]


def values_of(rows: Any) -> Any:
    """Rows as an array, of objects where columns differ in kind."""
    if is_frame(rows):
        return nw.from_native(rows, eager_only=True).to_numpy()
    return np.asarray(rows)


def is_frame(rows: Any) -> bool:
    """Whether this is a frame of some library, in memory."""
    return isinstance(nw.from_native(rows, eager_only=True, pass_through=True), nw.DataFrame)


def _names(given: Any, rows: Any, model: Any) -> list[str] | None:
    """What the columns are called: by the frame, else the model, else the coreset."""
    if is_frame(rows):
        return [str(name) for name in nw.from_native(rows, eager_only=True).columns]
    names = model_names(model)
    if names is None and isinstance(given, Coreset):
        names = list(given.feature_names if given.rows is None else given.rows.column_names)
    return names if names is not None and len(names) == rows.shape[1] else None


def _checked_weights(weights: Any, k: int) -> Floats:
    if weights is None:
        return np.full(k, 1.0 / k)
    checked = np.array(weights, dtype=np.float64)
    if checked.shape != (k,):
        raise ValueError(
            f"weights must be {k} numbers, one per background row, not of shape {checked.shape}"
        )
    if not (np.isfinite(checked).all() and (checked >= 0).all() and checked.sum() > 0):
        raise ValueError("weights must be finite, >= 0 and not all zero")
    shares: Floats = checked / checked.sum()
    return shares


def model_rows(coreset: Coreset, model: Any) -> Any:
    """The real rows' columns that the model was fitted on, else the atoms.

    A pandas frame where the model knows its columns' names, else an array.
    """
    names = model_names(model)
    shown = coreset.feature_names if coreset.rows is None else coreset.rows.column_names
    if coreset.rows is not None:
        index = index_columns(coreset.rows)
        shown = [name for name in shown if name not in index]
    if names is None:
        if coreset.rows is None:
            return coreset.atoms
        wanted = getattr(model, "n_features_in_", len(shown))
        if wanted != len(shown):
            raise ValueError(
                f"the model takes {wanted} columns without names, the coreset's rows have "
                f"{len(shown)}: {list(shown)}. Pass (rows, weights) with the model's columns"
            )
        names = list(shown)
    absent = [name for name in names if name not in shown]
    if absent:
        raise ValueError(
            f"the coreset lacks columns that the model was fitted on: {absent}; it has "
            f"{list(shown)}. Pass (rows, weights) with the model's columns"
        )
    if coreset.rows is not None:
        frame = coreset.rows.select(names).to_pandas()
        return frame if model_names(model) is not None else frame.to_numpy()
    atoms = coreset.atoms[:, [shown.index(name) for name in names]]
    return nw.from_numpy(atoms, schema=names, backend="pandas").to_native()


def model_names(model: Any) -> list[str] | None:
    """The names of the columns that the model was fitted on, where it was fitted on a frame."""
    for attribute in ("feature_names_in_", "feature_names_", "feature_names", "feature_name"):
        names = getattr(model, attribute, None)
        if names is not None:
            names = [str(name) for name in (names() if callable(names) else names)]
            placeholders = all(re.fullmatch(r"(Column_|f)?\d+", name) for name in names)
            return None if placeholders else names
    return None
