"""The command: what it writes, prints and refuses, in this process and in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import emscoreset
from emscoreset.commands import app
from emscoreset.datasets import make_orders
from emscoreset.kernels import native

pytestmark = pytest.mark.filterwarnings("ignore:column .* has no interquartile range:UserWarning")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(make_orders(2000, rng=0), folder / "orders.parquet")
    pq.write_table(make_orders(500, rng=1), folder / "others.parquet")
    return folder


def run(*words: object, code: int = 0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(*words: object) -> str:
    """The one line on standard error of a command that ends with code 2."""
    result = run(*words, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("emscoreset: ")
    return line


def test_fit_is_compress(data: Path, tmp_path: Path):
    out = tmp_path / "c.parquet"
    result = run(
        *("fit", data / "orders.parquet", "-k", 40, "-o", out, "--reg", 0.01, "--rows", "real"),
        *("--columns", "age,price,country,returned,order", "--exclude", "order"),
        *("--weight", "items", "--stratify", "device", "--missing", "impute"),
        *("--scale", "robust", "--seed", 5),
    )
    want = emscoreset.compress(
        *(data / "orders.parquet", 40),
        reg=0.01,
        columns=["age", "price", "country", "returned", "order"],
        exclude=["order"],
        weight="items",
        stratify="device",
        missing="impute",
        scale="robust",
        random_state=5,
    )
    got = emscoreset.load(out)
    assert got.rows.equals(want.rows)
    np.testing.assert_array_equal(got.weights, want.weights)
    assert result.stdout == f"{want.in_words()}\nsaved as {out}\n"
    assert result.stderr == ""


def test_fit_says_what_was_left_out_and_can_be_quiet_or_json(data: Path, tmp_path: Path):
    words = ("fit", data / "orders.parquet", "-k", 20, "--missing", "indicator", "--seed", 1)
    loud = run(*words, "-o", tmp_path / "a.npz")
    assert "left out 'order'" in loud.stdout
    assert loud.stderr == ""
    merged = run(*words, "-o", tmp_path / "a2.npz", "--reg", 50)
    assert "emscoreset: note: reg=50 is so large that atoms merged" in merged.stderr
    quiet = run(*words, "-o", tmp_path / "b.npz", "--quiet")
    assert quiet.output == ""
    found = json.loads(run(*words, "-o", tmp_path / "c.npz", "--json").output)
    assert found["n"] == 2000
    assert found["n_rows"] == 20
    assert found["kept"] == emscoreset.load(tmp_path / "a.npz").kept
    assert found["output"] == str(tmp_path / "c.npz")
    assert found["provenance"]["seed"] == 1


def test_score_and_show(data: Path, tmp_path: Path):
    out = tmp_path / "c.parquet"
    options = ("--missing", "indicator", "--seed", 1, "--quiet")
    run("fit", data / "orders.parquet", "-k", 20, "-o", out, *options)
    coreset = emscoreset.load(out)
    want = emscoreset.score(data / "others.parquet", coreset, weight="items")
    words = ("score", data / "others.parquet", out, "--weight", "items")
    assert run(*words).stdout == f"{want}\n"
    assert json.loads(run(*words, "--json").stdout)["nearest"] == want.nearest
    shown = run("show", out).stdout
    assert shown.startswith(coreset.in_words())
    assert "share of phone" in shown
    found = json.loads(run("show", out, "--json").stdout)
    assert found["columns"] == [one._asdict() for one in coreset.compare()]


def test_show_takes_coresets_of_the_estimator(tmp_path: Path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    emscoreset.EMSCoreset(5, random_state=0).fit(X).coreset_.save(tmp_path / "c.npz")
    assert "5 weighted atoms for 50 rows" in run("show", tmp_path / "c.npz").stdout


def test_mistakes_are_one_line_and_leave_nothing(data: Path, tmp_path: Path):
    orders, out = data / "orders.parquet", tmp_path / "c.parquet"
    fit = ("fit", orders, "-k", 20, "-o", out)
    assert "'age' (" in refused(*fit)
    assert "is no column" in refused(*fit, "--weight", "wages")
    assert "no_such" in refused("fit", tmp_path / "no_such.csv", "-k", 5, "-o", out)
    assert ".parquet or .npz, not '.csv'" in refused("fit", orders, "-k", 5, "-o", "c.csv")
    assert "does not exist" in refused("fit", orders, "-k", 5, "-o", tmp_path / "no" / "c.npz")
    assert "is the input" in refused("fit", orders, "-k", 5, "-o", orders)
    assert "n_atoms must be" in refused("fit", orders, "-k", 0, "-o", out)
    assert "not one written by Coreset.save" in refused("score", orders, orders)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nonsense")
    assert "broken.parquet" in refused("show", tmp_path / "broken.parquet")
    assert "broken.parquet" in refused("fit", tmp_path / "broken.parquet", "-k", 5, "-o", out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.parquet"]
    assert pq.read_table(orders).num_rows == 2000


def test_an_earlier_result_stays_when_a_new_one_fails(data: Path, tmp_path: Path):
    out = tmp_path / "c.parquet"
    fit = ("fit", data / "orders.parquet", "-k", 20, "-o", out, "--quiet")
    run(*fit, "--missing", "impute", "--seed", 0)
    before = out.read_bytes()
    refused(*fit)
    assert out.read_bytes() == before
    run(*fit, "--missing", "impute", "--seed", 1)
    assert out.read_bytes() != before


def test_wrong_words_are_explained():
    result = CliRunner().invoke(app, ["fit", "x.csv", "-k", "ten", "-o", "c.parquet"])
    assert result.exit_code == 2
    assert "Usage" in result.stderr
    assert "Usage" in CliRunner().invoke(app, ["--help"]).stdout


def test_the_installed_command(tmp_path: Path):
    pd.DataFrame({"a": range(30), "b": list("xyz") * 10}).to_csv(tmp_path / "d.csv", index=False)
    command = Path(sys.executable).with_name("emscoreset")
    words = ["fit", "d.csv", "-k", "3", "-o", "c.parquet", "--columns", "a,b"]
    done = subprocess.run([command, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    note = "" if native.available() else "emscoreset: note: emscoreset's C++ kernel was not built"
    assert done.stderr.startswith(note)
    assert done.stderr.count("\n") == bool(note)
    assert done.stdout.startswith("3 of 30 rows; ")
    assert len(emscoreset.load(tmp_path / "c.parquet")) == 3
    done = subprocess.run([command, "show", "d.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_without_its_extra_the_command_says_how_to_install_it():
    code = "import sys; sys.modules['typer'] = None\nfrom emscoreset.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "emscoreset: the command needs typer, which is not installed; "
        "install it with: pip install 'emscoreset[cli]'\n"
    )
