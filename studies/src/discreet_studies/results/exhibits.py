"""The new results, in the order of their pages."""

from __future__ import annotations

from ..study import Exhibit, Study
from . import battery, growth, least_delta, minimax, partition_selection, weak_honesty

RESULTS = Study(
    "results",
    "R",
    "Results of this project",
    (
        Exhibit("least-delta", "the least true delta of bounded noise in closed form", least_delta.draw),
        Exhibit("weak-honesty", "the cost of weak honesty in closed form", weak_honesty.draw),
        Exhibit("minimax", "a remark: the explicit fair mechanism is minimax-optimal", minimax.draw),
        Exhibit("partition-selection", "naming groups by bounded noise, one for each person", partition_selection.draw),
        Exhibit("banded", "the banded interior point", growth.draw),
        Exhibit("estimate", "a default estimate nearer to the truth", battery.draw),
    ),
    self_tested=True,
)
