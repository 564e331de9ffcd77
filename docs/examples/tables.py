"""A mixed table as vectors, and back: python docs/examples/tables.py."""

import datetime as dt

import polars as pl

from emscoreset.encode import Encoder

table = pl.DataFrame(
    {
        "customer_id": [101, 102, 103, 104, 105, 106],
        "age": [34, 51, 27, None, 45, 62],
        "job": ["clerk", "cook", "clerk", "judge", None, "clerk"],
        "member": [True, False, False, True, True, False],
        "joined": [dt.date(2020 + i // 4, 3 * (i % 4) + 1, 1) for i in range(6)],
        "planet": ["Earth"] * 6,
    }
)

fitted = Encoder.fit(table, exclude=["customer_id"], missing="indicator", importance={"age": 2})
encoder = fitted.encoder
print("Features:", ", ".join(encoder.feature_names))
for message in fitted.messages:
    print(message)

vectors = encoder.transform(table)  # float32, a row for each row
for name, place in encoder.places.items():
    print(f"{name}: variance {vectors[:, place].var(axis=0).sum():.2f}")

middle = vectors[[0, 2]].mean(axis=0, keepdims=True)  # between the first and the third
print("Between two rows:", encoder.decode(middle).to_pylist()[0])

new = table.head(1).with_columns(pl.lit("astronaut").alias("job"))
print("Features of a job never seen:", encoder.transform(new)[0, encoder.places["job"]])
