"""The exhibits of [F], in the paper's order."""

from __future__ import annotations

from ..claims import Basis
from ..study import Exhibit, Study
from .convergence import draw_convergence
from .distances import draw_distances
from .likelihoods import draw_likelihoods
from .shapes import draw_shapes
from .spread import draw_conjecture, draw_invertible
from .visits import draw_visits

RECONSTRUCTION = Study(
    "reconstruction",
    "F",
    "Fernandes, Lefki, Palamidessi, Utility-Preserving Privacy Mechanisms for Counting Queries",
    (
        Exhibit("1", "what k-RR and the geometric mechanism report for 50", draw_likelihoods),
        Exhibit("invertible", "proposition 2: G has an inverse", draw_invertible),
        Exhibit("2", "reconstructions of a binomial and a 4-point distribution", draw_shapes, basis=Basis.DRAWN),
        Exhibit("3", "Kantorovich distances of reconstructions", draw_distances, basis=Basis.DRAWN),
        Exhibit("conjecture", "why k-RR is further off: where its errors lie", draw_conjecture),
        Exhibit("4", "log-likelihood after each update", draw_convergence, basis=Basis.DRAWN),
        Exhibit("visits", "the same on visits to the doctor", draw_visits, basis=Basis.OURS),
    ),
)
