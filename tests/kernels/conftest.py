"""Every kernel, and the native one at every instruction set this processor runs."""

from __future__ import annotations

import pytest

from emscoreset.kernels import Kernel, NativeKernel, ReferenceKernel, native

LEVELS = native.levels()


@pytest.fixture(params=["numpy", *(f"native {level}" for level in LEVELS)])
def any_kernel(request: pytest.FixtureRequest) -> Kernel:
    if request.param == "numpy":
        return ReferenceKernel()
    return NativeKernel(2, level=request.param.split()[1])


@pytest.fixture(params=LEVELS)
def native_kernel(request: pytest.FixtureRequest) -> NativeKernel:
    return NativeKernel(2, level=request.param)
