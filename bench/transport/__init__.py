"""Transport costs to given weights, against what else computes them."""
