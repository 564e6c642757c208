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
        return self.family.make(self.space, epsilon=self.family_epsilon(epsilon))

    def family_epsilon(self, epsilon: Fraction) -> Fraction:
        """Return the family's own epsilon."""
        return epsilon * self.factor

    def between_any_two(self, epsilon: Fraction) -> Fraction:
        """Return a bound on epsilon between any two values."""
        return self.family_epsilon(epsilon) * self.reach

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest epsilon to request."""
        low, high = MIN_EPSILON, MAX_EPSILON
        if self.family.steps:
            low, high = (step / self.space.unit for step in resolve(self.family.steps))
        return low / self.factor, high / self.factor


def options_for(
    space: Space, family: str | Callable[..., Mechanism] | None, notion: str | None
) -> tuple[list[Option], str]:
    """Return the families for these values, the requested one first, and the notion for comparing their privacy.

    Parameters
    ----------
    space
        The true values.
    family
        A family by name, or its function; None for no preference.
    notion
        The notion of privacy: "central" (adjacent counts), "local" (any two values) or "metric" (per unit of
        distance); by default what that family is proved for, or else what is usual for such values.
    """
    families = [f for f in FAMILIES.offered("plan") if f.parameters[0] in space.parameters]
    if family is not None:
        best = FAMILIES.built_by(family) if callable(family) else FAMILIES.find(family, "plan", "a family for surveys")
        if best not in families or best is None:
            names = listed([f.cli_name for f in families], "or")
            raise InvalidInput(f"this mechanism is not for {space.noun}s.", f"Choose {names}.", argument="mechanism")
        families = [best, *(f for f in families if f is not best)]
        if notion is None:
            notion = "local" if best.kind in ("response", "points") else usual_notion(space)
    notion = read_notion(notion, space)
    return [_option(f, space, notion) for f in families], notion


def _option(family: Family, space: Space, notion: str) -> Option:
    if family.kind in ("response", "points"):
        # any two values alike: the nearest two are one unit apart
        return Option(family, space, space.unit if notion == "metric" else Fraction(1), Fraction(1))
    reach = space.diameter
    return Option(family, space, 1 / reach if notion == "local" else Fraction(1), reach)


def epsilon_text(epsilon: Fraction) -> str:
    """Return an epsilon for people: as it was typed, or rounded up.

    >>> epsilon_text(Fraction(173, 500)), epsilon_text(Fraction(1, 3))
    ('0.346', '0.3334')
    """
    decimal = f"{float(epsilon):.6g}"
    return decimal if Fraction(decimal) == epsilon else text_up(epsilon, 4)


def round_up(epsilon: float) -> Fraction:
    """Return an epsilon as a person types it: a few digits, rounded up.

    >>> round_up(0.34567), round_up(12.3401)
    (Fraction(173, 500), Fraction(62, 5))
    """
    return as_fraction(text_up(epsilon, DIGITS))
