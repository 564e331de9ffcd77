"""SHAP explainers with weighted backgrounds, and backgrounds for them."""

from emscoreset.explain.choose import background
from emscoreset.explain.explainer import WeightedExplainer
from emscoreset.explain.report import BackgroundReport, background_report

__all__ = ["BackgroundReport", "WeightedExplainer", "background", "background_report"]
