"""Bands: numbers and dates grouped by declared edges, such as ages 18-29, 30-44 and 45-64, or months.

Edges ``e_0 < e_1 < ... < e_n`` make the bands ``[e_{j-1}, e_j)``, closed on the left; an open end adds all that is
below ``e_0``, or from ``e_n`` on. A column is read as a number (a double, see ``conditions``) or as a day, as the edges
are. What cannot be read so, NaN, the infinities and days outside the years 1 to 9999 are in no band. So each row is in
one band at most, by its own value alone, and no value can make it fail.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from ..errors import InvalidInput, InWords, WrongType, arg
from ..exact.integers import is_integer
from ..lists import read_list
from ..report import Json
from ..wording import listed
from .domains import REST, Values, listed_values
from .expressions import LARGEST_WHOLE, Literal

Edge = int | float | date

#: The kind of a banded group column; other columns are "integer" or "text".
BAND = "band"

#: Maximum number of bands of one column: a query has a comparison for each.
MAX_BANDS = 1_000

#: Range of doubles and of Python's days: a value outside is in no band, not even an open one.
_FIRST: dict[str, Edge] = {"DOUBLE": -sys.float_info.max, "DATE": date.min}
_LAST: dict[str, Edge] = {"DOUBLE": sys.float_info.max, "DATE": date.max}

_EXAMPLE = "age=18,30,45,65"


@dataclass(frozen=True)
class Bands:
    """The bands of a column, in ascending order; what they are called is among the values of its ``Groups``.

    Parameters
    ----------
    edges
        Ascending: whole numbers and fractions (as doubles), or dates.
    below, above
        True if all values below the first edge, or from the last edge on, are a band.

    Examples
    --------
    >>> ages = Bands((18, 30, 65), above=True)
    >>> ages.size, [literal.value for literal in ages.inner]
    (3, [30, 65])
    """

    edges: tuple[Edge, ...]
    below: bool = False
    above: bool = False

    def __post_init__(self) -> None:
        if not self.edges or self.size < 1:
            raise _refused("the bands have one edge and no open end", "Write at least two edges")
        kinds = {_type_of(edge) for edge in self.edges}
        if len(kinds) > 1:
            raise _refused("the edges of the bands mix numbers and dates", "Write all as numbers or all as dates")
        if any(not low < high for low, high in pairwise(self.edges)):  # type: ignore[operator]
            raise _refused("the edges of the bands do not ascend", "Write each edge once, the smallest first")
        if self.size > MAX_BANDS:
            raise _refused(f"{self.size} bands of one column are too many", f"Declare at most {MAX_BANDS}")

    @property
    def size(self) -> int:
        """The number of bands."""
        return len(self.edges) - 1 + self.below + self.above

    @property
    def type(self) -> str:
        """The type that the column is read as: "DOUBLE" or "DATE"."""
        return _type_of(self.edges[0])

    @property
    def inner(self) -> tuple[Literal, ...]:
        """The edges between two bands, as the constants that a column meets."""
        inside = self.edges[0 if self.below else 1 : None if self.above else -1]
        return tuple(Literal(self.type, edge) for edge in inside)

    @property
    def ends(self) -> tuple[Literal, Literal]:
        """The least value that is in a band, and the end above all of them (part of them if ``above``)."""
        low = _FIRST[self.type] if self.below else self.edges[0]
        high = _LAST[self.type] if self.above else self.edges[-1]
        return Literal(self.type, low), Literal(self.type, high)

    @property
    def whole(self) -> bool:
        """True if all edges are whole numbers."""
        return all(type(edge) is int for edge in self.edges)

    def to_json(self) -> dict[str, Json]:
        """Return the edges as text, so that they are exact, and the open ends."""
        edges = [str(edge) if isinstance(edge, date) else repr(edge) for edge in self.edges]
        return {"type": self.type, "edges": edges, "below": self.below, "above": self.above}

    @staticmethod
    def from_json(content: Mapping[str, object]) -> Bands:
        """Make bands from what ``to_json`` gave; a KeyError, TypeError or ValueError if it is something else.

        >>> Bands.from_json(Bands((18, 18.5, 65)).to_json()).edges
        (18, 18.5, 65)
        """
        edges, below, above = (content[name] for name in ("edges", "below", "above"))
        if not isinstance(edges, list) or not isinstance(below, bool) or not isinstance(above, bool):
            raise TypeError
        read: Callable[[str], Edge] = {"DOUBLE": _number, "DATE": date.fromisoformat}[str(content["type"])]
        bands = Bands(tuple(read(str(edge)) for edge in edges), below, above)
        if bands.to_json() != dict(content):
            raise ValueError
        return bands


@dataclass(frozen=True)
class DeclaredBands:
    """Bands as declared for a column.

    Attributes
    ----------
    bands
        The edges.
    names
        The names of the bands; None: from their edges.
    missing, rest
        True if rows without a value, or with any other value, are further groups.
    period
        The calendar period, such as ``"month"``; None for other bands.
    heading
        The name under which a question selects them (``AS age_group``); None: that of the column.
    """

    bands: Bands
    names: tuple[str, ...] | None = None
    missing: bool = False
    rest: bool = False
    period: str | None = None
    heading: str | None = None

    def labels(self, fractions: bool = False) -> tuple[str, ...]:
        """Return the names of the bands, for people.

        Parameters
        ----------
        fractions
            True if the column may hold fractions, by its type: then 30 is not the next value after 29.

        Examples
        --------
        >>> ages = read_bands("age", "..18,30,65..")
        >>> ages.labels(), ages.labels(fractions=True)[1]
        (('under 18', '18-29', '30-64', '65 and over'), '18 to under 30')
        >>> read_bands("visit", "month:2024-11..2025-01").labels()
        ('2024-11', '2024-12', '2025-01')
        """
        if self.names is not None:
            return self.names
        edges = self.bands.edges
        days = [edge for edge in edges if isinstance(edge, date)]
        wholes = [edge for edge in edges if isinstance(edge, int) and self.bands.whole and not fractions]
        if days:
            inner_names = [_days(low, high) for low, high in pairwise(days)]
        elif wholes:
            inner_names = [_wholes(low, high) for low, high in pairwise(wholes)]
        else:
            inner_names = [f"{low} to under {high}" for low, high in pairwise(edges)]
        first, last = ("before", "and later") if self.bands.type == "DATE" else ("under", "and over")
        below = [f"{first} {edges[0]}"] if self.bands.below else []
        return (*below, *inner_names, *([f"{edges[-1]} {last}"] if self.bands.above else []))

    @property
    def body(self) -> str:
        """The edges as they are typed: what :func:`read_bands` reads as the same bands.

        >>> bands_from("age", [float("-inf"), 18, 65, None, ...]).body
        '..18,65,NULL,*'
        """
        edges = [str(edge) for edge in self.bands.edges]
        edges[0] = f"..{edges[0]}" if self.bands.below else edges[0]
        edges[-1] = f"{edges[-1]}.." if self.bands.above else edges[-1]
        return ",".join([*edges, *(["NULL"] if self.missing else []), *(["*"] if self.rest else [])])

    def values(self, fractions: bool = False) -> Values:
        """Return the values of the column among groups: the bands by name, missing values and the rest if declared."""
        return (*self.labels(fractions), *([None] if self.missing else []), *([REST] if self.rest else []))


def _wholes(low: int, high: int) -> str:
    if high - low == 1:
        return str(low)
    return f"{low}-{high - 1}" if low >= 0 else f"{low} to {high - 1}"


def _days(low: date, high: date) -> str:
    last = high - timedelta(days=1)
    return f"{low}" if low == last else f"{low} to {last}"


def bands_of(bands: tuple[Bands | None, ...], columns: Sequence[int]) -> tuple[Bands | None, ...]:
    """Return the bands of some of the columns, as their groups have them; empty if none of them is banded.

    >>> bands_of((Bands((18, 65)), None), [1]), len(bands_of((Bands((18, 65)), None), [0]))
    ((), 1)
    """
    of_columns = tuple(bands[k] for k in columns) if bands else ()
    return of_columns if any(of_columns) else ()


def check_banded(
    columns: Sequence[str], kinds: Sequence[str], values: Sequence[Values], bands: Sequence[Bands | None]
) -> None:
    """Refuse group columns whose bands and values do not belong together: one name for each band, in their order."""
    if bands and (len(bands) != len(columns) or not any(bands)):
        raise InvalidInput("groups need bands, or None, for each column.", argument="bands")
    for column, kind, column_values, of in zip(columns, kinds, values, bands or (None,) * len(columns), strict=True):
        names = listed_values(column_values)
        labels = names[:-1] if names and names[-1] is None else names
        if (kind == BAND) != (of is not None) or (of is not None and (None in labels or len(labels) != of.size)):
            raise InvalidInput(f"the bands of {column!r} need one name each, in their order.", argument="bands")


# ------------------------------------------------------------------------------------------------ as people write them


def read_bands(column: str, body: str) -> DeclaredBands:
    """Return the bands that the right side of ``age=18,30,45,65`` stands for.

    Parameters
    ----------
    column
        The column, for messages.
    body
        Edges with commas between them, numbers or dates; ``..`` before the first or after the last edge for an open
        end; ``0..100:10`` for edges at equal steps; ``month:2024-01..2025-12`` (or quarter, year, week, day) for
        periods, both ends included. ``NULL`` adds a group for missing values, ``*`` one for everything else.

    Examples
    --------
    >>> read_bands("age", "0..100:50").labels()
    ('0-49', '50-99')
    >>> read_bands("visit", "2024-01-01,2024-07-01,*").values()
    ('2024-01-01 to 2024-06-30', '(all others)')
    """
    items = [item.strip() for item in body.split(",")]
    missing, rest = "NULL" in items, "*" in items
    edges = [item for item in items if item not in ("NULL", "*")]
    if len(items) - len(edges) > missing + rest:
        raise _refused(f"the bands of {column!r} name NULL or * twice", "Write each once")
    if not edges or not all(edges):
        raise _refused(f"the bands of {column!r} have an empty edge", "Leave out the comma or write the edge")
    if match := re.fullmatch(r"([a-z]+)\s*:\s*(.+)", edges[0]):
        if len(edges) > 1:
            raise _refused(f"the bands of {column!r} have something after their periods", "Write the periods alone")
        bands, names = _periods(column, match[1], match[2])
        return DeclaredBands(bands, names, missing, rest, match[1])
    if len(edges) == 1 and (match := re.fullmatch(r"(\S+?)\.\.(\S+?):(\S+)", edges[0])):
        return DeclaredBands(_steps(column, *match.groups()), None, missing, rest)
    below, above = edges[0].startswith(".."), edges[-1].endswith("..")
    edges[0] = edges[0].removeprefix("..")
    edges[-1] = edges[-1].removesuffix("..")
    return DeclaredBands(Bands(tuple(_edge(column, text) for text in edges), below, above), None, missing, rest)


def bands_from(column: str, edges: object) -> DeclaredBands:
    """Make bands from Python: a text as for :func:`read_bands`, or a list of edges.

    Infinities at the ends are open ends; None adds a group for missing values, ``...`` one for everything else.

    >>> bands_from("age", [18, 65, float("inf"), None]).values()
    ('18-64', '65 and over', None)
    """
    if isinstance(edges, str):
        return read_bands(column, edges)
    items = read_list(edges, f"the bands of {column!r}", "edges", "bands")
    numbers_or_dates = [edge for edge in items if edge is not None and edge is not ...]
    below = bool(numbers_or_dates) and numbers_or_dates[0] == -math.inf
    above = bool(numbers_or_dates) and numbers_or_dates[-1] == math.inf
    inside = [_given(column, edge) for edge in numbers_or_dates[1 if below else 0 : -1 if above else None]]
    return DeclaredBands(Bands(tuple(inside), below, above), None, None in items, ... in items)


def _given(column: str, edge: object) -> Edge:
    if isinstance(edge, date) and not isinstance(edge, datetime):
        return edge
    if isinstance(edge, str):
        return _edge(column, edge)
    if is_integer(edge):
        return _number(str(edge))
    if isinstance(edge, float | Decimal) and math.isfinite(edge):
        return _number(repr(float(edge)))
    raise WrongType.must_be(
        f"an edge of the bands of {column!r}", "a number, a date or their text", InWords(f"a {type(edge).__name__}"),
        argument="bands",
    )  # fmt: skip


def _edge(column: str, text: str) -> Edge:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else _number(text)
    except InvalidInput:
        raise
    except ValueError:
        pass
    if ".." in text or re.fullmatch(r"-?[0-9.]+\s*[-–—]\s*[0-9.]+", text):
        raise _refused(
            f"the bands of {column!r} have {text[:40]!r}, which looks like a band", "Write the edges between them alone"
        )
    raise _refused(
        f"the bands of {column!r} have the edge {text[:40]!r}, which is neither a number nor a date",
        "Write numbers, or dates such as 2024-01-31",
    )


def _number(text: str) -> int | float:
    """Return a number as it is compared with: whole, or a double."""
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise ValueError
    value = Decimal(text)
    if abs(value) > LARGEST_WHOLE:
        raise _refused(f"the edge {text[:40]} is beyond 2^53, where doubles are not exact", "Write a smaller one")
    return int(value) if value == int(value) else float(value)


def _steps(column: str, first: str, last: str, step: str) -> Bands:
    try:
        low, high, width = Decimal(str(_number(first))), Decimal(str(_number(last))), Decimal(str(_number(step)))
    except InvalidInput:
        raise
    except ValueError:
        raise _refused(
            f"the bands of {column!r} have steps that are not numbers", "Write first..last:step", f"{column}=0..100:10"
        ) from None
    many = (high - low) / width if width > 0 else Decimal(0)
    if many < 1 or many != int(many):
        raise _refused(
            f"the bands of {column!r} do not reach from {first} to {last} in steps of {step}",
            "Write first..last:step",
            f"{column}=0..100:10",
        )
    if many > MAX_BANDS:
        raise _refused(f"{int(many)} bands of {column!r} are too many", f"Declare at most {MAX_BANDS}")
    return Bands(tuple(_number(str(low + k * width)) for k in range(int(many) + 1)))


# ------------------------------------------------------------------------------------------------ periods


def _month(text: str) -> date:
    return date.fromisoformat(f"{text}-01")


def _quarter(text: str) -> date:
    match = re.fullmatch(r"([0-9]{4})-?Q([1-4])", text)
    if match is None:
        raise ValueError
    return date(int(match[1]), 3 * int(match[2]) - 2, 1)


def _week(text: str) -> date:
    return week_of(date.fromisoformat(text))


def week_of(day: date) -> date:
    """Return the Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def _later(months: int) -> Callable[[date], date]:
    def later(day: date) -> date:
        years, month = divmod(day.month - 1 + months, 12)
        return date(day.year + years, month + 1, 1)

    return later


@dataclass(frozen=True)
class _Period:
    """A unit of the calendar: how one is written, the first day of the next, what it is called, and an example."""

    first_day: Callable[[str], date]
    following: Callable[[date], date]
    label: Callable[[date], str]
    example: str


#: Periods by name; ``date_trunc`` calls them so too.
PERIODS = {
    "year": _Period(lambda text: _month(f"{text}-01"), _later(12), lambda day: f"{day:%Y}", "2019..2024"),
    "quarter": _Period(
        _quarter, _later(3), lambda day: f"{day:%Y}-Q{(day.month + 2) // 3}", "2024-Q1..2024-Q4"
    ),
    "month": _Period(_month, _later(1), lambda day: f"{day:%Y-%m}", "2024-01..2024-12"),
    "week": _Period(_week, lambda day: day + timedelta(days=7), str, "2024-01-01..2024-03-25"),
    "day": _Period(date.fromisoformat, lambda day: day + timedelta(days=1), str, "2024-01-01..2024-01-31"),
}  # fmt: skip


def _periods(column: str, name: str, span: str) -> tuple[Bands, tuple[str, ...]]:
    if name not in PERIODS:
        raise _refused(
            f"the bands of {column!r} are of {name[:40]!r}, which is not a period",
            f"Write one of {', '.join(PERIODS)}",
            f"{column}=month:{PERIODS['month'].example}",
        )
    period = PERIODS[name]
    first, dots, last = (part.strip() for part in span.partition(".."))
    try:
        day, end = period.first_day(first), period.first_day(last if dots else first)
        edges = [day]
        while edges[-1] <= end and len(edges) <= MAX_BANDS + 1:
            edges.append(period.following(edges[-1]))
    except (ValueError, OverflowError):
        raise _refused(
            f"the bands of {column!r} have {span[:60]!r}, which is not a span of {name}s",
            "Write both ends, which are included",
            f"{column}={name}:{period.example}",
        ) from None
    if len(edges) < 2:
        line = f"{column}={name}:{period.example}"
        raise _refused(f"the bands of {column!r} end before they begin", "Write the earlier end first", line)
    return Bands(tuple(edges)), tuple(map(period.label, edges[:-1]))


# ------------------------------------------------------------------------------------------------ messages


def _type_of(edge: object) -> str:
    if isinstance(edge, date) and not isinstance(edge, datetime):
        return "DATE"
    if type(edge) is int or (type(edge) is float and math.isfinite(edge)):
        return "DOUBLE"
    raise WrongType.must_be("an edge", "a number or a date", InWords(f"a {type(edge).__name__}"), argument="bands")


def _refused(what: str, instead: str, line: str = _EXAMPLE) -> InvalidInput:
    return InvalidInput(f"{what}.", f"{instead}: {arg('bands', [line])}.", argument="bands")


def bands_text(column: str, bands: Bands) -> str:
    """Return bands as they are typed, for a message: ``age=18,30,65``."""
    return f"{column}={DeclaredBands(bands).body}"


def in_words(column: str, bands: Bands, values: Sequence[object]) -> str:
    """Return a sentence about a banded column for readers, from the request alone.

    >>> in_words("age", Bands((18, 30, 65)), ("18-29", "30-64"))
    'age is counted in bands that begin at 18 and 30 and end before 65. Other values and missing ones are not counted.'
    """
    first = [] if bands.below else [bands.edges[0]]
    starts = [str(edge) for edge in (*first, *(literal.value for literal in bands.inner))]
    begin = listed(starts) if len(starts) <= 8 else f"{starts[0]}, {starts[1]}, ..., {starts[-1]}"
    spans = [*([f"begin at {begin}"] if starts else []), *([] if bands.above else [f"end before {bands.edges[-1]}"])]
    open_below = f", beside one for all values below {starts[0]}" if bands.below and starts else ""
    other_groups = values[bands.size :]
    note = "" if REST in other_groups else "Other values are not counted." if None in other_groups else _LEFT_OUT
    return f"{column} is counted in bands that {listed(spans)}{open_below}.{f' {note}' if note else ''}"


_LEFT_OUT = "Other values and missing ones are not counted."
