"""JSON as this package reads it: one meaning for every text, and no text that keeps the reader busy.

Python's own reader keeps the last of two equal names, reads NaN and Infinity, which JSON does not have, turns 1e999
into infinity, and guesses the encoding. A forger uses that: a person sees the first ``"cost"``, the program the last.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .errors import UnreadableFile

#: Digits of a number; Python itself writes up to 4300.
MAX_DIGITS = 4300

#: Lists and objects inside each other; what this package writes has fewer than 20.
MAX_DEPTH = 100

#: A text, which may hold brackets, or a bracket.
_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class _Unreadable(ValueError):
    """What is wrong with a text, as the end of a sentence."""


def read_json(text: str | bytes, name: str, advice: str = "", *, argument: str | None = None) -> Any:
    """Read a JSON text that has one meaning.

    Parameters
    ----------
    text
        The text; bytes must be UTF-8, with or without a byte order mark.
    name
        What errors call it.
    advice
        What to do next where it is not JSON.
    argument
        The argument it was given as, if errors should name one.

    Raises
    ------
    UnreadableFile
        When it is not JSON, names a field of an object twice, or has NaN, an infinity, a number with too many digits or
        too many levels.

    Examples
    --------
    >>> read_json('{"epsilon": "1/2"}', "request.json")
    {'epsilon': '1/2'}
    >>> read_json('{"cost": 1, "cost": 2}', "release.json")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: release.json names the field 'cost' twice.
    """
    try:
        written = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        _refuse_deep(written)
        return _DECODER.decode(written)
    except _Unreadable as problem:
        reason = f"{name} {problem}."
    except (ValueError, RecursionError):
        raise UnreadableFile(f"{name} is not JSON.", advice, argument=argument) from None
    raise UnreadableFile(reason, argument=argument)


def _refuse_deep(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _Unreadable(f"has more than {MAX_DEPTH} lists and objects inside each other")
        elif mark in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unreadable(f"names the field {twice[:40]!r} twice")
    return content


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Unreadable(f"has a number with more than {MAX_DIGITS} digits")
    return int(digits)


def _decimal(digits: str) -> float:
    value = float(digits) if len(digits) <= MAX_DIGITS else math.inf
    if not math.isfinite(value):
        raise _Unreadable("has a number that is too large or has too many digits")
    return value


def _constant(word: str) -> float:
    raise _Unreadable(f"has {word}, which is not a number in JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_constant
)
