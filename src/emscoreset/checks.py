"""Numbers that users give: refused by name where they make no sense."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def is_number(value: Any, kind: type = Real) -> bool:
    """Whether this is a number of the kind, Real or Integral; a boolean is none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_number(name: str, value: Any, kind: type, least: int) -> None:
    """Refuse what is not a finite number of the kind, Real or Integral, or is below ``least``."""
    if is_number(value, kind) and least <= value < float("inf"):
        return
    what = "whole number" if kind is Integral else "finite number"
    raise ValueError(f"{name} must be a {what} >= {least}, not {value!r}")
