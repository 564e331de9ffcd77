"""The two ways from a Parquet file to weighted real rows, and one yardstick for both.

Each runs in a process of its own: ``python -m bench.compress.contenders NAME DATA OUT K``. It
leaves the chosen rows' numbers and weights in OUT and prints its seconds and peak memory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

UNUSED = ("order", "customer")
LABELS = ["country", "group", "device", "payment"]


def ours(data: Path, k: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """emscoreset.compress with its defaults."""
    from emscoreset import compress

    coreset = compress(data, k, exclude=["customer"], missing="indicator", random_state=0)
    return coreset.row_numbers, coreset.sample_weight, coreset.to_frame()


def theirs(data: Path, k: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """pandas, StandardScaler and OneHotEncoder, KMeans with its defaults, the nearest rows."""
    import pandas as pd
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    frame = pd.read_parquet(data)
    X = pipeline(frame).fit_transform(frame)
    model = KMeans(k, random_state=0).fit(X)
    numbers = pairwise_distances_argmin(model.cluster_centers_, X)
    weights = np.bincount(model.labels_, minlength=k)
    chosen = frame.iloc[numbers].assign(weight=weights)
    return numbers, weights, chosen


def pipeline(frame: Any) -> Any:
    """What a careful user writes: scaled numbers, gaps marked, categories one-hot."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    floats = FunctionTransformer(as_floats)
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(floats, SimpleImputer(add_indicator=True), StandardScaler()),
                [name for name in frame if name not in (*UNUSED, *LABELS)],
            ),
            ("labels", OneHotEncoder(), LABELS),
        ]
    )


def as_floats(frame: Any) -> Any:
    """Numbers, booleans and dates as float64."""
    dates = {"placed": frame["placed"].astype("int64")}
    return frame.assign(**dates).astype("float64")


CONTENDERS: dict[str, Callable[[Path, int], tuple[np.ndarray, np.ndarray, Any]]] = {
    "emscoreset": ours,
    "pandas + scikit-learn": theirs,
}


def main(name: str, data: str, out: str, k: str) -> None:
    began = time.perf_counter()
    numbers, weights, _ = CONTENDERS[name](Path(data), int(k))
    seconds = time.perf_counter() - began
    np.savez(out, numbers=numbers, weights=weights)
    print(json.dumps({"seconds": seconds, "megabytes": peak()}))


def peak() -> float:
    """The process's own peak in megabytes: getrusage counts what its parent had, too."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
