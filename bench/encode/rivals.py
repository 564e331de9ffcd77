"""What is measured: each rival alone in a process, and single components side by side."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emscoreset.encode import Encoder
from emscoreset.encode.look import LEAST_SHARE, MOST_OPTIONS
from emscoreset.encode.moments import BLOCK, moments, quantiles, shares
from emscoreset.tables import read_table

LABELS = (3, 6, 12, 30)
PARTS = (
    "Which is why the encoder does not use them; that the figures are the same is tested. "
    "Weights: OneHotEncoder and RobustScaler take none."
)


def made(n: int, path: Path) -> None:
    """A table of n rows as a Parquet file."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number {j}": rng.normal(size=n) for j in range(5)}
    columns["age"] = rng.integers(18, 90, n).astype(np.int32)
    columns["count"] = rng.poisson(3, n)
    columns["member"] = rng.random(n) < 0.3
    seconds = rng.integers(10_000 * 86_400, 20_000 * 86_400, n)
    columns["seen"] = pa.array(seconds * 10**6).cast(pa.timestamp("us"))
    for k in LABELS:
        columns[f"text {k}"] = np.array([f"label {i}" for i in range(k)])[rng.integers(0, k, n)]
    pq.write_table(pa.table(columns), path)


def one_hot() -> Any:
    """scikit-learn's encoder with our limits."""
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(
        min_frequency=LEAST_SHARE, max_categories=MOST_OPTIONS, sparse_output=False
    )


def ours(path: Path, clock: Callable[[], None]) -> Any:
    """This package."""
    data = read_table(path).table
    clock()
    return Encoder.fit(data).encoder.transform(data)


def peer(path: Path, clock: Callable[[], None]) -> Any:
    """What one would write without it."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import StandardScaler

    frame = pd.read_parquet(path)
    clock()
    frame["seen"] = frame["seen"].astype("int64")
    text = [name for name in frame if name.startswith("text")]
    numbers = [name for name in frame if name not in text]
    both = ColumnTransformer([("n", StandardScaler(), numbers), ("t", one_hot(), text)])
    return both.fit_transform(frame)


RIVALS = {"emscoreset": ours, "pandas + ColumnTransformer": peer}


def parts(path: Path) -> dict[str, dict[str, Callable[[], Any]]]:
    """Single components: name -> rival -> call."""
    from sklearn.preprocessing import RobustScaler, StandardScaler

    data = read_table(path).table
    number, text = data["number 0"], data["text 12"]
    array, objects = number.to_numpy()[:, None], text.to_numpy()[:, None]
    weight = np.random.default_rng(1).random(len(array))

    def in_blocks(a: Any) -> None:
        scaler = StandardScaler()
        for i in range(0, len(array), BLOCK):
            part = slice(i, i + BLOCK)
            scaler.partial_fit(array[part], sample_weight=None if a is None else a[part])

    quarters = np.array([0.25, 0.5, 0.75])
    return {
        "StandardScaler, block by block": {
            "scikit-learn": lambda: in_blocks(None),
            "ours": lambda: moments(number, None),
        },
        "the same with weights": {
            "scikit-learn": lambda: in_blocks(weight),
            "ours": lambda: moments(number, weight),
        },
        "RobustScaler": {
            "scikit-learn": lambda: RobustScaler(unit_variance=True).fit(array),
            "ours": lambda: quantiles(number.to_numpy(), None, quarters),
        },
        "OneHotEncoder": {
            "scikit-learn": lambda: one_hot().fit(objects),
            "ours": lambda: shares(text, None),
        },
    }


def _peak() -> float:
    """The most memory that this process has had, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main() -> None:
    """One rival, once: seconds and MiB as JSON."""
    import pandas  # noqa: F401  both have it loaded
    import sklearn.compose
    import sklearn.preprocessing  # noqa: F401

    name, path = sys.argv[1], Path(sys.argv[2])
    before, times = _peak(), [time.perf_counter()]
    Z = RIVALS[name](path, lambda: times.append(time.perf_counter()))
    times.append(time.perf_counter())
    read, encode = np.diff(times)
    memory, features = _peak() - before, Z.shape[1]
    print(
        json.dumps(
            {
                "read": read,
                "encode": encode,
                "both": read + encode,
                "memory": memory,
                "features": features,
            }
        )
    )


if __name__ == "__main__":
    main()
