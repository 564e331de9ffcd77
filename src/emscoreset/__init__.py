"""Shrink a data set to a few weighted rows, and know exactly how much was lost."""

__version__ = "0.1.0"
__all__ = ["__version__"]
