"""Who is told of each pass of a fit: scikit-learn's callbacks, and the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emscoreset.ems import Record, State

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Supports nothing."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Reporter", "with_callbacks"]


class Reporter:
    """Tells the callbacks set on an estimator of its fit and of each pass, a task each.

    A pass is known only once it has been made, so its task begins and ends at that moment.
    Any callback that answers true to the end of a task stops the descent there.
    """

    def __init__(
        self, estimator: Any, given: dict[str, Any], fitted: Callable[[State], dict[str, Any]]
    ) -> None:
        self._estimator = estimator
        self._given = given  # X, y and metadata as the user gave them
        self._fitted = fitted  # the attributes that make a state a fitted estimator
        self._passes = 0
        begin = getattr(estimator, "_init_callback_context", None)  # scikit-learn >= 1.9
        self._root = begin and begin(max_subtasks=None)
        if self._root:
            self._root.call_on_fit_task_begin(estimator=estimator, **given)

    def __call__(self, record: Record, state: State) -> bool:
        """One pass was made."""
        self._passes += 1
        if self._estimator.verbose:
            print(
                f"{type(self._estimator).__name__}: pass {self._passes}, "
                f"{record.rows:,} rows, objective {record.objective:.6g}, "
                f"atoms moved {record.shift:.3g}, {record.seconds:.2f} s"
            )
        if not self._root:
            return False
        task = self._root.subcontext(task_name="pass")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._given)
        return bool(self._end(task, lambda: self._fitted(state)))

    def finish(self, fitted: dict[str, Any]) -> None:
        """The fit is over, with these attributes."""
        if self._root:
            self._end(self._root, fitted)

    def _end(self, task: Any, fitted: Any) -> Any:
        return task.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=fitted, **self._given
        )
