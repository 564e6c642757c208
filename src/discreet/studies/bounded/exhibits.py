"""The exhibits of [S], in the paper's order."""

from __future__ import annotations

from ..study import Study

BOUNDED = Study(
    "bounded",
    "S",
    "Sadeghi, Asoodeh, Calmon, Differentially Private Mechanisms for Count Queries",
    (),
)
