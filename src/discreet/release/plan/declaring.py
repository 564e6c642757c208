"""The groups of a request: declared by the curator, held against the question and the types of its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engines.sources import Source
from ...errors import InvalidInput, arg
from ...questions import groups as declared
from ...questions.bands import BAND, DeclaredBands
from ...questions.domains import listed_values
from ...questions.groups import Groups
from ...questions.question import Question
from ...unit import Unit
from .banding import refuse_both, with_bands
from .request import Domain, Rows

#: Kinds of columns that are read as text -> what that text looks like, what they hold, and how to write it.
_WRITTEN = {
    "boolean": ("true|false", "truth values", "true,false"),
    "date": (r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}( \(BC\))?|-?infinity", "dates", "2020-01-31"),
    "timestamp": (
        r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?( \(BC\))?|-?infinity",
        "moments",
        "2020-01-31 12:30:00",
    ),
}


def declared_groups(
    asked: Sequence[Question],
    domain: Domain | None,
    groups: Rows,
    zeros: Rows,
    banded: Sequence[Mapping[str, DeclaredBands]],
    kinds: Sequence[Mapping[str, str]],
) -> list[Groups]:
    """The groups of each question; of some of its columns they are bands. Columns are of these kinds, where known."""
    refuse_both(domain, groups, banded)
    if domain is not None and groups is not None:
        raise InvalidInput(f"give the groups by {arg('domain')} or by {arg('groups')}, not both.")
    if (groups is not None or zeros is not None) and len(asked) > 1:
        raise InvalidInput(
            "a list of groups or of structural zeros belongs to one question.",
            "Release several by domain.",
            argument="groups",
        )
    _refuse_unused(domain, groups, {column for question in asked for column in question.by})
    found = []
    for question, own, stored in zip(asked, banded, kinds, strict=True):
        if not question.by:
            found.append(declared.TOTAL)
            continue
        if groups is not None:
            found.append(
                declared.read_groups(groups, question.by)
                if isinstance(groups, str | Path)
                else declared.groups_from(groups, question.by)
            )
            continue
        others = [column for column in question.by if column not in own]
        if others and domain is None:
            raise InvalidInput(
                f"declare the groups of {', '.join(others)}: {arg('domain', [f'{others[0]}=1..6'])} or "
                f"{arg('domain', [f'{others[0]}=a,b,c'])} for each, or {arg('groups', 'FILE')}. Groups are "
                "public; they never come from the data."
            )
        listed = _from_domain(domain, others) if domain is not None and others else declared.TOTAL
        found.append(with_bands(listed, own, question.by, stored) if own else listed)
    if zeros is not None:
        found = [declared.with_zeros(found[0], zeros)]
    return found


def _from_domain(domain: Domain, by: Sequence[str]) -> Groups:
    if isinstance(domain, Mapping):
        return declared.groups_from({name: values for name, values in domain.items() if _alike(name, by)}, by)
    return declared.read_domain([text for text in domain if _alike(declared.domain_column(text), by)], by)


def _alike(name: object, columns: Collection[str]) -> bool:
    """Whether a name means one of these columns: SQL does not mind the case."""
    return name in columns or str(name).casefold() in {column.casefold() for column in columns}


def _refuse_unused(domain: Domain | None, groups: Rows, used: set[str]) -> None:
    if groups is not None and not used:
        raise InvalidInput(
            "the question has no GROUP BY, so it has no groups to declare.", f"Leave {arg('groups')} out."
        )
    if domain is None:
        return
    names = list(domain) if isinstance(domain, Mapping) else [declared.domain_column(text) for text in domain]
    for name in names:
        if not _alike(name, used):
            raise InvalidInput(
                f"a domain is declared for {name!r}, which no question groups by "
                f"({', '.join(sorted(used)) or 'there is no GROUP BY'}).",
                argument="domain",
            )


def declared_sizes(sizes: Rows, asked: Sequence[Question], cells: Sequence[Groups]) -> NDArray[np.int64]:
    if len(asked) > 1:
        raise InvalidInput("public sizes belong to one question.", "Release the tables one by one.", argument="sizes")
    per_group = declared.read_sizes(sizes, cells[0])
    return np.repeat(per_group, len(asked[0].aggregates))


def contribution_bound(given: int | None, who: Unit, asked: Sequence[Question], cells: Sequence[Groups]) -> int:
    """The bound on contributions. It changes what the counts mean, so nothing is assumed where it matters."""
    if given is not None:
        return given
    several = [
        groups.live
        for question, groups in zip(asked, cells, strict=True)
        if groups.live > 1 and set(question.by) != {who.column}
    ]
    if who.is_row or not several:
        return 1
    most = max(several)
    raise InvalidInput(
        f"say in how many groups one {who.one} is counted, since {who.several} can have rows in several of the "
        f"{most:,}:\n  {arg('max_groups', 1)}  each {who.one} is counted in one group only and is missing from the "
        "others: the least noise\n"
        f"  {arg('max_groups', most)}  each {who.one} is counted in every group where {who.they_have} rows: up to "
        f"{most:,} times the noise\nIf each has rows in one group only, 1 leaves none out."
    )


def blank_notes(domain: Domain | None) -> list[str]:
    """What to know of a domain that was written with blanks after its commas."""
    if domain is None or isinstance(domain, Mapping):
        return []
    written = [declared.split_domain(text) for text in domain]
    return [
        f"blanks around the values of {column} were taken for layout; put a value in quotes to keep its blanks."
        for column, body in written
        if declared.blanks_removed(body, column)
    ]


def refuse_texts_for_numbers(asked: Sequence[Question], cells: Sequence[Groups], source: Source) -> None:
    """Texts are no values of a column of numbers: a range that was mistyped would count nobody, and cost epsilon."""
    for question, groups in zip(asked, cells, strict=True):
        kinds = source.table(question.table)
        for column, kind, known in zip(question.by, groups.kinds, groups.values, strict=True):
            stored, values = kinds.get(column, "other"), listed_values(known)
            if kind == BAND:
                continue  # judged by its edges
            if kind == "text" and stored in ("integer", "number"):
                shown = ", ".join(repr(value) for value in list(values)[:5])
                raise InvalidInput(
                    f"the column {column!r} holds numbers, and its domain has texts ({shown}).",
                    f"Write numbers: 1..6 for a range, or 1,2,3; for bands {arg('bands', [f'{column}=18,30,65'])}.",
                    argument="domain",
                )
            if stored in _WRITTEN:
                pattern, what, instead = _WRITTEN[stored]
                months = f"; for months {arg('bands', [f'{column}=month:2024-01..2024-12'])}"
                odd = [value for value in values if value is not None and not re.fullmatch(pattern, str(value))]
                if odd:
                    raise InvalidInput(
                        f"the column {column!r} holds {what}, and {odd[0]!r} of its domain can match no row.",
                        f"Write {instead}{months if stored != 'boolean' else ''}.",
                        argument="domain",
                    )
