"""Bands and the rest in a plan: which columns of a question are banded, what is refused by type, and what is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import InvalidInput, WrongType, arg
from ...questions.bands import BAND, Bands, DeclaredBands, bands_from, in_words, read_bands
from ...questions.domains import REST, has_rest, split_domain
from ...questions.groups import Groups, domain_column
from ...questions.question import Question, find_column
from ..protection import Protection
from .request import Domain, Rows


def declared_bands(
    asked: Sequence[Question],
    bands: Domain | None,
    written: Sequence[Question],
    kinds: Sequence[Mapping[str, str]],
) -> list[dict[str, DeclaredBands]]:
    """For each question, the bands of those of its group columns that have some.

    Parameters
    ----------
    asked
        The questions by columns alone.
    bands
        What was declared beside them.
    written
        The questions with the bands that are in their text.
    kinds
        What each column is, where it is known.
    """
    declared = _read(bands)
    used = {column.casefold() for question in asked for column in question.by}
    for name in declared:
        if name.casefold() not in used:
            raise InvalidInput(
                f"bands are declared for {name!r}, which no question groups by "
                f"({', '.join(sorted({column for question in asked for column in question.by})) or 'no GROUP BY'}).",
                f"Add it to GROUP BY, or leave {arg('bands')} out.",
                argument="bands",
            )
    found: list[dict[str, DeclaredBands]] = []
    for question, text, stored in zip(asked, written, kinds, strict=True):
        alike = {column.casefold() for column in question.by}
        own = {find_column(name, question.by): one for name, one in declared.items() if name.casefold() in alike}
        for column, band, heading in zip(question.by, text.bands, text.headings, strict=bool(text.bands)):
            if band is None:
                continue
            if stored:
                band.check_kind(column, stored.get(column, "other"))
            if heading.casefold() != column.casefold() and heading.casefold() in map(str.casefold, stored):
                raise InvalidInput(
                    f"{heading!r} is the name of some bands and of a column of the table.",
                    "Give the bands another name.",
                )
            own[column] = replace(band.settled(column, own.get(column)), heading=heading)
        found.append(own)
    return found


def _read(bands: Domain | None) -> dict[str, DeclaredBands]:
    if bands is None:
        return {}
    if isinstance(bands, Mapping):
        pairs = [(str(name), bands_from(str(name), edges)) for name, edges in bands.items()]
    else:
        if not isinstance(bands, str | Sequence):
            raise WrongType.must_be("bands", "edges for each column, such as {'age': [18, 30, 65]}", bands)
        split = [split_domain(text, "bands") for text in ([bands] if isinstance(bands, str) else bands)]
        pairs = [(name, read_bands(name, body)) for name, body in split]
    for name, _ in pairs:
        if sum(name.casefold() == other.casefold() for other, _ in pairs) > 1:
            raise InvalidInput(f"the bands of {name!r} are given twice.", "Give them once.", argument="bands")
    return dict(pairs)


def refuse_both(domain: Domain | None, groups: Rows, banded: Sequence[Mapping[str, DeclaredBands]]) -> None:
    """Refuse a column that has bands and a domain, and bands beside a list of groups."""
    columns = {column.casefold(): column for own in banded for column in own}
    if columns and groups is not None:
        raise InvalidInput(
            f"{min(columns.values())!r} has bands, and {arg('groups')} lists whole groups.",
            f"Declare the other columns by {arg('domain')}.",
        )
    names = () if domain is None else domain if isinstance(domain, Mapping) else map(domain_column, domain)
    for name in names:
        if str(name).casefold() in columns:
            raise InvalidInput(
                f"{name!r} has both a domain and bands.", f"Leave {arg('domain')} or {arg('bands')} of it out."
            )


def with_bands(
    listed: Groups, own: Mapping[str, DeclaredBands], by: Sequence[str], stored: Mapping[str, str]
) -> Groups:
    """Every combination of the values that are listed for some columns and the bands of the others, in one order."""
    columns, kinds, values = [], [], []
    bands: list[Bands | None] = []
    for column in by:
        columns.append(own[column].heading or column if column in own else column)
        if column in own:
            kinds.append(BAND)
            values.append(own[column].values(fractions=stored.get(column) == "number"))
            bands.append(own[column].bands)
        else:
            place = listed.columns.index(column)
            kinds.append(listed.kinds[place])
            values.append(listed.values[place])
            bands.append(None)
    return Groups(tuple(columns), tuple(kinds), tuple(values), bands=tuple(bands))


#: What the edges are -> the kinds of columns that can be read so, and what the others are to hold.
_READABLE = {
    "DOUBLE": (("integer", "number", "text"), "numbers", "Write dates as edges, such as month:2024-01..2024-12"),
    "DATE": (("date", "timestamp", "text"), "dates", "Write numbers as edges, such as 18,30,45,65"),
}
_HELD = {
    "integer": "numbers", "number": "numbers", "date": "dates", "timestamp": "moments", "boolean": "truth values",
}  # fmt: skip


def banded_notes(question: Question, groups: Groups, stored: Mapping[str, str]) -> list[str]:
    """What a person should know of banded columns, by their types alone; a column that has no bands is refused.

    Raises
    ------
    InvalidInput
        When a column holds something else than its edges are.
    """
    notes = []
    for column, bands in zip(question.by, groups.bands, strict=bool(groups.bands)):
        kind = stored.get(column, "other")
        if bands is None:
            continue
        readable, what, instead = _READABLE[bands.type]
        if kind == "other":
            raise InvalidInput(
                f"{column!r} is of a type that has no bands here, such as a moment with a time zone or in nanoseconds.",
                "Add a column of dates or numbers to the table (of pandas: .dt.floor('D').astype('datetime64[us]')).",
                argument="bands",
            )
        if kind not in readable:
            raise InvalidInput(
                f"{column!r} holds {_HELD[kind]}, and the edges of its bands are {what}.",
                "Group by it with a domain: true,false." if kind == "boolean" else f"{instead}.",
                argument="bands",
            )
        if kind == "text":
            notes.append(f"{column} is stored as text; values that are not {what} are in no band.")
    return notes


def rest_notes(question: Question, groups: Groups, protection: Protection) -> list[str]:
    """Whether rows with other values are counted, and what a group for them changes."""
    without = [
        column
        for column, kind, values in zip(question.by, groups.kinds, groups.values, strict=True)
        if kind == "text" and not has_rest(values) and groups.cells is None
    ]
    starless = [
        column
        for column, values in zip(question.by, groups.values, strict=True)
        if "*" in values and not has_rest(values)
    ]
    notes = [
        f"'*' is a text of its own in the domain of {column}; for all other values write * without quotes, or ... in "
        "Python."
        for column in starless
    ]
    if without:
        notes.append(
            f"rows with any other value of {' or '.join(without)}, such as a misspelt one, are not counted: add * to "
            "the domain to count them together."
        )
    starred = [column for column, values in zip(question.by, groups.values, strict=True) if has_rest(values)]
    who, most = protection.who, protection.max_groups
    if starred and not who.is_row and most < groups.live:
        notes.append(
            f"{REST} of {' and '.join(starred)} takes part in the choice of groups: {who.a} with rows there and in "
            f"listed groups is still counted in {most} at most."
        )
    return notes


def declared_in_words(groups: Groups) -> list[str]:
    """What the published words must say of bands and of the rest, from the request alone."""
    bands: Sequence[Bands | None] = groups.bands or (None,) * len(groups.columns)
    said = []
    for column, values, own in zip(groups.columns, groups.values, bands, strict=True):
        if own is not None:
            said.append(in_words(column, own, values))
        if has_rest(values):
            missing = "but not missing ones" if None in values else "missing ones included"
            said.append(f"{REST} of {column} counts all values that are not listed, {missing}.")
    return said
