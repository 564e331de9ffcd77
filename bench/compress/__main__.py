"""make bench-compress: a million mixed rows to 500 real ones."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common import ROOT, Ledger, machine, table, write_page
from bench.compress.contenders import CONTENDERS, pipeline
from emscoreset.datasets import make_orders
from emscoreset.encode import Encoder
from emscoreset.kernels import get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.strata import nearest_cost

LIMIT = 450  # seconds for one contender


def run(name: str, data: Path, folder: Path, k: int) -> dict[str, float] | None:
    """Seconds and peak megabytes of a contender in a new process; None past the limit."""
    command = [sys.executable, "-m", "bench.compress.contenders", name, data, folder / "c.npz", k]
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, float] = json.loads(done.stdout)
    return found


def kept(data: pa.Table, numbers: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """The share of the variance that each one's rows keep, in either encoding, in per cent."""
    encoder = Encoder.fit(data, exclude=["customer"], missing="indicator").encoder
    frame = data.to_pandas()
    encoded = {
        "in its encoding": lambda: encoder.transform(data),
        "in theirs": lambda: pipeline(frame).fit_transform(frame),
    }
    out: dict[str, dict[str, float]] = {name: {} for name in numbers}
    for how, make in encoded.items():
        X = np.asarray(make(), dtype=np.float32)
        source = ArraySource(X, kernel=get_kernel("auto"))
        for name, rows in numbers.items():
            cost = nearest_cost(source, X[rows].astype(np.float64))
            out[name][how] = 100 * (1 - cost / source.moments.variance)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compress", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("-k", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="20,000 rows to 50; no page")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.k = 20_000, 50
    path = ROOT / "out" / "bench-compress.csv"
    if args.again:
        path.unlink(missing_ok=True)
    ledger = Ledger(path, ("rows", "k", "contender"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_orders(args.rows, rng=0)
        price = data.column_names.index("price")
        data = data.set_column(price, "price", data["price"].cast(pa.float64()))
        pq.write_table(data, folder / "orders.parquet")
        numbers = {}
        for contender in CONTENDERS:
            key = {"rows": args.rows, "k": args.k, "contender": contender}
            if ledger.has(**key):
                continue
            found = run(contender, folder / "orders.parquet", folder, args.k)
            if found is None:
                ledger.add({**key, "seconds": f"> {LIMIT}"})
                continue
            numbers[contender] = np.load(folder / "c.npz")["numbers"]
            shares = kept(data, {contender: numbers[contender]})[contender]
            ledger.add({**key, **found, **shares})
    rows = [r for r in ledger.rows if (r["rows"], r["k"]) == (str(args.rows), str(args.k))]
    page(rows, args.rows, args.k, write=not args.quick)


def page(rows: list[dict[str, str]], n: int, k: int, *, write: bool) -> None:
    """The table, printed and written."""
    base = rows[0]
    lines = []
    for row in rows:
        times = float(row["seconds"].lstrip("> ")) / float(base["seconds"])
        more = float(row["megabytes"]) / float(base["megabytes"]) if row.get("megabytes") else None
        lines.append(
            (
                row["contender"],
                f"{'> ' if row['seconds'].startswith('>') else ''}{times:.1f}",
                "" if more is None else f"{more:.1f}",
                *(f"{float(row[c]):.1f} %" if row.get(c) else "" for c in SHARES),
            )
        )
    text = table(("", "time", "peak memory", "kept, its encoding", "kept, theirs"), lines)
    print(text)
    print(*(f"{r['contender']}: {r['seconds']} s, {r['megabytes']} MB" for r in rows), sep="\n")
    if write:
        about = ABOUT.format(n=n, k=k)
        write_page("compress", TITLE, machine("pandas", "pyarrow"), about, text, READ)


TITLE = "# A mixed table to real rows, against pandas and scikit-learn"
ABOUT = """\
A Parquet file of {n:,} orders (14 columns: categories, a date, numbers, gaps, two identifiers) to
{k} real rows with weights. Each runs once, in a process of its own, from the file to the frame of
chosen rows; imports are in the time. The other way is pandas, `SimpleImputer(add_indicator=True)`,
`StandardScaler`, `OneHotEncoder` and `KMeans` with their defaults, then the row nearest to each
centre. Time and peak memory are multiples of emscoreset's; `make bench-compress` runs it again."""
READ = """\
*Kept* is the share of the variance that the chosen rows keep (each row served by the nearest one):
in emscoreset's encoding, where a column of categories counts as one number, and in the other, of
plain one-hot columns. Each does better in the encoding that it worked in."""
SHARES = ("in its encoding", "in theirs")

if __name__ == "__main__":
    main()
