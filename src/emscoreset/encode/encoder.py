"""Encoder: rows of a mixed table as vectors, and vectors as rows of valid values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from emscoreset.encode.columns import Block, Column, GapError
from emscoreset.encode.moments import gap_mask, n_gaps
from emscoreset.encode.packed import Packed
from emscoreset.kernels.threads import effective_threads
from emscoreset.tables import read_table

if TYPE_CHECKING:
    from emscoreset.encode.fit import Fitted

BLOCK_BYTES = 1 << 20  # of the features of a block of rows: they stay in the cache


@dataclass(frozen=True)
class Encoder:
    """What `Encoder.fit` learned: one `Column` for each column it uses, in the table's order.

    A value: it can be pickled, and written as JSON with `to_plain`.
    """

    columns: tuple[Column, ...]
    schema: pa.Schema  # of these columns, as they were

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Encoded features, such as "age" and "job=clerk"; no two are the same."""
        names: dict[str, None] = {}
        for column in self.columns:
            for name in column.features:
                while name in names:
                    name += "_"
                names[name] = None
        return tuple(names)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Which features belong to each column."""
        ends = np.cumsum([0, *(len(column.features) for column in self.columns)]).tolist()
        return {c.name: slice(a, b) for c, a, b in zip(self.columns, ends, ends[1:], strict=False)}

    @classmethod
    def fit(cls, table: Any, **options: Any) -> Fitted:
        """Look at the columns of a table in any form; the options are `fit_encoder`'s."""
        from emscoreset.encode.fit import fit_encoder

        return fit_encoder(_arrow(table), **options)

    def to_plain(self) -> dict[str, Any]:
        """All of it as values that JSON can hold, for `from_plain`."""
        from emscoreset.encode.plain import to_plain

        return to_plain(self)

    @classmethod
    def from_plain(cls, plain: Any) -> Encoder:
        """What `to_plain` wrote; checked, and a ValueError where it is anything else."""
        from emscoreset.encode.plain import from_plain

        return from_plain(plain)

    def complete(self, table: Any) -> NDArray[np.bool_] | None:
        """The rows without a gap where none is taken; None where that is all of them."""
        table, gaps = _arrow(table), None
        for column in self._used(table):
            if not column.takes_gaps and n_gaps(table[column.name]):
                mask = gap_mask(table[column.name])
                gaps = mask if gaps is None else gaps | mask
        return None if gaps is None else ~gaps

    def transform(self, table: Any, *, n_jobs: int | None = None) -> Block:
        """The rows of a table in any form as vectors. OUT (n, d)."""
        table = _arrow(table)
        out = np.zeros((table.num_rows, len(self.feature_names)), np.float32)

        def write(rows: slice, packed: Iterable[tuple[Column, NDArray[Any]]]) -> None:
            for column, values in packed:
                column.spread(values, out[rows], self.places[column.name].start)

        self._each_block(table, write, n_jobs)
        return out

    def pack(self, table: Any, *, n_jobs: int | None = None) -> Packed:
        """What `transform` gives, in a fraction of the memory, to be indexed by rows."""
        table = _arrow(table)
        used = tuple(column for column in self.columns if column.features)
        parts = tuple(np.empty(table.num_rows, column.kept_as) for column in used)

        def write(rows: slice, packed: Iterable[tuple[Column, NDArray[Any]]]) -> None:
            for part, (_, values) in zip(parts, packed, strict=True):
                part[rows] = values

        self._each_block(table, write, n_jobs)
        return Packed(used, parts, table.num_rows)

    def _each_block(
        self,
        table: pa.Table,
        write: Callable[[slice, Iterable[tuple[Column, NDArray[Any]]]], None],
        n_jobs: int | None,
    ) -> None:
        """Hand over the packed columns of some rows at a time, from several threads."""
        used = self._used(table)
        blocks = table.select([column.name for column in used]).to_batches(
            max_chunksize=max(1, BLOCK_BYTES // (4 * max(1, len(self.feature_names))))
        )
        ends = np.cumsum([0, *(len(block) for block in blocks)]).tolist()
        types = [self.schema.field(column.name).type for column in used]

        def one(start: int, block: pa.RecordBatch) -> None:
            found = zip(used, block.columns, types, strict=True)
            packed = ((column, column.pack(values, kind)) for column, values, kind in found)
            write(slice(start, start + len(block)), packed)

        try:
            with ThreadPoolExecutor(effective_threads(n_jobs)) as pool:
                list(pool.map(one, ends[:-1], blocks))
        except GapError:
            strict = [column.name for column in used if not column.takes_gaps]
            raise ValueError(
                f"values are missing, {gap_counts(table, strict)}, where none were when "
                "the encoder was fitted: fill them, or drop their rows"
            ) from None

    def _used(self, table: pa.Table) -> list[Column]:
        """The columns that have features; refused where the table's are not of their kind."""
        used = [column for column in self.columns if column.features]
        absent = [column.name for column in used if column.name not in table.column_names]
        if absent:
            raise ValueError(
                f"the table lacks columns {absent} that the encoder was fitted with; "
                f"it has {table.column_names}"
            )
        for column in used:
            column.check(table.schema.field(column.name).type, self.schema.field(column.name).type)
        return used

    def decode(self, Z: ArrayLike) -> pa.Table:
        """Vectors (k, d) as a table of valid values of each column's type.

        Numbers are rounded to the step of the column and kept in the seen range; of labels the
        one with the largest share is taken, of the rare ones their most frequent.
        """
        Z = np.asarray(Z, np.float64)
        d = len(self.feature_names)
        if Z.ndim != 2 or Z.shape[1] != d:
            raise ValueError(f"Z must have shape (k, {d}), not {Z.shape}")
        if not np.isfinite(Z).all():
            raise ValueError("Z must be finite: it holds NaN or infinity")
        arrays = [
            column.read(Z[:, self.places[column.name]], self.schema.field(column.name).type)
            for column in self.columns
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _arrow(table: Any) -> pa.Table:
    return table if isinstance(table, pa.Table) else read_table(table).table


def gap_counts(table: pa.Table, names: Iterable[str]) -> str:
    """How many values are missing in each of these columns, in words."""
    counts = {name: n_gaps(table[name]) for name in names}
    return ", ".join(f"{name!r} ({count:,})" for name, count in counts.items() if count)
