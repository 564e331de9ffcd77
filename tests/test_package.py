"""The package as installed: light to import, one version, whole."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import emscoreset
from emscoreset.kernels import get_kernel

ROOT = Path(__file__).resolve().parents[1]


def test_nothing_heavy_is_imported():
    heavy = {"torch", "shap", "matplotlib", "dask", "pandas", "polars", "typer", "rich"}
    code = f"import sys, emscoreset; print(sorted(set(sys.modules) & {heavy}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_one_version():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert emscoreset.__version__ == declared == metadata.version("emscoreset")


def test_everything_named_is_there():
    for name in emscoreset.__all__:
        assert getattr(emscoreset, name) is not None


def test_a_kernel_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="kernel must be"):
        get_kernel("cuda")
