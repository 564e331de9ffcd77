"""The kernels by name, and the choice among them."""

from __future__ import annotations

from emscoreset.kernels.base import Kernel
from emscoreset.kernels.reference import ReferenceKernel

__all__ = ["Kernel", "ReferenceKernel", "get_kernel"]


def get_kernel(name: str = "auto", n_jobs: int | None = None) -> Kernel:
    """The kernel called ``name``: "numpy", "native", or "auto" for the best there is."""
    if name in ("auto", "numpy"):
        return ReferenceKernel()
    raise ValueError(f'kernel must be "auto", "native" or "numpy", not {name!r}')
