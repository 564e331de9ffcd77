"""Fixtures that all rooms share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from emscoreset.kernels import Kernel, get_kernel, native

settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


# What is said once where there is no C++ compiler, which the tests say by skipping.
NOT_BUILT = "ignore:emscoreset's C.. kernel was not built:UserWarning"


def pytest_configure(config: pytest.Config) -> None:
    """The other kernel's tests run without a compiler, too; every other warning is an error."""
    if not native.available():
        config.addinivalue_line("filterwarnings", NOT_BUILT)


@pytest.fixture(params=["numpy", "native"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Every kernel that this build has."""
    if request.param == "native" and not native.available():
        pytest.skip("the C++ kernel was not built")
    return get_kernel(request.param)


@pytest.fixture
def run_example() -> Callable[[str], str]:
    """What a script of docs/examples prints; every warning but the one above is its end."""
    folder = Path(__file__).parents[1] / "docs" / "examples"
    not_built = "ignore:emscoreset's C++ kernel was not built"

    def run(name: str) -> str:
        command = [sys.executable, "-W", "error", "-W", not_built, str(folder / name)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets; tests that need it skip where it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EMSCORESET_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the real data sets are absent: set EMSCORESET_DATA to their folder")
    return folder
