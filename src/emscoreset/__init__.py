"""Shrink a data set to a few weighted rows, and know exactly how much was lost."""

from typing import TYPE_CHECKING, Any

from emscoreset.coreset import Coreset
from emscoreset.frames import from_frame
from emscoreset.io import load
from emscoreset.plain import CoresetFileError

if TYPE_CHECKING:
    from emscoreset.api import compress
    from emscoreset.estimator import EMSCoreset
    from emscoreset.scoring import Score, score
    from emscoreset.transport import (
        TransportResult,
        sinkhorn_distance,
        sinkhorn_divergence,
        wasserstein_distance,
    )

__version__ = "0.1.0"
__all__ = [
    "Coreset",
    "CoresetFileError",
    "EMSCoreset",
    "Score",
    "TransportResult",
    "__version__",
    "compress",
    "from_frame",
    "load",
    "score",
    "sinkhorn_distance",
    "sinkhorn_divergence",
    "wasserstein_distance",
]

# scikit-learn loads pandas and rich where it finds them: only who asks for it pays.
_LAZY = {
    "EMSCoreset": "emscoreset.estimator",
    "Score": "emscoreset.scoring",
    "compress": "emscoreset.api",
    "score": "emscoreset.scoring",
    "TransportResult": "emscoreset.transport",
    "sinkhorn_distance": "emscoreset.transport",
    "sinkhorn_divergence": "emscoreset.transport",
    "wasserstein_distance": "emscoreset.transport",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
