"""Recoding in SQL, read as a look-up: ``CASE WHEN site IN (1, 2) THEN 'North' ... END AS region``.

Each WHEN tests the same column for equality with constants, and each result is a text. ELSE stands for all other
values, missing ones too, as in SQL. CASE with ``<`` and ``>=`` is bands (:mod:`~..band_expressions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ..conditions import bare, only, piece, read_condition, refusal
from ..expressions import LARGEST_WHOLE, AndOr, Compare, Literal, Member, Test
from .lookups import LookedUpColumn, Lookup

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_FORM = "Write CASE WHEN site IN (1, 2) THEN 'North' WHEN site = 3 THEN 'South' ELSE 'other' END AS region."


def is_recoding(node: Expression, tables: frozenset[str]) -> bool:
    """Return whether an expression is a CASE that tests equality alone, which is then read as a recoding."""
    if type(node).__name__ != "Case":
        return False
    if node.args.get("this") is not None:
        return True
    try:
        return all(_is_equality(read_condition(branch.this, tables).test) for branch in node.args["ifs"])
    except InvalidInput:
        return False


def _is_equality(test: Test) -> bool:
    if isinstance(test, AndOr):
        return test.word == "OR" and all(map(_is_equality, test.parts))
    return (isinstance(test, Member) and test.inside) or (isinstance(test, Compare) and test.op == "=")


def read_recoding(node: Expression, name: str, tables: frozenset[str]) -> Lookup:
    """Read a CASE of equalities as a look-up that gives one column, called ``name``.

    >>> from sqlglot import parse_one
    >>> case = "CASE WHEN site IN (2, 1) THEN 'North' WHEN site = 3 THEN 'South' ELSE 'other' END"
    >>> read_recoding(parse_one(case, read="duckdb"), "region", frozenset()).text
    "CASE WHEN site IN (1, 2) THEN 'North' WHEN site = 3 THEN 'South' ELSE 'other' END AS region"
    """
    only(node, "this", "ifs", "default")
    columns: set[str] = set()
    values: dict[int | str, int | str] = {}
    types: set[str] = set()
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        label = _label(branch.args["true"], node)
        for column, literal in _equalities(branch, node, tables):
            columns.add(column)
            types.add(literal.type)
            assert isinstance(literal.value, int | str)  # by _literals
            values.setdefault(literal.value, label)  # the first condition that holds decides
    if len({column.casefold() for column in columns}) != 1 or len(types) != 1:
        raise refusal(f"{piece(node)} compares several columns, or numbers and texts", _FORM)
    default = node.args.get("default")
    other = None if default is None or type(bare(default)).__name__ == "Null" else _label(default, node)
    kind = "integer" if types == {"DOUBLE"} else "text"
    return Lookup(min(columns), kind, (LookedUpColumn(name, "text", values, other),))


def _equalities(branch: Expression, node: Expression, tables: frozenset[str]) -> Iterator[tuple[str, Literal]]:
    """Yield the column and each literal that one WHEN compares it with."""
    from sqlglot import expressions

    condition = branch.this
    if (operand := node.args.get("this")) is not None:
        condition = expressions.EQ(this=operand.copy(), expression=branch.this.copy())
    for test in _parts(read_condition(condition, tables).test):
        literals = test.literals if isinstance(test, Member) else (test.right,)
        if test.left.inner is not None:
            raise refusal(f"{piece(node)} computes what it compares", _FORM)
        for literal in literals:
            if not isinstance(literal, Literal) or not _is_key(literal):
                raise refusal(f"{piece(node)} compares with more than whole numbers and texts", _FORM)
            yield test.left.column, literal


def _parts(test: Test) -> Iterator[Compare | Member]:
    for part in test.parts if isinstance(test, AndOr) else (test,):
        if isinstance(part, AndOr):
            yield from _parts(part)
        elif _is_equality(part):
            assert isinstance(part, Compare | Member)
            yield part
        else:
            raise refusal(f"{part.text!r} in CASE is not an equality", _FORM)


def _is_key(literal: Literal) -> bool:
    value = literal.value
    if literal.type == "VARCHAR":
        return True
    return literal.type == "DOUBLE" and isinstance(value, int) and abs(value) <= LARGEST_WHOLE


def _label(node: Expression, whole: Expression) -> str:
    node = bare(node)
    if type(node).__name__ != "Literal" or not node.args.get("is_string"):
        raise refusal(f"{piece(whole)} has a result that is not a text", "Write a text in quotes after THEN.")
    return str(node.this)
