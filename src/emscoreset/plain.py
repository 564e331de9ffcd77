"""Tables as plain Parquet: no compression, no dictionaries, nothing that can swell when read."""

from __future__ import annotations

import base64
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emscoreset.stats import Floats

if TYPE_CHECKING:
    import pyarrow as pa

# What takes as many bytes in the file as in memory; levels and booleans are RLE or BIT_PACKED.
ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED"}
# Categories that are kept though no row has them, at most so many in a column.
MOST_CATEGORIES = 10_000


class CoresetFileError(ValueError):
    """A file that does not hold a coreset, or not a whole one."""


def write_plain(table: pa.Table, file: IO[bytes]) -> None:
    """The table as Parquet, its Arrow types kept, a checksum on every page."""
    import pyarrow.parquet as pq

    pq.write_table(
        table,
        file,
        compression="none",
        use_dictionary=False,
        use_compliant_nested_type=False,  # which would rename what is in a list
        write_page_checksum=True,
    )


def read_plain(raw: bytes | NDArray[np.uint8], most_rows: int) -> pa.Table:
    """The table in the bytes that `write_plain` wrote, if it has no more than ``most_rows``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = pa.py_buffer(raw)
    with pq.ParquetFile(pa.BufferReader(buffer), page_checksum_verification=True) as file:
        _refuse_more_than_the_bytes(file.metadata, buffer.size, most_rows)
        # Without Arrow's threads: at exit it may abort the process that used them (apache/arrow
        # issue 34314), and a coreset is small.
        table = file.read(use_threads=False)
        own = (file.metadata.metadata or {}).get(b"ARROW:schema")
    table.validate(full=True)
    return table if own is None else _with_own_types(table, own)


def _with_own_types(table: pa.Table, written: bytes) -> pa.Table:
    """Parquet has no seconds, no date64 and categories of text alone; Arrow's schema tells."""
    import pyarrow as pa

    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    lost = (pa.types.is_timestamp, pa.types.is_time, pa.types.is_date, pa.types.is_dictionary)
    for j, field in enumerate(table.schema):
        k = schema.get_field_index(field.name)
        kind = field.type if k < 0 else schema.field(k).type
        if kind != field.type and any(one(kind) for one in lost):
            column = table.column(j)
            if pa.types.is_dictionary(kind):
                column = column.cast(kind.value_type).dictionary_encode()
            table = table.set_column(j, field.with_type(kind), column.cast(kind))
    return table


def _refuse_more_than_the_bytes(metadata: Any, size: int, most_rows: int) -> None:
    """Before memory is taken: what is compressed, or says to hold more than there is."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows > most_rows:
        raise CoresetFileError(f"it says to hold {rows} rows, more than its bytes can")
    columns = [group.column(j) for group in groups for j in range(group.num_columns)]
    for column in columns:
        if column.compression != "UNCOMPRESSED" or set(column.encodings) - ENCODINGS:
            raise CoresetFileError(
                f"its column {column.path_in_schema!r} is compressed, which Coreset.save never does"
            )
    # Empty values take no bytes of their own: a list of a million gaps is possible, no more.
    if sum(column.num_values for column in columns) > 64 * size + 1_000_000:
        raise CoresetFileError("it says to hold more values than its bytes can")


def categories(table: pa.Table) -> dict[str, list[Any]]:
    """The levels of each column of categories, also those of no row; Parquet keeps only values."""
    import pyarrow as pa

    kept = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_dictionary(column.type):
            continue
        levels = column.combine_chunks().dictionary
        if len(levels) > MOST_CATEGORIES:
            continue
        plain = levels.to_pylist()
        if all(isinstance(level, (str, int, float, bool)) for level in plain):
            kept[name] = plain
        elif pa.types.is_temporal(levels.type):
            kept[name] = levels.cast(pa.string()).to_pylist()
    return kept


def with_categories(table: pa.Table, levels: dict[str, list[Any]]) -> pa.Table:
    """The table with these levels in its columns of categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for j, field in enumerate(table.schema):
        if field.name not in levels or not pa.types.is_dictionary(field.type):
            continue
        kind = field.type
        known = pa.array(levels[field.name])
        if known.type != kind.value_type:  # dates as text, and narrow numbers
            known = known.cast(kind.value_type)
        values = table.column(j).cast(kind.value_type)
        codes = pc.index_in(values, value_set=known).combine_chunks()
        if codes.null_count > values.null_count:
            raise CoresetFileError(f"its column {field.name!r} holds values of no category")
        array = pa.DictionaryArray.from_arrays(
            codes.cast(kind.index_type), known, ordered=kind.ordered
        )
        table = table.set_column(j, field, array)
    return table


def floats(column: pa.ChunkedArray, name: str) -> Floats:
    """A column that must be float64."""
    import pyarrow as pa

    if column.type != pa.float64():
        raise CoresetFileError(f"its column {name!r} must be float64 (double), not {column.type}")
    values: Floats = column.to_numpy()
    return values


def lists_of_floats(column: pa.ChunkedArray, name: str) -> Floats:
    """A column of lists of float64, all of the same length, as an array of one row a list."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_fixed_size_list(kind) or column.null_count:
        raise CoresetFileError(f"its column {name!r} must hold lists of one length, not {kind}")
    values = floats(pa.chunked_array([column.combine_chunks().flatten()]), name)
    return values.reshape(len(column), kind.list_size)


def integers(column: pa.ChunkedArray, name: str) -> NDArray[np.int64]:
    """A column that must be int64, without gaps."""
    import pyarrow as pa

    if column.type != pa.int64() or column.null_count:
        raise CoresetFileError(f"its column {name!r} must be int64 without gaps, not {column.type}")
    values: NDArray[np.int64] = column.to_numpy()
    return values
