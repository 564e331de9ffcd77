"""score: what rows that a coreset has not seen cost with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emscoreset import compress, score
from emscoreset.datasets import make_orders
from oracles import costs
from tables import plain_table

pytestmark = [
    pytest.mark.filterwarnings("ignore:left out .*:UserWarning"),
]


@pytest.fixture(scope="module")
def orders() -> pa.Table:
    return make_orders(3000, rng=0).drop_columns("customer")


SCORE = """
import json, sys
from emscoreset import load, score
for path in sys.argv[2:]:
    found = score(sys.argv[1], load(path))
    print(json.dumps([found.nearest, found.distance, found.variance, found.moved, found.n]))
"""


def test_held_out_rows_in_a_new_process(orders: pa.Table, tmp_path: Path):
    held_out = make_orders(1000, rng=1)
    pq.write_table(held_out, tmp_path / "others.parquet")
    made = {}
    for name, options in {"hard": {}, "soft": {"reg": 0.1}, "drop": {"missing": "drop"}}.items():
        options = {"missing": "indicator", "random_state": 0, **options}
        made[tmp_path / f"{name}.parquet"] = compress(orders, 50, **options)
    for path, coreset in made.items():
        coreset.save(path)
    command = [sys.executable, "-c", SCORE, tmp_path / "others.parquet", *made]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for (path, coreset), line in zip(made.items(), done.stdout.splitlines(), strict=True):
        nearest, distance, variance, moved, n = json.loads(line)
        rows = held_out
        if path.stem == "drop":
            rows = held_out.filter(pa.array(coreset.encoder.complete(held_out)))
        X = coreset.encoder.transform(rows).astype(np.float64)
        C = costs(X, coreset.atoms)
        assert n == len(X)
        assert nearest == pytest.approx(C.min(axis=1).mean(), rel=1e-5)
        assert variance == pytest.approx(X.var(axis=0).sum(), rel=1e-5)
        if path.stem == "soft":
            assert distance >= nearest
        else:
            assert distance == pytest.approx(nearest)
            masses = np.bincount(C.argmin(axis=1), minlength=50) / len(X)
            assert moved == pytest.approx(0.5 * np.abs(masses - coreset.weights).sum(), abs=2e-3)


def test_scoring_the_data_itself_gives_its_distance(orders: pa.Table):
    coreset = compress(orders, 50, missing="indicator", weight="items", random_state=0)
    found = score(orders, coreset, weight="items")
    assert found.distance == pytest.approx(coreset.distance, rel=1e-6)
    assert found.kept == pytest.approx(coreset.kept, rel=1e-6)
    assert found.moved == pytest.approx(0.0, abs=1e-9)
    assert f"variance kept: {100 * found.kept:.4g} %" in str(found)


def test_scoring_plain_coresets():
    X = np.random.default_rng(0).normal(size=(200, 3))
    from emscoreset import EMSCoreset

    coreset = EMSCoreset(20, reg=0.0, random_state=0).fit(X).coreset_
    assert score(X, coreset).distance == pytest.approx(coreset.distance)
    frame = pd.DataFrame(X, columns=coreset.feature_names)
    assert score(frame, coreset).distance == pytest.approx(coreset.distance)
    with pytest.raises(ValueError, match="lacks columns"):
        score(pl.DataFrame(X[:, :2]), coreset)
    with pytest.raises(ValueError, match="known to coresets of compress"):
        coreset.compare()


def test_scoring_no_rows():
    table = plain_table(60)
    coreset = compress(table, 5, random_state=0)
    with pytest.raises(ValueError, match="data has no rows"):
        score(table.slice(0, 0), coreset)
