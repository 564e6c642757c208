"""The study of [C]: its mechanisms, then what they do to people in small groups."""

from __future__ import annotations

from ..claims import Basis
from ..constrained.exhibits import IN_PASSING, OF_MECHANISMS
from ..study import Exhibit, Study
from .adult import draw_adult, draw_visits
from .synthetic import figure_11, figure_12, figure_13

#: What is counted: people in small groups (sections V-B and V-C).
OF_GROUPS = (
    Exhibit("10", "how often the counts of Adult's groups are wrong", draw_adult, ("adult",), basis=Basis.THEIRS),
    Exhibit("10-visits", "the same with doctor visits, which come with the package", draw_visits, basis=Basis.OURS),
    Exhibit("11", "binomial groups: off by more than 1", figure_11, basis=Basis.DRAWN),
    Exhibit("12", "binomial groups: off by more than d", figure_12, basis=Basis.DRAWN),
    Exhibit("13", "binomial groups: root mean square error", figure_13, basis=Basis.DRAWN),
)

CONSTRAINED = Study(
    "constrained",
    "C",
    "Cormode, Kulkarni, Srivastava, Constrained Differential Privacy for Count Data",
    OF_MECHANISMS + OF_GROUPS + IN_PASSING,
    doi="10.48550/arXiv.1710.00608",
)
