"""SHAP with weighted backgrounds: how fast, and how near to the full data's values."""
