"""The SQL dialect of an engine: names, literals, readings that cannot fail, comparisons, and the hash.

Questions (``questions/``) say what is asked in no engine's words. A dialect renders them: what all engines have in
common is written here once, and the abstract part is what they write differently. Every expression is decided on every
row and fails on none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..errors import InvalidInput
from ..periods import GRANULARITIES
from ..questions.conditions import Condition
from ..questions.expressions import INTEGERS, KINDS, AndOr, Compare, Literal, Member, Missing, SqlTerm, Test


class Dialect(ABC):
    """The dialect of one engine.

    Attributes
    ----------
    name
        The engine's name in messages.
    direct
        The types a column can be read as (``expressions.READINGS``) -> the kinds of columns that this engine reads so
        directly. All others are read through their text.
    kinds
        The kinds of columns this engine distinguishes: those of all engines (``expressions.KINDS``) and its own.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[str]] = frozenset(KINDS)
    direct: ClassVar[Mapping[str, frozenset[str]]]

    # ---------------------------------------------------------------------------------------- written differently

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Return a quoted name, safe for any content."""

    @abstractmethod
    def text(self, value: str) -> str:
        """Return a text literal, safe for any content."""

    @abstractmethod
    def double(self, digits: str) -> str:
        """Return a number that is a double and not a decimal, from the digits Python writes it with."""

    @abstractmethod
    def as_text(self, expression: str, kind: str) -> str:
        """Return an expression of a kind read as text, to be compared by code point under any declared collation."""

    @abstractmethod
    def safe_cast(self, expression: str, kind: str, type_: str) -> str:
        """Return an expression of a kind read as a type: NULL where it cannot be read so, an error nowhere."""

    @abstractmethod
    def whole_number(self, column: str, kind: str) -> str:
        """Return a column as a whole number, NULL where it is not one. Numbers up to ``LARGEST_WHOLE`` are exact."""

    @abstractmethod
    def bounding_hash(self, unit: str, key: bytes) -> str:
        """Return ``H`` of the rule of bounding (``base``): 60 bits that depend on the key and the unit alone."""

    def compare(self, left: str, operator: str, right: str) -> str:
        """Return two expressions compared; an operator is one of ``expressions.NEGATED``."""
        return f"{left} {operator} {right}"

    def iso_week(self, day: str) -> tuple[str, str]:
        """Return the year and the number of a day's week by ISO 8601, as whole numbers."""
        return f"extract(isoyear FROM {day})", f"extract(week FROM {day})"

    #: SQL appended to an inner query that the engine must not merge with the outer one.
    barrier: ClassVar[str] = ""

    #: True if values that GROUP BY treats as equal are read alike, so that rows can be counted before they are read.
    equal_values_read_alike: ClassVar[bool] = False

    #: Maximum number of texts listed in the query itself; more of them become a joined table.
    max_inline_texts: ClassVar[int] = 0

    def place_in_list(self, text: str, listed: Sequence[str]) -> str:
        """Return the place of a text in a list of texts that has it, from 0 on."""
        raise NotImplementedError

    def row_test(self, test: str) -> str:
        """Return a test of WHERE, by which rows are kept or left out."""
        return f"({test})"

    def function(self, name: str, text: str) -> str:
        """Return LOWER, UPPER or TRIM (of blanks) of a text."""
        return f"{name}({text})"

    # ---------------------------------------------------------------------------------------- in common

    def condition(self, condition: Condition, kinds: Mapping[str, str]) -> str:
        """Return a condition on the columns of a table, of which each has a kind.

        Examples
        --------
        >>> from sqlglot import parse_one
        >>> from ..questions.conditions import read_condition
        >>> from .duckdb.dialect import DUCKDB
        >>> condition = read_condition(parse_one("year=1 and health not in ('poor','fair')", read="duckdb"))
        >>> DUCKDB.condition(condition, {"year": "integer", "health": "text"})
        '("health" COLLATE "binary") NOT IN (\\'fair\\', \\'poor\\') AND "year" = 1'
        """
        if unknown := sorted(condition.columns - set(kinds)):
            raise InvalidInput(f"the kind of column {unknown[0]!r} is not given.", f"Give one for each of {unknown}.")
        return self._test(condition.test, kinds)

    def reading(self, column: str, type_: str, kind: str) -> str:
        """Return a column read as a type: NULL where it cannot be read, an error nowhere.

        Parameters
        ----------
        column
            The column's name.
        type_
            One of ``expressions.READINGS``.
        kind
            The kind of the column, one of :attr:`kinds`.

        Examples
        --------
        >>> from .duckdb.dialect import DUCKDB
        >>> DUCKDB.reading("year", "DOUBLE", "text")
        'TRY_CAST("year" AS DOUBLE)'
        >>> DUCKDB.reading("health", "VARCHAR", "text")
        '("health" COLLATE "binary")'
        """
        if kind not in self.kinds:
            raise InvalidInput.must_be(
                "a column's kind", f"one of {', '.join(sorted(self.kinds))}", kind, argument="kind"
            )
        name = self.quoted(column)
        if type_ == "VARCHAR":
            return self.as_text(name, kind)
        if kind in self.direct[type_]:
            return self.safe_cast(name, kind, type_)
        return self.safe_cast(self.as_text(name, kind), "text", type_)

    def period(self, column: str, kind: str, granularity: str) -> str:
        """Return the name of the period of a column's day (``periods``); NULL where it has none.

        Examples
        --------
        >>> from .duckdb.dialect import DUCKDB
        >>> DUCKDB.period("d", "date", "year").startswith('CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE')
        True
        """
        day = self.reading(column, "DATE", kind)
        whole = self.as_text(day, "date")
        if granularity == "week":
            year, week = (self.as_text(f"CAST({sql} AS BIGINT)", "integer") for sql in self.iso_week(day))
            name = f"lpad({year}, 4, '0') || '-W' || lpad({week}, 2, '0')"
        elif granularity == "quarter":
            cases = " ".join(f"WHEN substr({whole}, 6, 2) <= '{3 * k:02d}' THEN '-Q{k}'" for k in range(1, 5))
            name = f"substr({whole}, 1, 4) || CASE {cases} END"
        else:
            name = f"substr({whole}, 1, {len(GRANULARITIES[granularity])})"
        return f"CASE WHEN {day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {name} END"

    def literal(self, literal: Literal, whole: bool = False) -> str:
        """Return a constant of the request; ``whole``: a whole number that meets whole numbers."""
        if isinstance(literal.value, str):
            return self.text(literal.value)
        return literal.text if literal.type != "DOUBLE" or whole else self.double(literal.text)

    def _test(self, test: Test, kinds: Mapping[str, str]) -> str:
        if isinstance(test, AndOr):
            parts = (self._test(part, kinds) for part in test.parts)
            return f" {test.word} ".join(
                f"({sql})" if isinstance(part, AndOr) else sql for part, sql in zip(test.parts, parts, strict=True)
            )
        if isinstance(test, Missing):
            return f"{self._term(test.left, test.left.type, kinds)} IS {'' if test.missing else 'NOT '}NULL"
        if isinstance(test, Member):
            left, listed = self._sides(test.left, test.literals, kinds)
            return f"{left} {'IN' if test.inside else 'NOT IN'} ({', '.join(listed)})"
        return self._comparison(test, kinds)

    def _comparison(self, test: Compare, kinds: Mapping[str, str]) -> str:
        if isinstance(test.right, SqlTerm):
            left, right = (self._term(term, term.type, kinds) for term in (test.left, test.right))
        else:
            left, (right,) = self._sides(test.left, (test.right,), kinds)
        return self.compare(left, test.op, right)

    def _sides(self, term: SqlTerm, literals: tuple[Literal, ...], kinds: Mapping[str, str]) -> tuple[str, list[str]]:
        """Return a term and its literals. Whole numbers meet a column of integers as they are: the same answer as
        through doubles, and one that the engine can look up."""
        whole = all(isinstance(literal.value, int) for literal in literals) and literals[0].type == "DOUBLE"
        if whole and term.inner is None and kinds[term.column] == "integer":
            return self.quoted(term.column), [self.literal(literal, whole=True) for literal in literals]
        of_integers = term.type in INTEGERS
        left = self._term(term, term.type or literals[0].type, kinds)
        return left, [self.literal(literal, of_integers) for literal in literals]

    def _term(self, term: SqlTerm, type_: str | None, kinds: Mapping[str, str]) -> str:
        if term.inner is None:
            name = term.column
            return self.quoted(name) if type_ is None else self.reading(name, type_, kinds[name])
        if term.function == "TRY_CAST":
            if term.inner.inner is None:
                return self.reading(term.column, str(term.type), kinds[term.column])
            text = self._term(term.inner, "VARCHAR", kinds)
            return text if term.type == "VARCHAR" else self.safe_cast(text, "text", str(term.type))
        if term.default is not None:
            default = self.literal(term.default, term.type in INTEGERS)
            return f"COALESCE({self._term(term.inner, term.type, kinds)}, {default})"
        return self.function(term.function, self._term(term.inner, "VARCHAR", kinds))
