"""Make the orders of a shop, and later ones: out/orders.parquet and out/later.parquet."""

import sys
from pathlib import Path

import pyarrow.parquet as pq

from emscoreset.datasets import make_orders

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
out = Path("out")
out.mkdir(exist_ok=True)
for name, rows, seed in (("orders", n, 0), ("later", n // 10, 1)):
    pq.write_table(make_orders(rows, rng=seed), out / f"{name}.parquet")
    print(f"out/{name}.parquet: {rows:,} orders with dates, categories, prices and gaps")
