"""How an encoder is fitted: which columns take part, and what each becomes.

scikit-learn's StandardScaler, RobustScaler, OneHotEncoder and SimpleImputer say what the
figures are, and tests hold them to these. They are found here because OneHotEncoder and
RobustScaler take no weights, OneHotEncoder wants a Python object for every label, and
StandardScaler a copy in float64; docs/benchmarks/encode.md has what that costs.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from emscoreset.checks import is_number
from emscoreset.encode.columns import LARGEST
from emscoreset.encode.encoder import Encoder, gap_counts
from emscoreset.encode.look import Look, Task, look
from emscoreset.encode.moments import gap_mask
from emscoreset.encode.values import Kind, kind_of
from emscoreset.kernels.threads import effective_threads
from emscoreset.stats import Floats
from emscoreset.tables import index_columns

MISSING = ("error", "indicator", "impute", "drop")
SCALES = ("standard", "robust", "none")


@dataclass(frozen=True)
class Fitted:
    """An encoder, what its user should know, and which rows it was fitted to."""

    encoder: Encoder
    messages: tuple[str, ...]
    keep: NDArray[np.bool_] | None  # the rows without gaps, where missing="drop" found others


def fit_encoder(
    table: pa.Table,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: str = "error",
    scale: str = "standard",
    importance: Mapping[str, float] | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Fitted:
    """Find out which columns tell rows apart, and how each becomes features."""
    for name, value, known in (("missing", missing, MISSING), ("scale", scale, SCALES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
    if table.num_rows == 0:
        raise ValueError("the table has no rows")
    names = _names(table, columns, exclude)
    times = _importance(table, importance, names)
    weight = _weights(sample_weight, table.num_rows)
    wanted = set(times) if columns is None else set(names)
    tasks = [
        Task(name, table[name], weight, missing, scale, times.get(name, 1.0), name in wanted)
        for name in names
    ]
    with ThreadPoolExecutor(effective_threads(n_jobs)) as pool:
        looks = list(pool.map(look, tasks))
        messages = [seen.note for seen in looks if seen.note and seen.column is None]
        keep = None
        if missing == "drop" and (gapped := [seen.name for seen in looks if seen.gaps]):
            keep = _complete(table, gapped, weight)
            looks = _again(pool, [t for t, s in zip(tasks, looks, strict=True) if s.column], keep)
    gapped = [seen.name for seen in looks if seen.gaps]
    if missing == "error" and gapped:
        raise ValueError(
            f"values are missing, {gap_counts(table, gapped)}; pass missing="
            '"indicator", "impute" or "drop", or leave these columns out with exclude='
        )
    messages += [seen.note for seen in looks if seen.note and seen.column is not None]
    used = tuple(seen.column for seen in looks if seen.column is not None)
    encoder = Encoder(used, _schema(table, [column.name for column in used]))
    if not encoder.feature_names:
        why = "; ".join(["all are constant or left out", *messages])
        raise ValueError(f"no column tells the rows apart: {why}")
    return Fitted(encoder, tuple(messages), keep)


def _again(pool: Executor, tasks: list[Task], keep: NDArray[np.bool_]) -> list[Look]:
    """The same columns, of the rows that are kept; none is left out any more."""
    rows = pa.array(keep)
    return list(
        pool.map(
            lambda task: look(
                replace(
                    task,
                    values=task.values.filter(rows),
                    weight=None if task.weight is None else task.weight[keep],
                    wanted=True,
                )
            ),
            tasks,
        )
    )


def _complete(table: pa.Table, gapped: list[str], weight: Floats | None) -> NDArray[np.bool_]:
    """The rows without a gap in these columns."""
    keep = np.ones(table.num_rows, np.bool_)
    for name in gapped:
        keep &= ~gap_mask(table[name])
    if not (keep.any() if weight is None else weight[keep].any()):
        raise ValueError(
            f'missing="drop" leaves no row: {gap_counts(table, gapped)}; '
            'pass missing="indicator" or "impute", or leave columns out with exclude='
        )
    return keep


def _names(
    table: pa.Table, columns: Sequence[str] | None, exclude: Sequence[str] | None
) -> list[str]:
    """The columns to look at, in the table's order."""
    index = index_columns(table)
    asked = [name for name in table.column_names if name not in index]
    if columns is not None:
        check_names(table, columns, "columns")
        asked = [name for name in table.column_names if name in set(columns)]
    if exclude is not None:
        check_names(table, exclude, "exclude")
        asked = [name for name in asked if name not in set(exclude)]
    types = {name: table.schema.field(name).type for name in asked}
    odd = [name for name in asked if kind_of(types[name]) is Kind.OTHER]
    if odd:
        listed = ", ".join(f"{name!r} ({types[name]})" for name in odd)
        raise ValueError(
            f"columns of nested or other types have no distances: {listed}; "
            f"leave them out with exclude={odd} (real rows keep them), or flatten them first"
        )
    if not asked:
        raise ValueError("no columns are left: columns= and exclude= leave none")
    return asked


def check_names(table: pa.Table, names: Sequence[str], argument: str) -> None:
    """Refuse what is no list of the table's columns."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a list of column names, not {names!r}")
    for name in names:
        if name not in table.column_names:
            near = difflib.get_close_matches(name, table.column_names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {table.column_names}"
            raise ValueError(f"{argument} names {name!r}, which the table does not have; {hint}")


def _importance(
    table: pa.Table, importance: Mapping[str, float] | None, names: list[str]
) -> dict[str, float]:
    if importance is None:
        return {}
    if not isinstance(importance, Mapping):
        raise TypeError(f"importance must map column names to numbers, not {importance!r}")
    check_names(table, list(importance), "importance")
    for name, value in importance.items():
        if not (is_number(value, Real) and 0 < value <= LARGEST):
            raise ValueError(
                f"importance of {name!r} must be a number > 0 and at most {LARGEST:g}, not "
                f"{value!r}; columns that shall not count are left out with exclude="
            )
        if name not in names:
            raise ValueError(f"importance names {name!r}, which columns= or exclude= leaves out")
    return {name: float(value) for name, value in importance.items()}


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), one per row, not {weight.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("sample_weight must be finite, >= 0 and not all zero")
    return weight


def _schema(table: pa.Table, names: list[str]) -> pa.Schema:
    """The schema of these columns; of what pandas noted, what concerns them."""
    schema = table.schema
    fields = [schema.field(name) for name in names]
    meta = schema.pandas_metadata
    if not meta:
        return pa.schema(fields)
    meta["index_columns"] = []
    meta["columns"] = [column for column in meta["columns"] if column.get("field_name") in names]
    return pa.schema(fields, {b"pandas": json.dumps(meta).encode()})
