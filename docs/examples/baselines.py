"""EMS beside its rivals on one data set: python docs/examples/baselines.py [NAME [K]]."""

import sys

import numpy as np

from emscoreset import EMSCoreset
from emscoreset.baselines import kmeans, random, wcsl
from emscoreset.datasets import load

name = sys.argv[1] if len(sys.argv) > 1 else "diabetes"
k = int(sys.argv[2]) if len(sys.argv) > 2 else 10
PIXELS = {"mnist": (0.1307, 0.3081), "fashion_mnist": (0.2860, 0.3530)}  # the paper's scale

X = load(name).X
if name in PIXELS:
    mean, scale = PIXELS[name]
    X = (X.astype(np.float32) / 255 - mean) / scale
else:
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)

made = {
    "random rows, uniform weights": random(X, k, rng=0),
    "k-means, uniform weights": kmeans(X, k, weights="uniform", rng=0),
    "WCSL as in the paper": wcsl(X, k, rng=0),
    "WCSL, tuned": wcsl(X, k, preset="tuned", rng=0),
    "k-means, clusters' masses": kmeans(X, k, rng=0),
    "EMS": EMSCoreset(k, reg=0.01, random_state=0).fit(X).coreset_,
}
print(f"{name}, {k} atoms for {len(X):,} rows: the squared distance to what each carries")
for method, coreset in made.items():
    print(f"{method:30} {coreset.lower:10.4f} to {coreset.upper:10.4f}")
