"""Tables of mixed types as vectors, and vectors as rows of valid values."""

from emscoreset.encode.encoder import Encoder
from emscoreset.encode.fit import Fitted

__all__ = ["Encoder", "Fitted"]
