"""The bands of a plan: which columns of a question have bands, and whether their types can be banded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import InvalidInput, WrongType, arg
from ...questions.bands import BAND, Bands, DeclaredBands, bands_from, read_bands
from ...questions.domains import split_domain
from ...questions.groups import Groups, domain_column
from ...questions.question import find_column
from ..tables.draft import Draft
from .request import Domain, Rows


def declare_bands(drafts: Sequence[Draft], bands: Domain | None) -> None:
    """Set the bands of the group columns of each question: from the declaration and from its own text."""
    bands_by_column = _read(bands)
    columns = {column for draft in drafts for column in draft.question.by}
    grouped_columns = {column.casefold() for column in columns}
    for name in bands_by_column:
        if name.casefold() not in grouped_columns:
            raise InvalidInput(
                f"bands are declared for {name!r}, which no question groups by "
                f"({', '.join(sorted(columns)) or 'no GROUP BY'}).",
                f"Add it to GROUP BY, or leave {arg('bands')} out.",
                argument="bands",
            )
    for draft in drafts:
        draft.bands = _bands_of(draft, bands_by_column)


def _bands_of(draft: Draft, bands_by_column: Mapping[str, DeclaredBands]) -> dict[str, DeclaredBands]:
    """Return the bands by column, for the group columns that have bands."""
    by, expressions, column_kinds = draft.question.by, draft.original, draft.stored
    alike = {column.casefold() for column in by}
    bands = {find_column(name, by): one for name, one in bands_by_column.items() if name.casefold() in alike}
    for column, band, heading in zip(by, expressions.bands, expressions.headings, strict=bool(expressions.bands)):
        if band is None:
            continue
        if column_kinds:
            band.check_kind(column, column_kinds.get(column, "other"))
        if heading.casefold() != column.casefold() and heading.casefold() in map(str.casefold, column_kinds):
            raise InvalidInput(
                f"{heading!r} is the name of some bands and of a column of the table.",
                "Give the bands another name.",
            )
        bands[column] = replace(band.complete(column, bands.get(column)), heading=heading)
    return bands


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


def refuse_both(domain: Domain | None, groups: Rows, drafts: Sequence[Draft]) -> None:
    """Refuse a column with both bands and a domain, and bands together with a list of groups."""
    columns = {column.casefold(): column for draft in drafts for column in draft.bands}
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
    listed: Groups, bands_by_column: Mapping[str, DeclaredBands], by: Sequence[str], column_kinds: Mapping[str, str]
) -> Groups:
    """Return every combination of the listed values of some columns and the bands of the others."""
    columns, kinds, values = [], [], []
    bands: list[Bands | None] = []
    for column in by:
        columns.append(bands_by_column[column].heading or column if column in bands_by_column else column)
        if column in bands_by_column:
            kinds.append(BAND)
            values.append(bands_by_column[column].values(fractions=column_kinds.get(column) == "number"))
            bands.append(bands_by_column[column].bands)
        else:
            place = listed.columns.index(column)
            kinds.append(listed.kinds[place])
            values.append(listed.values[place])
            bands.append(None)
    return Groups(tuple(columns), tuple(kinds), tuple(values), bands=tuple(bands))


#: SQL type of the edges -> kinds of columns that can be banded so, what the edges are, and advice for other columns.
_READABLE = {
    "DOUBLE": (("integer", "number", "text"), "numbers", "Write dates as edges, such as month:2024-01..2024-12"),
    "DATE": (("date", "timestamp", "text"), "dates", "Write numbers as edges, such as 18,30,45,65"),
}
_CONTENT_OF_KIND = {
    "integer": "numbers", "number": "numbers", "date": "dates", "timestamp": "moments", "boolean": "truth values",
}  # fmt: skip


def banded_notes(draft: Draft) -> list[str]:
    """Return notes on banded columns, from their types alone; refuse columns that cannot have bands.

    Raises
    ------
    InvalidInput
        When the edges do not fit the type of the column.
    """
    notes = []
    for column, bands in zip(draft.declared_columns, draft.groups.bands, strict=bool(draft.groups.bands)):
        kind = draft.stored.get(column, "other")
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
                f"{column!r} holds {_CONTENT_OF_KIND[kind]}, and the edges of its bands are {what}.",
                "Group by it with a domain: true,false." if kind == "boolean" else f"{instead}.",
                argument="bands",
            )
        if kind == "text":
            notes.append(f"{column} is stored as text; values that are not {what} are in no band.")
    return notes
