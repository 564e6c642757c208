"""The exhibits of [F], in the paper's order."""

from __future__ import annotations

from ..study import Exhibit, Study
from .convergence import draw_convergence
from .distances import draw_distances
from .likelihoods import draw_likelihoods
from .shapes import draw_shapes
from .visits import draw_visits

RECONSTRUCTION = Study(
    "reconstruction",
    "F",
    "Fernandes, Lefki, Palamidessi, Utility-Preserving Privacy Mechanisms for Counting Queries",
    (
        Exhibit("1", "what k-RR and the geometric mechanism report for 50", draw_likelihoods),
        Exhibit("2", "reconstructions of a binomial and a 4-point distribution", draw_shapes),
        Exhibit("3", "Kantorovich distances of reconstructions", draw_distances),
        Exhibit("4", "log-likelihood after each update", draw_convergence),
        Exhibit("visits", "the same on visits to the doctor", draw_visits),
    ),
)
