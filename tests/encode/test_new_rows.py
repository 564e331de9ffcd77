"""Rows that an encoder has not seen, in another process, and the census whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from emscoreset.encode import Encoder
from emscoreset.encode.fit import MISSING, SCALES
from emscoreset.tables import read_table
from features import blocks_of, variance
from tables import BACKENDS, as_backend, every_type, plain_table


class TestNewRows:
    def test_labels_never_seen_count_as_rare_ones_or_as_none(self):
        encoder = Encoder.fit(plain_table()).encoder
        new = plain_table(2).set_column(2, "job", pa.array(["pilot", "poet"]))
        new = new.set_column(4, "town", pa.array(["Ulm", "Bonn"]))
        parts = blocks_of(encoder, encoder.transform(new))
        assert (parts["job"][0] == parts["job"][1]).all()
        assert parts["job"][0, -1] > 0
        assert (parts["town"][0] == 0).all()

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_from_another_library(self, backend):
        table = every_type()
        encoder = Encoder.fit(table, missing="indicator").encoder
        same = [n for n in table.column_names if n not in ("grade", "day_of")]  # not in polars
        other = read_table(as_backend(table, backend)).table
        if backend == "polars":
            encoder = Encoder.fit(table.select(same), missing="indicator").encoder
        found, expected = encoder.transform(other), encoder.transform(table)
        np.testing.assert_array_equal(found, expected)

    def test_chunks_and_threads_do_not_matter(self):
        table = every_type()
        encoder = Encoder.fit(table, missing="indicator").encoder
        expected = encoder.transform(table, n_jobs=1)
        parts = pa.concat_tables([table.slice(0, 7), table.slice(7, 100), table.slice(107)])
        for n_jobs in (1, 3):
            np.testing.assert_array_equal(encoder.transform(parts, n_jobs=n_jobs), expected)
        assert Encoder.fit(parts, missing="indicator", n_jobs=2).encoder.feature_names == (
            encoder.feature_names
        )
        assert encoder.transform(table.slice(0, 0)).shape == (0, len(encoder.feature_names))

    @pytest.mark.parametrize(
        ("column", "values", "message"),
        [
            ("float64", ["1"], "'float64' was double when the encoder was fitted, now string"),
            ("text", [1], "'text' was string"),
            ("seen", pa.array([1], pa.timestamp("s")), "'seen' was timestamp"),
            ("took", pa.array([1], pa.timestamp("s")), "'took' was duration"),
            ("day_of", pa.array([1], pa.timestamp("s")).dictionary_encode(), "'day_of' was dict"),
            ("text", pa.array([b"x"]), "'text' was string"),
            ("float64", [float("inf")], "'float64' holds infinity"),
        ],
    )
    def test_of_another_kind(self, column, values, message):
        table = every_type(gaps=0.0)
        encoder = Encoder.fit(table).encoder
        new = table.slice(0, 1).drop_columns(column).append_column(column, pa.array(values))
        with pytest.raises(ValueError, match=message):
            encoder.transform(new)

    def test_columns_that_are_not_there(self):
        encoder = Encoder.fit(plain_table()).encoder
        with pytest.raises(ValueError, match=r"lacks columns \['age', 'job'\]"):
            encoder.transform(plain_table().drop_columns(["age", "job"]))

    def test_units_are_converted(self):
        table = every_type(gaps=0.0)
        encoder = Encoder.fit(table).encoder
        finer = table.set_column(
            table.column_names.index("took"), "took", table["took"].cast(pa.duration("ns"))
        )
        np.testing.assert_array_equal(encoder.transform(finer), encoder.transform(table))


def test_new_rows_in_a_new_process(tmp_path):
    table = every_type()
    encoder = Encoder.fit(table.slice(0, 200), missing="impute").encoder
    feather.write_feather(table.slice(200), tmp_path / "new.feather")
    (tmp_path / "encoder.json").write_text(json.dumps(encoder.to_plain()))
    code = (
        "import json, pathlib, numpy as np; from emscoreset.encode import Encoder; "
        "e = Encoder.from_plain(json.loads(pathlib.Path('encoder.json').read_text())); "
        "np.save('Z.npy', e.transform('new.feather'))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "Z.npy"), encoder.transform(table.slice(200)))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_census(data_dir, missing, scale, gaps):
    table = read_table(data_dir / "adult.parquet").table.drop_columns("Target")
    if gaps:
        if missing == "error":
            return
        frame = table.to_pandas()
        frame.loc[::7, "Age"] = np.nan
        table = pa.Table.from_pandas(frame)
    fitted = Encoder.fit(table, missing=missing, scale=scale)
    equal = {
        name
        for name in table.column_names
        if scale == "robust" and np.ptp(np.nanpercentile(table[name], [25, 75])) == 0
    }
    assert {message.split("'")[1] for message in fitted.messages} == equal
    rows = table if fitted.keep is None else table.filter(pa.array(fitted.keep))
    assert (fitted.keep is None) == (missing != "drop" or not gaps)
    Z = fitted.encoder.transform(rows)
    if scale == "standard":
        assert variance(Z) == pytest.approx(12, rel=1e-4)  # one for each column
    back = fitted.encoder.decode(Z)
    same = [name for name in rows.column_names if name != "Age" or missing != "impute"]
    assert back.select(same).equals(rows.select(same))


def test_the_guides_example_runs(tmp_path):
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "tables.py"
    out = subprocess.run(
        [sys.executable, "-W", "error", example],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "age: variance 4.00" in out.stdout
    assert "'age': 31, 'job': 'clerk'" in out.stdout
