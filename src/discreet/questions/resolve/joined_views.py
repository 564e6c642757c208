"""Views that are nothing but a join of tables of the same people, replaced by that join.

The question becomes the one that names the tables itself; what may be joined is judged there (:mod:`~.bind`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...unit import ROW
from ..conditions import Condition, column_name, refusal
from ..joins.clauses import Join, RelatedTable, read_joins, read_table_name
from ..question import Question, find_column
from ..select import too_deep, where_of
from .bind import bind_joins
from .views import columns_of_view, from_of_view, select_of_view

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_ASK_TABLES = "Ask the question of its tables."


@dataclass(frozen=True)
class ColumnRead:
    """A column as a view reads it: its name, and the table that qualifies it, if one does."""

    name: str
    table: str | None


@dataclass(frozen=True)
class JoinedView:
    """A view that is nothing but a choice of columns and rows of joined tables.

    Attributes
    ----------
    table, qualified
        The first table, as in a :class:`Question`.
    joins
        The tables that are joined with it.
    columns
        What is behind each column of the view, by its name.
    where, tested
        Its condition, and the columns in it.
    shared
        The column of USING, which stands for that of the first table; None without USING.
    """

    table: str
    qualified: bool
    joins: tuple[Join, ...]
    columns: Mapping[str, ColumnRead]
    where: Condition | None
    tested: tuple[ColumnRead, ...]
    shared: str | None

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all its tables."""
        return (self.table, *(join.table for join in self.joins))

    def column(self, name: str) -> ColumnRead:
        """Return what is behind a column of the view."""
        return self.columns[find_column(name, self.columns)]


def read_joined_view(view_sql: str) -> JoinedView | None:
    """Read a view that joins tables; None if it joins none.

    >>> view = read_joined_view("SELECT v.person, p.sex AS gender FROM visits v JOIN people p ON v.person = p.id")
    >>> view.tables, view.column("gender")
    (('visits', 'people'), ColumnRead(name='sex', table='people'))
    """
    try:
        return _read_joined_view(view_sql)
    except RecursionError:
        pass
    raise too_deep("a view")


def _read_joined_view(view_sql: str) -> JoinedView | None:
    select, headings = select_of_view(view_sql)
    source, nodes = from_of_view(select)
    if not nodes:
        return None
    first = read_table_name(source)
    joins, tables = read_joins(nodes, first)
    names = frozenset(table.alias.lower() for table in tables)
    by_alias = {table.alias.lower(): table.name for table in tables}

    def read(node: Expression) -> ColumnRead:
        qualifier = node.args.get("table")
        return ColumnRead(column_name(node, names), None if qualifier is None else by_alias[qualifier.name.lower()])

    columns = {name: read(item) for name, item in columns_of_view(select, headings, names)}
    where = where_of(select, names)
    return JoinedView(
        first.name, first.qualified, joins, columns, where,
        () if where is None else tuple(map(read, _columns_in(select.args["where"]))),
        next((join.key for join, node in zip(joins, nodes, strict=True) if node.args.get("using")), None),
    )  # fmt: skip


def _columns_in(node: Expression) -> list[Expression]:
    from sqlglot.expressions import Column

    return list(node.find_all(Column))


def expand_joined_view(
    question: Question, view: JoinedView, unit: str, related: Mapping[str, RelatedTable]
) -> tuple[Question, str]:
    """Return the question asked of a view as a question of the tables that it joins, and the column of the unit.

    Parameters
    ----------
    question
        The question, with the view's names of columns.
    unit
        The view's name of the unit's column.
    related
        The declared tables of people behind the view, the first among them.
    """
    if question.tables or any(one.join is not None for one in question.lookups):
        raise refusal(
            f"the view {question.table} joins tables, and the question joins others with it or looks up its columns",
            _ASK_TABLES,
        )
    behind = _Behind(view, {name.casefold(): table for name, table in related.items()})
    if any(table.casefold() not in behind.tables for table in view.tables):
        raise refusal("the view rests on another view, which joins tables", _ASK_TABLES)
    first = behind.tables[view.table.casefold()]
    if unit == ROW:
        raise refusal(
            f"the view {question.table} joins tables, where each row is not its own unit",
            "Declare the column that names people in every table.",
        )
    behind.refuse_other_unit(question.table, unit, first)
    used = {name: behind.find(view.column(name)) for name in sorted(question.stored_columns)}
    tested = [behind.find(one) for one in view.tested]
    owners: dict[str, str] = {}
    for table, name in (*used.values(), *tested):
        if owners.setdefault(name.casefold(), table) != table:
            raise refusal(
                f"the view {question.table} has {name!r} of two tables, and the question uses both",
                "Use one of them, or give one another name in its table.",
            )
        if name.casefold() in {one.casefold() for one in question.looked_up}:
            raise refusal(
                f"{name!r} is the name of a CASE and of a column behind the view {question.table}",
                "Give the CASE another name.",
            )
    inside = question.renamed(lambda name: used[name][1])
    where = inside.where if view.where is None else view.where.also(inside.where)
    joined = replace(
        inside.called(first.name), where=where, qualified=view.qualified, joins=view.joins,
        owners=tuple(sorted(owners.items())),
    )  # fmt: skip
    bound = bind_joins(joined, {}, first.kinds, related, first.unit)
    return bound.bind(first.kinds, first.name), first.unit


@dataclass(frozen=True)
class _Behind:
    """The tables behind a view, by their names in one case."""

    view: JoinedView
    tables: Mapping[str, RelatedTable]

    def find(self, column: ColumnRead) -> tuple[str, str]:
        """Return the table of a column, and the column as it is spelled there."""
        owner = column.table
        if owner is None and self.view.shared is not None and column.name.casefold() == self.view.shared.casefold():
            owner = self.view.table
        if owner is not None:
            table = self.tables[owner.casefold()]
            return table.name, find_column(column.name, table.kinds)
        places = [
            self.tables[name.casefold()]
            for name in self.view.tables
            if column.name.casefold() in {one.casefold() for one in self.tables[name.casefold()].kinds}
        ]
        if len(places) != 1:
            which = "no table" if not places else "several tables"
            raise refusal(f"the view reads {column.name!r}, a column of {which} behind it", _ASK_TABLES)
        return places[0].name, find_column(column.name, places[0].kinds)

    def refuse_other_unit(self, view: str, unit: str, first: RelatedTable) -> None:
        """Refuse a unit that is not the one of the first table; an inner join has the same in its other tables."""
        table, column = self.find(self.view.column(unit))
        inner = {join.table.casefold() for join in self.view.joins if not join.outer} | {first.name.casefold()}
        if table.casefold() not in inner or column.casefold() != self.tables[table.casefold()].unit.casefold():
            raise refusal(
                f"{unit!r} of the view {view} is {table}.{column}, which does not name the people of its rows",
                f"Let the view select {first.name}.{first.unit}, and declare that column as its unit.",
            )
