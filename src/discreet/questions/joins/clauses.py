"""The joins of a question, read from its FROM clause: which tables, and on which columns.

What a joined table is, a public look-up or a table of the same people, is not written in SQL: the declaration of the
data set says it (:mod:`~.lookups`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...periods import Per
from ...report import Json
from ..conditions import bare, only, piece, refusal
from ..expressions import name_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

    from ..question import Question

#: Maximum number of joins in a question.
MAX_JOINS = 20

_FORM = "Write JOIN or LEFT JOIN and one pair of columns: LEFT JOIN regions ON visits.county = regions.county."


@dataclass(frozen=True)
class Join:
    """A table that a question joins.

    Attributes
    ----------
    table
        The joined table.
    other, column
        An earlier table of the question, and its column in the condition.
    key
        The column of the joined table in the condition.
    outer
        True for LEFT JOIN, which keeps rows without a match.
    qualified
        True if a schema precedes the name of the joined table.
    """

    table: str
    other: str
    column: str
    key: str
    outer: bool = True
    qualified: bool = False

    @property
    def text(self) -> str:
        """Normalised SQL."""
        table = table_text(self.table, self.qualified)
        left = f"{name_text(last_name(self.other))}.{name_text(self.column)}"
        right = f"{name_text(last_name(self.table))}.{name_text(self.key)}"
        return f"{'LEFT ' if self.outer else ''}JOIN {table} ON {left} = {right}"


@dataclass(frozen=True)
class RelatedTable:
    """A declared table of the same people.

    Attributes
    ----------
    name
        Its name, as it is declared.
    unit
        Its column that names people, as the table spells it.
    kinds
        Its columns, and the kind of each.
    per
        The period of its rows, by its own date column; None if the unit is the whole person.
    """

    name: str
    unit: str
    kinds: Mapping[str, str]
    per: Per | None = None


@dataclass(frozen=True)
class JoinedTable:
    """A table of the same people that a question joins, on the columns that name them.

    Attributes
    ----------
    join
        The join.
    columns
        The columns of the table that the question uses.
    per
        The period of its rows, by its own date column: rows meet in equal periods only. None without periods.
    """

    join: Join
    columns: tuple[str, ...]
    per: Per | None = None

    def to_json(self) -> dict[str, Json]:
        """Return what a request states about the table: its unit, its columns in use, and its period if it has one."""
        period: dict[str, Json] = {} if self.per is None else {"per": self.per.text}
        return {"unit": self.join.key, "columns": list(self.columns), **period}


def periods_of_tables(question: Question, per: Per | None) -> dict[str, Per]:
    """Return the tables of a question, and the period of each by its own date column; empty without periods."""
    if per is None:
        return {}
    return {question.table: per, **{one.join.table: one.per for one in question.tables if one.per is not None}}


def dates_in_words(question: Question, per: Per) -> str:
    """Return the columns that name the unit of each table: a person, and a period of the row's own date."""
    columns = [
        f"{one.join.table}.{one.join.key} in the {per.granularity} of {one.join.table}.{one.per.column}"
        for one in question.tables
        if one.per is not None
    ]
    first = f"{question.tables[0].join.column} in the {per.granularity} of {question.table}.{per.column}"
    return " = ".join([f"{question.table}.{first}", *columns])


def refuse_other_periods(question: Question, per: Per | None) -> None:
    """Refuse joined tables whose rows have other periods than those of the counted table, or none."""
    granularity = None if per is None else per.granularity
    for one in question.tables:
        if (None if one.per is None else one.per.granularity) != granularity:
            raise InvalidInput(
                f"the rows of {one.join.table} and of {question.table} have different periods.",
                "Declare one granularity for all tables, and the date column of each.",
                argument="per",
            )


def table_text(table: str, qualified: bool) -> str:
    """Return a table's name in normalised SQL; of a qualified one, schema and name apart."""
    return ".".join(map(name_text, table.split(".", 1) if qualified else [table]))


def last_name(table: str) -> str:
    """Return the name of a table without its schema."""
    return table.rpartition(".")[2]


@dataclass(frozen=True)
class TableName:
    """A table in FROM: its name, behind its schema if it has one, and the name that qualifies its columns."""

    name: str
    alias: str
    qualified: bool


def read_table_name(table: Expression) -> TableName:
    """Read the name of one table in FROM."""
    if type(table).__name__ == "Subquery":
        raise refusal("a subquery is not a table", "Ask the question of the table itself, with WHERE.")
    if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
        raise refusal(
            f"{piece(table)} is not a table's name", "Name one table; functions that read files are not accepted."
        )
    schema = table.args.get("db")
    if table.args.get("catalog") is not None:
        raise refusal(f"{piece(table)} names a database", "Write the table's name, behind its schema if it has one.")
    if table.args.get("sample"):
        raise refusal("a sample changes which rows are counted from one reading to the next", "Leave it out.")
    if table.args.get("joins") or table.args.get("laterals"):
        raise refusal("the joined tables stand in parentheses", _FORM)
    only(table, "this", "alias", "db")
    only(table.this, "this", "quoted")
    if not table.name or (schema is not None and not schema.name):
        raise refusal("the table has an empty name", "Name one table.")
    if schema is not None and "." in schema.name:
        raise refusal(f"the schema {piece(schema)} has a dot in its name", "Give it another name.")
    alias = str(table.name)
    if (renamed := table.args.get("alias")) is not None:
        only(renamed, "this")
        alias = str(renamed.name)
    name = str(table.name) if schema is None else f"{schema.name}.{table.name}"
    return TableName(name, alias, schema is not None)


def read_joins(nodes: Iterable[Expression], first: TableName) -> tuple[tuple[Join, ...], tuple[TableName, ...]]:
    """Read the joins of FROM; return them with the names of all tables."""
    tables: list[TableName] = [first]
    joins: list[Join] = []
    for node in nodes:
        table = read_table_name(node.this)
        if any(_alike(table.alias, other.alias) or _alike(table.name, other.name) for other in tables):
            raise refusal(f"the question joins {table.name!r} twice", "Join each table once.")
        joins.append(_read_join(node, table, tables))
        tables.append(table)
    if len(joins) > MAX_JOINS:
        raise refusal(f"{len(joins)} joins are too many", f"Join at most {MAX_JOINS} tables.")
    return tuple(joins), tuple(tables)


def _alike(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _read_join(node: Expression, table: TableName, earlier: list[TableName]) -> Join:
    side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
    if method or side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        what = " ".join(filter(None, (method, side, kind)))
        raise refusal(f"{what} JOIN is not accepted", _FORM)
    only(node, "this", "side", "kind", "on", "using")
    outer = side == "LEFT"
    using = node.args.get("using")
    if using:
        if len(using) != 1 or len(earlier) != 1:
            raise refusal("USING names one column of two tables", _FORM)
        return Join(table.name, earlier[0].name, str(using[0].name), str(using[0].name), outer, table.qualified)
    condition = node.args.get("on")
    if condition is None:
        raise refusal(f"{table.name} is joined without a condition, row by row with every row", _FORM)
    condition = bare(condition)
    sides = [bare(part) for part in (condition.this, condition.args.get("expression")) if part is not None and part]
    if type(condition).__name__ != "EQ" or len(sides) != 2 or any(type(one).__name__ != "Column" for one in sides):
        raise refusal(f"{piece(condition)} is not one pair of equal columns", _FORM)
    only(condition, "this", "expression")
    for one in sides:
        only(one, "this", "table")
        only(one.this, "this", "quoted")
        if one.args.get("table") is None:
            raise refusal(f"{piece(one)} does not say whose column it is", _FORM)
    keys = [one for one in sides if _alike(one.args["table"].name, table.alias)]
    others = [
        (place, one) for one in sides for place in earlier if _alike(one.args["table"].name, place.alias)
    ]  # fmt: skip
    if len(keys) != 1 or len(others) != 1:
        raise refusal(
            f"{piece(condition)} does not compare a column of {table.name} with one of a table before it", _FORM
        )
    place, other = others[0]
    return Join(table.name, place.name, str(other.this.name), str(keys[0].this.name), outer, table.qualified)


def read_owners(select: Expression, first: TableName) -> dict[str, str | None]:
    """Return the names of columns outside the joins' conditions (in one case) -> the table that qualifies each.

    None stands for a name that is nowhere qualified. A name that two tables qualify is refused.
    """
    from sqlglot.expressions import Column
    from sqlglot.expressions import Join as JoinNode

    tables = [first, *(read_table_name(node.this) for node in select.args.get("joins") or ())]
    by_alias = {table.alias.casefold(): table.name for table in tables}
    owners: dict[str, str | None] = {}
    for node in select.find_all(Column):
        if node.find_ancestor(JoinNode) is not None or type(node.this).__name__ != "Identifier":
            continue
        name, qualifier = node.this.name.casefold(), node.args.get("table")
        owner = None if qualifier is None else by_alias.get(qualifier.name.casefold())
        if owner is not None and owners.get(name) not in (None, owner):
            raise refusal(
                f"two tables have a column {node.this.name!r}, and the question uses both",
                "Use one of them, or give one another name in a view.",
            )
        owners[name] = owner or owners.get(name)
    return owners
