"""Coresets to files and frames, and back. Never pickle; files are written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import narwhals.stable.v2 as nw
import numpy as np

from emscoreset.coreset import Coreset

FORMAT = 1  # raised when an older reader could no longer understand the file
KEY = b"emscoreset"
FIGURES = ("mass", "n", "reg", "distance", "lower", "upper", "variance")


class CoresetFileError(ValueError):
    """A file that does not hold a coreset, or not a whole one."""


def save(coreset: Coreset, path: str | Path) -> None:
    """Write a coreset as Parquet or npz, as the ending of ``path`` says."""
    path = Path(path)
    write, _ = _by_ending(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} does not exist")
    # A neighbour first, then one rename: no reader ever sees half a file.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(coreset, file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's own is for one's eyes only
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
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
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
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
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise CoresetFileError("feature_names is not a list of names")
    if not isinstance(provenance, dict):
        raise CoresetFileError("provenance is not a mapping")
    figures = {name: meta[name] for name in FIGURES}
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in figures.values()):
        raise CoresetFileError(f"one of {', '.join(FIGURES)} is not a number")
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
    pq.write_table(table.replace_schema_metadata({KEY: meta.encode()}), file)


def _read_parquet(path: Path) -> Coreset:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read()
    meta = (table.schema.metadata or {}).get(KEY)
    if meta is None:
        raise CoresetFileError("it is a Parquet file, but not one written by Coreset.save")
    fields = json.loads(meta)
    names = [*fields["feature_names"], fields["weight_column"]]
    if table.column_names != names:
        raise CoresetFileError(f"its columns are {table.column_names}, its metadata says {names}")
    columns = [column.to_numpy() for column in table.itercolumns()]
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
    with np.load(path, allow_pickle=False) as arrays:
        return _build(arrays["metadata"].tobytes(), arrays["atoms"], arrays["weights"])
