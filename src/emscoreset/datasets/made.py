"""A table that is made, not found: orders of a shop that nobody runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DAY = 86_400
FROM = 1_640_995_200  # 2022-01-01 in seconds
GROUPS = (
    *("books", "garden", "kitchen", "toys", "shoes", "bags"),
    *("phones", "music", "sports", "tools", "pets", "lamps"),
)
COUNTRIES = ("DE", "FR", "PL", "NL", "IT", "ES", "AT", "SE")
PAYMENTS = ("card", "invoice", "transfer", "wallet", "cash")
DEVICES = ("phone", "laptop", "tablet")


def make_orders(n: int = 1_000_000, rng: np.random.Generator | int | None = 0) -> pa.Table:
    """n orders with categories, dates, decimals and gaps, made from a seed.

    What is bought, where, when, how it is paid and what becomes of it hang together as they
    would; the gaps are not random either. ``order`` and ``customer`` tell nothing.
    """
    rng = np.random.default_rng(rng)
    group = _pick(rng, n, len(GROUPS), 0.9)
    country = _pick(rng, n, len(COUNTRIES), 1.1)
    young = rng.random(n) < 0.35 + 0.4 * np.isin(group, (3, 6, 7))
    age = np.clip(np.where(young, rng.normal(27, 6, n), rng.normal(52, 12, n)), 18, 95)
    device = np.where(rng.random(n) < np.where(young, 0.8, 0.3), 0, 1 + (rng.random(n) < 0.25))
    payment = np.where(young, _pick(rng, n, 5, 1.5)[::-1] % 5, _pick(rng, n, 5, 0.7))
    items = 1 + rng.poisson(0.4 + 0.15 * (group % 5), n)
    typical = np.exp(2.0 + 0.14 * (group % 11) + 0.05 * (country % 4))
    cents = (100 * items * typical * rng.lognormal(0, 0.5, n)).astype(np.int64) + 99
    discount = np.where(rng.random(n) < 0.2, rng.choice([5.0, 10.0, 20.0], n), 0.0)
    seconds = _moments(rng, n, group)
    days = 1 + rng.poisson(1.5 + 0.6 * (country % 5), n)
    late = days > 6
    returned = rng.random(n) < 0.04 + 0.18 * np.isin(group, (4, 5)) + 0.15 * late
    rating = np.clip(np.round(rng.normal(4.3 - 1.2 * late - 0.8 * returned, 0.8)), 1, 5)
    return pa.table(
        {
            "order": pa.array(np.arange(10_000_000, 10_000_000 + n)),
            "customer": _customers(rng, n),
            "placed": pa.array(seconds, pa.timestamp("s", "Europe/Berlin")),
            "country": _labels(country, COUNTRIES),
            "group": _labels(group, GROUPS),
            "device": _labels(device, DEVICES),
            "payment": _labels(payment, PAYMENTS, gap=rng.random(n) < 0.02),
            "age": pa.array(age.astype(np.int16), mask=rng.random(n) < 0.08),
            "items": pa.array(items.astype(np.int16)),
            "price": _decimals(cents),
            "discount": pa.array(discount),
            "days": pa.array(days.astype(np.int16)),
            "returned": pa.array(returned),
            "rating": pa.array(rating, mask=rng.random(n) < np.where(late, 0.3, 0.6)),
        }
    )


def _pick(rng: np.random.Generator, n: int, k: int, steep: float) -> NDArray[np.intp]:
    """Categories, the first the most frequent."""
    p = np.arange(1, k + 1) ** -steep
    return np.searchsorted(np.cumsum(p / p.sum()), rng.random(n)).clip(max=k - 1)


def _moments(rng: np.random.Generator, n: int, group: NDArray[np.intp]) -> NDArray[np.int64]:
    """When: over three years, more towards Christmas, gardens in spring, and in the evening."""
    day = rng.integers(0, 3 * 365, n)
    season = np.where(group == 1, 120, 350)
    moved = rng.random(n) < 0.3
    day = np.where(moved, 365 * rng.integers(0, 3, n) + season + rng.integers(-25, 15, n), day)
    hour = np.clip(rng.normal(17, 4, n), 0, 23.99)
    return FROM + DAY * day + (3600 * hour).astype(np.int64)


def _customers(rng: np.random.Generator, n: int) -> pa.Array:
    """Keys such as C00012345, each of a few orders."""
    digits = rng.integers(0, max(1, n // 3), n)[:, None] // 10 ** np.arange(7, -1, -1) % 10
    text = np.full((n, 9), ord("C"), dtype=np.uint8)
    text[:, 1:] = digits + ord("0")
    ends = np.arange(0, 9 * n + 1, 9, dtype=np.int32)
    buffers: list[Any] = [None, pa.py_buffer(ends), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), n, buffers)


def _labels(codes: NDArray[Any], names: tuple[str, ...], gap: Any = None) -> pa.Array:
    index = pa.array(codes.astype(np.int8), mask=gap)
    return pa.DictionaryArray.from_arrays(index, list(names))


def _decimals(cents: NDArray[np.int64]) -> pa.Array:
    """Prices to the cent, as decimals."""
    words = np.zeros((len(cents), 2), dtype=np.int64)
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words)])
