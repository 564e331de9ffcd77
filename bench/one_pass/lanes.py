"""Each rival in a process of its own, timed in turns."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.one_pass.rivals import RIVALS, Seconds, What
from bench.one_pass.sizes import Problem

PAUSE = 0.01  # seconds in which the last rival's threads stop spinning
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# In a rival's process: its passes over the problem it was given last.
_passes: Mapping[tuple[str, str], Seconds] = {}


def prepare(rival: str, path: Path, threads: int) -> tuple[list[What], float]:
    """Loads a problem; returns what can be timed and the extra memory of the first pass in MB."""
    global _passes
    warnings.simplefilter("ignore")
    _passes = {}
    _passes = RIVALS[rival].make(Problem.load(path), threads)
    resident = _peak_after(lambda: None)
    first = _peak_after(next(iter(_passes.values())))
    return [What(rival, *key) for key in _passes], (first - resident) / 1e6


def measure(what: What) -> float:
    return _passes[what.dtype, what.reg]()


def blas() -> str:
    """The OpenBLAS that NumPy uses here, and the processor it takes this for."""
    import numpy  # noqa: F401  (loads it)
    from threadpoolctl import threadpool_info

    found = [
        f"{info['internal_api']} {info['version']} ({info.get('architecture', 'unknown')})"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]
    return found[0] if found else "no BLAS"


def _peak_after(call: Callable[[], object]) -> float:
    """The greatest resident size in bytes while it runs."""
    Path("/proc/self/clear_refs").write_text("5")
    call()
    status = Path("/proc/self/status").read_text()
    return 1024 * float(status.split("VmHWM:")[1].split()[0])


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Lanes:
    """One process for each rival, all with the same number of threads.

    A rival that only differs in its BLAS is left out where that is the one installed.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.blas: dict[str, str] = {}

    def __enter__(self) -> Lanes:
        self._stack = ExitStack()
        self._pools = {}
        spawn = multiprocessing.get_context("spawn")
        for name, rival in RIVALS.items():
            threads = dict.fromkeys(THREAD_VARIABLES, str(self.threads))
            with environment({**threads, **rival.env}):
                pool = self._stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn))
                found = pool.submit(blas).result()
            if not (rival.env and found in self.blas.values()):
                self.blas[name], self._pools[name] = found, pool
        return self

    def __exit__(self, *reason: object) -> None:
        self._stack.close()

    def measure(
        self, path: Path, repeats: int, patience: float
    ) -> tuple[dict[What, list[float]], dict[str, float]]:
        """Seconds of every pass in turns, and each rival's extra memory in MB.

        A pass that has taken more than ``patience`` seconds in all is left out of further turns
        once it has had three.
        """
        seconds: dict[What, list[float]] = {}
        memory = {}
        for name, pool in self._pools.items():
            passes, memory[name] = pool.submit(prepare, name, path, self.threads).result()
            seconds |= {what: [] for what in passes}
        spent = dict.fromkeys(seconds, 0.0)
        for turn in range(repeats):
            for what, taken in seconds.items():
                if turn >= 3 and spent[what] > patience:
                    continue
                time.sleep(PAUSE)
                began = time.perf_counter()
                taken.append(self._pools[what.rival].submit(measure, what).result())
                spent[what] += time.perf_counter() - began
        return seconds, memory
