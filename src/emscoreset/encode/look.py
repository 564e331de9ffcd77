"""A look at one column: whether it takes part, and what it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from emscoreset.encode.columns import Column, Labels, Number
from emscoreset.encode.moments import (
    MOST_DISTINCT,
    Moments,
    Shares,
    blocks,
    gap_mask,
    moments,
    more_different,
    numbering,
    quantiles,
    shares,
)
from emscoreset.encode.values import Kind, as_floats, as_labels, kind_of, units_per_day
from emscoreset.plain import MOST_CATEGORIES
from emscoreset.stats import Floats

LEAST_SHARE = 0.01  # labels with less of the mass are pooled
MOST_OPTIONS = 32  # of a column of labels, the pool among them
FEW = 20  # so many different values are never too many
QUARTILES = np.array([0.25, 0.5, 0.75])
NORMAL_IQR = 1.3489795003921634  # of a normal distribution of variance 1
ID_NAME = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|guid))$|[a-z]I[dD]$", re.ASCII)


@dataclass(frozen=True)
class Task:
    """One column to look at, and what the user asked for."""

    name: str
    values: pa.ChunkedArray
    weight: Floats | None
    missing: str
    scale: str
    importance: float
    wanted: bool  # by name


@dataclass(frozen=True)
class Look:
    """What a column becomes, or None where it is left out; what to say; its gaps to refuse."""

    name: str
    column: Column | None
    note: str = ""
    gaps: bool = False


def look(task: Task) -> Look:
    """Look at a column."""
    kind = kind_of(task.values.type)
    if kind is Kind.BINARY:
        return _left_out(task, "it holds binary data")
    if kind is Kind.CATEGORY:
        return _look_at_labels(task, shares(task.values, task.weight))
    seen = moments(task.values, task.weight)
    if seen.mass > 0 and not np.isfinite(seen.squares):
        infinite = not np.isfinite([seen.least, seen.most]).all()
        raise ValueError(
            f"column {task.name!r} holds "
            + ("infinity" if infinite else "numbers so large that their squares overflow")
            + ": replace it, drop its rows, or leave it out with exclude="
        )
    if seen.constant:
        return _look_at_labels(task, _one_label(task, seen))
    if not task.wanted and (why := _identifier(task, seen)):
        return _left_out(task, why)
    return _look_at_number(task, seen)


def _left_out(task: Task, why: str) -> Look:
    return Look(task.name, None, f"left out {task.name!r}: {why}")


def _one_label(task: Task, seen: Moments) -> Shares:
    """A column of numbers with one value, or none, is a column of one label."""
    n = len(task.values)
    if seen.mass == 0:
        return Shares([], np.zeros(0), seen.gap_mass, n, n, False)
    there = ~gap_mask(task.values)
    if task.weight is not None:
        there &= task.weight > 0
    value = task.values.slice(int(np.argmax(there)), 1).combine_chunks()
    return Shares(
        as_labels(value).to_pylist(), np.array([seen.mass]), seen.gap_mass, seen.n_gaps, n, False
    )


def _identifier(task: Task, seen: Moments) -> str:
    """Why these whole numbers are no quantity, or nothing where they are one."""
    type_, n = task.values.type, len(task.values) - seen.n_gaps
    if pt.is_boolean(type_) or kind_of(type_) is Kind.TIME or 1.0 not in seen.steps or n <= FEW:
        return ""
    if pt.is_integer(type_) and seen.n_gaps == 0 and numbering(task.values):
        why = f"{n:,} whole numbers, all different and almost without gaps, number the rows"
    elif ID_NAME.search(task.name) and more_different(task.values, MOST_OPTIONS):
        why = (
            f"its name and its more than {MOST_OPTIONS} different whole numbers say that it is an "
            "identifier"
        )
    else:
        return ""
    return f"{why}; name it in columns= if it is a quantity"


def _look_at_number(task: Task, seen: Moments) -> Look:
    type_, note = task.values.type, ""
    there = seen.mass / (seen.mass + seen.gap_mass)
    filled = task.missing == "impute"
    center, spread = seen.mean, np.sqrt(seen.variance * (there if filled else 1.0))
    if task.scale == "robust" and not pt.is_boolean(type_):  # these count like two labels
        center, robust = _robust(task, seen, filled)
        if robust > 0:
            spread = robust
        else:
            note = (
                f"column {task.name!r}: half of its values are equal, so that it has no "
                "interquartile range; scaled by its standard deviation"
            )
    elif task.scale == "none":
        spread = float(units_per_day(type_)) if kind_of(type_) is Kind.TIME else 1.0
    spread = float(spread) or seen.most - seen.least
    shown = task.missing == "indicator" and seen.n_gaps > 0
    rise = 1.0 if task.scale == "none" else 1 / np.sqrt(there)
    column = Number(
        name=task.name,
        center=float(center),
        factor=task.importance / spread,
        least=seen.least,
        most=seen.most,
        step=seen.steps[0] if seen.steps else 0.0,
        presence=float(task.importance * rise) if shown else 0.0,
        fills=filled,
    )
    return Look(task.name, column, note, gaps=seen.n_gaps > 0)


def _robust(task: Task, seen: Moments, filled: bool) -> tuple[float, float]:
    """The median and the interquartile range, in standard deviations of a normal distribution."""
    values = np.concatenate([as_floats(part) for part, _ in blocks(task.values, None)])
    there = ~np.isnan(values)
    weight = task.weight
    if weight is not None:
        there &= weight > 0
        weight = weight[there]
    values = values[there]
    low, middle, high = quantiles(values, weight, QUARTILES)
    if filled and seen.n_gaps:
        more = seen.n_gaps if weight is None else 1
        values = np.append(values, np.full(more, middle))
        weight = None if weight is None else np.append(weight, seen.gap_mass)
        low, _, high = quantiles(values, weight, QUARTILES)
    return float(middle), float(high - low) / NORMAL_IQR


def _look_at_labels(task: Task, seen: Shares) -> Look:
    n_labels = len(seen.labels)
    if seen.too_many:
        return _left_out(task, f"text with more than {MOST_DISTINCT:,} different values")
    if n_labels == 0:
        return Look(task.name, Labels(task.name, (), 0.0, gap=True))
    mass, fill = seen.mass.copy(), None
    if task.missing == "impute":
        best = int(np.argmax(mass))
        fill = seen.labels[best]
        mass[best] += seen.gap_mass
    gap = task.missing == "indicator" and seen.n_gaps > 0
    total = mass.sum() + (seen.gap_mass if gap else 0.0)
    kept = _frequent(mass, LEAST_SHARE * total)
    there = seen.n - seen.n_gaps
    if not (kept.any() or gap):
        least = f"{100 * LEAST_SHARE:g} %"
        return _left_out(task, f"none of its {n_labels:,} texts makes up {least} of the data")
    if not task.wanted and n_labels > FEW:
        share = mass[kept].sum() / mass.sum()
        if n_labels > there / 2 or share < 0.5:
            return _left_out(
                task,
                f"{n_labels:,} different texts in {there:,} rows; the {kept.sum()} most frequent "
                f"are {100 * share:.0f} % of the data; name it in columns= to use those",
            )
    rare = np.flatnonzero(~kept)
    pooled = seen.labels[rare[np.argmax(mass[rare])]] if len(rare) else None
    parts = np.array([*mass[kept], mass[rare].sum(), seen.gap_mass if gap else 0.0]) / total
    height = task.importance
    if task.scale != "none" and (spread := 1 - parts @ parts) > 0:
        height /= float(np.sqrt(spread))
    column = Labels(
        name=task.name,
        labels=tuple(label for label, keep in zip(seen.labels, kept, strict=True) if keep),
        height=height,
        pooled=pooled,
        gap=gap,
        fill=fill,
        categories=_categories(task.values),
    )
    return Look(task.name, column, gaps=seen.n_gaps > 0)


def _frequent(mass: Floats, least: float) -> Any:
    """Which labels have a feature of their own, as OneHotEncoder chooses."""
    kept = mass >= least
    if kept.sum() + (not kept.all()) > MOST_OPTIONS:
        kept = np.zeros(len(mass), np.bool_)
        kept[np.argsort(mass, kind="stable")[-(MOST_OPTIONS - 1) :]] = True
    return kept


def _categories(values: pa.ChunkedArray) -> tuple[Any, ...]:
    """All categories of a dictionary column, also those that no row has, unless too many."""
    if not pt.is_dictionary(values.type) or values.num_chunks == 0:
        return ()
    known = as_labels(values.unify_dictionaries().chunk(0).dictionary).drop_null()
    return tuple(known.to_pylist()) if len(known) <= MOST_CATEGORIES else ()
