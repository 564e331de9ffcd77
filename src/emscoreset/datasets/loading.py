"""load: a data set by name, from the first place that has it, checked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from emscoreset.datasets.catalogue import CATALOGUE, Entry, Form
from emscoreset.datasets.fetch import DatasetNotFoundError, cache_folder, fetch, sha256
from emscoreset.datasets.readers import Arrays, digest

Folder = str | os.PathLike[str]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set as it was published: nothing scaled, no row left out.

    ``standing`` says what may be compared: "exact" is what the name says, "partial" is part
    of it, "stand-in" is other data of a like shape.
    """

    name: str
    X: NDArray[Any]  # (n, d)
    y: NDArray[Any] | None
    X_test: NDArray[Any] | None
    y_test: NDArray[Any] | None
    feature_names: tuple[str, ...]
    standing: str
    about: str
    licence: str

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset {self.name} ({self.standing}): {n:,} rows x {d:,} columns. {self.about}"


def load(
    name: str,
    *,
    data_dir: Folder | None = None,
    cache_dir: Folder | None = None,
    download: bool = True,
) -> Dataset:
    """The data set ``name``: from ``data_dir``, from the cache, or from its public source.

    ``data_dir`` is EMSCORESET_DATA where it is not given. What is downloaded is kept in
    ``cache_dir``: EMSCORESET_CACHE, or emscoreset in the user's cache folder, where it is not
    given. Whatever is read must have the checksum in `CATALOGUE`.
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}")
    entry = CATALOGUE[name]
    given = data_dir if data_dir is not None else os.environ.get("EMSCORESET_DATA")
    if given is not None and not Path(given).is_dir():
        raise NotADirectoryError(f"data_dir (or EMSCORESET_DATA) is not a folder: {given}")
    cache = cache_folder(cache_dir) / name
    places = [cache] if given is None else [Path(given), cache]
    for folder in places:
        arrays = _in_folder(name, entry, folder)
        if arrays is not None:
            return _as_dataset(name, entry, arrays)
    return _as_dataset(name, entry, _from_source(name, entry, cache, places, download))


def _in_folder(name: str, entry: Entry, folder: Path) -> Arrays | None:
    """What the folder holds of the data set, in the first form whose files are all there."""
    for form in entry.forms:
        paths = [folder / file for file in form.files]
        if all(path.is_file() for path in paths):
            return _checked(name, entry, form, paths)
    return None


def _checked(name: str, entry: Entry, form: Form, paths: Sequence[Path]) -> Arrays:
    """What the files hold, if that is what the catalogue says."""
    shown = ", ".join(map(str, paths))
    if form.sha256 and (found := sha256(paths[0])) not in form.sha256:
        raise ValueError(
            f"{shown} is not {name}: its SHA-256 is {found}, not {' or '.join(form.sha256)}. "
            "Remove it, or put the published file in its place"
        )
    try:
        arrays = form.read(paths)
    except (ValueError, KeyError, EOFError, OSError) as error:
        raise ValueError(f"{shown} could not be read as {name}: {error}") from error
    if entry.sha256 and (found := digest(arrays)) != entry.sha256:
        raise ValueError(
            f"{shown} is not {name} as published: the SHA-256 of its arrays is {found}, "
            f"not {entry.sha256}. Remove it, or put the published file in its place"
        )
    return arrays


def _from_source(
    name: str, entry: Entry, cache: Path, places: Sequence[Path], download: bool
) -> Arrays:
    """Fetched into the cache, from the first address that answers with the right data."""
    sources = [(form, base) for form in entry.forms for base in form.urls]
    failures = []
    for form, base in sources if download else ():
        try:
            return _fetched(name, entry, form, base, cache)
        except (OSError, ValueError) as error:  # unreachable, or not what it should be
            failures.append(f"{base}: {error}")
    files = " or ".join(" + ".join(form.files) for form in entry.forms)
    lines = [
        f"the data set {name} is not in {' or '.join(map(str, places))}"
        + (" and could not be downloaded." if failures else "."),
        f"It is: {entry.about}.",
        f"Put {files} into a folder and name it: data_dir=..., or EMSCORESET_DATA.",
        *(f"  {failure}" for failure in failures),
    ]
    if not sources:
        lines.append("It has no public address that gives it in a form that is read here.")
    elif not download:
        lines.append(f"download=True fetches it from {sources[0][1]}")
    raise DatasetNotFoundError("\n".join(lines))


def _fetched(name: str, entry: Entry, form: Form, base: str, cache: Path) -> Arrays:
    """One form of the data set from one address; only what was found right enters the cache."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix=f".{name}-") as beside:
        paths = [Path(beside) / file for file in form.files]
        for path in paths:
            fetch(base + path.name, path)
        arrays = _checked(name, entry, form, paths)
        cache.mkdir(exist_ok=True)
        for path in paths:
            os.replace(path, cache / path.name)
    return arrays


def _as_dataset(name: str, entry: Entry, arrays: Arrays) -> Dataset:
    X = arrays["X"]
    columns = arrays.get("columns")
    named = [f"x{j}" for j in range(X.shape[1])] if columns is None else columns.tolist()
    return Dataset(
        name=name,
        X=X,
        y=arrays.get("y"),
        X_test=arrays.get("X_test"),
        y_test=arrays.get("y_test"),
        feature_names=tuple(named),
        standing=entry.standing,
        about=entry.about,
        licence=entry.licence,
    )
