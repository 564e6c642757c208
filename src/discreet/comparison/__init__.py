"""Mechanisms side by side: at one privacy (:mod:`.comparing`), and at several (:mod:`.sweeps`)."""

from .compare import ComparedMechanism, Comparison, compare
from .sweeps import ComparisonSweep

__all__ = ["ComparedMechanism", "Comparison", "ComparisonSweep", "compare"]
