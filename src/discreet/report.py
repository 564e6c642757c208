"""What a result says, once: a report that a terminal, a notebook, a page and a service render.

A :class:`Report` has a title, a few facts, sections of parts (prose, bullets, terms, tables, pictures, code) and notes.
It holds text and numbers and no markup. Every result is a :class:`Result`: ``to_json()`` for programs, ``describe()``
for a terminal, ``report()`` for everything else. The package says who renders, so that every module can
return a report and none has to know how it will look.

>>> print(Report("A die", sections=(Section(parts=(Terms((("sides", "6"), ("mean", "3.5"))),)),)).text())
A die
sides     6
mean      3.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeAlias, TypeVar, cast

from .errors import DiscreetError, InvalidInput, InWords, Writer, WrongType

Asked = TypeVar("Asked", bound=Callable[..., bool])

#: What JSON can hold, as a result states it.
Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

#: Where a section is shown: everywhere; on pages; or on pages, closed until somebody opens it.
Depth = Literal["everywhere", "pages", "folded"]


@dataclass(frozen=True)
class Fact:
    """A number to take home, and what it is. It stands in a section too: a terminal shows it there only."""

    value: str
    meaning: str


@dataclass(frozen=True)
class Prose:
    """A paragraph. Words between backticks are code. ``first`` is a sentence that stands out before it."""

    text: str
    first: str = ""
    tone: Literal["plain", "lead", "note"] = "plain"


@dataclass(frozen=True)
class Bullets:
    """Sentences that stand beside each other."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Labels, each with what is said under it; an empty label goes on with the one before."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bar:
    """A number and its interval, to be drawn to the scale of its table; no ``high`` means that there is no end."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Table:
    """Cells of text.

    Attributes
    ----------
    headings, rows
        As text.
    numbers
        The columns that are aligned to the right.
    strong
        The columns that stand out.
    bars
        For each row a bar, or a word in its place; empty if the table has none.
    total
        How many rows there are altogether, where not all are here.
    compact
        Whether it is as wide as its cells only.
    over
        For a cross-table: what the columns after the first are values of. Its cells have two lines, a figure and what
        is known of it.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    bars: tuple[Bar | str, ...] = ()
    total: int | None = None
    compact: bool = False
    over: str = ""

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the axis that the bars share."""
        drawn = [bar for bar in self.bars if isinstance(bar, Bar)]
        ends = [end for bar in drawn for end in (bar.value, bar.low, bar.high) if end is not None]
        left, right = min([0.0, *ends]), max([0.0, *ends])
        return (left, right) if left < right else (0.0, 1.0)


@dataclass(frozen=True)
class Picture:
    """A chart: its kind, the numbers that it shows, and a caption. A terminal leaves it out.

    Attributes
    ----------
    kind
        One of ``discreet.pages.pictures.KINDS``.
    numbers
        What the kind needs.
    """

    kind: str
    numbers: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to type, or a query, as they stand."""

    text: str


#: What sections are made of.
Part = Prose | Bullets | Terms | Table | Picture | Code


@dataclass(frozen=True)
class Section:
    """Parts under a heading, if it has one."""

    title: str = ""
    parts: tuple[Part, ...] = ()
    depth: Depth = "everywhere"


@dataclass(frozen=True)
class Report:
    """What a result says.

    Attributes
    ----------
    title
        What it is about.
    kind
        A few words above the title: what sort of thing this is.
    facts
        The three or four numbers to take home.
    sections
        In reading order.
    notes
        What the reader should know beside it.
    """

    title: str
    kind: str = ""
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()

    def text(self, width: int = 100, most: int = 40) -> str:
        """The report for a terminal so wide, with at most so many rows of each table."""
        return _renderer().text(self, width, most)

    def html(self) -> str:
        """The report as a piece of HTML, for a notebook."""
        return _renderer().fragment(self)

    def page(self) -> str:
        """The report as a whole page that loads nothing and runs nothing."""
        return _renderer().page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page (.html), or the text (.txt)."""
        file = Path(path)
        if file.suffix.lower() not in (".html", ".htm", ".txt"):
            raise InvalidInput.must_be("path", "a .html or .txt file for a report", InWords(f"the name {file.name!r}"))
        file.write_text(self.text() + "\n" if file.suffix.lower() == ".txt" else self.page(), encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return self.text()


class Result:
    """What every result can say of itself."""

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values for programs, with their format and version; a published schema describes them."""
        raise NotImplementedError

    def report(self) -> Report:
        """What it says, for a terminal, a notebook and a page to render."""
        raise NotImplementedError

    def describe(self) -> str:
        """What it says, as text for a terminal."""
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()


class NoTruthValue:
    """A result whose truth value is an error: ``if dc.verify(path):`` would hold for everything.

    Examples
    --------
    >>> import discreet as dc
    >>> if dc.verify(dc.geometric(4, alpha="1/2")):
    ...     print("always")
    Traceback (most recent call last):
    discreet.errors.WrongType: a Verdict has no truth value. Write .passed, or .holds(epsilon=..., delta=...).
    """

    #: What to write instead.
    _instead: ClassVar[str] = "Write .passed."

    def __bool__(self) -> bool:
        raise WrongType(f"a {type(self).__name__} has no truth value.", self._instead, argument="passed")


class Check(NoTruthValue):
    """What every check has: ``passed``, which is True only where what was checked holds.

    The class that is a check has an attribute or property ``holds``: True, False, or None where it is open. Its own
    truth value is an error, unless the check is about one thing and its class says that it is ``holds``.
    """

    holds: Any

    @property
    def passed(self) -> bool:
        """Whether it holds; False where it fails or is open. Several checks hold together where none of them fails."""
        return self.holds is True


def question(method: Asked) -> Asked:
    """Make a method whose bare name has no truth value: ``if verdict.holds:`` would hold for everything.

    Examples
    --------
    >>> import discreet as dc
    >>> verdict = dc.verify(dc.geometric(4, alpha="1/2"))
    >>> verdict.holds(epsilon=1)
    True
    >>> if verdict.holds:
    ...     print("always")
    Traceback (most recent call last):
    discreet.errors.WrongType: holds is a method. Write .holds(epsilon=..., delta=...); a claim has .passed.
    """
    return cast(Asked, _Question(method))


class _Question:
    """The descriptor behind :func:`question`; a class answers with the function itself, as for any method."""

    def __init__(self, method: Callable[..., bool]) -> None:
        self._method = method

    def __get__(self, instance: object, owner: type) -> Callable[..., bool]:
        return self._method if instance is None else _BoundQuestion(MethodType(self._method, instance))


class _BoundQuestion:
    """A question about one object, to be called."""

    def __init__(self, method: MethodType) -> None:
        self._method = method
        update_wrapper(self, method)

    def __call__(self, *args: object, **options: object) -> bool:
        answer: bool = self._method(*args, **options)
        return answer

    def __bool__(self) -> NoReturn:
        name = self._method.__name__
        raise WrongType(
            f"{name} is a method.",
            f"Write .{name}(epsilon=..., delta=...); a claim has .passed.",
            argument=name,
        )


@dataclass(frozen=True)
class Refusal(Result):
    """An error as a result: which field it is about, what was given, what is allowed and what to do next.

    Attributes
    ----------
    problem
        What was raised.
    write
        How its reader writes the arguments it mentions: as Python does, as options, as the titles of a form.

    Examples
    --------
    >>> refusal = Refusal(InvalidInput.must_be("level", "below 1", 2), lambda mention: f"--{mention.name}")
    >>> refusal.to_json()["field"], refusal.to_json()["message"]
    ('--level', '--level must be below 1; got 2.')
    """

    problem: DiscreetError
    write: Writer

    def to_json(self) -> dict[str, Json]:
        """The kind of error, its argument in Python, and the error as for a field of a form."""
        said = {"kind": type(self.problem).__name__, "argument": self.problem.argument}
        return stamped("error", 1, {**said, **self.problem.form_field(self.write)})

    def report(self) -> Report:
        """The message, and its parts where they are known."""
        parts = self.problem.form_field(self.write)
        known = tuple((name, text) for name, text in parts.items() if text is not None and name != "message")
        return Report(str(parts["message"]), "Cannot be used", sections=(Section(parts=(Terms(known),)),))


def stamped(kind: str, version: int, content: Mapping[str, Json]) -> dict[str, Json]:
    """JSON values with the name and version of their format first.

    >>> stamped("verdict", 1, {"holds": True})
    {'format': 'discreet verdict', 'version': 1, 'holds': True}
    """
    return {"format": f"discreet {kind}", "version": version, **content}


def plain(number: float) -> float | str:
    """A number as JSON has it, which knows no infinity.

    >>> plain(1.5), plain(math.inf)
    (1.5, 'infinity')
    """
    return "infinity" if math.isinf(number) else number


class Renderer(Protocol):
    """Whoever turns reports into text and pages."""

    def text(self, report: Report, width: int, most: int) -> str: ...

    def fragment(self, report: Report) -> str: ...

    def page(self, report: Report) -> str: ...


def _renderer() -> Renderer:
    """Who renders: the package says, so that no module below the pages has to know them."""
    package = import_module(__package__ or "discreet")
    found: Renderer = package.renderer()
    return found
