"""Values of CSV that are unreadable in the encoding of their file (``sources.encodings``), in SQL.

Such a value is missing in a condition and where it would name a unit or be discovered. In a declared group column it is
in no group but the rest: there it is read as a text that cannot be declared, under a second name of the column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ...sources.encodings import UNREADABLE
from ...sources.sql import quoted, text_literal
from ..base import Counting, Discovering

_Counted = TypeVar("_Counted", bound=Counting)


def by_marked_columns(counting: _Counted) -> _Counted:
    """Return the same counting by the second names of its declared group columns."""
    names = _second_names(counting)
    by = tuple(names.get(column, column) for column in counting.question.by)
    return replace(counting, question=replace(counting.question, by=by))


def marked_rows(rows: str, counting: Counting) -> str:
    """Return a FROM item: the rows of another one, with unreadable values marked."""
    reads = [f"{_reading(column, 'NULL')} AS {quoted(column)}" for column in counting.columns]
    reads += [f"{_reading(column, 'chr(0)')} AS {quoted(name)}" for column, name in _second_names(counting).items()]
    return f"(SELECT {', '.join(reads) or '0'} FROM {rows}) AS marked"


def _second_names(counting: Counting) -> dict[str, str]:
    """Return the declared group columns and the second name of each, which is longer than any column's name."""
    discovered = counting.label_columns if isinstance(counting, Discovering) else ()
    ending = "_" * (1 + max(map(len, counting.columns), default=0))
    stored = (column for column in counting.question.by if column not in counting.question.looked_up)
    return {column: column + ending for column in stored if column not in discovered}


def _reading(column: str, instead: str) -> str:
    name = quoted(column)
    return f"CASE WHEN contains({name}, {text_literal(UNREADABLE)}) THEN {instead} ELSE {name} END"
