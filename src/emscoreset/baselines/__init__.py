"""What the paper compares EMS with.

Each function takes rows and returns a `Coreset`, whose distance is that to the weights it carries.
``provenance["seconds"]`` is what finding the atoms took; measuring the distance is not in it.
"""

from emscoreset.baselines.plain import kmeans, random
from emscoreset.baselines.wcsl import wcsl

__all__ = ["kmeans", "random", "wcsl"]
