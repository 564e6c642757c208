"""The formulas and figures of the papers this package builds on, exactly, for those who check them or draw them again.

Bounded, unbiased noise on counts ([S], Sadeghi): its closed forms, and the numbers of its figures 1 to 4.

>>> import discreet as dc
>>> formulas = dc.papers.paper_formulas("2.18", "0.8", 6)
>>> round(float(formulas.deltas[2]), 12), len(dc.papers.figure_1())
(0.004947821638, 7)
"""

from __future__ import annotations

from .mechanisms.bounded import PaperFormulas, mixture_law, paper_formulas, two_point_law, two_point_shares
from .optimise.noise.figures import figure_1, figure_2, figure_3, figure_4

__all__ = [
    "PaperFormulas",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "mixture_law",
    "paper_formulas",
    "two_point_law",
    "two_point_shares",
]
