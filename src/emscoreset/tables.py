"""Tables in any form, in memory or in a file, as Arrow tables that keep their types."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

TAKEN = (
    "a pandas or polars DataFrame, a pyarrow Table or RecordBatch, a 2-d or structured NumPy "
    "array, or the path of a .parquet, .csv, .csv.gz, .feather or .arrow file"
)
LAZY = ("LazyFrame", "dask")
CSV_BLOCK = 1 << 24  # bytes from whose rows a CSV file's types are inferred at first
PANDAS = b"pandas"


@dataclass(frozen=True)
class Read:
    """A table with all its types, and what kind of thing it was."""

    table: pa.Table  # a pandas index is columns that the schema's metadata names
    backend: str  # "pandas", "polars", "pyarrow", "numpy" or "path"


def read_table(data: Any) -> Read:
    """A frame, an array or a file, read whole.

    The index of a pandas frame comes along as columns, which `index_columns` names; the plain
    index 0, 1, 2, ... does not.
    """
    if isinstance(data, (str, Path)):
        return Read(_checked(_from_path(Path(data))), "path")
    if isinstance(data, np.ndarray):
        return Read(_checked(_from_numpy(data)), "numpy")
    library, kind = type(data).__module__.split(".")[0], type(data).__name__
    if library in LAZY or kind in LAZY:
        raise TypeError(f"data must be in memory; a {library} {kind} is lazy: collect it first")
    if library == "pandas" and kind == "DataFrame":
        return Read(_checked(_from_pandas(data)), "pandas")
    if library == "polars" and kind == "DataFrame":
        return Read(_checked(_from_polars(data)), "polars")
    if hasattr(data, "__arrow_c_stream__") and (library, kind) != ("pandas", "Series"):
        try:
            table = pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise TypeError(f"data must be {TAKEN}; not this {kind}: {error}") from error
        return Read(_checked(table), "pyarrow")
    raise TypeError(f"data must be {TAKEN}; not {library}.{kind}")


def index_columns(table: pa.Table | pa.Schema) -> list[str]:
    """The columns that are the index of the pandas frame that this table was."""
    schema = table.schema if isinstance(table, pa.Table) else table
    named = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in named if isinstance(name, str) and name in schema.names]


def _checked(table: pa.Table) -> pa.Table:
    _refuse_twins(table.column_names)
    if table.num_columns == len(index_columns(table)):
        raise ValueError("data has no columns")
    return _without_ranges(table)


def _refuse_twins(names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"data has columns of the same name: {twice}; rename them")


def _without_ranges(table: pa.Table) -> pa.Table:
    """An index that is a range has no column; once rows are taken it would be wrong."""
    meta = table.schema.pandas_metadata
    if not meta or all(isinstance(name, str) for name in meta.get("index_columns", [])):
        return table
    meta["index_columns"] = [name for name in meta["index_columns"] if isinstance(name, str)]
    return table.replace_schema_metadata(
        {**table.schema.metadata, PANDAS: json.dumps(meta).encode()}
    )


def _from_pandas(frame: Any) -> pa.Table:
    names = [str(name) for name in frame.columns]
    _refuse_twins(names)
    plain = frame.set_axis(names, axis=1)  # shares its data with the frame
    index = frame.index
    counted = index.nlevels == 1 and index.name is None
    counted = counted and np.array_equal(index.to_numpy(), np.arange(len(index)))

    def convert(part: Any) -> pa.Table:
        return pa.Table.from_pandas(part, preserve_index=not counted)

    return _by_column(convert, plain, names, lambda name: plain[[name]])


def _from_polars(frame: Any) -> pa.Table:
    odd = [name for name, kind in frame.schema.items() if str(kind).startswith("Object")]
    if odd:
        raise ValueError(f"columns {odd} hold Python objects; drop them or give them a type")
    return _by_column(
        lambda part: part.to_arrow(), frame, frame.columns, lambda name: frame.select(name)
    )


def _by_column(
    convert: Callable[[Any], pa.Table], frame: Any, names: list[str], part: Callable[[str], Any]
) -> pa.Table:
    """The frame as a table; where that fails, the error names the column."""
    errors = (pa.ArrowException, TypeError, ValueError, OverflowError)
    try:
        return convert(frame)
    except errors as whole:
        for name in names:
            try:
                convert(part(name))
            except errors as error:
                why = error.args[0] if error.args else error
                raise ValueError(
                    f"column {name!r} has no Arrow type: {why}. "
                    "Make its values one kind, or drop it"
                ) from error
        raise ValueError(f"data cannot be read as a table: {whole}") from whole


def _from_numpy(array: np.ndarray[Any, Any]) -> pa.Table:
    """The columns x0, x1, ... of a 2-d array, or the fields of a structured one."""
    if array.dtype.names and array.ndim == 1:
        columns = {name: array[name] for name in array.dtype.names}
    elif array.ndim == 2:
        columns = {f"x{j}": array[:, j] for j in range(array.shape[1])}
    else:
        raise ValueError(f"data must be a 2-d array, rows by columns, not of shape {array.shape}")
    out = {}
    for name, column in columns.items():
        try:
            values = column if np.ma.isMaskedArray(column) else np.ascontiguousarray(column)
            out[name] = pa.array(values.astype(values.dtype.newbyteorder("="), copy=False))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ValueError(
                f"column {name!r} of type {column.dtype} has no Arrow type: {error}. "
                "Make its values one kind, or drop it"
            ) from error
    return pa.table(out)


def _from_path(path: Path) -> pa.Table:
    readers = {
        ".parquet": _read_parquet,
        ".csv": _read_csv,
        ".gz": _read_csv,
        ".feather": _read_arrow,
        ".arrow": _read_arrow,
    }
    read = readers.get(path.suffix)
    if read is None or (path.suffix == ".gz" and path.suffixes[-2:] != [".csv", ".gz"]):
        raise ValueError(f"data must be {TAKEN}; not {str(path)!r}")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        return read(path)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as {path.suffix[1:]}: {error}") from error


def _read_parquet(path: Path) -> pa.Table:
    """Column by column: all at once takes twice the memory."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:
        schema = file.schema_arrow
        _refuse_twins(schema.names)
        columns = []
        for name in schema.names:
            # Arrow's threads may abort the process at exit (apache/arrow issue 34314).
            columns.append(file.read(columns=[name], use_threads=False).column(name))
            pa.default_memory_pool().release_unused()  # the bytes that it was read from
        return pa.Table.from_arrays(columns, schema=schema)


def _read_arrow(path: Path) -> pa.Table:
    """Feather and Arrow files, and the stream format that some programs call .arrow."""
    import pyarrow.feather as feather
    import pyarrow.ipc as ipc

    with path.open("rb") as file:
        start = file.read(6)
    if start in (b"ARROW1", b"FEA1\0\0") or start[:4] == b"FEA1":
        return feather.read_table(path, memory_map=False)
    with pa.OSFile(str(path)) as stream:
        return ipc.open_stream(stream).read_all()


def _read_csv(path: Path) -> pa.Table:
    """Types are inferred from the first rows, or where later rows do not fit from all."""
    try:
        table = _csv_block(path, CSV_BLOCK)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise
        packed = 20 if path.suffix == ".gz" else 1  # how much larger the text may be
        table = _csv_block(path, min(packed * path.stat().st_size + 1, (1 << 31) - 1))
    if table.num_columns == 1 and any(c in table.column_names[0] for c in ";\t|"):
        raise ValueError(
            f"{path} is not separated by commas: its only column is {table.column_names[0]!r}; "
            "read it yourself and pass the frame"
        )
    return table


def _csv_block(path: Path, size: int) -> pa.Table:
    import pyarrow.csv as csv

    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(block_size=size),
        convert_options=csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
