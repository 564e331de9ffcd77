"""The native kernel among threads, processes and signals, and on files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pytest

from emscoreset.kernels import NativeKernel, native
from emscoreset.stats import Pass, Rows

pytestmark = pytest.mark.skipif(not native.available(), reason="the C++ kernel was not built")


def problem(n: int = 20_000, d: int = 8, k: int = 50) -> tuple[Rows, Pass]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return Rows(X), Pass(rng.normal(size=(k, d)), np.zeros(k), 0.1, np.zeros(d))


def masses(threads: int) -> np.ndarray:
    return NativeKernel(threads).stats(*problem()).N


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend: str) -> None:
    want = masses(2)
    parallel = joblib.Parallel(2, backend=backend)
    for got in parallel(joblib.delayed(masses)(2) for _ in range(4)):
        np.testing.assert_array_equal(got, want)


def test_many_calls_at_once() -> None:
    """More callers than threads, each asking for several: all get their own sums."""
    want = masses(1)
    got: list[np.ndarray] = []
    callers = [threading.Thread(target=lambda: got.append(masses(3))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(got) == 6
    for one in got:
        np.testing.assert_array_equal(one, want)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork() -> None:
    """A child whose parent has used its threads makes threads of its own."""
    code = """
import os
import numpy as np
from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows
X = np.random.default_rng(0).normal(size=(20000, 8))
p = Pass(X[:50], np.zeros(50), 0.1, np.zeros(8))
want = NativeKernel(2).stats(Rows(X), p)
child = os.fork()
if child == 0:
    got = NativeKernel(2).stats(Rows(X), p)
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 2
    os._exit(0 if (got.S == want.S).all() and threads == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
assert (NativeKernel(2).stats(Rows(X), p).S == want.S).all()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def sweep(kernel: NativeKernel, rows: Rows, p: Pass) -> None:
    while True:  # each call alone takes many seconds
        kernel.stats(rows, p)


def assign(kernel: NativeKernel, rows: Rows, p: Pass) -> None:
    while True:
        kernel.assign(rows, p)


def seed(kernel: NativeKernel, rows: Rows, p: Pass) -> None:
    while True:
        kernel.plusplus(rows, 0, np.random.default_rng(0).random((5000, 8)))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("work", [sweep, assign, seed])
def test_ctrl_c_stops_a_pass(work: Callable[[NativeKernel, Rows, Pass], None]) -> None:
    """The signal is raised from within one long call, not after it."""
    rows, p = problem(200_000, 60, 8000)
    raised_at = []

    def press() -> None:
        time.sleep(0.3)
        raised_at.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        work(NativeKernel(2), rows, p)
    took = time.perf_counter() - raised_at[0]
    presser.join()
    assert took < 10  # a whole call takes longer


def test_the_gil_is_released() -> None:
    """Python runs on while a pass does."""
    rows, p = problem(200_000, 30, 500)
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.perf_counter()
    NativeKernel(1).stats(rows, p)
    ended = time.perf_counter()
    done.set()
    ticker.join()
    during = [t for t in ticks if began < t < ended]
    assert len(during) >= 3


def test_a_memory_map_is_read_where_it_lies(tmp_path: Path) -> None:
    """A read-only map, here at an odd offset, gives the sums of the same rows in memory."""
    rows, p = problem()
    path = tmp_path / "rows.bin"
    path.write_bytes(b"abc" + rows.X.tobytes())
    mapped = np.memmap(path, dtype=np.float32, mode="r", offset=3, shape=rows.X.shape)
    kernel = NativeKernel(2)
    assert kernel.reads(mapped.dtype, mapped.strides)
    got, want = kernel.stats(Rows(mapped), p), kernel.stats(rows, p)
    np.testing.assert_array_equal(got.S, want.S)
    np.testing.assert_array_equal(
        kernel.assign(Rows(mapped), p).labels, kernel.assign(rows, p).labels
    )


def test_a_file_larger_than_the_memory_allowed_streams(tmp_path: Path) -> None:
    """A pass over a file of 1 GiB succeeds where only 256 MiB may be allocated."""
    pytest.importorskip("resource")
    path = tmp_path / "zeros.bin"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    code = f"""
import resource
import numpy as np
from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows
X = np.memmap({str(path)!r}, dtype=np.float32, mode="r", shape=(1 << 20, 256))
p = Pass(np.eye(4, 256), np.zeros(4), 0.0, np.zeros(256))
resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
print(int(NativeKernel(2).stats(Rows(X), p).N.sum()))
"""
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    assert out.stdout.strip() == str(1 << 20)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("reg", [0.0, 0.01, 50.0])
@pytest.mark.parametrize("size", [(20_000, 10, 1000), (6000, 784, 200), (6000, 384, 1000)], ids=str)
def test_a_pass_takes_little_memory(size: tuple[int, int, int], reg: float) -> None:
    """With two threads no more than 32 MB may be allocated beside the rows and the atoms."""
    code = f"""
import re
import resource
import numpy as np
from emscoreset.kernels import NativeKernel
from emscoreset.stats import Pass, Rows
n, d, k = {size}
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d), dtype=np.float32)
p = Pass(rng.normal(size=(k, d)), np.zeros(k), {reg}, np.zeros(d))
kernel = NativeKernel(2)
kernel.stats(Rows(X[:2000, :2]), Pass(np.eye(2), np.zeros(2), 0.0, np.zeros(2)))  # the threads
held = 1024 * int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1])
resource.setrlimit(resource.RLIMIT_DATA, (held + (32 << 20), held + (32 << 20)))
print(round(kernel.stats(Rows(X), p).N.sum()))
"""
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert out.stdout.strip() == str(size[0])
