"""How far is a small sample from the data? Compare ways of choosing it, in one honest number."""

from sklearn.datasets import load_digits

from emscoreset import EMSCoreset, wasserstein_distance
from emscoreset.baselines import random

X = load_digits().data  # 1797 images of 64 pixels

fitted = EMSCoreset(n_atoms=50, random_state=0).fit(X).coreset_
again = EMSCoreset(n_atoms=50, random_state=1).fit(X).coreset_
drawn = random(X, 50, rng=0)  # 50 images, each with the same weight

for name, coreset in (("fitted", fitted), ("drawn at random", drawn)):
    found = wasserstein_distance(X, coreset)
    share = found.value / coreset.variance
    print(f"{name:>16}: {found.value:6.1f}, {100 * share:.0f} % of the variance is lost")

# Weights of your own: the distance to 50 images of which the first counts ten times.
mine = wasserstein_distance(X, (drawn.atoms, [10.0] + 49 * [1.0]), exact=True)
print(f"{'my own weights':>16}: {mine.value:6.1f}")

# Two seeds give two coresets: how far are they from each other?
apart = wasserstein_distance(fitted, again)
print(f"two seeds differ by {apart.value:.1f}: both stand in for the same data, differently")
