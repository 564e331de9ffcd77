"""Files of each data set's own format -> arrays by name: X, y, X_test, y_test, columns."""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

# What a data set's checksum covers, in this order; names of columns are not part of it.
CHECKED = ("X", "y", "X_test", "y_test")


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of the arrays themselves, whatever file they came in."""
    out = hashlib.sha256()
    for name in CHECKED:
        if name in arrays:
            array = np.ascontiguousarray(arrays[name])
            out.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            out.update(array.data)
    return out.hexdigest()


def read_npz(paths: Sequence[Path]) -> Arrays:
    """An archive of X and y, or of X_train, y_train, X_test, y_test; other arrays are left out."""
    with np.load(paths[0], allow_pickle=False) as stored:
        arrays = {name.removesuffix("_train"): stored[name] for name in stored.files}
    return {name: arrays[name] for name in (*CHECKED, "columns") if name in arrays}


def read_idx(paths: Sequence[Path]) -> Arrays:
    """Images and labels in MNIST's format: training images and labels, then the test's."""
    names = ("X", "y", "X_test", "y_test")
    arrays = {name: _idx(path) for name, path in zip(names, paths, strict=True)}
    return {name: a.reshape(len(a), -1) if a.ndim > 1 else a for name, a in arrays.items()}


def _idx(path: Path) -> NDArray[np.uint8]:
    """Two zeros, the type (8 = bytes), the number of axes, their lengths, then the values."""
    with gzip.open(path) as file:
        magic = file.read(4)
        if magic[:3] != b"\0\0\x08":
            raise ValueError(f"{path.name} is not an IDX file of bytes: it begins with {magic!r}")
        shape = np.frombuffer(file.read(4 * magic[3]), dtype=">u4").tolist()
        values = np.frombuffer(file.read(), dtype=np.uint8)
    if values.size != math.prod(shape):
        raise ValueError(f"{path.name} holds {values.size} values, not {shape} as it says")
    return values.reshape(shape)


# The columns of UCI's adult.data; those after the first name are text.
ADULT = {
    "Age": float,
    "Workclass": str,
    "fnlwgt": None,
    "Education": None,
    "Education-Num": float,
    "Marital Status": str,
    "Occupation": str,
    "Relationship": str,
    "Race": str,
    "Sex": str,
    "Capital Gain": float,
    "Capital Loss": float,
    "Hours per week": float,
    "Country": str,
    "Target": str,
}
RELATIONSHIP = ("Not-in-family", "Unmarried", "Other-relative", "Own-child", "Husband", "Wife")


def read_adult(paths: Sequence[Path]) -> Arrays:
    """UCI's adult.data as the SHAP package gives it: 12 columns, categories as codes.

    Two columns are left out; categories are numbered in lexical order, relationships in an
    order of their own.
    """
    with paths[0].open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    table = dict(zip(ADULT, zip(*rows, strict=True), strict=True))
    kept = [name for name, kind in ADULT.items() if kind is not None and name != "Target"]
    X = np.column_stack([_coded(name, table[name]) for name in kept])
    y = np.array([answer.startswith(">50K") for answer in table["Target"]], dtype=np.int8)
    return {"X": X, "y": y, "columns": np.array(kept)}


def _coded(name: str, values: Sequence[str]) -> NDArray[np.float32]:
    if ADULT[name] is float:
        return np.array(values, dtype=np.float32)
    order = RELATIONSHIP if name == "Relationship" else sorted(set(values))
    code = {value: number for number, value in enumerate(order)}
    return np.array([code[value] for value in values], dtype=np.float32)


def read_adult_parquet(paths: Sequence[Path]) -> Arrays:
    """The same table already coded, the answer in the column Target."""
    import pyarrow.parquet as pq

    table = pq.read_table(paths[0])
    kept = [name for name in table.column_names if name != "Target"]
    X = np.column_stack([table[name].to_numpy().astype(np.float32) for name in kept])
    return {"X": X, "y": table["Target"].to_numpy().astype(np.int8), "columns": np.array(kept)}


def read_credit(paths: Sequence[Path]) -> Arrays:
    """Clients of a bank: a number, 23 columns, and whether they did not pay."""
    with paths[0].open(newline="") as file:
        columns = next(csv.reader(file))
        table = np.loadtxt(file, delimiter=",", dtype=np.float64, ndmin=2)
    return {
        "X": table[:, 1:-1].astype(np.float32),
        "y": np.where(table[:, -1] > 0, 1, -1).astype(np.int8),
        "columns": np.array(columns[1:-1]),
    }


def read_with_intercept(paths: Sequence[Path]) -> Arrays:
    """An archive of X and y whose X may end in a column of ones, which is left out."""
    arrays = read_npz(paths)
    X = arrays["X"]
    if X.shape[1] > 1 and (X[:, -1] == 1).all():
        arrays["X"] = X[:, :-1]
    return arrays


def read_diabetes(paths: Sequence[Path]) -> Arrays:
    """scikit-learn brings it along."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    return {"X": bunch.data, "y": bunch.target, "columns": np.array(bunch.feature_names)}
