"""The processor's own limits, measured in the same run: multiply-adds and memory reads a second."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np

from emscoreset.kernels import native

SOURCE = Path(__file__).with_suffix(".cpp")
# Bytes of a vector and accumulators, by the kernel's instruction set.
SHAPES = {"x86-64-v4": (64, 24), "x86-64-v3": (32, 12)}
READ = 1 << 30  # bytes: more than the caches hold


@dataclass(frozen=True)
class Roofline:
    """float32 operations and bytes read a second."""

    flops: float
    bytes: float


def measure(threads: int) -> Roofline:
    """Medians of several short runs on all threads at once."""
    library = _compiled()
    parts = np.array_split(np.ones(READ // 4, dtype=np.float32), threads)
    outs = [np.full(16, 0.5, dtype=np.float32) for _ in range(threads)]

    def multiply(i: int) -> float:
        return float(library.fma_rounds(20_000_000, outs[i].ctypes.data))

    def read(i: int) -> float:
        library.read_all(parts[i].ctypes.data, parts[i].size, outs[i].ctypes.data)
        return float(parts[i].nbytes)

    return Roofline(_rate(multiply, threads), _rate(read, threads))


def _rate(work: Callable[[int], float], threads: int, repeats: int = 5) -> float:
    with ThreadPoolExecutor(threads) as pool:
        rates = []
        for _ in range(repeats + 1):
            began = time.perf_counter()
            done = sum(pool.map(work, range(threads)))
            rates.append(done / (time.perf_counter() - began))
    return median(rates[1:])


@cache
def _compiled() -> ctypes.CDLL:
    """The loops, compiled for this processor."""
    size, chains = SHAPES.get(native.levels()[-1], (16, 12))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "roofline.so"
        command = [os.environ.get("CXX", "c++"), "-O3", "-march=native", "-shared", "-fPIC"]
        command += [f"-DBYTES={size}", f"-DCHAINS={chains}", str(SOURCE), "-o", str(path)]
        subprocess.run(command, check=True)
        library = ctypes.CDLL(str(path))
    library.fma_rounds.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    library.fma_rounds.restype = ctypes.c_double
    library.read_all.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    library.read_all.restype = None
    return library
