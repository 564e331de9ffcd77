"""What the estimator takes for rows: arrays and frames of finite real numbers."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from emscoreset.sources.array import BLOCK_BYTES
from emscoreset.sources.base import Source, refuse_out_of_range

TABLES = "emscoreset.compress takes tables with text, dates and categories"


def checked_rows(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.generic]:
    """X as a 2-d array of finite real numbers, of the type it came in and without a copy.

    Its width and names are noted on ``estimator``, or compared with those noted there where
    ``reset`` is false.
    """
    if isinstance(X, Source):
        raise TypeError(
            "this method takes arrays and frames, not a Source: "
            "call it on one block of the rows after the other"
        )
    frame = _as_frame(X)
    plain = _as_array(X) if frame is None else _frame_to_array(frame)
    array: NDArray[np.generic] = check_array(
        plain, dtype="numeric", ensure_all_finite=False, estimator=estimator
    )
    validate_data(estimator, array if frame is None else X, reset=reset, skip_check_array=True)
    if array.dtype.kind not in "bfiu":
        raise ValueError(f"X must hold real numbers, not {array.dtype}; {TABLES}")
    if array.dtype.kind == "f":
        step = max(1, BLOCK_BYTES // (2 * array.itemsize * array.shape[1]))
        refuse_out_of_range(
            lambda: (array[i : i + step] for i in range(0, len(array), step)),
            () if frame is None else frame.columns,
        )
    return array


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame where it is a frame of any library."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name; rename them. {error}") from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X must hold its rows in memory; {type(X).__module__}.{type(X).__name__} is lazy: "
            "collect (compute) it first"
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def _frame_to_array(frame: nw.DataFrame[Any]) -> NDArray[np.generic]:
    columns = list(frame.iter_columns())
    odd = [c for c in columns if not _may_hold_numbers(c.dtype)]
    if odd:
        kinds = ", ".join(f"{c.name!r} ({_kind(c)})" for c in odd[:10])
        raise ValueError(
            f"X must hold numbers; {len(odd)} column(s) do not: {kinds}"
            f"{', ...' if len(odd) > 10 else ''}. "
            f"Leave them out or encode them (a sparse column: make it dense); {TABLES}"
        )
    array = frame.to_numpy()
    if array.dtype != object:
        return array
    return np.column_stack(
        [_numbers(c.to_numpy(), c.is_null().to_numpy(), repr(c.name)) for c in columns]
    )


def _kind(column: Any) -> Any:
    """The column's type, in its own library's words where narwhals has none."""
    return column.to_native().dtype if column.dtype == nw.Unknown else column.dtype


def _may_hold_numbers(kind: nw.dtypes.DType) -> bool:
    """Of an object column the values will tell."""
    return kind.is_numeric() or kind in (nw.Boolean, nw.Object)


def _as_array(X: Any) -> Any:
    if np.ma.is_masked(X):
        raise ValueError(
            f"X is a masked array with {int(np.ma.getmaskarray(X).sum())} masked values: "
            "fill them, or drop their rows"
        )
    given = type(X).__name__
    if not hasattr(X, "dtype"):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError(
                f"X must be a 2-d array or a frame, all rows of the same length: {error}"
            ) from error
        if X.ndim == 0 and X.dtype == object:
            raise TypeError(
                f"X must be a 2-d array or a frame, not {given}: "
                "pass rows by columns, for instance numpy.asarray(...) or a pandas.DataFrame"
            )
    kind = getattr(X.dtype, "kind", "")
    if kind in ("U", "S", "T"):
        raise ValueError(f"X must hold numbers, not text ({X.dtype}); {TABLES}")
    if kind == "c":
        raise ValueError(
            "Complex data not supported: X must hold real numbers; "
            "pass the real and the imaginary parts as columns of their own"
        )
    if kind == "O" and getattr(X, "ndim", 0) == 2:
        gaps = np.frompyfunc(lambda value: value is None, 1, 1)(X).astype(bool)
        return np.column_stack(
            [_numbers(X[:, j], gaps[:, j], str(j)) for j in range(X.shape[1])] or [X]
        )
    if getattr(X, "ndim", 0) > 2:
        raise ValueError(
            f"X must be 2-d, rows by columns, not of shape {X.shape}: "
            "flatten each row, X.reshape(len(X), -1)"
        )
    return X


def _numbers(column: NDArray[Any], gaps: NDArray[np.bool_], name: str) -> NDArray[Any]:
    """A column of Python objects as float64, NaN in its gaps."""
    if column.dtype != object:
        return column
    try:
        return np.where(gaps, np.nan, column).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"X must hold numbers; column {name} does not: {error}. "
            f"Leave it out or encode it; {TABLES}"
        ) from error
