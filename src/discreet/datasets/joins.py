"""The tables of the same people that questions join, as a declaration has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engines.base import ROW, Source
from ..errors import InvalidInput, arg
from ..periods import Per
from ..questions.joins.clauses import RelatedTable
from ..questions.question import Question, find_column
from ..questions.resolve.joined_views import read_joined_view
from ..sources.encodings import UTF8
from .declaration import Declaration


def joined_tables(
    declaration: Declaration, table: str, questions: Sequence[Question], other_data: str | None
) -> list[str]:
    """Return the declared tables of people that the questions join, in the order of the declaration."""
    names = {join.table.casefold() for question in questions for join in question.joins}
    joined = [name for name in declaration.tables if name.casefold() in names and name != table]
    if joined and other_data is not None:
        raise InvalidInput(
            "other data takes the place of one table, and this question joins several.",
            "Declare the other tables in a dataset file of their own.",
            argument="data",
        )
    for name in joined:
        if (declaration.tables[name].encoding or UTF8) != (declaration.tables[table].encoding or UTF8):
            raise InvalidInput(
                f"{table} and {name} are in different encodings.", "Save both in UTF-8.", argument="encoding"
            )
    return joined


def tables_behind(declaration: Declaration, table: str, source: Source | None, other_data: str | None) -> list[str]:
    """Return the declared tables that a view joins; none if it joins none."""
    definition = None if source is None or not source.expands_joined_views else source.view(table)
    view = None if definition is None else read_joined_view(definition)
    if source is None or view is None:
        return []
    if other_data is not None:
        raise InvalidInput(
            f"other data takes the place of one table, and the view {table} joins several.",
            "Declare the view and its tables in a dataset file of their own.",
            argument="data",
        )
    names = []
    for behind in view.tables:
        name = declaration.find_table(behind)
        if name is None:
            raise InvalidInput(
                f"the view {table} joins {behind!r}, which is not declared.",
                f"Declare it in the dataset file: [tables.{behind}] with data and unit.",
            )
        if declaration.data_of(name) != declaration.data_of(table) or source.spelled(name) != source.spelled(behind):
            raise InvalidInput(
                f"the view {table} joins {behind!r} of its own database, and the declared {name!r} is another table.",
                "Declare the table that the view joins, with the data of the view.",
            )
        names.append(name)
    return names


def related_tables(declaration: Declaration, joined: Sequence[str], source: Source | None) -> dict[str, RelatedTable]:
    """Return the joined tables, with their units and columns."""
    related = {}
    for name in joined:
        kinds = {} if source is None else source.table(source.spelled(name))
        unit = declaration.unit_of(name)
        spelled = find_column(unit, kinds) if kinds and unit != ROW else unit
        spelling = name if source is None else source.spelled(name)
        related[spelling] = RelatedTable(spelling, spelled, kinds, _period(declaration.per_of(name), name, kinds))
    return related


def _period(per: Per | None, table: str, kinds: Mapping[str, str]) -> Per | None:
    """Return the period of a joined table's rows, by its date column as it is spelled; refuse a table without it."""
    if per is None or not kinds:
        return per
    if per.column.casefold() not in {name.casefold() for name in kinds}:
        raise InvalidInput(
            f"{table} has no column {per.column!r}, so its rows have no {per.granularity} to be joined by.",
            f"Name its own date column below [tables.{table}]: {arg('per', f'{per.granularity}:COLUMN')}.",
            argument="per",
        )
    return Per(per.granularity, find_column(per.column, kinds))
