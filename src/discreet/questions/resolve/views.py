"""Views that are nothing but a choice of columns and rows of one table: read, judged, and replaced by their table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..conditions import Condition, column_name, only, piece, refusal
from ..joins.clauses import read_table_name
from ..question import Question, find_column
from ..select import judge_clauses, not_a_question, only_statement, too_deep, where_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


@dataclass(frozen=True)
class TableView:
    """A view that is nothing but a choice of columns and rows of one table.

    ``names`` maps the view's columns to the table's; None: all columns under their own names. The table is named as in
    a :class:`Question`.
    """

    table: str
    where: Condition | None
    names: tuple[tuple[str, str], ...] | None
    qualified: bool = False

    def column(self, name: str) -> str:
        """Return the table's column behind a column of the view."""
        if self.names is None:
            return name
        return dict(self.names)[find_column(name, [alias for alias, _ in self.names])]


def read_view(view_sql: str) -> TableView:
    """Read a view's definition (``CREATE VIEW ... AS SELECT ...`` or the SELECT alone).

    >>> read_view("CREATE VIEW adults AS SELECT id AS person, age FROM people WHERE age >= 18;").column("person")
    'id'
    """
    try:
        return _read_view(view_sql)
    except RecursionError:
        pass
    raise too_deep("a view")


def _read_view(view_sql: str) -> TableView:
    node, headings = select_of_view(view_sql)
    source, joins = from_of_view(node)
    if joins:
        raise refusal(
            "the view joins several tables",
            "Ask the question of its tables, or declare them and the view in a dataset file: what is joined on the "
            "columns that name people is accepted.",
        )
    table = read_table_name(source)
    tables = frozenset({table.alias.lower()})
    where = where_of(node, tables)
    if len(node.expressions) == 1 and type(node.expressions[0]).__name__ == "Star" and headings is None:
        only(node.expressions[0])
        return TableView(table.name, where, None, table.qualified)
    names = tuple((name, column_name(item, tables)) for name, item in columns_of_view(node, headings, tables))
    return TableView(table.name, where, names, table.qualified)


def select_of_view(view_sql: str) -> tuple[Expression, list[str] | None]:
    """Return the judged SELECT of a view, and the names of its columns that precede it, if it has some."""
    node = only_statement(view_sql, "a view")
    headings: list[str] | None = None
    if type(node).__name__ == "Create":
        only(node, "this", "kind", "expression", "replace", "properties", "exists")
        if str(node.args.get("kind")).upper() != "VIEW":
            raise not_a_question(node)
        if type(node.this).__name__ == "Schema":
            headings = [str(heading.name) for heading in node.this.expressions]
        node = node.expression
    if type(node).__name__ != "Select":
        raise refusal("the view is not a plain SELECT", "Ask the question of its tables, one at a time.")
    judge_clauses(node)
    if node.args.get("group") is not None:
        raise refusal("the view is grouped: its rows are no longer people's rows", "Ask the question of its table.")
    return node, headings


def from_of_view(select: Expression) -> tuple[Expression, list[Expression]]:
    """Return the first table of FROM and the joins with it, in order.

    Engines print ``FROM ((a JOIN b ON ...) JOIN c ON ...)``, which is ``a JOIN b ON ... JOIN c ON ...``.
    """
    joins = list(select.args.get("joins") or ())
    source = select.args.get("from_")
    if source is None:
        raise refusal("the view names no table", "Ask the question of a table.")
    only(source, "this")
    source = source.this
    while type(source).__name__ == "Subquery" and type(source.this).__name__ in ("Subquery", "Table"):
        only(source, "this", "joins")
        joins = [*(source.args.get("joins") or ()), *joins]
        source = source.this
    if type(source).__name__ == "Table" and source.args.get("joins"):
        joins = [*source.args["joins"], *joins]
        source = source.copy()  # trees are shared, and only read
        source.set("joins", None)
    return source, joins


def columns_of_view(
    select: Expression, headings: list[str] | None, tables: frozenset[str]
) -> list[tuple[str, Expression]]:
    """Return the columns that a view selects, each with its name; ``tables`` may qualify them."""
    columns: list[tuple[str, Expression]] = []
    for place, item in enumerate(select.expressions):
        alias = None
        if type(item).__name__ == "Alias":
            only(item, "this", "alias")
            alias, item = item.alias, item.this
        if type(item).__name__ != "Column" or type(item.this).__name__ == "Star":
            raise refusal(
                f"the view computes or mixes in {piece(item)}",
                "A view may list columns (renamed), or be SELECT * of one table alone.",
            )
        column = column_name(item, tables)
        columns.append((headings[place] if headings is not None and place < len(headings) else alias or column, item))
    if len({name.casefold() for name, _ in columns}) < len(columns):
        raise refusal("the view has two columns of one name", "Give each its own name.")
    return columns


def expand_view(question: Question, view_sql: str) -> Question:
    """Return the question asked of a view, as a question of the table behind it; the view is judged by the same rules.

    Group columns then have the table's names, in the same order; counts keep their headings.

    >>> from ..question import read_question
    >>> question = read_question("SELECT sex, COUNT(*) FROM adults GROUP BY sex", unit="id")
    >>> expand_view(question, "CREATE VIEW adults AS SELECT id, gender AS sex FROM people WHERE age >= 18").text
    'SELECT gender, COUNT(*) FROM people WHERE age >= 18 GROUP BY gender'
    """
    view = read_view(view_sql)
    _refuse_shared(question, view)
    inside = question.renamed(view.column)
    where = inside.where if view.where is None else view.where.also(inside.where)
    return replace(inside.called(view.table), where=where, qualified=view.qualified)


def _refuse_shared(question: Question, view: TableView) -> None:
    """Refuse columns of the table behind a view that are called like a column from a joined table, a look-up or CASE.

    A question knows columns by their names alone, so that a condition of the view would read the other column.
    """
    behind = {view.column(name) for name in question.stored_columns}
    behind |= frozenset() if view.where is None else view.where.columns
    given = {name.casefold() for name in (*question.looked_up, *question.joined_columns)}
    for name in sorted(behind):
        if name.casefold() in given:
            raise refusal(
                f"{name!r} is a column of {view.table}, behind the view {question.table}, and of what is joined to it",
                "Give one of them another name.",
            )
