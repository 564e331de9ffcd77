"""The choice of a kernel, its instruction set and its threads."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings

import joblib
import pytest
import threadpoolctl

from emscoreset.kernels import NativeKernel, ReferenceKernel, _warn_not_built, get_kernel, native
from emscoreset.kernels.threads import effective_threads

built = pytest.mark.skipif(not native.available(), reason="the C++ kernel was not built")


@built
def test_the_best_there_is() -> None:
    kernel = get_kernel()
    assert isinstance(kernel, NativeKernel)
    assert kernel.level == native.levels()[-1]
    assert kernel.n_threads == effective_threads()
    assert isinstance(get_kernel("native", n_jobs=3), NativeKernel)
    assert isinstance(get_kernel("numpy"), ReferenceKernel)


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match='must be "auto", "native" or "numpy", not \'cuda\''):
        get_kernel("cuda")


def test_without_the_extension_numpy_takes_its_place_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "_native", None)
    _warn_not_built.cache_clear()
    with pytest.warns(UserWarning, match=r"C\+\+ kernel was not built.*install a C\+\+17"):
        assert isinstance(get_kernel(), ReferenceKernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(get_kernel(), ReferenceKernel)
    with pytest.raises(ImportError, match="was not built; install emscoreset where"):
        get_kernel("native")


@built
def test_the_environment_forces_an_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for level in native.levels():
        monkeypatch.setenv(native.LEVEL_VARIABLE, level)
        kernel = get_kernel()
        assert isinstance(kernel, NativeKernel)
        assert kernel.level == level
    monkeypatch.setenv(native.LEVEL_VARIABLE, "x86-64-v9")
    with pytest.raises(ValueError, match=r"EMSCORESET_KERNEL_LEVEL.*plain.*not 'x86-64-v9'"):
        get_kernel()


def test_threads_follow_the_cpus_and_the_limits_on_openmp() -> None:
    cpus = joblib.cpu_count()
    assert effective_threads() <= cpus
    assert effective_threads(3) == 3
    assert effective_threads(-1) == cpus
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        effective_threads(0)
    importlib.import_module("sklearn.cluster")  # loads OpenMP
    with threadpoolctl.threadpool_limits(1):
        assert effective_threads() == 1
    assert (
        joblib.Parallel(2)(joblib.delayed(effective_threads)() for _ in range(2))
        == [max(1, cpus // 2)] * 2
    )


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_threads_follow_affinity_and_environment() -> None:
    show = "from emscoreset.kernels.threads import effective_threads as t; print(t())"
    first = min(os.sched_getaffinity(0))
    pinned = f"import os; os.sched_setaffinity(0, [{first}]); {show}"
    for code, env in ((pinned, {}), (show, {"OMP_NUM_THREADS": "1"})):
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == "1"
