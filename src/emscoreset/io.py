"""Coresets to files and back. Never pickle; files are written whole or not at all."""

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

import numpy as np
from numpy.typing import NDArray

from emscoreset.coreset import Coreset
from emscoreset.plain import (
    CoresetFileError,
    categories,
    floats,
    integers,
    lists_of_floats,
    read_plain,
    with_categories,
    write_plain,
)

FORMAT = 2  # raised when an older reader could no longer understand the file; 1 is read, too
KEY = b"emscoreset"
FIGURES = ("mass", "n", "reg", "distance", "lower", "upper", "variance")


# What the readers of Parquet, zip, npy and JSON raise where the bytes make no sense.
UNREADABLE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, OSError, EOFError, MemoryError),
    *(RuntimeError, SyntaxError, struct.error, zipfile.BadZipFile),
)


def save(coreset: Coreset, path: str | Path) -> None:
    """Write a coreset as Parquet or npz, as the ending of ``path`` says."""
    path = Path(path)
    write, _ = _by_ending(path)
    with whole_file(path) as file:
        write(coreset, file)


def check_target(path: str | Path, source: str | Path) -> None:
    """Refuse, before long work, a file that `save` could not write, or that is the source."""
    path = Path(path)
    _by_ending(path)
    _check_folder(path)
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise ValueError(f"the output {str(path)!r} is the input: give it another name")


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} does not exist")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when all of it is on disk.

    Nobody ever reads half of it, and after an error the old file is as it was.
    """
    _check_folder(path)
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
        "encoder": None if coreset.encoder is None else coreset.encoder.to_plain(),
        "categories": {} if coreset.rows is None else categories(coreset.rows),
    }


def _checked_metadata(text: str | bytes) -> dict[str, Any]:
    """A file's metadata, with the parts that reading needs."""
    meta = json.loads(text)
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise CoresetFileError("its metadata is not a coreset's")
    if meta["format"] > FORMAT:
        raise CoresetFileError(
            f"it was written in format {meta['format']}, newer than this version reads "
            f"({FORMAT}); update emscoreset"
        )
    if not isinstance(meta["feature_names"], list):
        raise CoresetFileError("feature_names is not a list of names")
    for name in ("provenance", "categories", "layout"):
        if not isinstance(meta.setdefault(name, {}), dict):
            raise CoresetFileError(f"{name} is not a mapping")
    return meta


def _build(meta: dict[str, Any], atoms: Any, weights: Any, rows: Any, numbers: Any) -> Coreset:
    """A coreset from a file's metadata and arrays; everything is checked."""
    encoder = meta.get("encoder")
    if encoder is not None:
        from emscoreset.encode import Encoder

        encoder = Encoder.from_plain(encoder)
    return Coreset(
        atoms=atoms,
        weights=weights,
        feature_names=tuple(meta["feature_names"]),
        provenance=meta["provenance"],
        rows=None if rows is None else with_categories(rows, meta["categories"]),
        row_numbers=numbers,
        encoder=encoder,
        **{name: meta[name] for name in FIGURES},
    )


def _write_parquet(coreset: Coreset, file: IO[bytes]) -> None:
    """The columns of `Coreset.to_frame`, then what a reader of them does not need.

    That is the exact share of each row in the mass and, where there are rows, their numbers
    and their atoms, each a list of numbers.
    """
    import pyarrow as pa

    rows, extra = coreset.rows, {"weight": pa.array(coreset.sample_weight)}
    extra["share"] = pa.array(coreset.weights)
    if coreset.row_numbers is not None:
        extra["row_number"] = pa.array(coreset.row_numbers.astype(np.int64))
    if rows is None:
        columns = [pa.array(np.ascontiguousarray(column)) for column in coreset.atoms.T]
        rows = pa.table(columns, names=list(coreset.feature_names))
    else:
        extra["atom"] = pa.FixedSizeListArray.from_arrays(
            pa.array(coreset.atoms.ravel()), coreset.atoms.shape[1]
        )
    names = {key: _free(key, rows.column_names) for key in extra}
    table = rows
    for key, column in extra.items():
        table = table.append_column(names[key], column)
    meta = json.dumps({**_metadata(coreset), "layout": names}).encode()
    write_plain(table.replace_schema_metadata({**(rows.schema.metadata or {}), KEY: meta}), file)


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _read_parquet(path: Path) -> Coreset:
    import pyarrow.parquet as pq

    found = dict(pq.read_schema(path).metadata or {})
    if KEY not in found:
        raise CoresetFileError("it is a Parquet file, but not one written by Coreset.save")
    meta = _checked_metadata(found.pop(KEY))
    raw = path.read_bytes()
    table = read_plain(raw, len(raw) // 16)  # each row has a weight and a share
    layout = meta.get("layout") or {"share": meta["weight_column"]}  # format 1 has no layout
    last = list(layout.values())
    names = table.column_names
    shown = names[: len(names) - len(last)]
    if names != [*shown, *last]:
        raise CoresetFileError(
            f"its columns are {names}, its metadata says that they end in {last}"
        )
    rows = table.select(shown).replace_schema_metadata(found or None)
    number, atom, share = layout.get("row_number"), layout.get("atom"), layout["share"]
    numbers = None if number is None else integers(table[number], number)
    weights = floats(table[share], share)
    if atom is not None:
        atoms = lists_of_floats(table[atom], atom)
        return _build(meta, atoms, weights, rows, numbers)
    if shown != meta["feature_names"]:
        raise CoresetFileError(
            f"its columns are {shown}, its metadata says {meta['feature_names']}"
        )
    atoms = np.column_stack([floats(table[name], name) for name in shown])
    return _build(meta, atoms, weights, None, numbers)


def _write_npz(coreset: Coreset, file: IO[bytes]) -> None:
    meta = np.frombuffer(json.dumps(_metadata(coreset)).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {"atoms": coreset.atoms, "weights": coreset.weights, "metadata": meta}
    if coreset.row_numbers is not None:
        arrays["row_numbers"] = coreset.row_numbers.astype(np.int64)
    if coreset.rows is not None:
        parquet = io.BytesIO()
        write_plain(coreset.rows, parquet)
        arrays["rows"] = np.frombuffer(parquet.getvalue(), dtype=np.uint8)
    np.savez(file, **arrays)


NPZ = {
    **{"atoms": np.float64, "weights": np.float64, "metadata": np.uint8},
    **{"row_numbers": np.int64, "rows": np.uint8},  # where there are any
}


def _read_npz(path: Path) -> Coreset:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = [entry.filename.removesuffix(".npy") for entry in entries]
        strangers = set(names) - set(NPZ) or len(set(names)) < len(names)
        if strangers or not {"atoms", "weights", "metadata"} <= set(names):
            raise CoresetFileError("it is an npz file, but not one written by Coreset.save")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise CoresetFileError("its arrays are compressed, which Coreset.save never does")
        arrays = {name: _read_npy(archive, name, np.dtype(NPZ[name])) for name in names}
    rows = read_plain(arrays["rows"], len(arrays["weights"])) if "rows" in arrays else None
    meta = _checked_metadata(arrays["metadata"].tobytes())
    return _build(meta, arrays["atoms"], arrays["weights"], rows, arrays.get("row_numbers"))


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
