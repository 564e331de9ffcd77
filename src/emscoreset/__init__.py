"""Shrink a data set to a few weighted rows, and know exactly how much was lost."""

from emscoreset.coreset import Coreset
from emscoreset.estimator import EMSCoreset
from emscoreset.io import CoresetFileError, from_frame, load

__version__ = "0.1.0"
__all__ = ["Coreset", "CoresetFileError", "EMSCoreset", "__version__", "from_frame", "load"]
