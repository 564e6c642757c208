"""Conditions that have an answer for every row and cannot fail on any.

An engine's error would reveal the row it stopped at, so a condition is built from a short list of tests that cannot
fail, and everything else is refused. What a test means is stated here, not left to an engine's conversions: a column
is *read* as the type of the literal it is compared with, a value that cannot be read as that type is NULL, and a
comparison with NULL is neither true nor false, so that its row does not match.

===================  ==========================================================================================
literal              how the column is read
===================  ==========================================================================================
``'text'``           as text, compared by code point under any collation of the column
``7``, ``0.5``       as a double (NaN above every number); whole numbers up to 2^53 - 1 are compared exactly
``DATE '...'``       as a date (a moment is read as its day)
``TIMESTAMP '...'``  as a moment without time zone, in microseconds
``TRUE``, ``FALSE``  as a truth value; a column without a comparison means ``column = TRUE``
===================  ==========================================================================================

``TRY_CAST(column AS type)`` chooses the reading instead, and is how two columns are compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ..errors import InvalidInput
from ..sources.parsing import duckdb_sql
from ..wording import listed
from .expressions import (
    FLIPPED,
    INTEGERS,
    LARGEST_WHOLE,
    READINGS,
    Compare,
    Literal,
    Member,
    Missing,
    SqlTerm,
    Test,
    atoms,
    comparison,
    depth,
    join_tests,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


#: Maximum depth of nesting in a condition: its normalised text must be readable again everywhere.
MAX_NESTING = 20


@dataclass(frozen=True)
class Condition:
    """A test that has an answer for every row and cannot fail on any.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> condition = read_condition(parse_one("year=1 and (NOT (health) in ('poor','fair'))", read="duckdb"))
    >>> condition.text
    "health NOT IN ('fair', 'poor') AND year = 1"
    """

    test: Test

    @cached_property
    def text(self) -> str:
        """Normalised SQL: the same for the same condition in other spacing, parentheses or order of its parts."""
        return self.test.text

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns it reads."""
        names = set()
        for atom in atoms(self.test):
            names.add(atom.left.column)
            if isinstance(atom, Compare) and isinstance(atom.right, SqlTerm):
                names.add(atom.right.column)
        return frozenset(names)

    def rename(self, names: Callable[[str], str]) -> Condition:
        """Return the same condition on columns of other names."""
        return Condition(self.test.rename(names))

    def also(self, other: Condition | None) -> Condition:
        """Return the conjunction with another condition."""
        return self if other is None else Condition(join_tests("AND", [self.test, other.test]))


def read_condition(expression: Expression, tables: frozenset[str] = frozenset()) -> Condition:
    """Read a parsed expression as a condition, or say why it cannot be one and what to write instead.

    Parameters
    ----------
    expression
        The SQL text as sqlglot parses DuckDB's dialect.
    tables
        Names (lower case) by which a column may be qualified, as in ``visits.year``.
    """
    condition = Condition(_Reader(tables).test(expression))
    if depth(condition.test) > MAX_NESTING:
        raise refusal("a condition is nested too deeply", "Write it with fewer parentheses, or use IN and BETWEEN.")
    return condition


def refusal(what: str, instead: str) -> InvalidInput:
    """Return the error for a part of a request: why it is refused, and what to write instead."""
    return InvalidInput(f"{what}.", instead)


def only(node: Expression, *allowed: str) -> None:
    """Refuse a node with other parts than the allowed ones."""
    for key, value in node.args.items():
        if key not in allowed and value is not None and value is not False and value != []:
            raise refusal(
                f"{piece(node)} has a part that is not accepted ({key.strip('_')})",
                "Leave it out.",
            )


def piece(node: object) -> str:
    """Return a piece of the request, short enough for a message."""
    text = " ".join(str(duckdb_sql(cast("Expression", node)) if hasattr(node, "sql") else node).split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


_OPERATORS = {
    "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "NullSafeEQ": "IS NOT DISTINCT FROM",
    "NullSafeNEQ": "IS DISTINCT FROM",
}  # fmt: skip
_TYPES = {
    "TEXT": "VARCHAR", "VARCHAR": "VARCHAR", "DOUBLE": "DOUBLE", "BIGINT": "BIGINT", "INT": "INTEGER", "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP", "TIMESTAMPNTZ": "TIMESTAMP", "BOOLEAN": "BOOLEAN",
}  # fmt: skip
_ACCEPTED_TESTS = (
    "A condition is made of columns and literals with AND, OR, NOT, = <> < <= > >=, BETWEEN, IN, IS NULL, "
    "IS DISTINCT FROM, LIKE, ILIKE, LOWER, UPPER, TRIM, COALESCE(column, literal) and TRY_CAST."
)
#: Common expressions -> why each is refused, and a safe replacement.
_REFUSED_NODES = {
    "Cast": ("a cast fails on a value it cannot read, which would reveal that value", "Write TRY_CAST instead."),
    "Div": ("a division can fail on a row, which would reveal it", "Compare the column itself with a literal."),
    "IntDiv": ("a division can fail on a row, which would reveal it", "Compare the column itself with a literal."),
    "Mod": ("a division can fail on a row, which would reveal it", "Compare the column itself with a literal."),
    "Add": ("a sum can overflow on a row, which would reveal it", "Move the number to the literal's side."),
    "Sub": ("a difference can overflow on a row, which would reveal it", "Move the number to the literal's side."),
    "Mul": ("a product can overflow on a row, which would reveal it", "Move the number to the literal's side."),
    "Neg": ("a change of sign can overflow on a row, which would reveal it", "Change the sign of the literal."),
    "Rand": ("a random function gives another answer each time", "Leave it out."),
    "Subquery": ("a subquery reads more than one row for each row", "Ask a question of one table without it."),
    "Select": ("a subquery reads more than one row for each row", "Ask a question of one table without it."),
    "Exists": ("a subquery reads more than one row for each row", "Ask a question of one table without it."),
    "Window": ("a window makes one row's value depend on other rows", "Leave it out."),
    "Placeholder": ("a parameter has no value here", "Write the value."),
    "Parameter": ("a parameter has no value here", "Write the value."),
    "Escape": ("ESCAPE is not accepted", "Write patterns with % and _ only."),
    "RegexpLike": ("a regular expression can fail or take very long on a row", "Write LIKE, ILIKE or IN."),
    "SimilarTo": ("a regular expression can fail or take very long on a row", "Write LIKE, ILIKE or IN."),
    "Case": ("CASE is not a condition", "Write it with AND, OR and NOT."),
    "Boolean": ("a constant is not a condition on a row", "Leave it out."),
    "Concat": ("joining texts is not accepted", "Write one text in quotes."),
}


def _refused(node: Expression) -> InvalidInput:
    name = type(node).__name__
    if name.startswith(("Current", "Localtime")) or piece(node).lower()[1:].startswith(("now(", "today(", "uuid(")):
        return refusal(
            f"{piece(node)} is refused: it changes from one moment to the next",
            "Write the date or moment itself: DATE '2020-01-31'.",
        )
    why, instead = _REFUSED_NODES.get(name, ("it is not one of the accepted tests", _ACCEPTED_TESTS))
    return refusal(f"{piece(node)} is refused: {why}", instead)


class _Reader:
    """A reader of sqlglot's trees that returns tests. It accepts each kind of node, and each of its parts, by name."""

    def __init__(self, tables: frozenset[str]) -> None:
        self.tables = tables

    def test(self, node: Expression) -> Test:
        name = type(node).__name__
        if name in ("And", "Or"):
            return join_tests(name.upper(), [self.test(part) for part in _chain(node, name)])
        if name == "Paren":
            only(node, "this")
            return self.test(node.this)
        if name == "Not":
            only(node, "this")
            return self.test(node.this).negation()
        if name in _OPERATORS:
            only(node, "this", "expression")
            return self.compare(node.this, _OPERATORS[name], node.expression)
        if name in ("Like", "ILike"):
            return self.like(node, name.upper())
        if name == "Between":
            only(node, "this", "low", "high")
            low = self.compare(node.this, ">=", node.args["low"])
            return join_tests("AND", [low, self.compare(node.this, "<=", node.args["high"])])
        if name == "In":
            return self.member(node)
        if name == "Is":
            only(node, "this", "expression")
            return self.compare(node.this, "IS NOT DISTINCT FROM", node.expression, only_is=True)
        if name == "Column":
            return self.compare(node, "=", None)
        if self.is_term(node):
            raise refusal(f"{piece(node)} alone is not a condition", "Compare it with a literal.")
        raise _refused(node)

    def compare(self, left: Expression, op: str, right: Expression | None, only_is: bool = False) -> Test:
        """Return a comparison; without a right side, with TRUE."""
        if right is None:
            return _checked(Compare(self.term(left), op, Literal("BOOLEAN", True)))
        left, right = bare(left), bare(right)
        if type(right).__name__ == "Null":
            if op == "IS NOT DISTINCT FROM":
                return Missing(self.term(left))
            if op == "IS DISTINCT FROM":
                return Missing(self.term(left), False)
            raise refusal(f"{piece(left)} {op} NULL is never true", "Write IS NULL or IS NOT NULL.")
        if only_is and type(right).__name__ != "Boolean":
            raise refusal(
                f"IS {piece(right)} is not understood", "Write IS NULL, IS TRUE, IS FALSE or IS NOT DISTINCT FROM."
            )
        if self.is_term(right) and not self.is_term(left):
            left, right, op = right, left, FLIPPED.get(op, op)
            return self.compare(left, op, right)
        term = self.term(left)
        if not self.is_term(right):
            return _checked(Compare(term, op, self.literal(right)))
        other = self.term(right)
        if term.type is None or term.type != other.type or term.function != "TRY_CAST" or other.function != "TRY_CAST":
            raise refusal(
                f"{piece(left)[1:-1]} {op} {piece(right)[1:-1]} compares two columns, whose types could clash on a row",
                f"Put a text in single quotes: '{getattr(right, 'name', 'text')}'; or read both columns as one type: "
                "TRY_CAST(a AS DOUBLE) < TRY_CAST(b AS DOUBLE).",
            )
        if op.startswith("IS"):
            raise refusal(f"{op} between two columns is not accepted", "Write = or <>, and IS NULL of each column.")
        return comparison(term, op, other)

    def like(self, node: Expression, op: str) -> Test:
        only(node, "this", "expression", "negate")
        pattern = bare(node.expression)
        if type(pattern).__name__ != "Literal" or not pattern.args.get("is_string"):
            raise refusal(
                f"the pattern {piece(pattern)} is not a text in quotes", "Write LIKE 'abc%', and OR between several."
            )
        if "\\" in str(pattern.this):
            raise refusal(
                f"the pattern {piece(pattern)} holds a backslash, which engines read differently",
                "Write _ in its place, which stands for any one character.",
            )
        test = _checked(Compare(self.term(node.this), op, Literal("VARCHAR", str(pattern.this))))
        return test.negation() if node.args.get("negate") else test

    def member(self, node: Expression) -> Test:
        if node.args.get("query") is not None or node.args.get("field") is not None or node.args.get("unnest"):
            raise refusal(f"{piece(node)} does not list values", "List the values: IN ('a', 'b').")
        only(node, "this", "expressions")
        term = self.term(node.this)
        literals = []
        for item in node.expressions:
            item = bare(item)
            if type(item).__name__ == "Null":
                raise refusal(
                    "NULL in a list never matches, and makes NOT IN match nothing", "Write OR column IS NULL."
                )
            if self.is_term(item):
                raise refusal(f"{piece(item)} in a list is not a literal", "List literals only: IN ('a', 'b').")
            literals.append(self.literal(item))
        if not literals:
            raise refusal(f"{piece(node)} lists nothing", "List at least one value.")
        if len(kinds := sorted({literal.type for literal in literals})) > 1:
            raise refusal(f"a list mixes {listed(kinds)}", "Write all its values in quotes, or none.")
        for literal in literals:
            _checked(Compare(term, "=", literal))
        distinct = sorted(set(literals), key=lambda literal: literal.value)
        return Compare(term, "=", distinct[0]) if len(distinct) == 1 else Member(term, tuple(distinct))

    def is_term(self, node: Expression) -> bool:
        """Return True if a node is built on a column, False if on a literal."""
        node = bare(node)
        name = type(node).__name__
        if name == "TryCast" or (name == "Cast" and type(bare(node.this)).__name__ != "Literal"):
            return True
        return name in ("Column", "Lower", "Upper", "Trim", "Coalesce")

    def term(self, node: Expression) -> SqlTerm:
        node = bare(node)
        name = type(node).__name__
        if name == "Column":
            return SqlTerm("", column_name(node, self.tables))
        if name in ("Lower", "Upper", "Trim"):
            only(node, "this")
            inner = self.term(node.this)
            if inner.type not in (None, "VARCHAR"):
                raise refusal(f"{piece(node)} treats a {inner.type} as text", f"Write {name.upper()}(column).")
            return SqlTerm(name.upper(), inner.column, inner, "VARCHAR")
        if name == "Coalesce":
            only(node, "this", "expressions")
            inner = self.term(node.this)
            if len(node.expressions) != 1 or self.is_term(node.expressions[0]):
                raise refusal(f"{piece(node)} is not a column and one literal", "Write COALESCE(column, literal).")
            default = self.literal(node.expressions[0])
            _checked(Compare(inner, "=", default))
            return SqlTerm("COALESCE", inner.column, inner, inner.type or default.type, default)
        if name == "TryCast":
            only(node, "this", "to", "safe")
            only(node.args["to"], "this", "nested")
            type_ = _TYPES.get(str(getattr(node.args["to"].this, "name", node.args["to"].this)))
            inner = self.term(node.this)
            if type_ is None:
                raise refusal(
                    f"the type in {piece(node)} is not accepted", f"Read the column as {', '.join(READINGS)}."
                )
            if inner.type not in (None, "VARCHAR"):
                raise refusal(
                    f"{piece(node)} reads what was already read as {inner.type}", "Write one TRY_CAST(column AS ...)."
                )
            return SqlTerm("TRY_CAST", inner.column, inner, type_)
        signed = name == "Neg" and type(bare(node.this)).__name__ == "Literal"
        if signed or name in ("Literal", "Boolean", "Null") or (name == "Cast" and not self.is_term(node)):
            raise refusal(f"{piece(node)} is a literal where a column is needed", "Compare a column with a literal.")
        raise _refused(node)

    def literal(self, node: Expression) -> Literal:
        node = bare(node)
        name = type(node).__name__
        if name == "Literal":
            only(node, "this", "is_string")
            value = str(node.this)
            return Literal("VARCHAR", value) if node.args.get("is_string") else _number(value, 1)
        if name == "Neg" and type(inner := bare(node.this)).__name__ == "Literal" and not inner.args.get("is_string"):
            only(node, "this")
            return _number(str(inner.this), -1)
        if name == "Boolean":
            return Literal("BOOLEAN", bool(node.this))
        if name == "Cast" and not self.is_term(node):
            only(node, "this", "to")
            only(node.args["to"], "this", "nested")
            to = str(getattr(node.args["to"].this, "name", node.args["to"].this))
            if _TYPES.get(to) in ("DATE", "TIMESTAMP") and bare(node.this).args.get("is_string"):
                return _moment(_TYPES[to], str(bare(node.this).this))
        if name == "Null":
            raise refusal("NULL cannot be compared with a value", "Write IS NULL or IS NOT NULL.")
        raise _refused(node)


def column_name(node: Expression, tables: frozenset[str]) -> str:
    """Return the name of a column, which a known table may qualify."""
    only(node, "this", "table")
    table = node.args.get("table")
    if type(node.this).__name__ != "Identifier":
        raise refusal(f"{piece(node)} is not a column", "Name one column.")
    if table is not None and table.name.lower() not in tables:
        raise refusal(
            f"{piece(node)} names a table or a field that is not in the question", "Write the column's name alone."
        )
    only(node.this, "this", "quoted")
    if not node.this.name:
        raise refusal("a column has an empty name", "Name one column.")
    return str(node.this.name)


def _chain(node: Expression, name: str) -> list[Expression]:
    """Return the parts of ``a AND b AND c``, which is parsed as ((a AND b) AND c), without recursion."""
    parts: list[Expression] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if type(node).__name__ == name:
            only(node, "this", "expression")
            waiting += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def bare(node: Expression) -> Expression:
    while type(node).__name__ == "Paren":
        only(node, "this")
        node = node.this
    return node


def _number(text: str, sign: int) -> Literal:
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?", text):
        raise refusal(f"{text[:60]!r} is not a number", "Write it like 12, 0.5 or 1e-3.")
    if text.isdigit() and len(text) < 25:
        return Literal("DOUBLE", sign * int(text))
    value = sign * float(text)
    if text.isdigit() or math.isinf(value) or (value == 0 and re.search("[1-9]", re.split("[eE]", text)[0])):
        raise refusal(
            f"the number {text[:60]} is too long, too large or too small to compare with", "Write it in quotes."
        )
    return Literal("DOUBLE", int(value) if value == int(value) and abs(value) <= LARGEST_WHOLE else value)


def _moment(type_: str, text: str) -> Literal:
    try:
        if type_ == "DATE" and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return Literal(type_, date.fromisoformat(text))
        pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?"
        if type_ == "TIMESTAMP" and (match := re.fullmatch(pattern, text)):
            padded = text + "0" * (7 - len(match[3])) if match[3] else text
            return Literal(type_, datetime.fromisoformat(padded))
    except ValueError:
        pass
    raise refusal(
        f"{text[:60]!r} is not a {type_.lower()}", "Write DATE '2020-01-31' or TIMESTAMP '2020-01-31 13:45:00'."
    )


def _checked(test: Compare) -> Compare:
    """Return a comparison of a term with a literal, if the two go together."""
    term, literal = test.left, test.right
    assert isinstance(literal, Literal)
    if term.type in INTEGERS and literal.type == "DOUBLE":
        if not isinstance(literal.value, int) or not -INTEGERS[term.type] <= literal.value < INTEGERS[term.type]:
            raise refusal(
                f"{piece(test.text)} compares {term.type} with a number it cannot hold",
                "Read the column as DOUBLE.",
            )
    elif term.type not in (None, literal.type):
        what = "text" if literal.type == "VARCHAR" else f"a {literal.type} literal"
        raise refusal(f"{piece(test.text)} compares a {term.type} with {what}", "Write a literal of that type.")
    elif literal.type == "DOUBLE" and isinstance(literal.value, int) and abs(literal.value) > LARGEST_WHOLE:
        raise refusal(
            f"{piece(test.text)} compares with a whole number beyond 2^53, which is not exact in a double",
            "Write it in quotes to compare as text, or TRY_CAST(column AS BIGINT).",
        )
    if literal.type == "BOOLEAN" and test.op in FLIPPED:
        raise refusal(f"{piece(test.text)} compares truth values by size", "Write = TRUE or = FALSE.")
    return test
