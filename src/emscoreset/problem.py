"""What compress is to solve: the rows of a table, their masses and classes, their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from emscoreset.encode import Encoder
from emscoreset.encode.fit import check_names
from emscoreset.sources.array import checked_masses
from emscoreset.stats import Floats, Ints
from emscoreset.tables import index_columns, read_table


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
    """The rows to fit, and what they are taken for."""

    table: pa.Table
    mass: Floats | None
    classes: Classes | None
    encoder: Encoder
    messages: tuple[str, ...]
    left_out: tuple[str, ...]  # columns that a user left out, or that are masses or classes
    n: int  # rows that the data have
    keep: NDArray[np.bool_] | None = None  # which of them are here; None: all

    @classmethod
    def of(
        cls,
        data: Any,
        weight: str | ArrayLike | None,
        stratify: str | ArrayLike | None,
        *,
        columns: Sequence[str] | None,
        exclude: Sequence[str] | None,
        n_jobs: int | None,
        **options: Any,
    ) -> Problem:
        """From what a user gives; the options are those of `Encoder.fit`."""
        table = read_table(data).table
        mass, classes = row_masses(table, weight), _classes(table, stratify)
        apart = [name for name in (weight, stratify) if isinstance(name, str)]
        check_names(table, exclude or (), "exclude")
        exclude = [*(exclude or ()), *apart]
        fitted = Encoder.fit(
            table, columns=columns, exclude=exclude, sample_weight=mass, n_jobs=n_jobs, **options
        )
        looked_at = table.column_names if columns is None else columns
        left_out = (*exclude, *(name for name in table.column_names if name not in looked_at))
        whole = cls(
            *(table, mass, classes, fitted.encoder, fitted.messages, left_out, table.num_rows)
        )
        return whole if fitted.keep is None else whole.only(fitted.keep)

    def only(self, keep: NDArray[np.bool_]) -> Problem:
        """Some of the rows."""
        return replace(
            self,
            table=self.table.filter(pa.array(keep)),
            mass=None if self.mass is None else self.mass[keep],
            classes=self.classes and replace(self.classes, codes=self.classes.codes[keep]),
            keep=keep,
        )

    @property
    def told(self) -> pa.Table:
        """The columns but for the index, and for those in which nothing was found."""
        used = {column.name for column in self.encoder.columns}
        silent = set(self.table.column_names) - set(self.left_out) - used
        return self.table.drop_columns(sorted(silent | set(index_columns(self.table))))

    def counted(self, numbers: Ints | None) -> Ints | None:
        """Which rows of the data these rows are."""
        if numbers is None or self.keep is None:
            return numbers
        return np.flatnonzero(self.keep)[numbers]


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
