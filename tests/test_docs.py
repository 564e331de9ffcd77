"""The documents are true: their code runs, and the code, tests, pages they name are there."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTED = ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs/guide").glob("*.md"))]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PACKAGE = ROOT / "src" / "emscoreset"


def names_in(folder: Path) -> set[str]:
    """Every function, method and class in the Python files of a folder."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    trees = (ast.parse(path.read_text()) for path in folder.rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)}


def run_python(*arguments: str | Path, folder: Path) -> str:
    not_built = "ignore:emscoreset's C++ kernel was not built"  # where there is no compiler
    merged = "error:reg=:UserWarning"  # of our own warnings, the one that an example must not give
    command = [sys.executable, "-W", merged, "-W", not_built, *arguments]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout


@pytest.mark.parametrize("page", TESTED)
def test_every_block_of_python_runs(page: str, tmp_path: Path, request, monkeypatch):
    """All blocks of a page in their order, in one process, in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    code = "\n".join(blocks)
    if "emscoreset.datasets import" in code:
        monkeypatch.setenv("EMSCORESET_DATA", str(request.getfixturevalue("data_dir")))
    run_python("-c", code, folder=tmp_path)


# What a reader has, before the blocks of a page that are marked as sketches.
HAD = {
    "docs/guide/compress.md": """
import pyarrow.parquet as pq
from emscoreset.datasets import make_orders
pq.write_table(make_orders(1500, rng=0), "orders.parquet")
pq.write_table(make_orders(500, rng=1), "later.parquet")
""",
    "docs/guide/tables.md": """
import pyarrow.csv as csv
from emscoreset import compress
from emscoreset.datasets import make_orders
customers = make_orders(300, rng=0).select(["country", "age", "items"])
compress(customers, 10, missing="indicator", random_state=0).save("customers.parquet")
csv.write_csv(customers.slice(0, 20), "new_customers.csv")
""",
}


@pytest.mark.parametrize("page", TESTED)
def test_every_sketch_runs(page: str, tmp_path: Path):
    blocks = re.findall(r"```python sketch\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert bool(blocks) == (page in HAD)
    if blocks:
        run_python("-c", "\n".join([HAD[page], *blocks]), folder=tmp_path)


# tests/datasets runs the one on data sets, away from this machine's folders.
SCRIPTS = sorted(
    path for path in (ROOT / "docs" / "examples").glob("*.py") if path.name != "datasets.py"
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_example_runs(script: Path, tmp_path: Path):
    assert run_python(script, folder=tmp_path)


def test_the_tests_that_the_pages_name_exist():
    known = names_in(ROOT / "tests")
    files = {path.name for path in (ROOT / "tests").rglob("*.py")}
    text = (ROOT / "docs/algorithm.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) >= 7
    assert named <= known
    assert set(re.findall(r"`(?:\w+/)*(test_\w+\.py)`", text)) <= files


def test_the_code_that_the_pages_name_exists():
    """`module.name` and `folder/file.py` in docs/algorithm.md."""
    text = (ROOT / "docs/algorithm.md").read_text()
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text):
        assert (PACKAGE / path).exists() or (ROOT / "tests" / path).exists(), path
    found = 0
    for dotted in re.findall(r"`((?:\w+\.)+\w+)`", text):
        *folders, module, name = dotted.split(".")
        paths = [p for p in PACKAGE.rglob("*") if p.stem == module and name not in ("md", "py")]
        for path in paths:
            where = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            if where.endswith(".".join([*folders, module])):
                assert hasattr(importlib.import_module(f"emscoreset.{where}"), name), dotted
                found += 1
    assert found >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_index_lists_every_page():
    index = (ROOT / "docs/README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "README.md" or name.startswith("benchmarks/") or f"({name})" in index, (
            f"docs/README.md does not list {name}"
        )
