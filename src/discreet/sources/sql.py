"""Names and texts in SQL, safe whatever they contain."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as every engine of SQL reads it, whatever it contains.

    >>> quoted('say "ah" twice')
    '"say ""ah"" twice"'
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(value: str) -> str:
    """A text in SQL.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
