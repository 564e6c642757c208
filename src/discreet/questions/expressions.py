"""The parts of a condition: literals, terms built on one column, and tests; and their normalised text.

Equal text means equal parts, and the text read again gives the same parts: it is the key under which an answer is
recorded. Each engine's dialect writes them in its own SQL (``engines/dialect.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from ..sources.sql import quoted, text_literal

#: Kinds of columns that are read differently. ``integer``: the types whose comparison with a 64-bit integer cannot fail
#: (all but the unsigned 128-bit one, which is ``other``). ``timestamp``: moments without a time zone in microseconds;
#: those in other units, and all types not listed here, are ``other``.
KINDS = ("integer", "number", "text", "boolean", "date", "timestamp", "other")

#: Largest whole number up to which every whole number is a double, and no other whole number rounds to one of them.
LARGEST_WHOLE = 2**53 - 1

#: The types a column can be read as. A value that cannot be read so is NULL.
READINGS = ("VARCHAR", "DOUBLE", "BIGINT", "INTEGER", "BOOLEAN", "DATE", "TIMESTAMP")
#: Integer type -> the first whole number above its range.
INTEGERS = {"BIGINT": 2**63, "INTEGER": 2**31}
NEGATED = {
    "=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "LIKE": "NOT LIKE", "NOT LIKE": "LIKE",
    "ILIKE": "NOT ILIKE", "NOT ILIKE": "ILIKE", "IS DISTINCT FROM": "IS NOT DISTINCT FROM",
    "IS NOT DISTINCT FROM": "IS DISTINCT FROM",
}  # fmt: skip
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

#: Names that SQL would read as something else without quotes.
RESERVED = frozenset({
    "all", "alter", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "between", "both",
    "case", "cast", "check", "collate", "column", "connect_by_root", "constraint", "create", "cross", "cube",
    "current_catalog", "current_date", "current_time", "current_timestamp", "current_user", "default",
    "deferrable", "desc", "describe", "distinct", "do", "drop", "else", "end", "except", "false", "fetch", "for",
    "force", "foreign", "from", "glob", "grant", "group", "having", "if", "ilike", "in", "initially", "inner",
    "insert", "install", "intersect", "interval", "into", "join", "lambda", "lateral", "leading", "like", "limit",
    "list", "localtime", "localtimestamp", "lock", "map", "not", "notnull", "null", "nullable", "object",
    "offset", "on", "only", "or", "order", "outer", "partitioned_by", "pivot", "pivot_longer", "pivot_wider",
    "placing", "positional", "primary", "qualify", "range", "references", "regexp", "returning", "revoke",
    "rlike", "rollback", "rollup", "row", "select", "session_user", "show", "some", "struct", "summarize",
    "symmetric", "table", "tablesample", "then", "to", "trailing", "true", "uncache", "union", "unique",
    "unpivot", "using", "values", "variadic", "when", "where", "window", "with", "xor",
})  # fmt: skip


def name_text(name: str) -> str:
    """Return a name in the normalised text: bare if it can be, in quotes if it must be.

    >>> name_text("site"), name_text("family size"), name_text("select")
    ('site', '"family size"', '"select"')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in RESERVED
    return name if plain else quoted(name)


@dataclass(frozen=True)
class Literal:
    """A constant, with the type as which its column is read. Numbers are DOUBLE; whole ones are kept as int."""

    type: str
    value: int | float | str | bool | date | datetime

    @property
    def text(self) -> str:
        if isinstance(self.value, str):
            return text_literal(self.value)
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        if isinstance(self.value, date):
            return f"{self.type} '{self.value.isoformat(' ') if isinstance(self.value, datetime) else self.value}'"
        return repr(self.value)


@dataclass(frozen=True)
class SqlTerm:
    """A column, or what LOWER, UPPER, TRIM, COALESCE and TRY_CAST make of a term.

    ``function`` is empty for a column. ``type`` is None for a column that is read as the type of the literal it meets.
    """

    function: str
    column: str
    inner: SqlTerm | None = None
    type: str | None = None
    default: Literal | None = None

    @property
    def text(self) -> str:
        if self.inner is None:
            return name_text(self.column)
        if self.default is not None:
            return f"COALESCE({self.inner.text}, {self.default.text})"
        return f"{self.function}({self.inner.text}{f' AS {self.type}' if self.function == 'TRY_CAST' else ''})"

    @property
    def never_fills_in(self) -> bool:
        """True if the term is NULL wherever its column is."""
        return self.default is None and (self.inner is None or self.inner.never_fills_in)

    def rename(self, names: Callable[[str], str]) -> SqlTerm:
        inner = None if self.inner is None else self.inner.rename(names)
        return SqlTerm(self.function, names(self.column), inner, self.type, self.default)


@dataclass(frozen=True)
class Compare:
    """``term op literal``, or two terms that are read as the same type."""

    left: SqlTerm
    op: str
    right: Literal | SqlTerm

    @property
    def text(self) -> str:
        return f"{self.left.text} {self.op} {self.right.text}"

    def rename(self, names: Callable[[str], str]) -> Compare:
        right = self.right.rename(names) if isinstance(self.right, SqlTerm) else self.right
        return comparison(self.left.rename(names), self.op, right)

    def negation(self) -> Test:
        return Compare(self.left, NEGATED[self.op], self.right)


@dataclass(frozen=True)
class Member:
    """``term [NOT] IN (literals)``: at least two, sorted, each once."""

    left: SqlTerm
    literals: tuple[Literal, ...]
    inside: bool = True

    @property
    def text(self) -> str:
        listed = ", ".join(literal.text for literal in self.literals)
        return f"{self.left.text} {'IN' if self.inside else 'NOT IN'} ({listed})"

    def rename(self, names: Callable[[str], str]) -> Member:
        return Member(self.left.rename(names), self.literals, self.inside)

    def negation(self) -> Test:
        return Member(self.left, self.literals, not self.inside)


@dataclass(frozen=True)
class Missing:
    """``term IS [NOT] NULL``: of a column itself, or of a reading that may not succeed."""

    left: SqlTerm
    missing: bool = True

    @property
    def text(self) -> str:
        return f"{self.left.text} IS {'' if self.missing else 'NOT '}NULL"

    def rename(self, names: Callable[[str], str]) -> Missing:
        return Missing(self.left.rename(names), self.missing)

    def negation(self) -> Test:
        return Missing(self.left, not self.missing)


@dataclass(frozen=True)
class AndOr:
    """``a AND b AND ...`` or ``a OR b OR ...``: two or more distinct parts, sorted; none is joined by the same word."""

    word: str
    parts: tuple[Test, ...]

    @property
    def text(self) -> str:
        return f" {self.word} ".join(f"({part.text})" if isinstance(part, AndOr) else part.text for part in self.parts)

    def rename(self, names: Callable[[str], str]) -> Test:
        return join_tests(self.word, [part.rename(names) for part in self.parts])

    def negation(self) -> Test:
        """Negate by De Morgan, which holds with NULL as well."""
        return join_tests("OR" if self.word == "AND" else "AND", [part.negation() for part in self.parts])


Test = Compare | Member | Missing | AndOr


def join_tests(word: str, parts: list[Test]) -> Test:
    """Join one or more tests by AND or OR, without parentheses that change nothing.

    The order of the parts and repeated parts do not change the meaning (not with NULL either), so the question stays
    the same: the parts are put in one order, each once.
    """
    flat: list[Test] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, AndOr) and part.word == word else [part])
    distinct = sorted(dict.fromkeys(flat), key=_order)
    return distinct[0] if len(distinct) == 1 else AndOr(word, tuple(distinct))


def comparison(left: SqlTerm, op: str, right: Literal | SqlTerm) -> Compare:
    """Return a comparison; of two terms, the one whose text sorts first is on the left."""
    if isinstance(right, SqlTerm) and right.text < left.text:
        return Compare(right, FLIPPED.get(op, op), left)
    return Compare(left, op, right)


def _order(test: Test) -> tuple[object, ...]:
    """Return the sort key of a test: by column, then by value, so that a range is read from its lower end."""
    if isinstance(test, AndOr):
        return (1, test.text)
    first = test.literals[0] if isinstance(test, Member) else test.right if isinstance(test, Compare) else None
    value = (first.type, first.value) if isinstance(first, Literal) else ("", 0)
    return (0, test.left.text, *value, test.text)


def atoms(test: Test) -> Iterator[Compare | Member | Missing]:
    """Yield the tests without AND or OR: the leaves of the tree."""
    if isinstance(test, AndOr):
        for part in test.parts:
            yield from atoms(part)
    else:
        yield test


def depth(part: Test | SqlTerm | Literal) -> int:
    """Return how deeply its text is nested."""
    if isinstance(part, AndOr):
        return 1 + max(depth(inner) for inner in part.parts)
    if isinstance(part, SqlTerm):
        return 1 if part.inner is None else 1 + depth(part.inner)
    if isinstance(part, Literal):
        return 0
    return 1 + max(depth(part.left), depth(part.right) if isinstance(part, Compare) else 0)
