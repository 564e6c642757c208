"""The groups of a request: declared by the curator, and checked against the question and the types of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput, arg
from ...questions import groups as declared
from ...questions.bands import BAND
from ...questions.domains import Values, listed_values
from ...questions.groups import Groups
from ...unit import Unit
from ..tables.draft import MAX_DRAWN_CELLS, Draft
from .banding import refuse_both, with_bands
from .request import Domain, ReleaseRequest, Rows

#: Kinds of columns that are read as text -> the pattern of that text, what the column holds, and an example value.
_TEXT_FORMS = {
    "boolean": ("true|false", "truth values", "true,false"),
    "date": (r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}( \(BC\))?|-?infinity", "dates", "2020-01-31"),
    "timestamp": (
        r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?( \(BC\))?|-?infinity",
        "moments",
        "2020-01-31 12:30:00",
    ),
}


def declare_groups(
    drafts: Sequence[Draft], request: ReleaseRequest, declaring: Callable[[str], str] | None = None
) -> None:
    """Set the groups of each question, from its domain, its list of groups or its bands.

    ``declaring`` is the advice on how to declare a column, where there is another way than ``domain=``.
    """
    domain, groups, zeros = request.domain, request.groups, request.zeros
    for draft in drafts:
        draft.refuse_domain()
    refuse_both(domain, groups, drafts)
    if domain is not None and groups is not None:
        raise InvalidInput(f"give the groups by {arg('domain')} or by {arg('groups')}, not both.")
    if (groups is not None or zeros is not None) and len(drafts) > 1:
        raise InvalidInput(
            "a list of groups or of structural zeros belongs to one question.",
            "Release several by domain.",
            argument="groups",
        )
    _refuse_unused(domain, groups, {column for draft in drafts for column in draft.declared_columns})
    for draft in drafts:
        draft.declare([_groups_of(one, domain, groups, declaring) for one in draft.declarations])
        refuse_too_many_cells([draft])
        if zeros is not None:
            draft.groups = declared.with_zeros(draft.groups, zeros)
        draft.refuse_groups()


def refuse_too_many_cells(drafts: Sequence[Draft]) -> None:
    """Refuse questions with more cells than noise can be drawn for, one by one."""
    if sum(draft.declared_cells for draft in drafts if not draft.is_sparse) > MAX_DRAWN_CELLS:
        raise InvalidInput(
            f"that is more than {MAX_DRAWN_CELLS:,} cells.",
            "Declare fewer groups, or ask one question without totals and publish large counts alone: "
            f"{arg('suppress_below', 100)}.",
            argument="domain",
        )


def _groups_of(draft: Draft, domain: Domain | None, groups: Rows, declaring: Callable[[str], str] | None) -> Groups:
    by = draft.declared_columns
    if not by:
        return declared.TOTAL
    if groups is not None:
        return declared.read_groups(groups, by) if isinstance(groups, str | Path) else declared.groups_from(groups, by)
    others = [column for column in by if column not in draft.bands]
    given = set(_domain_columns(domain))
    public = {column: values for column, values in _public_values(draft).items() if not _is_among(column, given)}
    others = [column for column in others if column not in public]
    missing = [column for column in others if not _is_among(column, given)]
    if missing and declaring is not None:
        raise InvalidInput(f"the groups of {missing[0]!r} are not declared.", declaring(missing[0]), argument="domain")
    if others and domain is None:
        raise InvalidInput(
            f"declare the groups of {', '.join(others)}: {arg('domain', [f'{others[0]}=1..6'])} or "
            f"{arg('domain', [f'{others[0]}=a,b,c'])} for each, or {arg('groups', 'FILE')}. Groups are "
            "public; they never come from the data."
        )
    groups_by_domain = _from_domain(domain, others) if domain is not None and others else declared.TOTAL
    if public:
        groups_by_domain = _both(groups_by_domain, declared.groups_from(public, list(public)), by)
    return with_bands(groups_by_domain, draft.bands, by, draft.stored) if draft.bands else groups_by_domain


def _public_values(draft: Draft) -> dict[str, Values]:
    """Return the values that look-ups can give to group columns: they are public, so that no domain is needed."""
    columns = (column for lookup in draft.question.lookups for column in lookup.columns)
    return {
        column.name: column.public_values
        for column in columns
        if column.name in draft.declared_columns and column.name not in draft.bands and column.public_values
    }


def _both(one: Groups, other: Groups, by: Sequence[str]) -> Groups:
    """Return every combination of the values of two lists of columns, in the order of the question."""
    columns = {
        column: (kind, values)
        for groups in (one, other)
        for column, kind, values in zip(groups.columns, groups.kinds, groups.values, strict=True)
    }
    names = [column for column in by if column in columns]
    return Groups(tuple(names), tuple(columns[name][0] for name in names), tuple(columns[name][1] for name in names))


def _from_domain(domain: Domain, by: Sequence[str]) -> Groups:
    if isinstance(domain, Mapping):
        return declared.groups_from({name: values for name, values in domain.items() if _is_among(name, by)}, by)
    return declared.read_domain([text for text in domain if _is_among(declared.domain_column(text), by)], by)


def _is_among(name: object, columns: Collection[str]) -> bool:
    """Return whether a name means one of these columns: SQL ignores case."""
    return name in columns or str(name).casefold() in {column.casefold() for column in columns}


def _domain_columns(domain: Domain | None) -> list[str]:
    """Return the columns that a domain is given for."""
    if domain is None:
        return []
    return list(domain) if isinstance(domain, Mapping) else [declared.domain_column(text) for text in domain]


def _refuse_unused(domain: Domain | None, groups: Rows, columns: set[str]) -> None:
    if groups is not None and not columns:
        raise InvalidInput(
            "the question has no GROUP BY, so it has no groups to declare.", f"Leave {arg('groups')} out."
        )
    if domain is None:
        return
    for name in _domain_columns(domain):
        if not _is_among(name, columns):
            raise InvalidInput(
                f"a domain is declared for {name!r}, which no question groups by "
                f"({', '.join(sorted(columns)) or 'there is no GROUP BY'}).",
                argument="domain",
            )


def declared_sizes(sizes: Rows, drafts: Sequence[Draft]) -> NDArray[np.int64] | None:
    """Return the public size of each cell; None if the request gives no sizes."""
    if sizes is None:
        return None
    if len(drafts) > 1:
        raise InvalidInput("public sizes belong to one question.", "Release the tables one by one.", argument="sizes")
    per_group = declared.read_sizes(sizes, drafts[0].groups)
    return np.repeat(per_group, len(drafts[0].question.aggregates))


def contribution_bound(max_groups: int | None, who: Unit, drafts: Sequence[Draft]) -> int:
    """Return the contribution bound. It changes what the counts mean, so it has no default where it matters."""
    if max_groups is not None:
        return max_groups
    if any(draft.counts_once for draft in drafts):
        return 1
    counts = [draft.groups.live for draft in drafts if draft.groups.live > 1 and set(draft.base.by) != {who.column}]
    if who.is_row or not counts:
        return 1
    most = max(counts)
    raise InvalidInput(
        f"say in how many groups one {who.one} is counted, since {who.several} can have rows in several of the "
        f"{most:,}:\n  {arg('max_groups', 1)}  each {who.one} is counted in one group only and is missing from the "
        "others: the least noise\n"
        f"  {arg('max_groups', most)}  each {who.one} is counted in every group where {who.they_have} rows: up to "
        f"{most:,} times the noise\nIf each has rows in one group only, 1 leaves none out."
    )


def blank_notes(domain: Domain | None) -> list[str]:
    """Return notes on the columns of a domain with blanks after its commas."""
    if domain is None or isinstance(domain, Mapping):
        return []
    columns = [declared.split_domain(text) for text in domain]
    return [
        f"blanks around the values of {column} were taken for layout; put a value in quotes to keep its blanks."
        for column, body in columns
        if declared.blanks_removed(body, column)
    ]


def refuse_unmatchable_values(drafts: Sequence[Draft]) -> None:
    """Refuse domain values that no row can match: a mistyped range would spend epsilon and count nobody."""
    for draft in drafts:
        groups = draft.groups
        for column, kind, domain in zip(draft.declared_columns, groups.kinds, groups.values, strict=True):
            column_kind, values = draft.stored.get(column, "other"), listed_values(domain)
            if kind == BAND:
                continue  # banded_notes checks the edges
            if kind == "text" and column_kind in ("integer", "number"):
                examples = ", ".join(repr(value) for value in list(values)[:5])
                raise InvalidInput(
                    f"the column {column!r} holds numbers, and its domain has texts ({examples}).",
                    f"Write numbers: 1..6 for a range, or 1,2,3; for bands {arg('bands', [f'{column}=18,30,65'])}.",
                    argument="domain",
                )
            if column_kind in _TEXT_FORMS:
                pattern, what, instead = _TEXT_FORMS[column_kind]
                months = f"; for months {arg('bands', [f'{column}=month:2024-01..2024-12'])}"
                misfits = [value for value in values if value is not None and not re.fullmatch(pattern, str(value))]
                if misfits:
                    raise InvalidInput(
                        f"the column {column!r} holds {what}, and {misfits[0]!r} of its domain can match no row.",
                        f"Write {instead}{months if column_kind != 'boolean' else ''}.",
                        argument="domain",
                    )


def columns_with_missing(draft: Draft) -> Iterator[str]:
    """Yield the columns whose missing values are declared as a group."""
    groups = draft.groups
    for column, kind, domain in zip(draft.declared_columns, groups.kinds, groups.values, strict=True):
        if kind != BAND and None in listed_values(domain):
            yield column
