"""Readers of what requests hold: whole numbers of forms, and numbers in paths."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...errors import InvalidInput


def whole_number(name: str, text: str) -> int:
    """Read the whole number in a field; refuse anything else.

    >>> whole_number("n", "12")
    12
    """
    if not re.fullmatch("[0-9]{1,9}", text):
        raise InvalidInput.must_be(name, "a whole number, such as 10", text)
    return int(text)


def numbered(entries: Mapping[str, str], number: str) -> tuple[str, str] | None:
    """Return the entry with a number, counted from 1 as in the paths of pages, or None.

    >>> numbered({"study": "/data/study.ledger"}, "1"), numbered({}, "1"), numbered({}, "0")
    (('study', '/data/study.ledger'), None, None)
    """
    index = int(number) if re.fullmatch("[1-9][0-9]{0,3}", number) else 0
    return list(entries.items())[index - 1] if 1 <= index <= len(entries) else None
