"""Compress a real data set, read the exact distance, keep the coreset as a file."""

from pathlib import Path

from sklearn.datasets import load_digits

from emscoreset import EMSCoreset, load

digits = load_digits()
model = EMSCoreset(n_atoms=50, random_state=0).fit(digits.data)
coreset = model.coreset_

print(coreset)
print(
    f"In words: {len(coreset)} weighted images stand in for {coreset.n:,}. Moving every image onto "
    f"its stand-ins costs {coreset.upper:.1f} squared grey levels an image, where one average "
    f"image for all would cost {coreset.variance:.1f}: {100 * coreset.kept:.1f} % of the variance "
    "is kept."
)

out = Path("out") / "digits.parquet"
out.parent.mkdir(exist_ok=True)
coreset.save(out)
assert load(out).distance == coreset.distance
print(f"Saved as {out}: {len(coreset)} rows with a weight column.")
