"""Coreset: weighted atoms that stand in for a data set, and how well they do."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emscoreset.checks import check_number, is_number
from emscoreset.stats import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

    from emscoreset.encode import Encoder
    from emscoreset.profile import Comparison

REAL = (
    "these are real rows: where they describe people, real people; "
    'rows="atoms" gives rows that nobody has'
)


@dataclass(frozen=True, eq=False, repr=False)
class Coreset:
    """k weighted atoms for n rows: a value, not changed after it is made.

    Attributes
    ----------
    atoms : array of shape (k, d)
    weights : array of shape (k,)
        Each atom's share of the data's mass; they sum to 1.
    mass : float
        The sum of the data's row weights; the number of rows where they had none.
    n : int
        Rows that the data had.
    reg : float
        The temperature of the fit.
    distance : float
        The transport cost from the data to the coreset at ``reg``, exact.
    lower, upper : float
        Bounds on the squared Wasserstein-2 distance W_2^2, which can be compared across
        ``reg``; equal at ``reg=0``.
    variance : float
        The data's mean squared distance to its mean, in the same units.
    feature_names : tuple of str
    provenance : mapping
        How it was made: version, seed, parameters.
    rows : pyarrow.Table, optional
        The atoms as a user sees them: k rows with all columns and types of the data.
    row_numbers : array of int of shape (k,), optional
        Where each atom is a row of the data: which one, counted from 0.
    encoder : Encoder, optional
        How the rows of a mixed table became the numbers that the atoms are; it encodes new
        rows of such a table in the same way.
    """

    atoms: Floats
    weights: Floats
    mass: float
    n: int
    reg: float
    distance: float
    lower: float
    upper: float
    variance: float
    feature_names: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    rows: pa.Table | None = None
    row_numbers: Ints | None = None
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        atoms, weights = _frozen(self.atoms), _frozen(self.weights)
        if atoms.ndim != 2 or atoms.shape[0] == 0:
            raise ValueError(f"atoms must be 2-d with at least one row, not {atoms.shape}")
        if weights.shape != atoms.shape[:1]:
            raise ValueError(
                f"weights must have shape ({len(atoms)},), one per atom, not {weights.shape}"
            )
        if not np.isfinite(atoms).all():
            raise ValueError("atoms must be finite: they hold NaN or infinity")
        if not ((weights >= 0).all() and abs(weights.sum() - 1.0) < 1e-6):
            raise ValueError("weights must be >= 0 and sum to 1")
        d = atoms.shape[1]
        names = tuple(self.feature_names) or tuple(f"x{j}" for j in range(d))
        text = all(isinstance(name, str) for name in names)
        if not text or len(names) != d or len(set(names)) != d:
            raise ValueError(f"feature_names must be {d} different names, not {list(names)}")
        self._check_figures()
        self._check_rows()
        self._check_encoder(names)
        made = MappingProxyType(copy.deepcopy(dict(self.provenance)))
        for key, value in (
            *(("atoms", atoms), ("weights", weights)),
            *(("feature_names", tuple(str(name) for name in names)), ("provenance", made)),
        ):
            object.__setattr__(self, key, value)

    def _check_figures(self) -> None:
        check_number("n", self.n, Integral, 1)
        check_number("mass", self.mass, Real, 0)
        check_number("reg", self.reg, Real, 0)
        if self.mass == 0:
            raise ValueError("mass must be greater than 0")
        for name in ("distance", "lower", "upper", "variance"):
            value = getattr(self, name)
            if not (is_number(value) and np.isnan(value)):  # NaN: not known
                check_number(name, value, Real, 0)

    def _check_rows(self) -> None:
        k = len(self.weights)
        if self.rows is not None:
            import pyarrow as pa

            if not isinstance(self.rows, pa.Table):
                raise TypeError(f"rows must be a pyarrow.Table, not {type(self.rows).__name__}")
            if self.rows.num_rows != k:
                raise ValueError(f"rows must be {k}, one per atom, not {self.rows.num_rows}")
            if len(set(self.rows.column_names)) < self.rows.num_columns:
                raise ValueError(f"rows has columns of the same name: {self.rows.column_names}")
        if self.row_numbers is None:
            return
        given = np.asarray(self.row_numbers)
        if given.shape != (k,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"row_numbers must be {k} whole numbers, one per atom, "
                f"not {given.dtype} of shape {given.shape}"
            )
        numbers = np.array(given, dtype=np.intp)
        if numbers.min() < 0 or numbers.max() >= self.n:
            raise ValueError(f"row_numbers must be from 0 to n - 1 = {self.n - 1}")
        if len(np.unique(numbers)) < k:
            raise ValueError("row_numbers must differ: some row is there twice")
        numbers.flags.writeable = False
        object.__setattr__(self, "row_numbers", numbers)

    def _check_encoder(self, names: tuple[str, ...]) -> None:
        if self.encoder is None:
            return
        from emscoreset.encode import Encoder

        if not isinstance(self.encoder, Encoder):
            raise TypeError(f"encoder must be an Encoder, not {type(self.encoder).__name__}")
        if names != self.encoder.feature_names:
            raise ValueError(
                f"feature_names must be the encoder's, {list(self.encoder.feature_names)}, "
                f"not {list(names)}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew: checked, and as immutable as this."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return _rebuilt, ({**values, "provenance": dict(self.provenance)},)

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def sample_weight(self) -> Floats:
        """The weights in the data's own mass, as a model's ``fit(sample_weight=...)`` wants."""
        return self.weights * self.mass

    @property
    def kept(self) -> float:
        """The share of the data's variance that the atoms keep, at least: 1 - upper / variance.

        NaN where that is not known.
        """
        if not self._known:
            return float("nan")
        return 1.0 - self.upper / self.variance if self.variance > 0 else 1.0

    @property
    def _known(self) -> bool:
        return not np.isnan([self.lower, self.upper, self.variance]).any()

    @property
    def effective_atoms(self) -> float:
        """How many equally weighted atoms have the same entropy: exp H(weights)."""
        w = self.weights[self.weights > 0]
        return float(np.exp(-(w @ np.log(w))))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Floats:
        """n atoms drawn by weight, with repetition. OUT (n, d)."""
        if n < 0:
            raise ValueError(f"n must be at least 0, not {n}")
        p = self.weights / self.weights.sum()
        drawn: Floats = self.atoms[np.random.default_rng(rng).choice(len(self), size=n, p=p)]
        return drawn

    def to_frame(self, backend: str = "pandas", *, weight: str = "weight") -> Any:
        """A data frame of the rows with their ``sample_weight`` in the column ``weight``.

        ``backend`` is "pandas", "polars" or "pyarrow". Where there are no ``rows``, the atoms.
        """
        from emscoreset.frames import to_frame

        return to_frame(self, backend, weight)

    def save(self, path: str | Path) -> None:
        """Write to ``path``, as its ending says: .parquet or .npz. Read with `load`."""
        from emscoreset.io import save

        save(self, path)

    def compare(self) -> list[Comparison]:
        """Mean, spread and quantiles of each column, or its shares of categories: data, coreset.

        Of a coreset that `compress` made. ``pandas.DataFrame(coreset.compare())`` is a frame.
        """
        from emscoreset.profile import compare

        if self.rows is None or "columns" not in self.provenance:
            raise ValueError("the columns of the data are known to coresets of compress() alone")
        return compare(self.provenance["columns"], self.rows, self.weights)

    def summary(self) -> str:
        """What it is, and its columns beside the data's."""
        from emscoreset.profile import as_text

        return f"{self.in_words()}\n\n{as_text(self.compare())}"

    def in_words(self) -> str:
        """What it is, in a few lines."""
        real = self.row_numbers is not None
        size = f"{len(self):,} {'of' if real else 'weighted atoms for'} {self.n:,} rows"
        lines = [f"{size}; {self._lost_in_words()}"]
        if strata := self.provenance.get("strata"):
            shown = [
                f"{one['label']}: {100 * one['share']:.4g} % in {one['n_atoms']:,}"
                for one in strata[:10]
            ]
            lines.append(
                f"masses of the classes are exact: {', '.join(shown)}"
                f"{', ...' if len(strata) > 10 else ''}"
            )
        lines += self.provenance.get("messages", ())
        if self.rows is not None and real:
            lines.append(REAL)
        return "\n".join(lines)

    def _lost_in_words(self) -> str:
        what = "variance" if self.encoder is None else "encoded variance"
        if not self._known:
            return "what they keep of the data is not known"
        if not self.variance > 0:
            return "the rows are equal, nothing is lost"
        low, high = (f"{100 * (1 - b / self.variance):.4g}" for b in (self.upper, self.lower))
        if low == high:
            return f"{low} % of the {what} kept (exact)"
        if self.reg == 0 and self.provenance.get("strata"):
            return f"{low} % of the {what} kept with the classes apart (exact)"
        return f"between {low} % and {high} % of the {what} kept"

    def figures(self) -> dict[str, Any]:
        """Sizes, distances and how it was made, as JSON holds them: None where not known."""
        names = ("n", "mass", "reg", "distance", "lower", "upper", "variance", "kept")
        known = {name: getattr(self, name) for name in names}
        out = {"n_rows": len(self), **{name: None if v != v else v for name, v in known.items()}}
        made = {name: one for name, one in self.provenance.items() if name != "columns"}
        return {**out, "provenance": made}

    def __repr__(self) -> str:
        lines = [f"Coreset: {self._size_in_words()}"]
        lines.append(f"  squared distance to the data (W2^2): {self._distance_in_words()}")
        lines.append(f"  variance kept: {self._kept_in_words()}")
        if self.reg > 0 and not np.isnan(self.distance):
            lines.append(f"  distance at reg={self.reg:g}: {self.distance:.6g} (exact)")
        if self.rows is not None and self.row_numbers is not None:
            lines.append(f"  {REAL}")
        return "\n".join(lines)

    def _size_in_words(self) -> str:
        k, d = self.atoms.shape
        if self.rows is not None:
            d = self.rows.num_columns
        columns = f"{d:,} column{'s' * (d != 1)}"
        if self.row_numbers is not None:
            return f"{k:,} of {self.n:,} rows, weighted, with {columns}"
        rows = f"{self.n:,} row{'s' * (self.n != 1)}"
        return f"{k:,} weighted atom{'s' * (k != 1)} of {columns} for {rows}"

    def _distance_in_words(self) -> str:
        if np.isnan([self.lower, self.upper]).any():
            return "not known"
        low, high = f"{self.lower:.6g}", f"{self.upper:.6g}"
        return f"{high} (exact)" if low == high else f"between {low} and {high}"

    def _kept_in_words(self) -> str:
        if not self._known:
            return "not known"
        if not self.variance > 0:
            return "all (the rows are equal)"
        shares = (1 - b / self.variance for b in (self.upper, self.lower))
        low, high = (round(100 * share, 9) + 0.0 for share in shares)  # rounding is not -2e-14 %
        if f"{low:.4g}" == f"{high:.4g}":
            return f"{low:.4g} % (exact)"
        return f"between {low:.4g} % and {high:.4g} %"


def _rebuilt(values: dict[str, Any]) -> Coreset:
    return Coreset(**values)


def _frozen(values: ArrayLike) -> Floats:
    """A read-only float64 copy."""
    out = np.array(values, dtype=np.float64, order="C")
    out.flags.writeable = False
    return out
