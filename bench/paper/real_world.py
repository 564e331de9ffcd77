"""Table "real world": the paper's sets where their files are at hand, else parts and stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import ALL, SLOW, WCSL, fit, measured
from bench.paper.problems import whitened
from emscoreset.datasets import DatasetNotFoundError, load

# The paper's name -> ours; these have files of their own, checked by SHA-256.
EXACT = {"Transactions": "transactions", "ChemReact100": "chemreact100", "Music": "music"}
OTHERS = ("chemreact100_tenth", "hiv_fingerprints", "credit_default", "fma_mfcc")
ATOMS = (20, 50, 100, 200, 500)
FEW = (20, 100, 500)  # where there is no figure of the paper to stand beside
SEEDS = 2


def jobs(quick: bool) -> Iterator[Job]:
    """The exact sets where they are, then the others under their own names."""
    exact = [name for name in EXACT.values() if at_hand(name)]
    quicker = [method for method in ALL if method not in SLOW]
    rounds = [(exact, ATOMS, quicker, SEEDS), (OTHERS, FEW, quicker, SEEDS)]
    rounds.append(((*exact, *OTHERS), FEW[:2], [WCSL], 1))
    if quick:
        rounds = [(OTHERS[:1], FEW[:2], quicker, 1)]
    for names, atoms, methods, seeds in rounds:
        for name, k, method, seed in product(names, atoms, methods, range(seeds)):
            key = {"dataset": name, "k": k, "method": method, "seed": seed}
            yield Job(key, _Fit(name, k, method, seed))


@cache
def at_hand(name: str) -> bool:
    """Whether the file of this set is in the data folder or the cache."""
    try:
        load(name, download=False)
    except DatasetNotFoundError:
        return False
    return True


@cache
def rows(name: str) -> np.ndarray:
    """The set's rows, whitened; as float32, which is what the larger sets are kept in."""
    return whitened(name).astype(np.float32)


class _Fit:
    def __init__(self, name: str, k: int, method: str, seed: int) -> None:
        self.name, self.k, self.method, self.seed = name, k, method, seed

    def __call__(self) -> Row:
        X = rows(self.name)
        return measured(X, fit(self.method, X, self.k, self.seed))


PART = Part("real_world", ("dataset", "k", "method", "seed"), jobs)
