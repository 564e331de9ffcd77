"""Load a public data set by name and shrink it: python docs/examples/datasets.py [NAME]."""

import sys

import numpy as np

from emscoreset import EMSCoreset
from emscoreset.datasets import load

data = load(sys.argv[1] if len(sys.argv) > 1 else "diabetes")  # diabetes needs no download
print(data)

scale = data.X.std(axis=0)
X = (data.X - data.X.mean(axis=0)) / np.where(scale > 0, scale, 1)
coreset = EMSCoreset(n_atoms=20, random_state=0).fit(X).coreset_
print(coreset)
