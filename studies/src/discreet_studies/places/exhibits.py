"""The exhibits of [A], in the paper's order."""

from __future__ import annotations

from ..claims import Basis
from ..study import Exhibit, Study
from .calibration import draw_calibration
from .checkins import draw_checkins
from .lines import draw_lines
from .losses import draw_losses
from .radius import draw_radius
from .remarks import draw_remarks, draw_uniform_prior
from .standing_in import draw_synthetic, on_checkins

PLACES = Study(
    "places",
    "A",
    "Alvim, Chatzikokolakis, Palamidessi, Pazii, LDP on metric spaces: optimizing the trade-off with utility",
    (
        Exhibit("1", "the square of Paris and its cells", on_checkins(draw_checkins), by_cell=True, basis=Basis.THEIRS),
        Exhibit("calibration", "an expected distance of 450 m", on_checkins(draw_calibration), basis=Basis.THEIRS),
        Exhibit(
            "2", "loss of utility of growing data sets", on_checkins(draw_losses), on_map=True, basis=Basis.THEIRS
        ),
        Exhibit(
            "radius", "the same at a likelihood ratio within a kilometre", on_checkins(draw_radius), on_map=True,
            basis=Basis.THEIRS,
        ),
        Exhibit("uniform-prior", "the printed epsilons if all cells are equally likely", draw_uniform_prior),
        Exhibit("remarks", "k-RR's optimality, LDP and DP, and footnote 2", draw_remarks),
        Exhibit("energy-age", "energy and age: values on a line", draw_lines, basis=Basis.OURS),
        Exhibit(
            "synthetic", "the check-ins that stand in for Gowalla, and the same claims on them", draw_synthetic,
            on_map=True, basis=Basis.OURS,
        ),
    ),
)  # fmt: skip
