"""What users give: numbers refused by name where they make no sense, seeds, parameters in words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: Any, kind: type = Real) -> bool:
    """Whether this is a number of the kind, Real or Integral; a boolean is none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_number(name: str, value: Any, kind: type, least: int) -> None:
    """Refuse what is not a finite number of the kind, Real or Integral, or is below ``least``."""
    if is_number(value, kind) and least <= value < float("inf"):
        return
    what = "whole number" if kind is Integral else "finite number"
    raise ValueError(f"{name} must be a {what} >= {least}, not {value!r}")


def in_words(value: Any) -> Any:
    """A parameter or a label as JSON holds it."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): in_words(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_words(one) for one in value]
    if hasattr(value, "shape"):
        return f"array of shape {tuple(value.shape)}"
    return type(value).__name__


def drawn_seed(random_state: Any) -> int:
    """A whole number that repeats the fit: the one given, or one drawn from the generator."""
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 31))
    from sklearn.utils import check_random_state

    try:
        rng = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be None, a whole number from 0 on, a RandomState or a Generator, "
            f"not {random_state!r}"
        ) from error
    return int(rng.randint(1 << 31, dtype=np.int64))
