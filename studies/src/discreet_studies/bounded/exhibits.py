"""The exhibits of [S], in the paper's order."""

from __future__ import annotations

from ..study import Exhibit, Study
from . import example, many, numbers, over_epsilon, over_truth, statements

BOUNDED = Study(
    "bounded",
    "S",
    "Sadeghi, Asoodeh, Calmon, Differentially Private Mechanisms for Count Queries",
    (
        Exhibit("1", "the noise and the discrete Gaussian", example.draw),
        Exhibit("2", "delta over epsilon", over_epsilon.draw_figure_2),
        Exhibit("3", "delta over the probability of the truth", over_truth.draw),
        Exhibit("4", "delta and the discrete Gaussian", over_epsilon.draw_figure_4),
        Exhibit("statements", "propositions, lemmas, theorems and equations", statements.draw),
        Exhibit("many-queries", "how privacy degrades with the number of queries", many.draw),
        Exhibit("numbers", "the numbers of the text", numbers.draw),
    ),
    doi="10.48550/arXiv.2007.09374",
)
