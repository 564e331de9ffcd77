"""Figure "overview": coresets of two-dimensional sets, atom by atom."""

from __future__ import annotations

from collections.abc import Iterator

from bench.paper.jobs import Job, Part, Row
from bench.paper.methods import SLOW, WCSL, fit
from bench.paper.problems import manifolds

ATOMS = 40
METHODS = ("Random", "K-means", WCSL, "EMS reg=0.01", "auto")


def jobs(quick: bool) -> Iterator[Job]:
    """One job a set and a method; it gives a row for each atom. WCSL last."""
    for slow in (False,) if quick else (False, True):
        for name in manifolds():
            for method in (m for m in METHODS if (m in SLOW) is slow):
                yield Job({"set": name, "method": method}, _Atoms(name, method))


class _Atoms:
    def __init__(self, name: str, method: str) -> None:
        self.name, self.method = name, method

    def __call__(self) -> list[Row]:
        coreset = fit(self.method, manifolds()[self.name], ATOMS, 0).coreset
        return [
            {"x": x, "y": y, "weight": w, "to_data": coreset.upper}
            for (x, y), w in zip(coreset.atoms, coreset.weights, strict=True)
        ]


PART = Part("overview", ("set", "method"), jobs)
