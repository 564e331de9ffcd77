"""SHAP explainers with weighted backgrounds, and backgrounds for them."""

from emscoreset.explain.choose import background
from emscoreset.explain.explainer import WeightedExplainer

__all__ = ["WeightedExplainer", "background"]
