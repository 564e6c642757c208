"""Periods of the calendar and their names: "2026", "2026-Q1", "2026-03", "2026-W09", "2026-03-14".

A name belongs to one granularity, which its form shows. Weeks are those of ISO 8601: they begin on a Monday, and week 1
is the one with the year's first Thursday. Years have four digits, from 0001 to 9999.

A period can be part of the privacy unit (:class:`Per`): one month of one person. The period of a row is a function of
one of its columns alone, read as a day: a date, a moment without a time zone, or a text that is read as a day as
conditions on dates read it. A row without such a day, or with one outside the years 1 to 9999, has no period.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from .errors import InvalidInput
from .wording import find_name

#: Granularity -> an example of its periods' names.
GRANULARITIES = {"day": "2026-03-14", "week": "2026-W09", "month": "2026-03", "quarter": "2026-Q1", "year": "2026"}

#: Granularity -> the form of its periods' names.
_FORMS = {
    "day": re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII),
    "week": re.compile(r"(\d{4})-W(\d\d)", re.ASCII),
    "month": re.compile(r"(\d{4})-(\d\d)", re.ASCII),
    "quarter": re.compile(r"(\d{4})-Q([1-4])", re.ASCII),
    "year": re.compile(r"(\d{4})", re.ASCII),
}


def read_granularity(per: object) -> str:
    """Return the granularity with this name: day, week, month, quarter or year.

    >>> read_granularity("month")
    'month'
    """
    return find_name(per, GRANULARITIES, "a granularity", argument="per")


def read_period(name: object, per: str) -> str:
    """Return the name of a period unchanged; refuse one that is not in the calendar, or of another granularity.

    >>> read_period("2026-03", "month"), read_period("2026-W53", "week"), read_period("2024-02-29", "day")
    ('2026-03', '2026-W53', '2024-02-29')
    >>> read_period("2026-13", "month")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: period must be a month of the calendar, written like 2026-03; got '2026-13'.
    """
    form = _FORMS[per].fullmatch(name) if isinstance(name, str) else None
    if form is None or not _is_in_calendar(per, [int(part) for part in form.groups()]):
        allowed = f"a {per} of the calendar, written like {GRANULARITIES[per]}"
        raise InvalidInput.must_be("period", allowed, name)
    assert isinstance(name, str)
    return name


def period_of(day: date, per: str) -> str:
    """Return the name of the period that a day is in.

    >>> [period_of(date(2027, 1, 1), per) for per in GRANULARITIES]
    ['2027-01-01', '2026-W53', '2027-01', '2027-Q1', '2027']
    """
    if per == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    if per == "quarter":
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"year": 4, "month": 7, "day": 10}[per]]


def _is_in_calendar(per: str, parts: list[int]) -> bool:
    """Return whether the calendar has the period with these numbers."""
    try:
        if per == "week":
            date.fromisocalendar(parts[0], parts[1], 1)
        else:
            _, month, day = (*parts, 1, 1)[:3] if per in ("day", "month") else (parts[0], 1, 1)
            date(parts[0], month, day)
    except ValueError:
        return False
    return True


def periods_between(first: date, last: date, per: str, most: int) -> tuple[str, ...] | None:
    """Return the names of the periods from one day to another, both included; None if there are more than ``most``.

    >>> periods_between(date(2024, 11, 30), date(2025, 1, 1), "month", 12)
    ('2024-11', '2024-12', '2025-01')
    """
    names: list[str] = []
    for name in _names_between(first, last, per):
        names.append(name)
        if len(names) > most:
            return None
    return tuple(names)


#: Granularity -> the days of its shortest period, so that steps of as many days meet every period.
_SHORTEST = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}


def _names_between(first: date, last: date, per: str) -> Iterator[str]:
    ordinal, name = first.toordinal(), ""
    while ordinal <= last.toordinal():
        if (following := period_of(date.fromordinal(ordinal), per)) != name:
            name = following
            yield name
        ordinal += _SHORTEST[per]
    if first <= last and (following := period_of(last, per)) != name:
        yield following


#: The kinds of columns of which a day can be read (``expressions.KINDS``).
DATED_KINDS = frozenset({"date", "timestamp", "text"})


@dataclass(frozen=True)
class Per:
    """The period of a privacy unit: its granularity, and the column that dates a row.

    Examples
    --------
    >>> months = Per.read("month:visit_date")
    >>> months.granularity, months.column, months.text
    ('month', 'visit_date', 'month:visit_date')
    """

    granularity: str
    column: str

    @classmethod
    def read(cls, text: object) -> Per:
        """Read a period as people write it: ``month:visit_date``."""
        if isinstance(text, Per):
            return text
        granularity, colon, column = text.partition(":") if isinstance(text, str) else ("", "", "")
        if not colon or granularity.strip().casefold() not in GRANULARITIES or not column.strip():
            allowed = f"one of {', '.join(GRANULARITIES)}, a colon and a date column, such as month:visit_date"
            raise InvalidInput.must_be("per", allowed, text, argument="per")
        return cls(granularity.strip().casefold(), column.strip())

    @property
    def text(self) -> str:
        """The period as people write it."""
        return f"{self.granularity}:{self.column}"

    def period_of(self, day: date) -> str:
        """Return the name of the period that a day is in."""
        return period_of(day, self.granularity)
