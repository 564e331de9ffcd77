"""How a pass behaves: small, beside another, after BLAS, interrupted, and over a cold file."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from bench.common import ROOT, alternate
from bench.one_pass.beyond import anonymous
from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows

FILE_BYTES = 1 << 30
READ_BYTES = 8 << 20


def _problem(n: int, d: int, k: int, reg: float = 0.0) -> tuple[Rows, Pass]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    return Rows(X), Pass(rng.normal(size=(k, d)), np.zeros(k), reg, np.zeros(d))


def figures() -> Iterator[tuple[str, str]]:
    """What was measured, in words, and the figure."""
    yield from _small()
    yield from _side_by_side()
    yield from _after_blas()
    yield from _interrupted()
    yield from _cold_file()


def _small() -> Iterator[tuple[str, str]]:
    rows, p = _problem(10_000, 10, 100)
    kernels = {threads: NativeKernel(threads) for threads in (1, 2)}
    taken = alternate(
        {str(t): lambda k=k: [k.stats(rows, p) for _ in range(50)] for t, k in kernels.items()}, 15
    )
    for threads, seconds in taken.items():
        what = f"a pass over 10,000 x 10, k 100, reg 0, {threads} thread(s)"
        yield what, f"{median(seconds) / 50 * 1000:.3f} ms"


def _side_by_side() -> Iterator[tuple[str, str]]:
    for name, problem in (
        ("100,000 x 10, k 100", _problem(100_000, 10, 100)),
        ("20,000 x 384, k 500", _problem(20_000, 384, 500)),
    ):

        def passes(problem: tuple[Rows, Pass] = problem) -> None:
            kernel = NativeKernel(1)
            for _ in range(20):
                kernel.stats(*problem)

        def both(passes: Callable[[], None] = passes) -> None:
            other = threading.Thread(target=passes)
            other.start()
            passes()
            other.join()

        taken = alternate({"one": passes, "both": both}, 5)
        ratio = 2 * median(taken["one"]) / median(taken["both"])
        yield f"two callers of one thread each, work done against one, {name}", f"{ratio:.2f} x"


def _after_blas() -> Iterator[tuple[str, str]]:
    """NumPy's threads spin for a while after a product; the pass then has to share with them."""
    rows, p = _problem(60_000, 784, 200)
    kernel, square = NativeKernel(2), np.ones((600, 600))

    def seconds(before: Callable[[], object]) -> float:
        before()
        began = time.perf_counter()
        kernel.stats(rows, p)
        return time.perf_counter() - began

    alone, after = [], []
    for _ in range(7):
        alone.append(seconds(lambda: time.sleep(0.05)))
        after.append(seconds(lambda: square @ square))
    ratio = median(after) / median(alone)
    yield "a pass right after a product in NumPy against one alone, D, 2 threads", f"{ratio:.2f} x"


def _interrupted() -> Iterator[tuple[str, str]]:
    rows, p = _problem(200_000, 60, 8000, 0.1)
    kernel, took = NativeKernel(2), []
    for _ in range(5):
        pressed: list[float] = []

        def press(pressed: list[float] = pressed) -> None:
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(0.2, press).start()
        try:
            while True:
                kernel.stats(rows, p)
        except KeyboardInterrupt:
            took.append(time.perf_counter() - pressed[0])
    yield "Ctrl-C to KeyboardInterrupt, 200,000 x 60, k 8,000, longest of 5", f"{max(took):.2f} s"


def _cold_file() -> Iterator[tuple[str, str]]:
    folder = ROOT / "out"
    folder.mkdir(exist_ok=True)
    shape = (FILE_BYTES // 400, 100)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".rows") as file:
        rows, p = _problem(shape[0] // 16, 100, 20)
        for _ in range(16):
            file.write(rows.X.tobytes())
        file.flush()
        os.fsync(file.fileno())
        count = 16 * len(rows.X)
        kernel, buffer = NativeKernel(2), bytearray(READ_BYTES)

        def read() -> None:
            with Path(file.name).open("rb", buffering=0) as plain:
                while plain.readinto(buffer):
                    pass

        def sweep() -> None:
            X = np.memmap(file.name, dtype=np.float32, mode="r", shape=(count, 100))
            kernel.stats(Rows(X), p)

        def cold(call: Callable[[], None]) -> float:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            began = time.perf_counter()
            call()
            return time.perf_counter() - began

        sweep()
        held = anonymous()
        reads, sweeps = [], []
        for _ in range(3):
            reads.append(cold(read))
            sweeps.append(cold(sweep))
        grown = (anonymous() - held) / 1e6
    rate = count * 400 / 1e9
    yield (
        "1 GB read in blocks of 8 MB, none of it cached",
        f"{rate / median(reads):.2f} GB/s",
    )
    yield "the same rows as a memory map, k 20, 2 threads", f"{rate / median(sweeps):.2f} GB/s"
    yield "memory besides the file's pages that three such passes leave taken", f"{grown:.1f} MB"
