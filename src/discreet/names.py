"""Names as people write them: in any case, with hyphens, underscores or spaces, in full or short.

One reading for every verb and every function that takes the name of something; an unknown name is refused with
the nearest one that is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from .errors import InvalidInput, InWords, WrongType

#: How much of two names must be alike for one to be offered for the other.
LEAST_LIKENESS = 0.7


def plain(name: str) -> str:
    """A name without what people write differently.

    >>> plain("Explicit_Fair"), plain(" explicit  fair ")
    ('explicit-fair', 'explicit-fair')
    """
    return re.sub(r"[\s_-]+", "-", name.strip()).casefold()


def nearest(written: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is nearest to, if one is near enough.

    >>> nearest("Vists", ["site", "visits"]), nearest("colour", ["site", "visits"])
    ('visits', None)
    """
    own = {plain(name): name for name in known}
    near = difflib.get_close_matches(plain(written), own, n=1, cutoff=LEAST_LIKENESS)
    return own[near[0]] if near else None


def find_name(
    written: object,
    known: Iterable[str],
    what: str,
    others: Mapping[str, str] | None = None,
    *,
    listed: str = "",
    argument: str | None = None,
) -> str:
    """The known name that is meant, in its own spelling; an unknown name is refused with the nearest one.

    Parameters
    ----------
    written
        What somebody wrote.
    known
        The names there are.
    what
        What they are names of, for the message: "a notion".
    others
        Further names -> what they stand for (which counts only where it is known).
    listed
        The names there are as the message lists them, where more should be said of each.
    argument
        The argument that was given this name, for the error.

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
    if not isinstance(written, str):
        raise WrongType.must_be(
            what, f"named by a text, one of {', '.join(names)}", InWords(type(written).__name__), argument=argument
        )
    own = {plain(name): name for name in names}
    read = {plain(name): own[plain(full)] for name, full in (others or {}).items() if plain(full) in own} | own
    if plain(written) in read:
        return read[plain(written)]
    near = nearest(written, read)
    meant = f"Did you mean {read[near]}? " if near else ""
    choices = listed or ", ".join(names)
    text = written if len(written) <= 60 else written[:57] + "..."
    raise InvalidInput(
        f"{text!r} is not {what}.", f"{meant}Choose from {choices}.", argument=argument, given=written, allowed=choices
    )


def in_sql(name: str) -> str:
    """A name as a question writes it: in double quotes where it needs them.

    >>> in_sql("visits"), in_sql("clinic.visits"), in_sql("my-data-2024")
    ('visits', 'clinic.visits', '"my-data-2024"')
    """
    return name if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)?", name) else '"' + name.replace('"', '""') + '"'


def find_table(written: str, tables: Iterable[str], place: str) -> str:
    """The table that is meant, in its own spelling: exactly, or the only one that differs in case.

    >>> find_table("Visits", ["people", "visits"], "study")
    'visits'
    """
    known = list(tables)
    if written in known:
        return written
    alike = [table for table in known if table.casefold() == written.casefold()]
    if len(alike) == 1:
        return alike[0]
    shown = ", ".join(map(in_sql, sorted(known)[:20])) or "none"
    behind = written.rpartition(".")[2].casefold()
    if written.count(".") and behind in {table.casefold() for table in known}:
        raise InvalidInput(f"the tables of {place} have no schemas.", f"Write the table's name alone: {behind}.")
    inside = [table for table in known if table.partition(".")[2].casefold() == written.casefold()]
    if inside:
        raise InvalidInput(
            f"{written!r} stands in a schema of {place}.",
            f"Name the schema too: {' or '.join(map(in_sql, sorted(inside)[:20]))}.",
        )
    tables_are = "The table is" if len(known) == 1 else "The tables are"
    raise InvalidInput(f"there is no table {written!r} in {place}.", f"{tables_are} {shown}.")
