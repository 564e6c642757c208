"""Upper and lower case, letter by letter: one letter becomes one letter, in every position.

Languages have more rules: ``STRASSE`` for ``straße``, another sigma at the end of a word. Engines disagree about those,
so none of them applies here. The sharp s has its own upper case, as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

#: First code point beyond all letters that have a case.
_LAST_CASED_LETTER = 0x20000


def map_case(text: str, name: str) -> str:
    """Return a text in LOWER or UPPER case.

    >>> map_case("ΣΑΣ Straße", "LOWER"), map_case("straße ŉ", "UPPER")
    ('σασ straße', 'STRAẞE ŉ')
    """
    return text.translate(case_mapping(name))


@cache
def case_mapping(name: str) -> Mapping[int, str]:
    """Return the letters that LOWER or UPPER changes: code point -> new letter."""
    letters = {code: _other(chr(code), name) for code in range(_LAST_CASED_LETTER)}
    return {code: other for code, other in letters.items() if other != chr(code)}


def _other(letter: str, name: str) -> str:
    if letter == "ß" and name == "UPPER":
        return "ẞ"
    forms = (letter.lower(), letter.lower()[0]) if name == "LOWER" else (letter.upper(), letter.title())
    return next((form for form in forms if len(form) == 1), letter)
