"""Building mechanisms from the description of their family: for counts 0..n, or from the parameters in a file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..exact.rationals import float_down, log_bounds
from ..mechanism import Mechanism
from ..spaces import Counts, space_from
from .families import Family


def build_for_counts(family: Family, n: int, alpha: Fraction) -> Mechanism:
    """Return the mechanism of this family for the counts 0..n that is as private as alpha = e^-epsilon.

    A family that takes epsilon alone gets the largest double that is not less private than alpha. A family without a
    privacy parameter ignores alpha.

    Examples
    --------
    >>> from .families import CLOSED_FORMS
    >>> build_for_counts(CLOSED_FORMS["randomized_response"], 2, Fraction(1, 3)).probability(0, 0)
    Fraction(3, 5)
    """
    space = Counts(n)
    if "privacy" in family.parameters:
        return family.make(space, alpha=alpha)
    if "epsilon" in family.parameters:
        return family.make(space, epsilon=float_down(log_bounds(1 / alpha)[0]))
    return family.make(space)


def rebuild_saved(family: Family, parameters: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of this family with the parameters of a file.

    Examples
    --------
    >>> from .families import CLOSED_FORMS
    >>> rebuild_saved(CLOSED_FORMS["geometric"], {"n": 2, "alpha": "1/2"}).probability(0, 0)
    Fraction(2, 3)
    """
    return family.make(**{name: _read_saved(parameters[name]) for name in family.saved})


def _read_saved(value: object) -> Any:
    """Return a parameter of a file; a description is read as its space."""
    return space_from(value) if isinstance(value, dict) else value
