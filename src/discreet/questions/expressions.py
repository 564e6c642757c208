"""The parts a condition is made of: literals, terms built on one column, and tests; their normalised text, their SQL.

Equal text means equal parts, and the text read again gives the same parts: it is the key under which an answer is
recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from ..errors import InvalidInput
from ..sources.sql import quoted, text_literal

#: What a column of a table can be, as far as its reading matters. ``integer`` are the types whose comparison with a
#: 64-bit integer cannot fail: all but the unsigned 128-bit one, which is ``other``. ``timestamp`` are moments without
#: a time zone in microseconds; those in other units, and all types not thought of here, are ``other``.
KINDS = ("integer", "number", "text", "boolean", "date", "timestamp", "other")

#: Whole numbers up to here are doubles, and no other double lies within one of them.
LARGEST_WHOLE = 2**53 - 1

#: The types a column can be read as -> the kinds that are read directly. All others are read through their text; so
#: are dates as moments, because DuckDB simplifies the comparison of a day with a moment that is not midnight to FALSE
#: even where the day is too far away to be a moment, and reads as NULL.
READINGS: Mapping[str, frozenset[str]] = {
    "VARCHAR": frozenset(KINDS),
    "DOUBLE": frozenset({"integer", "number", "boolean", "text"}),
    "BIGINT": frozenset({"integer", "number", "boolean", "text"}),
    "INTEGER": frozenset({"integer", "number", "boolean", "text"}),
    "BOOLEAN": frozenset({"integer", "number", "boolean", "text"}),
    "DATE": frozenset({"date", "timestamp", "text"}),
    "TIMESTAMP": frozenset({"timestamp", "text"}),
}
WHOLE = {"BIGINT": 2**63, "INTEGER": 2**31}
NEGATED = {
    "=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "LIKE": "NOT LIKE", "NOT LIKE": "LIKE",
    "ILIKE": "NOT ILIKE", "NOT ILIKE": "ILIKE", "IS DISTINCT FROM": "IS NOT DISTINCT FROM",
    "IS NOT DISTINCT FROM": "IS DISTINCT FROM",
}  # fmt: skip
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

#: Words that a name may be spelled like but that would be read as something else, and so stay in quotes.
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
    """A name in the normalised text: bare if it can be, in quotes if it must be.

    >>> name_text("site"), name_text("family size"), name_text("select")
    ('site', '"family size"', '"select"')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in RESERVED
    return name if plain else quoted(name)


def reading(column: str, type_: str, kind: str) -> str:
    """The DuckDB expression of a column read as a type: NULL where it cannot be read, an error nowhere.

    Parameters
    ----------
    column
        The column's name.
    type_
        One of READINGS.
    kind
        What the column is: one of KINDS.

    Examples
    --------
    >>> reading("year", "DOUBLE", "text")
    'TRY_CAST("year" AS DOUBLE)'
    >>> reading("health", "VARCHAR", "text")
    '("health" COLLATE "binary")'
    """
    if kind not in KINDS:
        raise InvalidInput(f"a column's kind is one of {', '.join(KINDS)}; got {kind!r}.")
    # a column may have been declared with a collation under which 'a' and 'A' are one value: then two
    # conditions that look exclusive would both hold for one row
    text = f'({quoted(column) if kind == "text" else f"TRY_CAST({quoted(column)} AS VARCHAR)"} COLLATE "binary")'
    if type_ == "VARCHAR":
        return text
    return f"TRY_CAST({quoted(column) if kind in READINGS[type_] else text} AS {type_})"


@dataclass(frozen=True)
class Literal:
    """A constant of the request and the type it gives to what it meets; numbers are DOUBLE, whole ones held as int."""

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

    def sql(self, whole: bool = False) -> str:
        """For DuckDB. Numbers in scientific notation are doubles there; without it they would be decimals."""
        if self.type != "DOUBLE" or whole:
            return self.text
        return self.text if "e" in self.text else self.text + "e0"


@dataclass(frozen=True)
class Term:
    """A column, or what LOWER, UPPER, TRIM, COALESCE and TRY_CAST make of a term.

    ``function`` is empty for a column; ``type`` is None for a column that takes the type of the literal it meets.
    """

    function: str
    column: str
    inner: Term | None = None
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
        """Whether the term is NULL wherever its column is."""
        return self.default is None and (self.inner is None or self.inner.never_fills_in)

    def sql(self, type_: str | None, kinds: Mapping[str, str]) -> str:
        if self.inner is None:
            return quoted(self.column) if type_ is None else reading(self.column, type_, kinds[self.column])
        if self.function == "TRY_CAST":
            if self.inner.inner is None:
                return reading(self.column, str(self.type), kinds[self.column])
            return f"TRY_CAST({self.inner.sql('VARCHAR', kinds)} AS {self.type})"
        if self.default is not None:
            whole = self.type in WHOLE
            return f"COALESCE({self.inner.sql(self.type, kinds)}, {self.default.sql(whole)})"
        return f"{self.function}({self.inner.sql('VARCHAR', kinds)})"

    def renamed(self, names: Callable[[str], str]) -> Term:
        inner = None if self.inner is None else self.inner.renamed(names)
        return Term(self.function, names(self.column), inner, self.type, self.default)


@dataclass(frozen=True)
class Compare:
    """``term op literal``, or two terms that are read as the same type."""

    left: Term
    op: str
    right: Literal | Term

    @property
    def text(self) -> str:
        return f"{self.left.text} {self.op} {self.right.text}"

    def sql(self, kinds: Mapping[str, str]) -> str:
        if isinstance(self.right, Term):
            return f"{self.left.sql(self.left.type, kinds)} {self.op} {self.right.sql(self.right.type, kinds)}"
        left, (right,) = _sides(self.left, (self.right,), kinds)
        return f"{left} {self.op} {right}"

    def renamed(self, names: Callable[[str], str]) -> Compare:
        right = self.right.renamed(names) if isinstance(self.right, Term) else self.right
        return compared(self.left.renamed(names), self.op, right)

    def negated(self) -> Test:
        return Compare(self.left, NEGATED[self.op], self.right)


@dataclass(frozen=True)
class Member:
    """``term [NOT] IN (literals)``: at least two, sorted, each once."""

    left: Term
    literals: tuple[Literal, ...]
    inside: bool = True

    @property
    def text(self) -> str:
        listed = ", ".join(literal.text for literal in self.literals)
        return f"{self.left.text} {'IN' if self.inside else 'NOT IN'} ({listed})"

    def sql(self, kinds: Mapping[str, str]) -> str:
        left, listed = _sides(self.left, self.literals, kinds)
        return f"{left} {'IN' if self.inside else 'NOT IN'} ({', '.join(listed)})"

    def renamed(self, names: Callable[[str], str]) -> Member:
        return Member(self.left.renamed(names), self.literals, self.inside)

    def negated(self) -> Test:
        return Member(self.left, self.literals, not self.inside)


@dataclass(frozen=True)
class Missing:
    """``term IS [NOT] NULL``: of a column itself, or of a reading that may not succeed."""

    left: Term
    missing: bool = True

    @property
    def text(self) -> str:
        return f"{self.left.text} IS {'' if self.missing else 'NOT '}NULL"

    def sql(self, kinds: Mapping[str, str]) -> str:
        return f"{self.left.sql(self.left.type, kinds)} IS {'' if self.missing else 'NOT '}NULL"

    def renamed(self, names: Callable[[str], str]) -> Missing:
        return Missing(self.left.renamed(names), self.missing)

    def negated(self) -> Test:
        return Missing(self.left, not self.missing)


@dataclass(frozen=True)
class Joined:
    """``a AND b AND ...`` or ``a OR b OR ...``: at least two, none of the same word, each once, in one order."""

    word: str
    parts: tuple[Test, ...]

    @property
    def text(self) -> str:
        return self._written(lambda part: part.text)

    def sql(self, kinds: Mapping[str, str]) -> str:
        return self._written(lambda part: part.sql(kinds))

    def _written(self, write: Callable[[Test], str]) -> str:
        return f" {self.word} ".join(
            f"({write(part)})" if isinstance(part, Joined) else write(part) for part in self.parts
        )

    def renamed(self, names: Callable[[str], str]) -> Test:
        return joined(self.word, [part.renamed(names) for part in self.parts])

    def negated(self) -> Test:
        """By De Morgan, which holds with NULL as well."""
        return joined("OR" if self.word == "AND" else "AND", [part.negated() for part in self.parts])


Test = Compare | Member | Missing | Joined


def joined(word: str, parts: list[Test]) -> Test:
    """AND or OR of one or more tests, without parentheses that change nothing.

    The order in which people write the parts, and writing one twice, mean nothing (with NULL as well), so they make no
    other question: the parts are put in one order, each once.
    """
    flat: list[Test] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Joined) and part.word == word else [part])
    distinct = sorted(dict.fromkeys(flat), key=_order)
    return distinct[0] if len(distinct) == 1 else Joined(word, tuple(distinct))


def compared(left: Term, op: str, right: Literal | Term) -> Compare:
    """A comparison; of two terms, always the same one stands on the left."""
    if isinstance(right, Term) and right.text < left.text:
        return Compare(right, FLIPPED.get(op, op), left)
    return Compare(left, op, right)


def _order(test: Test) -> tuple[object, ...]:
    """Where a test stands among others: by column, then by value, so that a range is read from its lower end."""
    if isinstance(test, Joined):
        return (1, test.text)
    first = test.literals[0] if isinstance(test, Member) else test.right if isinstance(test, Compare) else None
    value = (first.type, first.value) if isinstance(first, Literal) else ("", 0)
    return (0, test.left.text, *value, test.text)


def atoms(test: Test) -> Iterator[Compare | Member | Missing]:
    """The tests that are not made of others."""
    if isinstance(test, Joined):
        for part in test.parts:
            yield from atoms(part)
    else:
        yield test


def depth(part: Test | Term | Literal) -> int:
    """How deeply its text is nested."""
    if isinstance(part, Joined):
        return 1 + max(depth(inner) for inner in part.parts)
    if isinstance(part, Term):
        return 1 if part.inner is None else 1 + depth(part.inner)
    if isinstance(part, Literal):
        return 0
    return 1 + max(depth(part.left), depth(part.right) if isinstance(part, Compare) else 0)


def _sides(term: Term, literals: tuple[Literal, ...], kinds: Mapping[str, str]) -> tuple[str, list[str]]:
    """A term and the literals it meets, for DuckDB. Whole numbers meet a column of integers as they are: the same
    answer as through doubles, and one that the engine can look up."""
    whole = all(isinstance(literal.value, int) for literal in literals) and literals[0].type == "DOUBLE"
    if whole and term.inner is None and kinds[term.column] == "integer":
        return quoted(term.column), [literal.sql(whole=True) for literal in literals]
    of_integers = term.type in WHOLE
    return term.sql(term.type or literals[0].type, kinds), [literal.sql(of_integers) for literal in literals]
