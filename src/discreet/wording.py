"""Words for people: plurals, lists in a sentence, percentages and rounded numbers; names as people write them.

Bounds that must be rounded to the safe side are in :mod:`discreet.exact.rationals` (``text_up``, ``text_down``).
A name is read in any case, with hyphens, underscores or spaces, in full or short; an unknown name is refused with the
nearest known one.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from .errors import InvalidInput, InWords, WrongType

#: Power of ten beyond which fractions may not fit into doubles.
_MAX_DOUBLE_POWER = 300

#: Smallest number that is written with a power of ten.
_MIN_POWER_OF_TEN = 1_000_000

#: Minimum similarity of two names for one to be suggested for the other.
MIN_SIMILARITY = 0.7


def noun(number: int, one: str, many: str | None = None) -> str:
    """Return the noun for a number of things, without the number.

    >>> noun(1, "count"), noun(0, "count"), noun(2, "person", "people")
    ('count', 'counts', 'people')
    """
    return one if number == 1 else many or f"{one}s"


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things in words.

    >>> plural(1, "report"), plural(20190, "report"), plural(2, "person", "people")
    ('1 report', '20,190 reports', '2 people')
    """
    return f"{number:,} {noun(number, one, many)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names in a sentence.

    >>> listed(["site"]), listed(["site", "year", "health"]), listed([".csv", ".json"], "or")
    ('site', 'site, year and health', '.csv or .json')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_of(names: Sequence[str], most: int = 20) -> str:
    """Return the first names of a list that may be long.

    >>> first_of(["a", "b", "c"], most=2), first_of([])
    ('a, b, ...', 'none')
    """
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])]) or "none"


def percent(share: Fraction | float, digits: int = 3) -> str:
    """Return a share as a percentage; only a certain one is 100%.

    >>> percent(Fraction(2, 3)), percent(1), percent(Fraction(1, 65536)), percent(0.9999)
    ('66.7%', '100%', '0.00153%', '99.99%')
    """
    value = float(100 * share)
    shown = f"{value:.{digits}g}"
    return f"{math.floor(value * 1000) / 1000:g}%" if shown == "100" and share < 1 else f"{shown}%"


#: Words that begin with the sound of another letter than their first.
_CONSONANT_SOUNDS = re.compile(r"(use|uni|uid|uuid|ur[il]|eu|one(?![a-z])|once)")
_VOWEL_SOUNDS = re.compile(r"(hour|hono|heir)")


def article(name: str) -> str:
    """Return the indefinite article for a noun or the name of a column, in backticks or without.

    >>> article("`id`"), article("person"), article("user_id"), article("household"), article("hour")
    ('an', 'a', 'a', 'a', 'an')
    """
    start = name.lstrip("`'\"").casefold()
    vowel = start[:1] in tuple("aeiou") and not _CONSONANT_SOUNDS.match(start)
    return "an" if vowel or _VOWEL_SOUNDS.match(start) else "a"


def rounded(value: Fraction | float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits, for any magnitude; below a million without a power of ten.

    >>> rounded(2 / 3), rounded(Fraction(1, 3), 6), rounded(math.inf), rounded(Fraction(1, 10**400)), rounded(1416)
    ('0.667', '0.333333', 'infinity', 'about 1e-400', '1420')
    """
    if isinstance(value, Fraction) and value:
        power = math.log10(abs(value.numerator)) - math.log10(value.denominator)
        if abs(power) > _MAX_DOUBLE_POWER:
            return f"about {'-' * (value < 0)}1e{math.floor(power)}"
    number = float(value)
    if math.isinf(number):
        return "infinity" if number > 0 else "-infinity"
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(float(text)) < _MIN_POWER_OF_TEN else text


# ------------------------------------------------------------------------------------------------ names


def plain(name: str) -> str:
    """Return a name without case, hyphens, underscores and spaces.

    >>> plain("Explicit_Fair"), plain(" explicit  fair ")
    ('explicit-fair', 'explicit-fair')
    """
    return re.sub(r"[\s_-]+", "-", name.strip()).casefold()


def nearest(text: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to a misspelt one, if it is near enough.

    >>> nearest("Vists", ["site", "visits"]), nearest("colour", ["site", "visits"])
    ('visits', None)
    """
    spellings = {plain(name): name for name in known}
    near = difflib.get_close_matches(plain(text), spellings, n=1, cutoff=MIN_SIMILARITY)
    return spellings[near[0]] if near else None


def find_name(
    text: object,
    known: Iterable[str],
    what: str,
    others: Mapping[str, str] | None = None,
    *,
    listed: str = "",
    argument: str | None = None,
) -> str:
    """Return the known name in its own spelling; refuse an unknown name with the nearest one.

    Parameters
    ----------
    text
        The name as typed.
    known
        The known names.
    what
        The kind of thing that has these names, for the message: "a notion".
    others
        Further names -> known names; others are ignored.
    listed
        The known names as the message lists them; by default their names alone.
    argument
        The argument with this name, for the error.

    Examples
    --------
    >>> find_name("Explicit_Fair", ["geometric", "explicit-fair"], "a mechanism")
    'explicit-fair'
    >>> find_name("EM", ["geometric", "explicit_fair"], "a mechanism", {"EM": "explicit-fair"})
    'explicit_fair'
    >>> find_name("geometrik", ["geometric", "explicit-fair"], "a mechanism")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: 'geometrik' is not a mechanism. Did you mean geometric? Choose from geometric, ...
    """
    names = list(known)
    if not isinstance(text, str):
        raise WrongType.must_be(
            what, f"named by a text, one of {', '.join(names)}", InWords(type(text).__name__), argument=argument
        )
    spellings = {plain(name): name for name in names}
    others = {name: full for name, full in (others or {}).items() if plain(full) in spellings}
    read = {plain(name): spellings[plain(full)] for name, full in others.items()} | spellings
    if plain(text) in read:
        return read[plain(text)]
    match = nearest(text, read)
    near = f"Did you mean {read[match]}? " if match else ""
    choices = listed or ", ".join(names)
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise InvalidInput(
        f"{shown!r} is not {what}.", f"{near}Choose from {choices}.", argument=argument, given=text, allowed=choices
    )


def in_sql(name: str) -> str:
    """Return a name as a question writes it: in double quotes where it needs them.

    >>> in_sql("visits"), in_sql("clinic.visits"), in_sql("my-data-2024")
    ('visits', 'clinic.visits', '"my-data-2024"')
    """
    return name if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)?", name) else '"' + name.replace('"', '""') + '"'


def spelled_alike(name: str, names: Iterable[str]) -> list[str]:
    """Return the name itself if it is among the names, else those that differ from it in case only.

    >>> spelled_alike("site", ["site", "Site"]), spelled_alike("SITE", ["site", "year"]), spelled_alike("age", ["site"])
    (['site'], ['site'], [])
    """
    known = list(names)
    return [name] if name in known else [one for one in known if one.casefold() == name.casefold()]


def find_table(name: str, tables: Iterable[str], place: str) -> str:
    """Return the table of a name in its own spelling: exactly, or the only one that differs in case.

    >>> find_table("Visits", ["people", "visits"], "study")
    'visits'
    """
    known = list(tables)
    alike = spelled_alike(name, known)
    if len(alike) == 1:
        return alike[0]
    shown = ", ".join(map(in_sql, sorted(known)[:20])) or "none"
    behind = name.rpartition(".")[2].casefold()
    if name.count(".") and behind in {table.casefold() for table in known}:
        raise InvalidInput(f"the tables of {place} have no schemas.", f"Write the table's name alone: {behind}.")
    inside = [table for table in known if table.partition(".")[2].casefold() == name.casefold()]
    if inside:
        raise InvalidInput(
            f"{name!r} is in a schema of {place}.",
            f"Name the schema too: {' or '.join(map(in_sql, sorted(inside)[:20]))}.",
        )
    tables_are = "The table is" if len(known) == 1 else "The tables are"
    raise InvalidInput(f"there is no table {name!r} in {place}.", f"{tables_are} {shown}.")
