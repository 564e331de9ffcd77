"""SHAP explainers with weighted backgrounds."""

from emscoreset.explain.explainer import WeightedExplainer

__all__ = ["WeightedExplainer"]
