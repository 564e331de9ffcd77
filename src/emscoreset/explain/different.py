"""The different rows of a table, and the rows chosen among them as a coreset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from emscoreset.coreset import Coreset
from emscoreset.encode import Encoder
from emscoreset.kernels import get_kernel
from emscoreset.problem import row_masses
from emscoreset.profile import profile
from emscoreset.recombine import Chosen
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Floats, Ints
from emscoreset.tables import index_columns, read_table
from emscoreset.transport import wasserstein_distance

TOL = 0.01  # how narrow the bracket on the distance is to be: exact would be slow for few rows


@dataclass(frozen=True)
class Different:
    """A table whose equal rows count as one with the mass of all."""

    table: pa.Table  # all rows
    mass: Floats | None  # of all rows; None where they count alike
    first: Ints  # where each different row of positive mass is first, in ascending order
    a: Floats  # the different rows' shares of the mass, which sum to 1
    encoder: Encoder
    messages: tuple[str, ...]
    shown: tuple[str, ...]  # columns but for the index and that of masses

    @classmethod
    def of(cls, data: Any, weight: str | ArrayLike | None) -> Different:
        """From what users have; the rows of a coreset count by its weights."""
        if isinstance(data, Coreset):
            if weight is not None:
                raise ValueError("a Coreset has weights of its own: leave out weight=")
            table = data.rows if data.rows is not None else data.to_frame("pyarrow", weight="")
            table = table if data.rows is not None else table.drop_columns([""])
            mass: Floats | None = data.sample_weight
        else:
            table = read_table(data).table
            mass = row_masses(table, weight)
        apart = {*index_columns(table), *([weight] if isinstance(weight, str) else [])}
        shown = tuple(name for name in table.column_names if name not in apart)
        fitted = Encoder.fit(table, columns=shown, missing="indicator", sample_weight=mass)
        first, a = _different(table.select(list(shown)), mass)
        return cls(table, mass, first, a, fitted.encoder, fitted.messages, shown)

    def encoded(self) -> Floats:
        """The different rows as vectors."""
        return self.encoder.transform(self.table.take(pa.array(self.first))).astype(np.float64)

    def coreset(self, chosen: Chosen, made: dict[str, Any]) -> Coreset:
        """The chosen rows with their weights, and how far they are from all rows."""
        numbers = self.first[chosen.numbers]
        source = ArraySource(self.encoder.transform(self.table), self.mass, kernel=get_kernel())
        atoms = source.X[numbers].astype(np.float64)
        found = wasserstein_distance(source, (atoms, chosen.weights), tol=TOL)
        return Coreset(
            atoms=atoms,
            weights=chosen.weights,
            mass=source.moments.mass,
            n=self.table.num_rows,
            reg=0.0,
            distance=found.value,
            lower=found.lower,
            upper=found.upper,
            variance=source.moments.variance,
            feature_names=self.encoder.feature_names,
            provenance={
                **made,
                "columns": profile(self.table.select(list(self.shown)), self.mass),
            },
            rows=self.table.take(pa.array(numbers)),
            row_numbers=numbers,
            encoder=self.encoder,
        )


def _different(table: pa.Table, mass: Floats | None) -> tuple[Ints, Floats]:
    """The first of all equal rows of positive mass, and their shares of the mass."""
    codes = np.column_stack([_codes(column) for column in table.columns])
    mass = np.ones(len(codes)) if mass is None else mass
    used = np.flatnonzero(mass)
    _, first, group = np.unique(codes[used], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    a = np.bincount(group.ravel(), weights=mass[used])[order]
    return used[first[order]], a / a.sum()


def _codes(column: pa.ChunkedArray) -> Ints:
    """A number for each different value, gaps one of them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    codes: Ints = encoded.indices.to_numpy().astype(np.intp)
    return codes
