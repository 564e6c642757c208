"""From the joins that a question writes to the look-ups that the data set declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import InvalidInput
from ..conditions import refusal
from ..joins.clauses import Join
from ..joins.lookups import Lookup, PublicTable
from ..question import Question, find_column


def look_up(question: Question, public: Mapping[str, PublicTable], kinds: Mapping[str, str]) -> Question:
    """Return the same question with its joins as look-ups of public tables.

    A column that the table does not have is looked up without a join in the text, where one look-up has it and the
    table has its key.

    Parameters
    ----------
    question
        The question as it was read.
    public
        The declared look-ups, by name.
    kinds
        The columns of the table, and the kind of each; empty if they are not known.
    """
    _refuse_names_of_cases(question, kinds)
    stored = {name.casefold() for name in kinds}
    if not question.joins and (not public or {name.casefold() for name in question.columns} <= stored):
        return question
    joins = [_declared_join(join, question.table, public) for join in question.joins]
    used: dict[str, list[str]] = {join.table: [] for join in joins}
    spelled: dict[str, str] = {}
    for name in sorted(question.columns - set(question.looked_up)):
        table = _public_table_of(name, question, public, kinds, used)
        if table is None:
            continue
        if table.name not in used:
            joins.append(Join(table.name, question.table, table.key, table.key))
        spelled[name] = str(table.find(name))
        used.setdefault(table.name, []).append(spelled[name])
    lookups = []
    for join in joins:
        column = find_column(join.column, kinds) if kinds else join.column
        bound = replace(join, column=column)
        lookups.append(Lookup.of_file(bound, public[join.table], sorted(set(used[join.table])), kinds.get(column)))
    renamed = question.renamed(lambda name: spelled.get(name, name))
    return replace(renamed, joins=(), lookups=(*renamed.lookups, *lookups))


def with_lookups(question: Question, entries: Mapping[str, object]) -> Question:
    """Return the same question with the look-ups that a request states, by the names of its joins."""
    if set(entries) != {join.table for join in question.joins}:
        raise InvalidInput("the look-ups of this request are not those of its question.", argument="request")
    if any(join.other != question.table for join in question.joins):
        raise InvalidInput("a look-up of this request is of another table.", argument="request")
    lookups = [Lookup.from_json(join, entries[join.table]) for join in question.joins]
    bound = replace(question, joins=(), lookups=(*question.lookups, *lookups))
    names = [column.name for lookup in bound.lookups for column in lookup.columns]
    if len({name.casefold() for name in names}) < len(names) or not set(names) <= bound.columns:
        raise InvalidInput("the look-ups of this request give other columns than it uses.", argument="request")
    return bound


def refuse_looked_up_unit(question: Question, unit: str) -> None:
    """Refuse a look-up of the column that names people: a public table about each of them is not public."""
    for lookup in question.lookups:
        if lookup.join is not None and lookup.column.casefold() == unit.casefold():
            raise refusal(
                f"{lookup.join.table!r} is looked up by {lookup.column}, which names people",
                "Look up what several people share, such as their county.",
            )


def _refuse_names_of_cases(question: Question, kinds: Mapping[str, str]) -> None:
    """Refuse a CASE that is called like a column of the table."""
    columns = {name.casefold(): name for name in kinds}
    for name in question.looked_up:
        if name.casefold() in columns:
            raise refusal(
                f"{name!r} is the name of a CASE and of a column of {question.table}", "Give the CASE another name."
            )


def _public_table_of(
    name: str,
    question: Question,
    public: Mapping[str, PublicTable],
    kinds: Mapping[str, str],
    joined: Mapping[str, object],
) -> PublicTable | None:
    """Return the look-up that a column of the question comes from; None if it is the table's own."""
    owner, stored = dict(question.owners).get(name.casefold()), {column.casefold() for column in kinds}
    tables = [one for one in public.values() if one.find(name) is not None]
    if owner is not None:
        return next((one for one in tables if one.name.casefold() == owner.casefold()), None)
    is_stored, from_joins = name.casefold() in stored, [one for one in tables if one.name in joined]
    if is_stored and from_joins:
        raise refusal(
            f"{name!r} is a column of {question.table} and of {from_joins[0].name}",
            f"Say which: {from_joins[0].name}.{name}.",
        )
    if is_stored:
        return None
    found = from_joins or [one for one in tables if not stored or one.key.casefold() in stored]
    if len(found) > 1:
        raise refusal(
            f"{name!r} is a column of the look-ups {', '.join(one.name for one in found)}",
            f"Say which: LEFT JOIN {found[0].name} USING ({found[0].key}), and {found[0].name}.{name}.",
        )
    return found[0] if found else None


def _declared_join(join: Join, table: str, public: Mapping[str, PublicTable]) -> Join:
    """Return a join with a declared look-up, spelled as it is declared; refuse any other."""
    declared = next((one for name, one in public.items() if name.casefold() == join.table.casefold()), None)
    if declared is None or join.qualified:
        known = f" Declared look-ups are {', '.join(public)}." if public else ""
        raise refusal(
            f"{join.table!r} is not a declared look-up",
            f"Declare it in the dataset file: [lookups.{join.table}], data and key.{known}",
        )
    if join.key.casefold() != declared.key.casefold():
        raise refusal(
            f"the look-up {declared.name!r} is joined on {join.key!r}, and its key is {declared.key!r}",
            f"Write {declared.name}.{declared.key}.",
        )
    if join.other.casefold() != table.casefold():
        raise refusal(
            f"{declared.name!r} is joined with another look-up, {join.other!r}",
            "Look up a column of the counted table.",
        )
    return replace(join, table=declared.name, key=declared.key)
