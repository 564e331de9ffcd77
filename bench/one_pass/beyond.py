"""A pass over a memory map that is larger than the machine's memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from bench.common import ROOT
from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows

COLUMNS, ATOMS = 100, 20
BLOCK = 64 << 20  # bytes written and read at a time
SPARE = 4 << 30  # bytes of the disk left free
TURNS = 2


def figures() -> Iterator[tuple[str, str]]:
    """What was measured, in words, and the figure."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    row = 4 * COLUMNS
    size = int(1.1 * memory) // BLOCK * BLOCK // row * row
    folder = ROOT / "out"
    folder.mkdir(exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < size + SPARE:
        need, have = (size + SPARE) / 1e9, free / 1e9
        raise SystemExit(f"--beyond needs {need:.0f} GB of disk in {folder}; {have:.0f} are free")
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".rows") as file:
        _fill(file, size)
        path = Path(file.name)
        reads, sweeps, grown = [], [], []
        for _ in range(TURNS):
            reads.append(_seconds(lambda: _read(path)))
            held = anonymous()
            with Peak() as peak:
                sweeps.append(_seconds(lambda: _sweep(path, size // row)))
            grown.append((peak.value - held) / 1e6)
    read, swept = (f"{size / 1e9 / median(taken):.2f} GB/s" for taken in (reads, sweeps))
    what = f"{size / 1e9:.1f} GB of rows, {size / memory:.2f} of this machine's memory"
    yield f"{what}, read in blocks of 64 MB", read
    yield f"the same as a memory map, k {ATOMS}, 2 threads", swept
    yield "memory besides the file's pages taken meanwhile, at most", f"{max(grown):.1f} MB"


def _fill(file, size: int) -> None:
    block = np.random.default_rng(0).standard_normal(BLOCK // 4, dtype=np.float32).tobytes()
    for start in range(0, size, BLOCK):
        file.write(block[: size - start])
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read(path: Path) -> None:
    buffer = bytearray(BLOCK)
    with path.open("rb", buffering=0) as plain:
        while plain.readinto(buffer):
            pass


def _sweep(path: Path, n: int) -> None:
    X = np.memmap(path, dtype=np.float32, mode="r", shape=(n, COLUMNS))
    atoms = np.random.default_rng(0).normal(size=(ATOMS, COLUMNS))
    NativeKernel(2).stats(Rows(X), Pass(atoms, np.zeros(ATOMS), 0.0, np.zeros(COLUMNS)))


def _seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def anonymous() -> float:
    """Bytes of memory that this process holds and no file backs."""
    status = Path("/proc/self/status").read_text()
    return 1024 * float(status.split("RssAnon:")[1].split()[0])


class Peak:
    """The greatest `anonymous` while it is open, looked at twenty times a second."""

    def __enter__(self) -> Peak:
        self.value, self._over = anonymous(), threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.value = max(self.value, anonymous())

    def __exit__(self, *reason: object) -> None:
        self._over.set()
        self._watch.join()
