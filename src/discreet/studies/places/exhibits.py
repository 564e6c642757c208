"""The exhibits of [A], in the paper's order."""

from __future__ import annotations

from ..study import Study

PLACES = Study(
    "places",
    "A",
    "Alvim, Chatzikokolakis, Palamidessi, Pazii, LDP on metric spaces: optimizing the trade-off with utility",
    (),
)
