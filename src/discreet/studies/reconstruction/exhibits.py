"""The exhibits of [F], in the paper's order."""

from __future__ import annotations

from ..study import Study

RECONSTRUCTION = Study(
    "reconstruction",
    "F",
    "Fernandes, Lefki, Palamidessi, Utility-Preserving Privacy Mechanisms for Counting Queries",
    (),
)
