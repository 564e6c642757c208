"""The exhibits of [C] that need no data, in the paper's order."""

from __future__ import annotations

from ..study import Exhibit
from .asides import draw_remarks, draw_seconds, draw_staircase
from .choosing import chooser
from .costs import named_costs, nine_requests
from .derivability import from_geometric
from .fair import beside_exponential, beside_geometric
from .heatmaps import constrained, example_1, small_groups, unconstrained
from .lattice import implications, table_of_properties
from .questions import draw_column_privacy, draw_l1_l2, draw_ranges
from .structure import fair_structure, geometric_structure
from .theorems import statements

#: What needs no data: the mechanisms themselves (sections I to V-A).
OF_MECHANISMS = (
    Exhibit("1", "best mechanisms without properties", unconstrained),
    Exhibit("2", "the same with all seven properties", constrained),
    Exhibit("em-gm", "what fairness costs compared with GM", beside_geometric),
    Exhibit("example-1", "GM for two people", example_1),
    Exhibit("properties", "which property follows from which", implications),
    Exhibit("theorems", "lemmas and theorems by computation", statements),
    Exhibit("3", "the structure of GM", geometric_structure),
    Exhibit("4", "the structure of EM", fair_structure),
    Exhibit("exponential", "EM and the exponential mechanism", beside_exponential),
    Exhibit("5", "the choice among four mechanisms", chooser),
    Exhibit("6", "which mechanism has which property", table_of_properties),
    Exhibit("7", "GM, WM and EM for four people", small_groups),
    Exhibit("derivability", "what can be derived from GM", from_geometric),
    Exhibit("8", "nine requests with weak honesty", nine_requests),
    Exhibit("9", "L0 costs of the named mechanisms", named_costs),
)

#: What the paper says in passing, and what it leaves open (section VI).
IN_PASSING = (
    Exhibit("staircase", "the staircase mechanism and n-ary randomised response", draw_staircase),
    Exhibit("seconds", "how long designs take", draw_seconds),
    Exhibit("section-vi", "the concluding remarks", draw_remarks),
    Exhibit("l1-l2", "the 128 sets of properties under L1 and L2", draw_l1_l2),
    Exhibit("column-privacy", "privacy along columns", draw_column_privacy),
    Exhibit("range-queries", "range queries", draw_ranges),
)
