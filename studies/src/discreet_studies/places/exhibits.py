"""The exhibits of [A], in the paper's order."""

from __future__ import annotations

from ..study import Exhibit, Study
from .calibration import draw_calibration
from .checkins import draw_checkins
from .losses import draw_losses
from .radius import draw_radius

_GOWALLA = ("gowalla",)

PLACES = Study(
    "places",
    "A",
    "Alvim, Chatzikokolakis, Palamidessi, Pazii, LDP on metric spaces: optimizing the trade-off with utility",
    (
        Exhibit("1", "the square of Paris and its cells", draw_checkins, _GOWALLA, by_cell=True),
        Exhibit("calibration", "an expected distance of 450 m", draw_calibration, _GOWALLA),
        Exhibit("2", "loss of utility of growing data sets", draw_losses, _GOWALLA, on_map=True),
        Exhibit("radius", "the same at a likelihood ratio within a kilometre", draw_radius, _GOWALLA, on_map=True),
    ),
)
