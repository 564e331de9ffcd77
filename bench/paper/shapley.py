"""Table "shapley": 64 rows in place of the training set as the background of SHAP values."""
