"""A table to 500 weighted rows: train a model on them, look at what was kept."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from emscoreset import compress, score
from emscoreset.datasets import make_orders

orders = make_orders(20_000, rng=0)
coreset = compress(
    orders,
    500,
    exclude=["order", "customer"],  # they tell nothing; the rows keep them
    stratify="returned",  # the label: each class's mass stays exact
    missing="indicator",
    random_state=0,
)
print(coreset.in_words())

# The rows are rows of the table, with all columns, their types and a weight.
small = coreset.to_frame("pandas")
print(small.head(3).T)
assert np.isclose(small["weight"].sum(), 20_000)

# Train on 500 weighted rows instead of 20,000.
later = make_orders(5_000, rng=1)
features = ["age", "items", "discount", "days", "rating", "group", "device", "payment"]
for name, frame, weight in (
    ("all rows", orders.to_pandas(), None),
    ("coreset", small, small["weight"]),
):
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=40, random_state=0
    )
    model.fit(frame[features], frame["returned"], sample_weight=weight)
    found = model.predict_proba(later.to_pandas()[features])[:, 1]
    print(f"{name:>9}: AUC {roc_auc_score(later['returned'].to_numpy(), found):.3f}")

# Every column beside the data's, and rows that the coreset has not seen.
print(coreset.summary().split("\n\n")[1][:600])
print(score(later, coreset))
