"""Views as PostgreSQL prints them, rewritten into the form that ``questions.views.read_view`` accepts.

The server prints a view with every conversion spelled out: ``(city)::text = ANY (ARRAY['a'::text, 'b'::text])``. Known
forms are simplified here; everything else stays unchanged and is refused by ``read_view``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...sources.parsing import duckdb_sql, parse_statement

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_TEXTS = frozenset({"TEXT", "VARCHAR", "BPCHAR", "CHAR"})
_FRACTIONS = frozenset({"DECIMAL", "DOUBLE"})
_WHOLE = frozenset({"INT", "BIGINT", "SMALLINT"})
_BY_SIZE = ("LT", "LTE", "GT", "GTE")


def view_sql(name: str, definition: str) -> str:
    """Return a view's definition in DuckDB's SQL, to be judged.

    Parameters
    ----------
    name
        The view's name, for messages.
    definition
        The output of ``pg_get_viewdef``, with every name qualified.

    Examples
    --------
    >>> view_sql("public.some", "SELECT id AS person FROM public.people WHERE ((city)::text = ANY (ARRAY['a'::text]))")
    "SELECT id AS person FROM public.people WHERE (city IN ('a'))"
    """
    from sqlglot.errors import SqlglotError

    sql: str | None = None
    with suppress(SqlglotError, RecursionError):
        tree = parse_statement(definition, "postgres")
        sql = duckdb_sql(tree.transform(_list).transform(lambda node: _plain(name, node)), lossless=True)
    if sql is None:
        raise InvalidInput(f"the view {name} cannot be read.", "Ask the question of its table.")
    return sql


def _plain(name: str, node: Expression) -> Expression:
    """Return a node without conversions that say nothing."""
    from sqlglot import exp

    if type(node).__name__ in _BY_SIZE and any(_is_text(side) for side in (node.this, node.expression)):
        raise _of_the_collation(name, "comparing texts by size")
    if isinstance(node, exp.Lower | exp.Upper | exp.ILike):
        raise _of_the_collation(name, "upper and lower case")
    if isinstance(node, exp.Lock):
        raise InvalidInput(
            f"the view {name} locks the rows it reads (FOR UPDATE or FOR SHARE), and counting locks none.",
            "Ask the question of its table.",
        )
    if isinstance(node, exp.Cast):
        inside = _bare(node.this)
        if isinstance(inside, exp.Column) and _type(node) in _TEXTS:
            return inside
        return _literal(node) or node
    return node


def _of_the_collation(name: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"in the view {name}, {what} follows a collation of the database, which counting does not.",
        "Ask the question of its table, with the condition in WHERE.",
    )


def _list(node: Expression) -> Expression:
    """Rewrite ``x = ANY (ARRAY[...])`` as ``x IN (...)``, and ``x <> ALL (ARRAY[...])`` as ``x NOT IN (...)``."""
    from sqlglot import exp

    if not isinstance(node, exp.EQ | exp.NEQ):
        return node
    side, word = node.expression, "ANY" if isinstance(node, exp.EQ) else "ALL"
    if isinstance(side, exp.Anonymous) and side.name.upper() == word and len(side.expressions) == 1:
        array = _bare(side.expressions[0])
    elif type(side).__name__.upper() == word:
        array = _bare(side.this)
    else:
        return node
    while isinstance(array, exp.Cast):
        array = _bare(array.this)
    if not isinstance(array, exp.Array):
        return node
    listed = exp.In(this=node.this, expressions=list(array.expressions))
    return listed if isinstance(node, exp.EQ) else exp.Not(this=listed)


def _bare(node: Expression) -> Expression:
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _type(node: Expression) -> str:
    """Return the type a cast names; empty if it has parameters, which could shorten or round."""
    to = node.args["to"]
    return "" if to.expressions else str(getattr(to.this, "name", to.this))


def _is_text(node: Expression) -> bool:
    """Return whether a constant is written as a text."""
    from sqlglot import exp

    node = _bare(node)
    return isinstance(node, exp.Cast) and _type(node) in {*_TEXTS, ""}


def _literal(node: Expression) -> Expression | None:
    """Return the constant behind value-preserving conversions; None if there is no such constant."""
    from sqlglot import exp

    types = []
    inside = node
    while isinstance(inside, exp.Cast):
        types.append(_type(inside))
        inside = _bare(inside.this)
    if isinstance(inside, exp.Literal) and inside.args.get("is_string") and set(types) <= _TEXTS:
        text = str(inside.this)
        return exp.Literal.string(text.rstrip(" ") if {"BPCHAR", "CHAR"} & set(types) else text)
    if not isinstance(inside, exp.Literal) or not set(types) <= _FRACTIONS | _WHOLE:
        return None
    text = str(inside.this)
    whole = re.fullmatch(r"-?[0-9]+", text) is not None
    if not whole and (set(types) & _WHOLE or not re.fullmatch(r"-?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?", text)):
        return None
    number = exp.Literal.number(text.removeprefix("-"))
    return exp.Neg(this=number) if text.startswith("-") else number
