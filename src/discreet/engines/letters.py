"""Upper and lower case, letter by letter: one letter becomes one letter, wherever it stands.

Languages know more: ``STRASSE`` for ``straße``, another sigma at the end of a word. Engines do not agree about that, so
it is nobody's rule here. The sharp s has an upper case of its own, as DuckDB has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

#: No letter beyond this one has a case.
_LAST = 0x20000


def changed(text: str, name: str) -> str:
    """A text in LOWER or UPPER case.

    >>> changed("ΣΑΣ Straße", "LOWER"), changed("straße ŉ", "UPPER")
    ('σασ straße', 'STRAẞE ŉ')
    """
    return text.translate(changes(name))


@cache
def changes(name: str) -> Mapping[int, str]:
    """The letters that LOWER or UPPER changes, by their code, and what it changes each to."""
    found = {code: _other(chr(code), name) for code in range(_LAST)}
    return {code: other for code, other in found.items() if other != chr(code)}


def _other(letter: str, name: str) -> str:
    if letter == "ß" and name == "UPPER":
        return "ẞ"
    forms = (letter.lower(), letter.lower()[0]) if name == "LOWER" else (letter.upper(), letter.title())
    return next((form for form in forms if len(form) == 1), letter)
