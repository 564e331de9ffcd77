"""Coresets to files and frames, and back. Never pickle; files are written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import secrets
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from emscoreset.coreset import Coreset

FORMAT = 1  # raised when an older reader could no longer understand the file
KEY = b"emscoreset"
FIGURES = ("mass", "n", "reg", "distance", "lower", "upper", "variance")


# What the readers of Parquet, zip, npy and JSON raise where the bytes make no sense.
UNREADABLE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, OSError, EOFError, MemoryError),
    *(RuntimeError, SyntaxError, struct.error, zipfile.BadZipFile),
)


class CoresetFileError(ValueError):
    """A file that does not hold a coreset, or not a whole one."""


def save(coreset: Coreset, path: str | Path) -> None:
    """Write a coreset as Parquet or npz, as the ending of ``path`` says."""
    path = Path(path)
    write, _ = _by_ending(path)
    with whole_file(path) as file:
        write(coreset, file)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when all of it is on disk.

    Nobody ever reads half of it, and after an error the old file is as it was.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} does not exist")
    beside = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(path: str | Path) -> Coreset:
    """Read a coreset that `Coreset.save` wrote."""
    path = Path(path)
    _, read = _by_ending(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        return read(path)
    except CoresetFileError as error:
        raise CoresetFileError(f"{path}: {error}") from None
    except UNREADABLE as error:
        raise CoresetFileError(
            f"{path} is not a whole coreset file ({type(error).__name__}: {error}); "
            "write it again with Coreset.save"
        ) from error


def to_frame(coreset: Coreset, backend: str, weight: str) -> Any:
    """The atoms and their sample weights as a frame of ``backend``'s kind."""
    if weight in coreset.feature_names:
        raise ValueError(f"a column is called {weight!r} already; pass another name as weight=")
    columns = {name: coreset.atoms[:, j] for j, name in enumerate(coreset.feature_names)}
    columns[weight] = coreset.sample_weight
    match backend:
        case "pandas" | "polars" | "pyarrow":
            return nw.from_dict(columns, backend=backend).to_native()
    raise ValueError(f'backend must be "pandas", "polars" or "pyarrow", not {backend!r}')


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


def _by_ending(
    path: Path,
) -> tuple[Callable[[Coreset, IO[bytes]], None], Callable[[Path], Coreset]]:
    kinds = {".parquet": (_write_parquet, _read_parquet), ".npz": (_write_npz, _read_npz)}
    if path.suffix not in kinds:
        raise ValueError(f"a coreset file ends in {' or '.join(kinds)}, not {path.suffix!r}")
    return kinds[path.suffix]


def _metadata(coreset: Coreset) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "feature_names": list(coreset.feature_names),
        **{name: getattr(coreset, name) for name in FIGURES},
        "provenance": dict(coreset.provenance),
    }


def _build(text: str | bytes, atoms: Any, weights: Any) -> Coreset:
    """A coreset from a file's metadata and arrays; everything is checked."""
    meta = json.loads(text)
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise CoresetFileError("its metadata is not a coreset's")
    if meta["format"] > FORMAT:
        raise CoresetFileError(
            f"it was written in format {meta['format']}, newer than this version reads "
            f"({FORMAT}); update emscoreset"
        )
    names, provenance = meta["feature_names"], meta["provenance"]
    if not isinstance(names, list):
        raise CoresetFileError("feature_names is not a list of names")
    if not isinstance(provenance, dict):
        raise CoresetFileError("provenance is not a mapping")
    figures = {name: meta[name] for name in FIGURES}
    return Coreset(
        atoms=atoms, weights=weights, feature_names=tuple(names), provenance=provenance, **figures
    )


def _write_parquet(coreset: Coreset, file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    weight = "weight"
    while weight in coreset.feature_names:
        weight += "_"
    columns = [*coreset.atoms.T, coreset.weights]
    table = pa.table(
        [pa.array(np.ascontiguousarray(column)) for column in columns],
        names=[*coreset.feature_names, weight],
    )
    meta = json.dumps({**_metadata(coreset), "weight_column": weight})
    table = table.replace_schema_metadata({KEY: meta.encode()})
    pq.write_table(table, file, compression="none", use_dictionary=False, write_page_checksum=True)


def _read_parquet(path: Path) -> Coreset:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        meta = (file.schema_arrow.metadata or {}).get(KEY)
        if meta is None:
            raise CoresetFileError("it is a Parquet file, but not one written by Coreset.save")
        fields = json.loads(meta)
        names = [*fields["feature_names"], fields["weight_column"]]
        if file.schema_arrow.names != names:
            raise CoresetFileError(
                f"its columns are {file.schema_arrow.names}, its metadata says {names}"
            )
        odd = [str(kind) for kind in file.schema_arrow.types if kind != pa.float64()]
        if odd:
            raise CoresetFileError(f"its columns must be float64 (double), not {odd[0]}")
        rows = sum(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))
        if 8 * rows * len(names) > path.stat().st_size:  # before memory is taken for them
            raise CoresetFileError(f"it says to hold {rows} rows, more than its bytes can")
        columns = [column.to_numpy() for column in file.read().itercolumns()]
    return _build(meta, np.column_stack(columns[:-1]), columns[-1])


def _write_npz(coreset: Coreset, file: IO[bytes]) -> None:
    meta = np.frombuffer(json.dumps(_metadata(coreset)).encode(), dtype=np.uint8)
    np.savez(file, atoms=coreset.atoms, weights=coreset.weights, metadata=meta)


def _read_npz(path: Path) -> Coreset:
    expected = {"atoms.npy", "weights.npy", "metadata.npy"}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if {entry.filename for entry in entries} != expected or len(entries) != len(expected):
            raise CoresetFileError("it is an npz file, but not one written by Coreset.save")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise CoresetFileError("its arrays are compressed, which Coreset.save never does")
        atoms = _read_npy(archive, "atoms", np.dtype(np.float64))
        weights = _read_npy(archive, "weights", np.dtype(np.float64))
        meta = _read_npy(archive, "metadata", np.dtype(np.uint8))
    return _build(meta.tobytes(), atoms, weights)


def _read_npy(archive: zipfile.ZipFile, name: str, kind: np.dtype[Any]) -> NDArray[Any]:
    """One array of the archive, taking no more memory than it has bytes there."""
    raw = io.BytesIO(archive.read(f"{name}.npy"))
    if np.lib.format.read_magic(raw) != (1, 0):
        raise CoresetFileError(f"its array {name} is not in npy format 1.0")
    shape, by_columns, found = np.lib.format.read_array_header_1_0(raw)
    if found.newbyteorder("=") != kind:
        raise CoresetFileError(f"its array {name} holds {found}, not {kind}")
    values = np.frombuffer(raw.getbuffer()[raw.tell() :], dtype=found)
    return values.reshape(shape, order="F" if by_columns else "C")
