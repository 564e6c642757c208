"""Align releases of the same question about the same groups, so that they can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import InvalidInput, call
from ...plots.counts import label
from ...questions.bands import bands_text
from ...questions.groups import Groups
from ...questions.question import Question
from ..bundle.released import Release
from ..tables.aligned import Aligned


def edition_names(releases: Sequence[Release]) -> tuple[str, ...]:
    """Return the name of each release: its edition, or the data set where the edition has no name."""
    if len(releases) < 2:
        raise InvalidInput.must_be("editions", "at least two releases, or the folders of their bundles", len(releases))
    names = tuple(release.edition or release.plan.dataset for release in releases)
    receipts = [(release.ledger.get("ledger"), release.ledger.get("entry")) for release in releases]
    for k, name in enumerate(names):
        first = names.index(name)
        if first < k and receipts[first] == receipts[k]:
            raise InvalidInput(
                f"the same release is given twice: edition {name!r}.", "Give each edition once.", argument="editions"
            )
        if first < k:
            how = call("edition='2026-Q1'", "--edition 2026-Q1")
            raise InvalidInput(
                f"two of the releases are called {name!r}.",
                f"Name each state of the data when it is released: {how}.",
                argument="editions",
            )
    return names


def align_tables(releases: Sequence[Release], names: Sequence[str]) -> list[list[Aligned]]:
    """Return each table in every edition, with groups in the order of the first edition."""
    for other, name in zip(releases[1:], names[1:], strict=True):
        _refuse_other_terms(releases[0], other, names[0], name)
    aligned = []
    for editions in zip(*(release.tables for release in releases), strict=True):
        shared = [table.shared_with(editions) for table in editions]
        for table, name in zip(shared[1:], names[1:], strict=True):
            _refuse_other_groups(shared[0].groups, table.groups, names[0], name)
        aligned.append([table.aligned(shared[0]) for table in shared])
    return aligned


def _refuse_other_terms(first: Release, other: Release, name: str, other_name: str) -> None:
    for what, mine, theirs in (
        ("the number of tables", len(first.tables), len(other.tables)),
        ("whose data is protected", first.plan.protection.unit, other.plan.protection.unit),
        ("the period of the unit", first.plan.protection.per, other.plan.protection.per),
        ("max_groups", first.plan.protection.max_groups, other.plan.protection.max_groups),
        ("max_rows", first.plan.protection.max_rows, other.plan.protection.max_rows),
    ):
        if mine != theirs:
            raise _differ(what, name, mine, other_name, theirs)
    for one, another in zip(first.tables, other.tables, strict=True):
        mine, theirs = _without_table(one.question), _without_table(another.question)
        if mine != theirs:
            raise _differ("the question", name, one.question.text, other_name, another.question.text)
        kinds = ["groups found in the data" if one.plan.stands_alone else "declared groups" for one in (one, another)]
        if kinds[0] != kinds[1]:
            raise _differ("where groups come from", name, kinds[0], other_name, kinds[1])


def _differ(what: str, name: str, mine: object, other: str, theirs: object) -> InvalidInput:
    return InvalidInput(
        f"editions can be compared only if they count the same, and {what} differs: {mine} in {name}, {theirs} in "
        f"{other}.",
        "Release them with the same request.",
        argument="editions",
    )


def _without_table(question: Question) -> str:
    """Return the question with a fixed table name: next quarter's file has another name."""
    return replace(question.called("t"), qualified=False).text


def _refuse_other_groups(mine: Groups, theirs: Groups, name: str, other: str) -> None:
    if (mine.columns, mine.kinds) != (theirs.columns, theirs.kinds):
        raise _differ("what they group by", name, ", ".join(mine.columns), other, ", ".join(theirs.columns))
    if mine.bands != theirs.bands:  # bands with other edges can have the same names
        raise _differ("where bands begin and end", name, _edges(mine), other, _edges(theirs))
    labels, other_labels = set(_labels(mine)), set(_labels(theirs))
    if labels == other_labels:
        return
    for has, lacks, only in ((name, other, labels - other_labels), (other, name, other_labels - labels)):
        if only:
            group = min(only, key=str)
            text = ", ".join(f"{column} = {label(value)}" for column, value in zip(mine.columns, group, strict=True))
            raise InvalidInput(
                f"editions can be compared only if they count the same groups: {has} has {text}, and {lacks} has not.",
                "Release them with the same domain.",
                argument="editions",
            )


def _edges(groups: Groups) -> str:
    columns = zip(groups.columns, groups.bands, strict=bool(groups.bands))
    return ", ".join(bands_text(column, bands) for column, bands in columns if bands is not None)


def _labels(groups: Groups) -> list[tuple[object, ...]]:
    if not groups.columns:
        return [()]
    return list(zip(*(groups.labels(k) for k in range(len(groups.columns))), strict=True))
