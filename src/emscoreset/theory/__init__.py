"""The paper's statements as functions: what is promised, computed, so that it can be tested.

Nothing in a fit depends on this package. `docs/theory.md` has each statement in words, what was
measured, and where the paper's wording needs care.
"""

from emscoreset.theory.density import (
    centre_density,
    correction_weights,
    high_resolution_cost,
)
from emscoreset.theory.energy import (
    assignment,
    distance_to_masses,
    free_energy,
    gibbs,
    objective,
    sinkhorn_loss,
    variational_value,
)
from emscoreset.theory.rates import (
    annealed_reg,
    collapse_reg,
    entropic_floor,
    gaussian_floor,
    rate_slope,
)
from emscoreset.theory.stability import (
    Stability,
    assignment_gradient,
    centre_bound,
    centre_gradient,
    diameter,
    leverage_bound,
    lipschitz_in_centres,
    lipschitz_in_data,
    sharp_centre_bound,
    sharp_lipschitz_in_centres,
    sharp_lipschitz_in_data,
    small_move_bound,
    stability,
)

__all__ = [
    "Stability",
    "annealed_reg",
    "assignment",
    "assignment_gradient",
    "centre_bound",
    "centre_density",
    "centre_gradient",
    "collapse_reg",
    "correction_weights",
    "diameter",
    "distance_to_masses",
    "entropic_floor",
    "free_energy",
    "gaussian_floor",
    "gibbs",
    "high_resolution_cost",
    "leverage_bound",
    "lipschitz_in_centres",
    "lipschitz_in_data",
    "objective",
    "rate_slope",
    "sharp_centre_bound",
    "sharp_lipschitz_in_centres",
    "sharp_lipschitz_in_data",
    "sinkhorn_loss",
    "small_move_bound",
    "stability",
    "variational_value",
]
