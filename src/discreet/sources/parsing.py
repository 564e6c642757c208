"""SQL as sqlglot reads and writes it, without its log messages, which would put a request's words on a terminal.

Another program in the same process that uses sqlglot keeps its warnings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_is_silent: ContextVar[bool] = ContextVar("discreet_sqlglot_is_silent", default=False)


def _is_let_through(record: logging.LogRecord) -> bool:
    return not _is_silent.get()


@contextmanager
def _silence() -> Iterator[None]:
    """Keep sqlglot from logging in this thread or task."""
    logging.getLogger("sqlglot").addFilter(_is_let_through)  # a filter that is there already is not added again
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def parse_sql(sql: str, dialect: str) -> list[Expression]:
    """Parse the statements of a text.

    Raises
    ------
    sqlglot.errors.SqlglotError
        If it is not SQL of this dialect.

    Examples
    --------
    >>> [type(statement).__name__ for statement in parse_sql("SELECT 1; VACUUM people", "duckdb")]
    ['Select', 'Command']
    """
    from sqlglot import parse

    with _silence():
        return [cast("Expression", statement) for statement in parse(sql, read=dialect) if statement is not None]


def parse_statement(sql: str, dialect: str) -> Expression:
    """Parse a text that is one statement; the errors are those of :func:`parse_sql`."""
    from sqlglot import parse_one

    with _silence():
        return cast("Expression", parse_one(sql, read=dialect))


def duckdb_sql(node: Expression, *, lossless: bool = False) -> str:
    """Write what was parsed in DuckDB's SQL.

    Parameters
    ----------
    node
        A statement or a part of one.
    lossless
        If True, raise ``sqlglot.errors.UnsupportedError`` where DuckDB's SQL cannot say the same; such a part is left
        out otherwise.

    Examples
    --------
    >>> duckdb_sql(parse_statement("SELECT id FROM people FOR UPDATE", "postgres"))
    'SELECT id FROM people'
    """
    from sqlglot.errors import ErrorLevel

    with _silence():
        return node.sql("duckdb", unsupported_level=ErrorLevel.RAISE if lossless else ErrorLevel.IGNORE)
