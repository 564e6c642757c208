"""Strict JSON: every text has one meaning, and none takes long to read.

Python's reader keeps the last of two equal names, accepts NaN and Infinity, which JSON does not have, turns 1e999 into
infinity, and guesses the encoding. A forger could use that: a person sees the first ``"cost"``, the program the last.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .errors import UnreadableFile

#: Maximum digits of a number, the most that Python writes.
MAX_DIGITS = 4300

#: Maximum depth of nested lists and objects; this package writes fewer than 20.
MAX_DEPTH = 100

#: Pattern of a text, which may contain brackets, or of a bracket.
_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class _Unreadable(ValueError):
    """A problem with a JSON text; the message ends a sentence that begins with its name."""


def read_json(text: str | bytes, name: str, advice: str = "", *, argument: str | None = None) -> Any:
    """Read a JSON text that has one meaning.

    Parameters
    ----------
    text
        The text; bytes must be UTF-8, with or without a byte order mark.
    name
        The name of the text in errors.
    advice
        The advice if it is not JSON.
    argument
        The argument to name in errors, if any.

    Raises
    ------
    UnreadableFile
        When it is not JSON, repeats a field of an object, is nested too deep, or has NaN, an infinity or a number with
        too many digits.

    Examples
    --------
    >>> read_json('{"epsilon": "1/2"}', "request.json")
    {'epsilon': '1/2'}
    >>> read_json('{"cost": 1, "cost": 2}', "release.json")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: release.json names the field 'cost' twice.
    """
    try:
        decoded_text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        _refuse_deep(decoded_text)
        return _DECODER.decode(decoded_text)
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
