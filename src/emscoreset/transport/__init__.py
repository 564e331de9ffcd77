"""Transport costs to weights that are given, not a pass's own."""

from emscoreset.transport.distances import (
    distance_to_weights,
    sinkhorn_distance,
    sinkhorn_divergence,
    wasserstein_distance,
)
from emscoreset.transport.own import entropic_self_cost
from emscoreset.transport.result import TransportResult

__all__ = [
    "TransportResult",
    "distance_to_weights",
    "entropic_self_cost",
    "sinkhorn_distance",
    "sinkhorn_divergence",
    "wasserstein_distance",
]
