"""The kernels by name, and the choice among them."""

from __future__ import annotations

import warnings
from functools import cache

from emscoreset.kernels import native
from emscoreset.kernels.base import Kernel
from emscoreset.kernels.native import NativeKernel
from emscoreset.kernels.reference import ReferenceKernel
from emscoreset.kernels.threads import checked_n_jobs

__all__ = ["Kernel", "NativeKernel", "ReferenceKernel", "get_kernel"]


def get_kernel(name: str = "auto", n_jobs: int | None = None) -> Kernel:
    """The kernel called ``name``: "numpy", "native", or "auto" for the best there is."""
    if n_jobs is not None:
        checked_n_jobs(n_jobs)  # also where NumPy, which has threads of its own, ignores it
    if name == "numpy":
        return ReferenceKernel()
    if name == "native" or (name == "auto" and native.available()):
        return NativeKernel(n_jobs)
    if name == "auto":
        _warn_not_built()
        return ReferenceKernel()
    raise ValueError(f'kernel must be "auto", "native" or "numpy", not {name!r}')


@cache  # once per process
def _warn_not_built() -> None:
    warnings.warn(
        "emscoreset's C++ kernel was not built: passes run in NumPy, with the same results but "
        "many times slower. To build it, install a C++17 compiler and reinstall emscoreset; "
        'kernel="numpy" chooses NumPy without this warning.',
        UserWarning,
        stacklevel=3,
    )
