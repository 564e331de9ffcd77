"""compress: tables of every kind to rows with their types, weights and the exact distance."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import ot
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emscoreset import Coreset, compress, load
from emscoreset.datasets import make_orders
from oracles import costs
from tables import BACKENDS, as_backend, every_type, plain_table

pytestmark = [
    pytest.mark.filterwarnings("ignore:left out .*:UserWarning"),
    pytest.mark.filterwarnings("ignore:column .* has no interquartile range.*:UserWarning"),
]


ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def orders() -> pa.Table:
    return make_orders(3000, rng=0).drop_columns("customer")


@pytest.fixture(scope="module")
def census(data_dir: Path) -> pa.Table:
    return pq.read_table(data_dir / "adult.parquet").slice(0, 4000)


def check(coreset: Coreset, table: pa.Table, mass: np.ndarray | None = None) -> None:
    """Rows of the data, all different; weights and distance are right."""
    numbers = coreset.row_numbers
    assert len(np.unique(numbers)) == len(numbers)
    own = coreset.rows.select(table.column_names)
    want = table.take(pa.array(numbers))
    for name in table.column_names:
        assert own[name].type == table[name].type
        assert own[name].to_pylist() == want[name].to_pylist() or has_nan(want[name])
    assert coreset.weights.sum() == pytest.approx(1.0, abs=1e-12)
    total = table.num_rows if mass is None else mass.sum()
    assert coreset.sample_weight.sum() == pytest.approx(total)
    X = coreset.encoder.transform(table).astype(np.float64)
    np.testing.assert_array_equal(coreset.atoms, X[numbers])
    nearest = costs(X, coreset.atoms).min(axis=1)
    cost = np.average(nearest, weights=mass)
    assert coreset.lower == pytest.approx(cost, rel=1e-5)


def has_nan(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()


OPTIONS = [
    {},
    {"reg": 0.05},
    {"rows": "atoms"},
    {"scale": "robust"},
    {"scale": "none", "columns": ["age", "days", "rating"], "missing": "impute"},
    {"exclude": ["placed", "price"]},
    {"weight": "items"},
    {"stratify": "returned"},
    {"stratify": "payment", "rows": "atoms", "weight": "items"},
    {"stratify": "country", "reg": 0.02},
    {"missing": "impute"},
    {"missing": "drop"},
    {"missing": "drop", "stratify": "device", "weight": "days"},
    {"importance": {"age": 2, "group": 0.5}},
    {"algorithm": "plain"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_on_a_mixed_table(orders: pa.Table, options: dict, tmp_path: Path):
    given_ = {"missing": "indicator", "random_state": 0, **options}
    coreset = compress(orders, 60, **given_)
    table, mass = orders, None
    if "weight" in options:
        mass = orders[options["weight"]].to_numpy().astype(float)
    if given_["missing"] == "drop":
        keep = coreset.encoder.complete(orders)
        assert 0 < keep.sum() < len(keep)
        if coreset.row_numbers is not None:
            assert keep[coreset.row_numbers].all()
        mass = (np.ones(len(keep)) if mass is None else mass) * keep
    elif given_.get("rows") != "atoms" and not given_.get("reg"):
        check(coreset, table, mass)
    total = table.num_rows if mass is None else mass.sum()
    assert coreset.sample_weight.sum() == pytest.approx(total)
    assert coreset.n == orders.num_rows
    if name := options.get("stratify"):
        check_strata(coreset, orders, name, mass)
    if options.get("rows") == "atoms":
        check_atoms(coreset, orders)
    coreset.save(tmp_path / "c.parquet")
    back = load(tmp_path / "c.parquet")
    assert back.summary() == coreset.summary()
    assert back.rows.schema.equals(coreset.rows.schema)


def check_strata(coreset: Coreset, table: pa.Table, name: str, mass: np.ndarray | None) -> None:
    """Each class's mass is exact."""
    a = np.ones(table.num_rows) if mass is None else mass
    want = pd.Series(a).groupby(table[name].to_pandas().to_numpy(), dropna=False).sum()
    labels = coreset.rows[name].to_pandas().to_numpy()
    got = pd.Series(coreset.sample_weight).groupby(labels, dropna=False).sum()
    pd.testing.assert_series_equal(got, want[want > 0], check_names=False, check_index_type=False)


def check_atoms(coreset: Coreset, table: pa.Table) -> None:
    """Rows of valid values at exactly the atoms that were measured, and nobody's row numbers."""
    assert coreset.row_numbers is None
    Z = coreset.encoder.transform(coreset.rows)
    np.testing.assert_allclose(Z, coreset.atoms, atol=1e-5)
    for name in coreset.rows.column_names:
        assert coreset.rows[name].type == table[name].type
        if pa.types.is_dictionary(table[name].type):
            values = set(coreset.rows[name].to_pylist())
            assert values <= set(table[name].to_pylist())
    assert (coreset.weights > 0).all()


@pytest.mark.parametrize("options", [{}, {"reg": 0.05}, {"stratify": "Target"}, {"rows": "atoms"}])
def test_census(census: pa.Table, options: dict):
    coreset = compress(census, 100, random_state=0, **options)
    if not options.get("reg") and options.get("rows") != "atoms":
        check(coreset, census)
    if name := options.get("stratify"):
        check_strata(coreset, census, name, None)
    assert coreset.rows.column_names[: census.num_columns - 1] == census.column_names[:-1]
    assert 0.5 < coreset.kept < 1


@pytest.mark.filterwarnings("ignore:reg=.* is so large that atoms merged:UserWarning")
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2, 3.0]), st.booleans())
def test_the_distance_is_the_oracles(seed: int, reg: float, weighted: bool):
    table = plain_table(60, seed)
    mass = np.random.default_rng(seed).integers(1, 5, 60) if weighted else None
    coreset = compress(table, 7, reg=reg, weight=mass, random_state=seed)
    X = coreset.encoder.transform(table).astype(np.float64)
    a = np.ones(60) if mass is None else mass.astype(float)
    exact = ot.emd2(a / a.sum(), coreset.weights, costs(X, coreset.atoms))
    assert coreset.lower <= exact * (1 + 1e-5)
    assert exact <= coreset.upper * (1 + 1e-5)
    if reg == 0:
        assert coreset.distance == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_type_survives(backend: str, tmp_path: Path):
    table = every_type()
    coreset = compress(as_backend(table, backend), 40, missing="indicator", random_state=0)
    coreset.save(tmp_path / "c.parquet")
    frame = load(tmp_path / "c.parquet").to_frame(backend)
    data = as_backend(table, backend)
    if backend == "pandas":
        want = data.iloc[coreset.row_numbers]
        pd.testing.assert_frame_equal(frame.drop(columns="weight"), want)
    elif backend == "polars":
        assert frame.drop("weight").equals(data[coreset.row_numbers.tolist()])
        assert frame.drop("weight").schema == data.schema
    else:
        want = data.take(pa.array(coreset.row_numbers))
        assert frame.drop_columns("weight").schema.equals(want.schema)
        assert frame.drop_columns("weight").to_pylist() == want.to_pylist()


def test_an_index_survives():
    days = pd.date_range("2024-01-01", periods=90, tz="Asia/Tokyo", name="day")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=90),
            "n": pd.array(rng.integers(0, 9, 90), "Int64"),
            "c": pd.Categorical(rng.choice(["a", "b"], 90), categories=["b", "a", "never"]),
        },
        index=days,
    )
    frame.loc[days[3], "n"] = pd.NA
    coreset = compress(frame, 10, missing="impute", random_state=0)
    got = coreset.to_frame().drop(columns="weight")
    pd.testing.assert_frame_equal(got, frame.iloc[coreset.row_numbers], check_freq=False)
    plain = compress(frame.reset_index(drop=True), 10, missing="impute", random_state=0)
    assert plain.to_frame().index.tolist() == plain.row_numbers.tolist()


def test_nested_columns_are_refused_by_name_and_kept_when_left_out():
    table = plain_table(50).append_column("tags", pa.array([["a"], []] * 25))
    with pytest.raises(ValueError, match="'tags'"):
        compress(table, 5)
    coreset = compress(table, 5, exclude=["tags"], random_state=0)
    assert coreset.rows["tags"].to_pylist() == table["tags"].take(coreset.row_numbers).to_pylist()


def test_arrays_and_labels_in_memory():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.repeat(["a", "b", "c"], [200, 90, 10])
    coreset = compress(X, 30, stratify=y, random_state=0)
    assert pc.value_counts(coreset.rows["label"]).to_pylist() == [
        {"values": "a", "counts": 20},
        {"values": "b", "counts": 9},
        {"values": "c", "counts": 1},
    ]
    series = compress(pl.DataFrame(X), 30, stratify=pl.Series("kind", y), rows="atoms")
    assert set(series.rows["kind"].to_pylist()) == {"a", "b", "c"}


def test_a_gap_in_the_classes_is_a_class():
    table = plain_table(60).append_column("y", pa.array([1, 1, None] * 20))
    coreset = compress(table, 6, stratify="y", random_state=0)
    assert coreset.rows["y"].to_pylist() == [1, 1, 1, 1, None, None]


def test_the_words(orders: pa.Table):
    coreset = compress(orders, 60, missing="indicator", stratify="device", random_state=0)
    words = coreset.in_words()
    assert words.startswith("60 of 3,000 rows; ")
    assert "% of the encoded variance kept with the classes apart (exact)" in words
    assert "masses of the classes are exact: phone: " in words
    assert "real people" in words
    plain = compress(orders, 60, missing="indicator", random_state=0)
    assert f"{100 * plain.kept:.4g} % of the encoded variance kept (exact)" in plain.in_words()
    soft = compress(orders, 60, missing="indicator", reg=0.1, random_state=0, rows="atoms")
    assert "weighted atoms for 3,000 rows; between " in soft.in_words()
    assert "real people" not in soft.in_words()


def test_the_columns_compared(orders: pa.Table):
    coreset = compress(orders, 60, missing="indicator", random_state=0, exclude=["price"])
    lines = {(one.column, one.figure): one for one in coreset.compare()}
    age = orders["age"].to_pandas()
    assert lines["age", "mean"].data == pytest.approx(age.mean())
    assert lines["age", "spread"].data == pytest.approx(age.std(ddof=0))
    assert lines["age", "share of gaps"].data == pytest.approx(age.isna().mean())
    assert lines["price", "mean"].data == pytest.approx(float(np.mean(orders["price"].to_pylist())))
    frame = coreset.to_frame()
    own = frame.dropna(subset="age")
    mean = np.average(own["age"].astype(float), weights=own["weight"])
    assert lines["age", "mean"].coreset == pytest.approx(mean)
    share = (orders["device"].to_pandas() == "phone").mean()
    assert lines["device", "share of phone"].data == pytest.approx(share)
    mine = frame["weight"][frame["device"] == "phone"].sum() / 3000
    assert lines["device", "share of phone"].coreset == pytest.approx(mine)
    assert lines["placed", "50 % quantile"].data.startswith("202")
    assert "order" not in {column for column, _ in lines}
    assert "phone" in coreset.summary()


def test_atoms_that_merge_are_told_of():
    with pytest.warns(UserWarning, match="atoms merged"):
        compress(plain_table(300), 20, reg=50.0, random_state=0)


def test_more_atoms_than_distinct_rows():
    table = pa.table({"a": [1.0, 1.0, 2.0, 3.0], "b": ["x", "x", "y", "y"]})
    with pytest.warns(UserWarning, match="3 rows, not n_atoms=9"):
        coreset = compress(table, 9, random_state=0)
    assert sorted(coreset.sample_weight) == [1.0, 1.0, 2.0]
    assert coreset.kept == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rows": "some"}, ValueError, "rows must be one of .'real', 'balanced', 'atoms'"),
        ({"n_atoms": 0}, ValueError, "n_atoms must be"),
        ({"reg": -1}, ValueError, "reg must be"),
        ({"weight": "wages"}, ValueError, "weight='wages' is no column"),
        ({"weight": "job"}, ValueError, "weight='job' must be a column of numbers, not string"),
        ({"weight": [1, 2]}, ValueError, r"weight must have shape \(50,\)"),
        ({"weight": -np.ones(50)}, ValueError, "weight must be finite and >= 0"),
        ({"stratify": "class"}, ValueError, "stratify='class' is no column"),
        ({"stratify": [1, 2]}, ValueError, r"have shape \(50,\), one label per row, not \(2,\)"),
        ({"stratify": "income"}, ValueError, "50 classes, more than n_atoms=5"),
        ({"missing": "guess"}, ValueError, "missing must be"),
        ({"columns": ["wages"]}, ValueError, "wages"),
        ({"exclude": "job"}, TypeError, "exclude must be a list of column names"),
        ({"importance": {"age": 1e16}}, ValueError, "'age' holds .* too large in the unit"),
        ({"random_state": "seed"}, ValueError, "random_state must be None.*not 'seed'"),
    ],
)
def test_nonsense_is_refused(options: dict, error: type, message: str):
    with pytest.raises(error, match=message):
        compress(plain_table(50), **{"n_atoms": 5, **options})


def test_gaps_are_counted_by_column():
    table = plain_table(50).append_column("z", pa.array([None, 1.5] * 25))
    with pytest.raises(ValueError, match=r"'z' \(25\)"):
        compress(table, 5)


def test_the_seed_repeats_and_threads_do_not_matter(orders: pa.Table):
    one = compress(orders, 40, missing="indicator", random_state=3, n_jobs=1)
    two = compress(orders, 40, missing="indicator", random_state=3, n_jobs=2)
    assert one.rows.equals(two.rows)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.provenance["seed"] == 3


def test_no_warning_but_what_was_left_out(orders: pa.Table):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compress(orders, 40, missing="indicator", random_state=3)
    assert [str(one.message)[:16] for one in caught] == ["left out 'order'"]


def test_balanced_rows_have_the_shares_of_the_data():
    """At little cost: the rows nearest to the atoms keep more of the variance."""
    orders = make_orders(4000, rng=0)
    wrong, kept = {}, {}
    for rows in ("real", "balanced"):
        coreset = compress(
            *(orders, 60), rows=rows, missing="indicator", exclude=["order"], random_state=0
        )
        check(coreset, orders)
        figures = [
            one for one in coreset.compare() if one.column in ("group", "country", "payment")
        ]
        wrong[rows] = sum(abs(one.data - one.coreset) for one in figures)
        kept[rows] = coreset.kept
    assert wrong["balanced"] < wrong["real"] / 2
    assert kept["real"] - 0.04 < kept["balanced"] < kept["real"]


def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "docs" / "examples" / "compress.py"))
    assert "coreset: AUC" in capsys.readouterr().out
