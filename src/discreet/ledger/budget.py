"""The costs of releases, their exact sums, and the conversions between epsilon, delta and rho.

All sums are exact. Irrational numbers are rounded on the private side: costs up, budgets down.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache

from ..errors import InvalidInput, InWords
from ..exact.rationals import as_fraction, log_bounds, read_integer, show_integer
from ..privacy.bounds import pure_rho
from ..report import Json

#: Significant digits to which irrational numbers are rounded.
_DIGITS = 15

#: Maximum number of sums whose conversion is kept: many periods of a ledger have spent the same.
_CACHED_SUMS = 4096

#: Maximum bits of a cost's denominator; longer ones are rounded up, so that sums stay short.
_MAX_DENOMINATOR_BITS = 192


# ------------------------------------------------------------------------------------------------ numbers


def round_up(value: Fraction, digits: int = _DIGITS) -> Fraction:
    """Round up to this many significant decimal digits (or one more)."""
    if not value:
        return value
    magnitude = (math.log2(abs(value.numerator)) - math.log2(value.denominator)) * math.log10(2)
    unit = Fraction(10) ** (math.floor(magnitude + 1e-9) - digits + 1)
    return math.ceil(value / unit) * unit


def round_down(value: Fraction, digits: int = _DIGITS) -> Fraction:
    return -round_up(-value, digits)


def short(value: Fraction, *, up: bool, digits: int = 6) -> str:
    """Return a number for people, rounded up (a cost) or down (a remainder).

    >>> short(Fraction(1, 3), up=True), short(Fraction(1, 3), up=False), short(Fraction(5, 2), up=True)
    ('0.333334', '0.333333', '2.5')
    """
    number = round_up(value, digits) if up else round_down(value, digits)
    return f"{float(number):.{digits + 1}g}"


def decimal_text(value: Fraction) -> str:
    """Return a number as a person would type it: decimal, at most six digits, rounded up.

    >>> [decimal_text(Fraction(number)) for number in ("1.5", "1/3", "1e-5", "30")]
    ['1.5', '0.333334', '1e-5', '30']
    """
    return re.sub(r"e([+-])0*", r"e\1", short(value, up=True)).replace("e+", "e")


def lifetime_budget(one: Fraction) -> Fraction:
    """Return a round number that pays for three releases of this cost: 1, 2, 3 or 5 times a power of ten.

    >>> [decimal_text(lifetime_budget(Fraction(one))) for one in ("1", "0.5", "1/3", "0.03", "1e-6")]
    ['3', '2', '1', '0.1', '3e-6']
    """
    if not one:
        return Fraction(1)
    least = 3 * one
    power = Fraction(10) ** math.floor(math.log10(least.numerator) - math.log10(least.denominator) - 1e-9)
    return next(step * power for step in (1, 2, 3, 5, 10, 20) if step * power >= least)


def exact_text(value: Fraction) -> str:
    """Return a fraction as exact text: "3" or "1/3"."""
    top, bottom = show_integer(value.numerator), show_integer(value.denominator)
    return top if value.denominator == 1 else f"{top}/{bottom}"


def read_exact(text: object) -> Fraction:
    """Read a fraction that :func:`exact_text` wrote, and nothing else."""
    if not isinstance(text, str) or not re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)(/(0x[0-9a-f]+|[0-9]+))?", text):
        raise InvalidInput("a ledger writes numbers as text such as '3' or '1/3', and none is negative.")
    top, _, bottom = text.partition("/")
    denominator = read_integer(bottom) if bottom else 1
    if not denominator:
        raise InvalidInput("a fraction has a denominator that is not 0.")
    return Fraction(read_integer(top), denominator)


# ------------------------------------------------------------------------------------------------ rho, epsilon, delta


def _gain(delta: Fraction, order: Fraction) -> Fraction:
    """Return a lower bound of ``log(delta alpha)/(alpha-1) - log(1 - 1/alpha)``, which both conversions below use.

    rho-zCDP implies ``delta = exp((alpha-1)(alpha rho - eps)) / alpha * (1 - 1/alpha)^(alpha-1)`` for every alpha > 1
    (Canonne, Kamath, Steinke 2020, Corollary 13), and that is ``alpha rho = eps + gain``.
    """
    return log_bounds(delta * order)[0] / (order - 1) + log_bounds(order / (order - 1))[0]


def _best_order(delta: Fraction, score: Callable[[float, float], float]) -> Fraction:
    """Return the order with the highest score of (order, gain). Floats suffice, since every order proves a bound."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)

    def of(place: float) -> float:
        excess = math.exp(place)
        gain = (log_delta + math.log1p(excess)) / excess + math.log1p(1 / excess)
        return score(1 + excess, gain)

    best, width = 20.0, 1.0
    for _ in range(4):  # a coarse grid over all sensible orders, then finer ones
        best = max((best + width * step for step in range(-30, 31)), key=of)
        width /= 20
    return 1 + Fraction(f"{math.exp(best):.6g}")


def rho_within(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return the largest rho that this order proves to imply (epsilon, delta), rounded down."""
    return round_down((epsilon + _gain(delta, order)) / order)


def largest_rho(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Search for the largest rho that implies (epsilon, delta); return it rounded down, and the order that proves it.

    >>> rho, order = largest_rho(Fraction(1), Fraction(1, 10**6))
    >>> round(float(rho), 4)
    0.0244
    """
    order = _best_order(delta, lambda order, gain: (float(epsilon) + gain) / order)
    rho = rho_within(epsilon, delta, order)
    if rho <= 0:
        raise InvalidInput(
            "no rho is small enough for this epsilon and delta.", "Use the filter sum, or a larger budget."
        )
    return rho, order


@lru_cache(maxsize=_CACHED_SUMS)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon that rho-zCDP implies with this delta, rounded up."""
    if not rho:
        return Fraction(0)
    order = _best_order(delta, lambda order, gain: gain - float(rho) * order)
    return max(round_up(order * rho - _gain(delta, order)), Fraction(0))


def rho_of(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure epsilon, rounded up."""
    return round_up(pure_rho(epsilon)) if epsilon <= 100 else epsilon  # epsilon tanh(epsilon/2) is at most epsilon


@lru_cache(maxsize=_CACHED_SUMS)
def pure_epsilon(rho: Fraction) -> Fraction:
    """Search for the largest epsilon whose pure guarantee costs at most this rho; return it rounded down."""
    low, high = Fraction(0), Fraction(1)
    while rho_of(high) <= rho:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_of(middle) <= rho else (low, middle)
    return round_down(low)


# ------------------------------------------------------------------------------------------------ costs


@dataclass(frozen=True)
class Cost:
    """The cost of a release: epsilon and delta, and its rho if it has zero-concentrated privacy.

    ``rho`` is the cost of the same release in another measure, with no further delta. Costs add up as under basic
    composition.

    >>> Cost(Fraction(1, 2)) + Cost(Fraction(1, 3), Fraction(1, 10**6))
    Cost(epsilon=Fraction(5, 6), delta=Fraction(1, 1000000), rho=None)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        for what in ("epsilon", "delta", "rho"):
            value = getattr(self, what)
            if what != "rho" or value is not None:
                object.__setattr__(self, what, as_fraction(value, f"the {what} of a cost"))
        if min(self.epsilon, self.delta, self.rho or 0) < 0:
            raise InvalidInput("a cost is not negative: what was spent is never given back.")

    def __str__(self) -> str:
        return amount_text(self)

    def __add__(self, other: Cost) -> Cost:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta, rho)

    def as_counted_by(self, left: Cost) -> Cost:
        """Return the part of this cost that a budget with this much left counts: rho only where it has one.

        >>> str(Cost(Fraction(1), rho=Fraction(1, 2)).as_counted_by(Cost(Fraction(3))))
        'epsilon 1'
        """
        return self if left.rho is not None else Cost(self.epsilon, self.delta)

    def concentrated(self) -> Fraction | None:
        """Return the least known rho: the stated one, or that of a pure epsilon; None if there is neither."""
        rhos = [] if self.rho is None else [self.rho]
        return min([*rhos, rho_of(self.epsilon)] if not self.delta else rhos, default=None)

    def recordable(self) -> Cost:
        """Return the same cost with very long fractions rounded up; refuse a cost that no release has."""
        if self.delta >= 1:
            raise InvalidInput("a release with delta = 1 protects nobody; its delta must be below 1.", argument="delta")
        if self.rho == 0 and self.epsilon:
            raise InvalidInput("a cost with a positive epsilon and rho = 0 cannot be right.")
        rho = None if self.rho is None else _with_short_denominator(self.rho)
        return Cost(_with_short_denominator(self.epsilon), _with_short_denominator(self.delta), rho)

    def to_json(self) -> dict[str, Json]:
        """Return exact JSON values."""
        rho = None if self.rho is None else exact_text(self.rho)
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta), "rho": rho}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Cost:
        rho = data["rho"]
        return cls(read_exact(data["epsilon"]), read_exact(data["delta"]), None if rho is None else read_exact(rho))


def _with_short_denominator(value: Fraction) -> Fraction:
    return value if value.denominator.bit_length() <= _MAX_DENOMINATOR_BITS else round_up(value, 30)


def amount_text(cost: Cost, *, up: bool = False) -> str:
    """Put a cost in words: epsilon, and delta and rho where positive; round down a remainder, ``up`` a cost.

    >>> amount_text(Cost(Fraction(1, 3))), amount_text(Cost(Fraction(0), rho=Fraction(1, 8)), up=True)
    ('epsilon 0.333333', 'rho 0.125')
    """
    parts = [("epsilon", cost.epsilon), ("delta", cost.delta), ("rho", cost.rho)]
    amounts = [
        f"{name} {short(value, up=up)}"
        for name, value in parts
        if value is not None and (value or (name == "epsilon" and not up))
    ]
    return ", ".join(amounts)


NOTHING = Cost(Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Tally:
    """A sum of costs, as the filter of a ledger counts them; a part of it can be subtracted exactly.

    Attributes
    ----------
    epsilon, delta, rho
        The sums; rho is summed over the costs that have one, and epsilon over those that the filter counts by it.
    without_rho
        The number of costs without a rho. If it is positive, the total has no rho.
    without_epsilon
        The number of costs that the filter counts by their rho alone.

    >>> spent = Tally(Fraction(1, 2), without_rho=1) + Tally(Fraction(1, 3), rho=Fraction(1, 18))
    >>> spent.total.epsilon, spent.total.rho, (spent - Tally(Fraction(1, 2), without_rho=1)).total.rho
    (Fraction(5, 6), None, Fraction(1, 18))
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    without_rho: int = 0
    without_epsilon: int = 0

    @property
    def total(self) -> Cost:
        return Cost(self.epsilon, self.delta, None if self.without_rho else self.rho)

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __sub__(self, part: Tally) -> Tally:
        """Subtract a part of the sum; refuse a difference below zero, which shows that it was never added."""
        differences = [getattr(self, one.name) - getattr(part, one.name) for one in fields(self)]
        if min(differences) < 0:
            raise InvalidInput("more would be given back than was spent.")
        return Tally(*differences)

    def to_json(self) -> dict[str, Json]:
        """Return exact JSON values."""
        sums: dict[str, Json] = {what: exact_text(getattr(self, what)) for what in ("epsilon", "delta", "rho")}
        counted = {"without_epsilon": self.without_epsilon} if self.without_epsilon else {}
        return {**sums, "without_rho": self.without_rho, **counted}

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Tally:
        numbers = [content["without_rho"], content.get("without_epsilon", 0)]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise InvalidInput("a number of costs is a whole number, at least 0.")
        sums = [read_exact(content[what]) for what in ("epsilon", "delta", "rho")]
        return cls(*sums, *numbers)  # type: ignore[arg-type]  # the numbers were checked


def read_name(text: object, what: str) -> str:
    """Read a name: printable text, so that any terminal can show it."""
    if not isinstance(text, str) or not text or len(text) > 200 or not text.isprintable():
        raise InvalidInput.must_be(what, "a text of 1 to 200 printable characters", InWords(f"{text!r:.60}"))
    return text
