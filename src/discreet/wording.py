"""Small wordings, said once: plurals, lists in a sentence, percentages and rounded numbers for people.

Bounds that must be rounded to their safe side are in :mod:`discreet.exact.rationals` (``text_up``, ``text_down``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

#: Fractions whose power of ten is beyond this are beyond doubles, or nearly.
_DOUBLES_REACH = 300


def noun(number: int, one: str, many: str | None = None) -> str:
    """The noun for so many of something, without the number.

    >>> noun(1, "count"), noun(0, "count"), noun(2, "person", "people")
    ('count', 'counts', 'people')
    """
    return one if number == 1 else many or f"{one}s"


def plural(number: int, one: str, many: str | None = None) -> str:
    """So many of something.

    >>> plural(1, "report"), plural(20190, "report"), plural(2, "person", "people")
    ('1 report', '20,190 reports', '2 people')
    """
    return f"{number:,} {noun(number, one, many)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence.

    >>> listed(["site"]), listed(["site", "year", "health"]), listed([".csv", ".json"], "or")
    ('site', 'site, year and health', '.csv or .json')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_of(names: Sequence[str], most: int = 20) -> str:
    """The first names of a list that may be long.

    >>> first_of(["a", "b", "c"], most=2), first_of([])
    ('a, b, ...', 'none')
    """
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])]) or "none"


def percent(share: Fraction | float, digits: int = 3) -> str:
    """A share as a percentage. What is not certain is not called 100%.

    >>> percent(Fraction(2, 3)), percent(1), percent(Fraction(1, 65536)), percent(0.9999)
    ('66.7%', '100%', '0.00153%', '99.99%')
    """
    value = float(100 * share)
    shown = f"{value:.{digits}g}"
    return f"{math.floor(value * 1000) / 1000:g}%" if shown == "100" and share < 1 else f"{shown}%"


def rounded(value: Fraction | float, digits: int = 3) -> str:
    """A number with so many significant digits, however large or small it is.

    >>> rounded(2 / 3), rounded(Fraction(1, 3), 6), rounded(math.inf), rounded(Fraction(1, 10**400))
    ('0.667', '0.333333', 'infinity', 'about 1e-400')
    """
    if isinstance(value, Fraction) and value:
        power = math.log10(abs(value.numerator)) - math.log10(value.denominator)
        if abs(power) > _DOUBLES_REACH:
            return f"about {'-' * (value < 0)}1e{math.floor(power)}"
    number = float(value)
    if math.isinf(number):
        return "infinity" if number > 0 else "-infinity"
    return f"{number:.{digits}g}"
