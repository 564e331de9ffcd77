"""Coresets to frames of any library, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from emscoreset.coreset import Coreset

if TYPE_CHECKING:
    import pyarrow as pa


def to_frame(coreset: Coreset, backend: str, weight: str) -> Any:
    """The rows, or else the atoms, and their sample weights as a frame of ``backend``'s kind."""
    shown = coreset.feature_names if coreset.rows is None else coreset.rows.column_names
    if weight in shown:
        raise ValueError(f"a column is called {weight!r} already; pass another name as weight=")
    match backend:
        case "pandas" | "polars" | "pyarrow":
            if coreset.rows is not None:
                return _rows(coreset, coreset.rows, backend, weight)
            columns = {name: coreset.atoms[:, j] for j, name in enumerate(shown)}
            columns[weight] = coreset.sample_weight
            return nw.from_dict(columns, backend=backend).to_native()
    raise ValueError(f'backend must be "pandas", "polars" or "pyarrow", not {backend!r}')


def _rows(coreset: Coreset, rows: pa.Table, backend: str, weight: str) -> Any:
    """The rows with their own types; in pandas with their index, or else their numbers as it."""
    import pyarrow as pa

    table = rows.append_column(weight, pa.array(coreset.sample_weight))
    if backend == "pyarrow":
        return table
    if backend == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas(use_threads=False)
    own = (table.schema.pandas_metadata or {}).get("index_columns")
    if coreset.row_numbers is not None and not own:
        frame.index = coreset.row_numbers
    return frame


def from_frame(
    frame: Any, *, weight: str = "weight", reg: float = 0.0, variance: float = float("nan")
) -> Coreset:
    """A coreset from a pandas, polars or pyarrow frame of atoms with a column of weights.

    Nothing is known of the data it stands for: its distance and bounds are NaN.
    """
    table = nw.from_native(frame, eager_only=True)
    if weight not in table.columns:
        raise ValueError(f"the frame has no column {weight!r}; pass its name as weight=")
    names = [name for name in table.columns if name != weight]
    text = [name for name in table.columns if not table[name].dtype.is_numeric()]
    if text:
        raise ValueError(f"columns of atoms must be numbers; {text} are not: leave them out")
    masses = table[weight].to_numpy().astype(np.float64)
    if not (np.isfinite(masses).all() and (masses >= 0).all() and masses.sum() > 0):
        raise ValueError(f"column {weight!r} must be finite, >= 0 and not all zero")
    nan = float("nan")
    return Coreset(
        atoms=table.select(names).to_numpy().astype(np.float64),
        weights=masses / masses.sum(),
        mass=float(masses.sum()),
        n=len(masses),
        reg=reg,
        distance=nan,
        lower=nan,
        upper=nan,
        variance=variance,
        feature_names=tuple(names),
        provenance={"made_by": "from_frame"},
    )
