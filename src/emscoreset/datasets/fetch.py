"""Files from a public address into a folder of the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import urllib.request
from pathlib import Path

TIMEOUT = 30.0  # seconds without an answer


class DatasetNotFoundError(FileNotFoundError):
    """The data set is not on this machine and could not be fetched; the message says what to do."""


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Where fetched data sets are kept: ``folder``, or EMSCORESET_CACHE, or the user's cache."""
    if folder is not None:
        return Path(folder)
    if "EMSCORESET_CACHE" in os.environ:
        return Path(os.environ["EMSCORESET_CACHE"])
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(users) / "emscoreset"


def fetch(url: str, path: Path) -> None:
    """What lies at ``url``, written to ``path``."""
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, path.open("wb") as out:
        shutil.copyfileobj(answer, out, 1 << 20)


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
