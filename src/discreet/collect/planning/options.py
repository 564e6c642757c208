"""The families that a survey can use, each at the requested privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ...errors import InvalidInput
from ...exact.rationals import as_fraction, text_up
from ...mechanism import Mechanism
from ...mechanisms.families import Family, resolve
from ...optimise.families import FAMILIES
from ...privacy.notions import read_notion, usual_notion
from ...spaces import Space
from ...wording import listed

#: Range of epsilon for a family that does not state its own.
MIN_EPSILON, MAX_EPSILON = Fraction(1, 10_000), Fraction(20)

#: Significant digits of a resulting epsilon, as many as a person types.
DIGITS = 3


@dataclass(frozen=True)
class Option:
    """A family for a space, and how its epsilon follows from the requested one.

    Attributes
    ----------
    family, space
        The family, and the space it is built for.
    factor
        Factor from the requested epsilon to the family's.
    reach
        Factor from the family's epsilon to a bound on epsilon between any two values.
    """

    family: Family
    space: Space
    factor: Fraction
    reach: Fraction

    def build(self, epsilon: Fraction) -> Mechanism:
        """Return the mechanism at the requested epsilon."""
        return self.family.make(self.space, epsilon=self.own(epsilon))

    def own(self, epsilon: Fraction) -> Fraction:
        """Return the family's own epsilon."""
        return epsilon * self.factor

    def between_any_two(self, epsilon: Fraction) -> Fraction:
        """Return a bound on epsilon between any two values."""
        return self.own(epsilon) * self.reach

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest epsilon to request."""
        low, high = MIN_EPSILON, MAX_EPSILON
        if self.family.steps:
            low, high = (step / self.space.unit for step in resolve(self.family.steps))
        return low / self.factor, high / self.factor


def options_for(
    space: Space, named: str | Callable[..., Mechanism] | None, notion: str | None
) -> tuple[list[Option], str]:
    """Return the families for these values, the named one first, and the notion for comparing their privacy.

    Parameters
    ----------
    space
        The true values.
    named
        A family by name, or its function; None for no preference.
    notion
        The notion of privacy: "central" (adjacent counts), "local" (any two values) or "metric" (per unit of
        distance); by default what the named family is proved for, or else what is usual for such values.
    """
    fitting = [family for family in FAMILIES.offered("plan") if family.parameters[0] in space.parameters]
    if named is not None:
        chosen = FAMILIES.built_by(named) if callable(named) else FAMILIES.find(named, "plan", "a family for surveys")
        if chosen not in fitting or chosen is None:
            names = listed([family.cli_name for family in fitting], "or")
            raise InvalidInput(f"this mechanism is not for {space.noun}s.", f"Choose {names}.", argument="mechanism")
        fitting = [chosen, *(family for family in fitting if family is not chosen)]
        if notion is None:
            notion = "local" if chosen.kind in ("response", "points") else usual_notion(space)
    notion = read_notion(notion, space)
    return [_option(family, space, notion) for family in fitting], notion


def _option(family: Family, space: Space, notion: str) -> Option:
    if family.kind in ("response", "points"):
        # any two values alike: the nearest two are one unit apart
        return Option(family, space, space.unit if notion == "metric" else Fraction(1), Fraction(1))
    reach = space.diameter
    return Option(family, space, 1 / reach if notion == "local" else Fraction(1), reach)


def shown(epsilon: Fraction) -> str:
    """Return an epsilon for people: as it was typed, or rounded up.

    >>> shown(Fraction(173, 500)), shown(Fraction(1, 3))
    ('0.346', '0.3334')
    """
    decimal = f"{float(epsilon):.6g}"
    return decimal if Fraction(decimal) == epsilon else text_up(epsilon, 4)


def typed(epsilon: float) -> Fraction:
    """Return an epsilon as a person types it: a few digits, rounded up.

    >>> typed(0.34567), typed(12.3401)
    (Fraction(173, 500), Fraction(62, 5))
    """
    return as_fraction(text_up(epsilon, DIGITS))
