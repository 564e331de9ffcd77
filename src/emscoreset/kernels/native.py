"""The compiled kernel, where the C++ extension was built."""

from __future__ import annotations

try:
    from emscoreset.kernels import _native
except ImportError:  # built without a C++ compiler
    _native = None  # type: ignore[assignment]


def available() -> bool:
    """Whether the extension was built."""
    return _native is not None
