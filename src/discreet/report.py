"""Reports: the words of a result, written once, for a terminal, a notebook, a page and a service to render.

A :class:`Report` has a title, a few facts, sections of parts (prose, bullets, terms, tables, pictures, code) and notes.
It holds text and numbers and no markup. Every result is a :class:`Result`: ``to_json()`` for programs, ``describe()``
for a terminal, ``report()`` for everything else. The package names the renderer, so that every module can
return a report without knowing how it will look.

>>> print(Report("A die", sections=(Section(parts=(Terms((("sides", "6"), ("mean", "3.5"))),)),)).text())
A die
sides     6
mean      3.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass
from fractions import Fraction
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeAlias, TypeVar, cast

from .errors import DiscreetError, InvalidInput, InWords, Writer, WrongType

Question = TypeVar("Question", bound=Callable[..., bool])

#: Plain JSON values.
Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

#: Maximum length of a result's repr, in characters, without its class.
MAX_REPR = 90

#: Visibility of a section: everywhere; on pages; or on pages, folded until it is opened.
Depth = Literal["everywhere", "pages", "folded"]


@dataclass(frozen=True)
class Fact:
    """A key number and its meaning. It is repeated in a section, where alone a terminal shows it."""

    value: str
    meaning: str


@dataclass(frozen=True)
class Prose:
    """A paragraph. Words between backticks are code. ``first`` is an emphasised sentence before it."""

    text: str
    first: str = ""
    tone: Literal["plain", "lead", "note"] = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Labels with their descriptions; an empty label continues the previous one."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bar:
    """A number and its interval, drawn to the scale of its table; without ``high`` the interval is unbounded."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class TextTable:
    """Cells of text.

    Attributes
    ----------
    headings, rows
        As text.
    numbers
        Numbers of the right-aligned columns.
    strong
        Numbers of the emphasised columns.
    bars
        For each row a bar, or a word in its place; empty if the table has none.
    total
        Total number of rows, if not all are included.
    compact
        True if it is only as wide as its cells.
    emphasised
        Numbers of the rows whose strong columns are emphasised; None for all rows.
    over
        For a cross-table: the variable whose values are the columns after the first. Its cells have two lines, a figure
        and its error.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    bars: tuple[Bar | str, ...] = ()
    total: int | None = None
    compact: bool = False
    over: str = ""
    emphasised: tuple[int, ...] | None = None

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the axis that the bars share."""
        bars = [bar for bar in self.bars if isinstance(bar, Bar)]
        ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
        left, right = min([0.0, *ends]), max([0.0, *ends])
        return (left, right) if left < right else (0.0, 1.0)


@dataclass(frozen=True)
class Picture:
    """A chart: its kind, its numbers, and a caption. A terminal omits it.

    Attributes
    ----------
    kind
        One of ``discreet.pages.pictures.KINDS``.
    numbers
        The numbers for this kind.
    """

    kind: str
    numbers: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to type, or a query, shown verbatim."""

    text: str


#: A part of a section.
Part = Prose | Bullets | Terms | TextTable | Picture | Code


@dataclass(frozen=True)
class Section:
    """Parts under a heading, if it has one."""

    title: str = ""
    parts: tuple[Part, ...] = ()
    depth: Depth = "everywhere"


@dataclass(frozen=True)
class Report:
    """A report on a result.

    Attributes
    ----------
    title
        Its subject.
    kind
        A few words above the title that name the kind of result.
    facts
        Three or four key numbers.
    sections
        In reading order.
    notes
        Further remarks for the reader.
    watermark
        A word across every page, if the content is not what it looks like.
    """

    title: str
    kind: str = ""
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    watermark: str = ""

    def text(self, width: int = 100, most: int = 40) -> str:
        """Return the report for a terminal of some width, with at most ``most`` rows of each table."""
        return _renderer().text(self, width, most)

    def html(self) -> str:
        """Return the report as a piece of HTML, for a notebook."""
        return _renderer().fragment(self)

    def page(self) -> str:
        """Return the report as a whole page that loads nothing and runs nothing."""
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


def one_line(text: str, most: int) -> str:
    """Return text as one line of at most ``most`` characters.

    >>> one_line("two\\nlines of words", 12)
    'two lines...'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."


class Result:
    """The interface of every result."""

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values for programs, with their format and version, as in a published schema."""
        raise NotImplementedError

    def report(self) -> Report:
        """Return the report on it, for a terminal, a notebook or a page."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the report as text for a terminal."""
        return self.report().text()

    def __init_subclass__(cls) -> None:
        """Give the class a short repr, if none of its classes has one: dataclasses would list everything."""
        super().__init_subclass__()
        if "__repr__" not in vars(cls):
            shorter = (
                vars(one)["__repr__"] for one in cls.__mro__ if issubclass(one, Result) and "__repr__" in vars(one)
            )
            cls.__repr__ = next(shorter)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {one_line(self._headline(), MAX_REPR)}>"

    def _headline(self) -> str:
        """Return the result in a few words, quickly: by default its plain fields."""
        fields: Mapping[str, Field[object]] = getattr(self, "__dataclass_fields__", {})
        values = {name: getattr(self, name) for name, one in fields.items() if one.repr}
        named = {name: value for name, value in values.items() if isinstance(value, str | int | float | Fraction)}
        texts = {name: f"{value:.6g}" if isinstance(value, float) else str(value) for name, value in named.items()}
        words = ", ".join(f"{name} = {text}" for name, text in texts.items() if text)
        return words or next((repr(value) for value in values.values() if isinstance(value, Result)), "")

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

    #: Advice in the error: the expression to write instead.
    _instead: ClassVar[str] = "Write .passed."

    def __bool__(self) -> bool:
        raise WrongType(f"a {type(self).__name__} has no truth value.", self._instead, argument="passed")


class Check(NoTruthValue):
    """The interface of every check: ``passed``, which is True only if the check holds.

    The class that is a check has an attribute or property ``holds``: True, False, or None where it is open. Its own
    truth value is an error, unless the check is about one thing and its class says that it is ``holds``.
    """

    holds: Any

    @property
    def passed(self) -> bool:
        """True if it holds; False where it fails or is open. Several checks hold together where none of them fails."""
        return self.holds is True


@dataclass(frozen=True)
class Finding(Check):
    """One check and its outcome. ``holds`` is None if it is open: it could not be decided here.

    Attributes
    ----------
    name
        Name of the check.
    holds
        Its outcome.
    sentence
        An explanation, in a sentence.

    Examples
    --------
    >>> finding = Finding("ledger", None, "No ledger was given.")
    >>> finding.passed, finding.mark
    (False, 'open')
    """

    name: str
    holds: bool | None
    sentence: str

    @property
    def mark(self) -> str:
        """One word: holds, FAILS or open."""
        return {True: "holds", False: "FAILS", None: "open"}[self.holds]


def question(method: Question) -> Question:
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
    return cast(Question, _Question(method))


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
        The error.
    write
        A writer of the arguments it mentions: as in Python, as options, or as titles of a form.

    Examples
    --------
    >>> refusal = Refusal(InvalidInput.must_be("level", "below 1", 2), lambda mention: f"--{mention.name}")
    >>> refusal.to_json()["field"], refusal.to_json()["message"]
    ('--level', '--level must be below 1; got 2.')
    """

    problem: DiscreetError
    write: Writer

    def to_json(self) -> dict[str, Json]:
        """Return the kind of error, its argument in Python, and the error as for a field of a form."""
        parts = {"kind": type(self.problem).__name__, "argument": self.problem.argument}
        return stamped("error", 1, {**parts, **self.problem.form_field(self.write)})

    def _headline(self) -> str:
        return str(self.problem)

    def report(self) -> Report:
        """Return the message, and its parts where they are known."""
        parts = self.problem.form_field(self.write)
        known = tuple((name, text) for name, text in parts.items() if text is not None and name != "message")
        return Report(str(parts["message"]), "Cannot be used", sections=(Section(parts=(Terms(known),)),))


def stamped(kind: str, version: int, content: Mapping[str, Json]) -> dict[str, Json]:
    """Return JSON values with the name and version of their format first.

    >>> stamped("verdict", 1, {"holds": True})
    {'format': 'discreet verdict', 'version': 1, 'holds': True}
    """
    return {"format": f"discreet {kind}", "version": version, **content}


def plain(number: float) -> float | str:
    """Return a number for JSON, with infinity as text.

    >>> plain(1.5), plain(math.inf)
    (1.5, 'infinity')
    """
    return "infinity" if math.isinf(number) else number


class Renderer(Protocol):
    """A renderer of reports as text and pages."""

    def text(self, report: Report, width: int, most: int) -> str: ...

    def fragment(self, report: Report) -> str: ...

    def page(self, report: Report) -> str: ...


def _renderer() -> Renderer:
    """Return the renderer that the package names, so that no module before ``pages`` has to import it."""
    package = import_module(__package__ or "discreet")
    renderer: Renderer = package.renderer()
    return renderer
