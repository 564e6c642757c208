"""Quoted names and texts in SQL, safe for any content."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a quoted name that every SQL engine reads as written.

    >>> quoted('say "ah" twice')
    '"say ""ah"" twice"'
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(value: str) -> str:
    """Return a text in SQL.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
