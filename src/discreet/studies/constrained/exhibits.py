"""The exhibits of [C], in the paper's order."""

from __future__ import annotations

from ..study import Study

CONSTRAINED = Study(
    "constrained",
    "C",
    "Cormode, Kulkarni, Srivastava, Constrained Differential Privacy for Count Data",
    (),
)
