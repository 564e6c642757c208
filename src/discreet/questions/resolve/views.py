"""Views that are nothing but a choice of columns and rows of one table: read, judged, and replaced by their table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..conditions import Condition, column_name, only, piece, refusal
from ..question import Question, find_column
from ..select import judge_clauses, not_a_question, only_statement, table_of, too_deep, where_of


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
    table = table_of(node)
    if node.args.get("joins"):
        raise refusal("the view joins several tables", "Ask the question of its tables.")
    tables = frozenset({table.alias.lower()})
    where = where_of(node, tables)
    if len(node.expressions) == 1 and type(node.expressions[0]).__name__ == "Star" and headings is None:
        only(node.expressions[0])
        return TableView(table.name, where, None, table.qualified)
    names: list[tuple[str, str]] = []
    for place, item in enumerate(node.expressions):
        alias = None
        if type(item).__name__ == "Alias":
            only(item, "this", "alias")
            alias, item = item.alias, item.this
        if type(item).__name__ != "Column" or type(item.this).__name__ == "Star":
            raise refusal(
                f"the view computes or mixes in {piece(item)}",
                "A view may list columns (renamed), or be SELECT * alone.",
            )
        column = column_name(item, tables)
        names.append((headings[place] if headings is not None and place < len(headings) else alias or column, column))
    if len({name.casefold() for name, _ in names}) < len(names):
        raise refusal("the view has two columns of one name", "Give each its own name.")
    return TableView(table.name, where, tuple(names), table.qualified)


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
