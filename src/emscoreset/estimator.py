"""EMSCoreset: the coreset as a scikit-learn estimator."""

from __future__ import annotations

import copy
import warnings
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from emscoreset.apply import distances, labels, plan, responsibilities
from emscoreset.callbacks import CallbackSupportMixin, Reporter, with_callbacks
from emscoreset.checks import drawn_seed, in_words
from emscoreset.coreset import Coreset
from emscoreset.ems import TOL
from emscoreset.kernels import Kernel, get_kernel
from emscoreset.search.drive import Outcome, Settings, check, fit
from emscoreset.search.merging import merged_note
from emscoreset.sources.array import ArraySource
from emscoreset.sources.base import Source
from emscoreset.stats import Floats, Ints, Pass
from emscoreset.strata import classes_of, fit_strata, join, strata, told
from emscoreset.theory.stability import Stability, stability
from emscoreset.validation import checked_rows


class EMSCoreset(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Shrink rows of numbers to weighted atoms, and know the transport distance exactly.

    Parameters
    ----------
    n_atoms : int, default=100
        How many atoms. Data with fewer distinct rows come back as those rows, exactly.
    reg : float, default=0.01
        The temperature, in squared units of the data: 0 assigns each row to one atom, more
        shares it among several. Rows tell two atoms apart down to about sqrt(reg).
    init : {"k-means++", "random"} or array of shape (n_atoms, n_features)
        Where to start.
    algorithm : {"auto", "plain", "best"}, default="auto"
        "auto" starts with twice the atoms, takes away those that are missed least, and
        descends with momentum, on growing samples and then on all rows; "best" spends about
        ten times more on where the atoms are. "plain" is
        Algorithm 1 of the paper from random rows. ``history_`` tells what each pass read.
    tol : float
        Stop where a full pass lowers the objective by less than this share of it.
    shift_tol : float, optional
        Stop where the atoms move by less than this (Frobenius norm), the paper's rule.
    max_iter : int, default=1000
        At most so many times the atoms move, in passes over samples and over all rows.
    kernel : {"auto", "native", "numpy"}, default="auto"
        What computes a pass; "auto" takes the best there is.
    n_jobs : int, optional
        Threads of a pass. The result is the same for any number of them.
    random_state : int, RandomState, Generator or None
        What draws the start. The seed used is in ``coreset_.provenance``.
    verbose : int, default=0
        A line on each pass where not 0.

    Attributes
    ----------
    atoms_ : array of shape (n_atoms, n_features)
    weights_ : array of shape (n_atoms,)
        Each atom's share of the data's mass; they sum to 1.
    coreset_ : Coreset
        Atoms, weights, names, distance and provenance as one value.
    distance_ : float
        The transport cost from the data to the coreset at ``reg``, exact.
    lower_, upper_ : float
        Bounds on the squared Wasserstein-2 distance, comparable across ``reg``.
    labels_ : array of shape (n_rows,)
        The most responsible atom of each row, where the rows were an array or a frame.
    n_iter_ : int
        How often the atoms moved.
    converged_ : bool
    history_ : tuple of Record
        One entry a pass: the rows it read, its objective, and whether it was kept.
    n_features_in_ : int
    feature_names_in_ : array of str, where the rows had names.
    atom_labels_ : array of shape (n_atoms,), after `fit_stratified`: each atom's class.

    Notes
    -----
    Up to 16,384 rows of positive weight (or 16 for each atom, where that is more) the fit does
    not depend on the order of the rows, nor on whether a row is repeated or weighted. Beyond
    that samples are drawn by position; the last passes always read all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from emscoreset import EMSCoreset
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model = EMSCoreset(n_atoms=20, random_state=0).fit(X)
    >>> model.atoms_.shape
    (20, 2)
    """

    def __init__(
        self,
        n_atoms: int = 100,
        *,
        reg: float = 0.01,
        init: str | ArrayLike = "k-means++",
        algorithm: str = "auto",
        tol: float = TOL,
        shift_tol: float | None = None,
        max_iter: int = 1000,
        kernel: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_atoms = n_atoms
        self.reg = reg
        self.init = init
        self.algorithm = algorithm
        self.tol = tol
        self.shift_tol = shift_tol
        self.max_iter = max_iter
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the atoms and weights for the rows of X.

        X is an array, a pandas, polars or pyarrow frame, or a `Source`, which brings its own
        weights and kernel. ``y`` is ignored. The attributes change only once all is done: an
        interrupted fit leaves the estimator as it was.
        """
        return self._take(self._fit(X, y, sample_weight))

    def fit_stratified(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find atoms for the rows of each class of ``y`` apart; ``atom_labels_`` are theirs.

        The classes share the atoms by their mass, and each class's mass in the coreset is exact.
        ``distance_`` is that of (row, class): no mass changes its class. X is in memory.
        """
        _refuse_source(X, "stratified")
        settings, seed = self._settings(), drawn_seed(self.random_state)
        source, noted = self._open_rows(X, sample_weight)
        classes = strata(*classes_of(y, source.n), sample_weight)
        parts = fit_strata(source, classes, settings, np.random.default_rng(seed))
        joined = join(source, parts, settings.reg)
        coreset = joined.outcome.coreset(
            source,
            settings,
            feature_names=noted.get("feature_names_in_", ()),
            provenance=self._provenance(seed) | {"strata": told(parts)},
        )
        fitted = noted | _finished(coreset, joined.outcome)
        p = plan(coreset.atoms, coreset.weights, settings.reg, source.X.dtype)
        fitted["_labels"] = labels(source.X, p, source.kernel)
        fitted["atom_labels_"] = np.array(joined.labels)
        return self._take(fitted)

    def _take(self, fitted: dict[str, Any]) -> Self:
        """Replace what an earlier fit has set."""
        kept = {name: value for name, value in vars(self).items() if name not in FITTED}
        self.__dict__ = kept | fitted
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> dict[str, Any]:
        """The attributes of a fit to X."""
        settings, seed = self._settings(), drawn_seed(self.random_state)
        source, noted = self._open(X, sample_weight)
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        reporter = Reporter(
            self,
            {"X": X, "y": y, "metadata": metadata},
            lambda state: noted | _plain_fit(state.Y, state.w, settings.reg),
        )
        found = fit(source, settings, np.random.default_rng(seed), reporter)
        coreset = found.coreset(
            source,
            settings,
            feature_names=noted.get("feature_names_in_", ()),
            provenance=self._provenance(seed),
        )
        fitted = noted | _finished(coreset, found)
        if isinstance(source, ArraySource) and source is not X:
            p = plan(coreset.atoms, coreset.weights, settings.reg, source.X.dtype)
            fitted["_labels"] = labels(source.X, p, source.kernel)
        notes = (few_rows_note(found, settings), merged_note(source, settings, found, seed))
        for note in filter(None, notes):
            warnings.warn(note, stacklevel=4)
        reporter.finish(fitted)
        return fitted

    def _settings(self) -> Settings:
        """The parameters of the search, checked."""
        return check(
            Settings(**{field.name: getattr(self, field.name) for field in fields(Settings)})
        )

    def _open(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Source, dict[str, Any]]:
        """X as a source, and the width and names to note of it."""
        if isinstance(X, Source):
            if sample_weight is not None:
                raise ValueError(OWN_WEIGHTS)
            return X, {"n_features_in_": X.d}
        return self._open_rows(X, sample_weight)

    def _open_rows(
        self, X: Any, sample_weight: ArrayLike | None
    ) -> tuple[ArraySource, dict[str, Any]]:
        scratch = copy.copy(self)  # so that self stays as it is should the fit fail
        rows = checked_rows(scratch, X, reset=True)
        source = ArraySource(rows, sample_weight, kernel=get_kernel(self.kernel, self.n_jobs))
        noted = {"n_features_in_": scratch.n_features_in_}
        if hasattr(scratch, "feature_names_in_"):
            noted["feature_names_in_"] = scratch.feature_names_in_
        return source, noted

    def _provenance(self, seed: int) -> dict[str, Any]:
        return {
            "made_by": type(self).__name__,
            "version": _version(),
            "seed": seed,
            "parameters": in_words(self.get_params(False)),
        }

    @property
    def labels_(self) -> Ints:
        """The most responsible atom of each row that `fit` was given in memory."""
        check_is_fitted(self)
        if "_labels" not in vars(self):
            raise AttributeError(
                "labels_ is kept only for rows that were given as an array or a frame; "
                "call predict on the rows, block by block"
            )
        found: Ints = self._labels
        return found

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Ints:
        """Fit to X, and the most responsible atom of each of its rows."""
        _refuse_source(X, "predict")
        return self.fit(X, y, sample_weight).labels_

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Fit to X, and the Euclidean distance from each of its rows to every atom. OUT (n, k)."""
        _refuse_source(X, "transform")
        return distances(*self.fit(X, y, sample_weight)._asked(X))

    def predict(self, X: Any) -> Ints:
        """The most responsible atom of each row: the largest entry of `predict_proba`."""
        return labels(*self._asked(X))

    def predict_proba(self, X: Any) -> Floats:
        """How the plan shares each row among the atoms (the responsibilities). OUT (n, k)."""
        return responsibilities(*self._asked(X))

    def transform(self, X: Any) -> NDArray[Any]:
        """The Euclidean distance from each row to every atom. OUT (n, k), float32 for float32."""
        return distances(*self._asked(X))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the weighted mean squared distance from a row to the nearest atom.

        It can be compared across ``reg``. Atoms of weight 0 play no part.
        """
        source = self._weighted(X, sample_weight)
        dtype = source.X.dtype if isinstance(source, ArraySource) else np.float64
        stats = source.run(plan(self.atoms_, self.weights_, 0.0, dtype))
        return -float(stats.per_mass().L)

    def stability(self, X: Any, sample_weight: ArrayLike | None = None) -> Stability:
        """How far one moved row of X can change its shares and the atoms, at most.

        ``stability(X).atom_move(delta)`` bounds each atom's move in one EM step when a row
        moves by ``delta``. The larger ``reg``, the smaller the figures; at ``reg=0`` there
        are none. X is what was fitted, or other rows like it.
        """
        source = self._weighted(X, sample_weight)
        return stability(source, self.atoms_, self.weights_, self._reg)

    def _weighted(self, X: Any, sample_weight: ArrayLike | None) -> Source:
        """New rows with their weights, as a source."""
        check_is_fitted(self)
        if not isinstance(X, Source):
            rows = checked_rows(self, X, reset=False)
            return ArraySource(rows, sample_weight, kernel=get_kernel(self.kernel, self.n_jobs))
        if sample_weight is not None:
            raise ValueError(OWN_WEIGHTS)
        if X.d != self.n_features_in_:
            raise ValueError(
                f"the Source has {X.d} columns, but {type(self).__name__} was fitted to "
                f"{self.n_features_in_}"
            )
        return X

    def _asked(self, X: Any) -> tuple[NDArray[Any], Pass, Kernel]:
        """New rows, the plan of the fit, and the kernel to apply it with."""
        check_is_fitted(self)
        rows = checked_rows(self, X, reset=False)
        p = plan(self.atoms_, self.weights_, self._reg, rows.dtype)
        return rows, p, get_kernel(self.kernel, self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives, for ``get_feature_names_out``."""
        return len(self.atoms_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


OWN_WEIGHTS = "a Source brings its own weights: leave sample_weight out"

# What a fit sets, and the next one replaces.
FITTED = (
    *("atoms_", "weights_", "coreset_", "distance_", "lower_", "upper_", "n_iter_"),
    *("converged_", "history_", "n_features_in_", "feature_names_in_", "_labels", "_reg"),
    "atom_labels_",
)


def _refuse_source(X: Any, method: str) -> None:
    if isinstance(X, Source):
        raise TypeError(
            f"fit_{method} takes arrays and frames; call fit on the Source, "
            f"then {method} on its rows block by block"
        )


def _plain_fit(atoms: Floats, weights: Floats, reg: float) -> dict[str, Any]:
    """The attributes that suffice to predict, transform and score."""
    return {"atoms_": atoms, "weights_": weights, "_reg": reg}


def _finished(coreset: Coreset, found: Outcome) -> dict[str, Any]:
    """The attributes of a fit that ended with this coreset."""
    return _plain_fit(coreset.atoms, coreset.weights, coreset.reg) | {
        "coreset_": coreset,
        "distance_": coreset.distance,
        "lower_": coreset.lower,
        "upper_": coreset.upper,
        "n_iter_": found.n_iter,
        "converged_": found.converged,
        "history_": found.history,
    }


def few_rows_note(found: Outcome, settings: Settings) -> str | None:
    """What to tell a user who asked for more atoms than there are distinct rows."""
    if not found.few_rows or len(found.atoms) == settings.n_atoms:
        return None
    k = len(found.atoms)
    return (
        f"X has only {k} distinct row{'s' * (k > 1)}, fewer than n_atoms={settings.n_atoms}: "
        f"{'those rows are the atoms' if k > 1 else 'it is the atom'}, and the coreset is exact"
    )


@cache
def _version() -> str:
    return version("emscoreset")  # reads files
