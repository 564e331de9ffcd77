"""How many threads a kernel may use."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any

import joblib
import threadpoolctl

from emscoreset.checks import is_number


def effective_threads(n_jobs: int | None = None) -> int:
    """``n_jobs`` if given, counted from the CPUs where negative, as in joblib; else what is free.

    That is the CPUs this process may use (affinity, container quota), or fewer where OpenMP is
    limited: by OMP_NUM_THREADS, which joblib's and Dask's workers set, or by threadpoolctl.
    """
    if n_jobs is not None:
        n_jobs = checked_n_jobs(n_jobs)
        return int(joblib.effective_n_jobs(n_jobs)) if n_jobs < 0 else n_jobs
    limits = [int(joblib.cpu_count()), *(int(library.num_threads) for library in _openmp())]
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # "4,2": nested levels
    if said.isdigit():
        limits.append(int(said))
    return max(1, min(limits))


def _openmp() -> list[Any]:
    """The OpenMP libraries found the first time there were any: a limit is set on all alike.

    To look for them takes milliseconds.
    """
    global _found
    if not _found:
        _found = threadpoolctl.ThreadpoolController().select(user_api="openmp").lib_controllers
    return _found


_found: list[Any] = []


def checked_n_jobs(n_jobs: Any) -> int:
    """A count of threads, or a negative number counted from the CPUs."""
    if not is_number(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            "n_jobs must be None for all free CPUs, a count, or a negative number counted from "
            f"the CPUs (-1 is all); n_jobs must not be {n_jobs!r}"
        )
    return int(n_jobs)
