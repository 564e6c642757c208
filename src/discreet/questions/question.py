"""The question: what may be asked of a table, read from SQL.

One table, WHERE, GROUP BY and counts, because that is what can be protected: each row belongs to one group and
changes each count by at most one. Everything else is refused with the reason and what to write instead, before any
data is touched. The SQL is parsed with sqlglot and rebuilt from parts that are understood; nothing of the text itself
reaches an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ..errors import InvalidInput, InWords
from ..names import nearest
from ..wording import first_of
from .conditions import Condition, bare, column_name, only, read_condition, refused, shown
from .exclusion import most_together
from .expressions import Missing, Term, name_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

#: What a question may be long: hostile input must not keep the reader busy.
LONGEST_SQL = 200_000
MOST_COUNTS = 1_000


@dataclass(frozen=True)
class Aggregate:
    """One count: its heading in the published table, and which rows count (None: every row)."""

    name: str
    condition: Condition | None

    @property
    def text(self) -> str:
        """Normalised SQL, without the heading."""
        return "COUNT(*)" if self.condition is None else f"COUNT_IF({self.condition.text})"


@dataclass(frozen=True)
class Question:
    """Counts of the rows of one table, by group.

    ``table`` is the table's name, behind its schema and a dot if the name is ``qualified``.

    Examples
    --------
    >>> question = read_question(
    ...     "select Site, count(*) from doctor_visits where year=1 group by Site", unit="person")
    >>> question.text
    'SELECT Site, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY Site'
    >>> question.bind(["person", "site", "year"]).by
    ('site',)
    """

    table: str
    where: Condition | None
    by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    qualified: bool = False

    @cached_property
    def text(self) -> str:
        """Normalised SQL of the whole question: equal for equal questions, and a question again when read."""
        counts = [
            count.text if count.name == _heading(place, count.condition) else f"{count.text} AS {name_text(count.name)}"
            for place, count in enumerate(self.aggregates)
        ]
        groups = [name_text(column) for column in self.by]
        where = "" if self.where is None else f" WHERE {self.where.text}"
        grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
        named = self.table.split(".", 1) if self.qualified else [self.table]
        return f"SELECT {', '.join([*groups, *counts])} FROM {'.'.join(map(name_text, named))}{where}{grouped}"

    @cached_property
    def columns(self) -> frozenset[str]:
        """All columns it looks at."""
        conditions = [self.where, *(count.condition for count in self.aggregates)]
        return frozenset(self.by).union(*(condition.columns for condition in conditions if condition is not None))

    @cached_property
    def most_at_once(self) -> int:
        """The most counts that one row can be part of: exclusive conditions are found, others are counted."""
        return max(1, most_together([count.condition for count in self.aggregates], self.where))

    def bind(self, columns: Iterable[str], table: str | None = None) -> Question:
        """The same question with each name spelled as the table spells it: exactly, or ignoring case if unique.

        Parameters
        ----------
        columns
            The table's columns.
        table
            The table's own spelling of its name, if known.
        """
        known = list(columns)
        bound = self._renamed(lambda name: find_column(name, known))
        return bound if table is None else replace(bound, table=table)

    def _renamed(self, names: Callable[[str], str]) -> Question:
        by = tuple(names(column) for column in self.by)
        if len(set(by)) < len(by):
            raise refused("GROUP BY names a column twice", "Name each column once.")
        aggregates = tuple(
            Aggregate(count.name, None if count.condition is None else count.condition.renamed(names))
            for count in self.aggregates
        )
        where = None if self.where is None else self.where.renamed(names)
        return replace(self, where=where, by=by, aggregates=aggregates)


def find_column(name: str, columns: Iterable[str]) -> str:
    """The column meant by a name: the one spelled so, else the only one spelled so ignoring case.

    >>> find_column("Site", ["site", "year"])
    'site'
    """
    known = list(columns)
    if name in known:
        return name
    alike = [column for column in known if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise refused(f"{name!r} could be any of the columns {', '.join(map(repr, alike))}", "Spell it exactly.")
    near = nearest(name, known)
    meant = f"Did you mean {near!r}? " if near else ""
    raise refused(f"there is no column {name!r}", f"{meant}The columns are {first_of(known)}.")


def read_question(sql: str, *, unit: str) -> Question:
    """Read a question from SQL, or say what cannot be protected in it and what to write instead.

    Parameters
    ----------
    sql
        One SELECT in DuckDB's SQL.
    unit
        Whose data is protected: ``"row"``, or the name of the column that tells people apart.

    Examples
    --------
    >>> read_question("SELECT COUNT(*) FROM visits, people", unit="row")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: a question is asked of one table; this one joins several. Join them beforehand...
    """
    try:
        return _read_question(sql, unit)
    except RecursionError:
        pass
    raise _too_deep("a question")


def _read_question(sql: str, unit: str) -> Question:
    select = _only_statement(sql, "a question")
    if type(select).__name__ != "Select":
        raise _no_question(select)
    _judge_clauses(select)
    table, names, qualified = _table(select)
    where = _where(select, names)
    by = _group_by(select, names)
    selected: list[str] = []
    counts: list[Aggregate] = []
    for item in select.expressions:
        alias = None
        if type(item).__name__ == "Alias":
            only(item, "this", "alias")
            alias, item = item.alias, item.this
        if type(item).__name__ == "Column" and type(item.this).__name__ != "Star":
            column = column_name(item, names)
            if alias not in (None, column):
                raise refused(
                    f"{column!r} is renamed to {alias!r}",
                    "A group column keeps its own name: leave out AS.",
                )
            selected.append(column)
        else:
            condition = _count(item, names, unit)
            counts.append(Aggregate(alias or _heading(len(counts), condition), condition))
    _judge_selection(selected, by, counts)
    return Question(table, where, by, tuple(counts), qualified)


@dataclass(frozen=True)
class View:
    """A view that is nothing but a choice of columns and rows of one table.

    ``names`` maps the view's columns to the table's; None: all columns under their own names. The table is named as in
    a :class:`Question`.
    """

    table: str
    where: Condition | None
    names: tuple[tuple[str, str], ...] | None
    qualified: bool = False

    def column(self, name: str) -> str:
        """The table's column behind a column of the view."""
        if self.names is None:
            return name
        return dict(self.names)[find_column(name, [own for own, _ in self.names])]


def read_view(view_sql: str) -> View:
    """Read a view's definition (``CREATE VIEW ... AS SELECT ...`` or the SELECT alone).

    >>> read_view("CREATE VIEW adults AS SELECT id AS person, age FROM people WHERE age >= 18;").column("person")
    'id'
    """
    try:
        return _read_view(view_sql)
    except RecursionError:
        pass
    raise _too_deep("a view")


def _read_view(view_sql: str) -> View:
    node = _only_statement(view_sql, "a view")
    headings: list[str] | None = None
    if type(node).__name__ == "Create":
        only(node, "this", "kind", "expression", "replace", "properties", "exists")
        if str(node.args.get("kind")).upper() != "VIEW":
            raise _no_question(node)
        if type(node.this).__name__ == "Schema":
            headings = [str(heading.name) for heading in node.this.expressions]
        node = node.expression
    if type(node).__name__ != "Select":
        raise refused("the view is not a plain SELECT", "Ask the question of its tables, one at a time.")
    _judge_clauses(node)
    if node.args.get("group") is not None:
        raise refused("the view is grouped: its rows are no longer people's rows", "Ask the question of its table.")
    table, tables, qualified = _table(node)
    where = _where(node, tables)
    if len(node.expressions) == 1 and type(node.expressions[0]).__name__ == "Star" and headings is None:
        only(node.expressions[0])
        return View(table, where, None, qualified)
    names: list[tuple[str, str]] = []
    for place, item in enumerate(node.expressions):
        alias = None
        if type(item).__name__ == "Alias":
            only(item, "this", "alias")
            alias, item = item.alias, item.this
        if type(item).__name__ != "Column" or type(item.this).__name__ == "Star":
            raise refused(
                f"the view computes or mixes in {shown(item)}",
                "A view may list columns (renamed), or be SELECT * alone.",
            )
        column = column_name(item, tables)
        names.append((headings[place] if headings is not None and place < len(headings) else alias or column, column))
    if len({own.casefold() for own, _ in names}) < len(names):
        raise refused("the view has two columns of one name", "Give each its own name.")
    return View(table, where, tuple(names), qualified)


def expand_view(question: Question, view_sql: str) -> Question:
    """The question asked of a view, as a question of the table behind it; the view is judged by the same rules.

    Group columns then have the table's names, in the same order; counts keep their headings.

    >>> question = read_question("SELECT sex, COUNT(*) FROM adults GROUP BY sex", unit="id")
    >>> expand_view(question, "CREATE VIEW adults AS SELECT id, gender AS sex FROM people WHERE age >= 18").text
    'SELECT gender, COUNT(*) FROM people WHERE age >= 18 GROUP BY gender'
    """
    view = read_view(view_sql)
    inside = question._renamed(view.column)
    where = inside.where if view.where is None else view.where.also(inside.where)
    return replace(inside, table=view.table, where=where, qualified=view.qualified)


def _heading(place: int, condition: Condition | None) -> str:
    """The heading of a count that was given none: what it is and, from the second on, its place."""
    return ("count" if condition is None else "count_if") + ("" if place == 0 else f"_{place + 1}")


def _only_statement(sql: str, what: str) -> Expression:
    """Parse text that holds one statement. Its own words in errors are the request's, never the data's."""
    if not isinstance(sql, str):
        raise InvalidInput.must_be(what, "a text of SQL", InWords(type(sql).__name__))
    if len(sql) > LONGEST_SQL:
        raise refused(f"{what} of {len(sql)} characters is too long", f"Keep it under {LONGEST_SQL} characters.")
    if "\0" in sql or any(0xD800 <= ord(letter) <= 0xDFFF for letter in sql):
        raise refused(f"{what} holds an invalid character", "Leave it out.")
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    where: str | None = None
    try:
        # a remark after the last semicolon is a statement of its own to the parser
        parsed = [one for one in parse(sql, read="duckdb") if one is not None]
        statements = [one for one in parsed if type(one).__name__ != "Semicolon"]
    except SqlglotError as error:
        first: dict[str, Any] = (getattr(error, "errors", None) or [{}])[0]
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    if where is not None:
        raise refused(
            f"{what} cannot be read as SQL{where}",
            "Write it like SELECT site, COUNT(*) FROM visits WHERE year = 1 GROUP BY site.",
        )
    if len(statements) != 1:
        raise refused(f"{what} is one statement; got {len(statements)}", "Ask one question at a time.")
    return cast("Expression", statements[0])


def _too_deep(what: str) -> InvalidInput:
    return refused(f"{what} is nested too deeply to be read", "Write it with fewer parentheses, or use IN and BETWEEN.")


def _no_question(node: Expression) -> InvalidInput:
    if type(node).__name__ in ("Union", "Intersect", "Except", "Subquery"):
        return refused("a question is one SELECT, not several put together", "Ask each as its own question.")
    return refused(
        "only SELECT questions can be answered",
        "Write one SELECT with counts: SELECT site, COUNT(*) FROM visits GROUP BY site.",
    )


#: The clauses of SELECT that are refused, why, and what to do instead. Those not named here are refused all the same.
_CLAUSES = {
    "joins": ("a question is asked of one table; this one joins several", "Join them beforehand, into one table."),
    "laterals": ("a question is asked of one table; this one joins several", "Join them beforehand, into one table."),
    "with_": ("WITH makes a table out of a query", "Ask the question of the table itself."),
    "distinct": ("SELECT DISTINCT would hide groups of equal count", "Leave out DISTINCT."),
    "having": ("HAVING chooses groups by their true counts", "Leave it out; choose among the noisy counts afterwards."),
    "qualify": ("QUALIFY chooses rows by other rows", "Leave it out."),
    "order": ("ORDER BY has no place here: groups come in the order in which they are declared", "Leave it out."),
    "limit": ("LIMIT chooses groups by their place in the data", "Leave it out; every declared group is published."),
    "offset": ("OFFSET chooses groups by their place in the data", "Leave it out; every declared group is published."),
    "sample": ("a sample changes which rows are counted from one reading to the next", "Leave it out."),
    "windows": ("a window makes one row's value depend on other rows", "Leave it out."),
}


def _judge_clauses(select: Expression) -> None:
    for clause, (why, instead) in _CLAUSES.items():
        if select.args.get(clause):
            raise refused(why, instead)
    only(select, "expressions", "from_", "where", "group")


def _table(select: Expression) -> tuple[str, frozenset[str], bool]:
    """The table, the names that may stand before its columns (in lower case), and whether it stands behind a schema."""
    source = select.args.get("from_")
    if source is None:
        raise refused("the question names no table", "Add FROM and the table's name.")
    only(source, "this")
    table = source.this
    if type(table).__name__ == "Subquery":
        raise refused("a subquery is not a table", "Ask the question of the table itself, with WHERE.")
    if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
        raise refused(
            f"{shown(table)} is not a table's name", "Name one table; functions that read files are not accepted."
        )
    schema = table.args.get("db")
    if table.args.get("catalog") is not None:
        raise refused(f"{shown(table)} names a database", "Write the table's name, behind its schema if it has one.")
    for clause in ("joins", "laterals", "sample"):
        if table.args.get(clause):
            raise refused(*_CLAUSES[clause])
    only(table, "this", "alias", "db")
    only(table.this, "this", "quoted")
    if not table.name or (schema is not None and not schema.name):
        raise refused("the table has an empty name", "Name one table.")
    if schema is not None and "." in schema.name:
        raise refused(f"the schema {shown(schema)} has a dot in its name", "Give it another name.")
    names = frozenset({table.name})
    if (alias := table.args.get("alias")) is not None:
        only(alias, "this")
        names = frozenset({alias.name})
    names = frozenset(name.lower() for name in names)
    return (str(table.name), names, False) if schema is None else (f"{schema.name}.{table.name}", names, True)


def _where(select: Expression, names: frozenset[str]) -> Condition | None:
    where = select.args.get("where")
    if where is None:
        return None
    only(where, "this")
    return read_condition(where.this, names)


def _group_by(select: Expression, names: frozenset[str]) -> tuple[str, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    if group.args.get("all"):
        raise refused("GROUP BY ALL does not say by what", "Name the columns.")
    if any(group.args.get(part) for part in ("totals", "rollup", "cube", "grouping_sets")):
        raise refused(
            "ROLLUP, CUBE and GROUPING SETS count each row several times", "Add up the published cells instead."
        )
    only(group, "expressions")
    by: list[str] = []
    for item in group.expressions:
        item = bare(item)
        if type(item).__name__ in ("Rollup", "Cube", "GroupingSets"):
            raise refused(
                "ROLLUP, CUBE and GROUPING SETS count each row several times", "Add up the published cells instead."
            )
        if type(item).__name__ != "Column":
            raise refused(
                f"GROUP BY {shown(item)} is not by a column", "Name the columns, or add a column to the table."
            )
        by.append(column_name(item, names))
    if len({column.casefold() for column in by}) < len(by):
        raise refused("GROUP BY names a column twice", "Name each column once.")
    return tuple(by)


def _count(item: Expression, names: frozenset[str], unit: str) -> Condition | None:
    """The condition under which a row counts in a selected item; None for every row."""
    name = type(item).__name__
    if name == "Filter":
        only(item, "this", "expression")
        only(item.expression, "this")
        filtered = read_condition(item.expression.this, names)
        inner = _count(item.this, names, unit)
        return filtered if inner is None else inner.also(filtered)
    if name == "CountIf":
        only(item, "this")
        return read_condition(item.this, names)
    if name == "Count":
        return _count_of(item, names, unit)
    if name == "Sum":
        only(item, "this")
        inside = bare(item.this)
        if type(inside).__name__ in ("Case", "If"):
            return _case(inside, names, zero=True)
        if type(inside).__name__ in _TESTS:
            return read_condition(inside, names)
        raise refused(
            f"{shown(item)} adds up a column, and one person's value (such as a survey weight) has no public bound, "
            "so no noise could hide it",
            "Count instead: COUNT(*), or COUNT_IF(condition); a column of yes and no is COUNT_IF(column).",
        )
    if name == "Star" or (name == "Column" and type(item.this).__name__ == "Star"):
        raise refused("* selects people's rows", "Select the group columns and COUNT(*).")
    if name == "Window":
        raise refused("a window makes one row's value depend on other rows", "Leave out OVER, and use GROUP BY.")
    if name in ("Avg", "Min", "Max", "Median", "Quantile", "Stddev", "Variance"):
        raise refused(
            f"{shown(item)} is not a count, and one person's value has no public bound",
            "Count ranges of the column: COUNT_IF(age BETWEEN 0 AND 17).",
        )
    raise refused(
        f"{shown(item)} is not a count",
        "Select group columns, COUNT(*), COUNT(DISTINCT unit), COUNT_IF or SUM(condition).",
    )


#: Nodes that are conditions, so that their SUM is a count.
_TESTS = frozenset(
    {"EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NullSafeEQ", "NullSafeNEQ", "Like", "ILike", "Between", "In", "Is",
     "And", "Or", "Not"}
)  # fmt: skip


def _count_of(item: Expression, names: frozenset[str], unit: str) -> Condition | None:
    only(item, "this", "big_int")
    inside = None if item.this is None else bare(item.this)
    name = type(inside).__name__
    if inside is None:
        return None
    if name == "Star":
        only(inside)
        return None
    if name == "Literal" and not inside.args.get("is_string") and inside.this == "1":
        return None
    if name == "Distinct":
        only(inside, "expressions")
        columns = inside.expressions
        people = len(columns) == 1 and type(columns[0]).__name__ == "Column" and unit != "row"
        if people and column_name(columns[0], names).casefold() == unit.casefold():
            return None  # at most one row of a person is kept in a group, so people and rows are one count
        raise refused(
            f"{shown(item)} counts distinct values of something other than the privacy unit",
            "Write COUNT(*), or COUNT(DISTINCT unit) with the column given as the unit.",
        )
    if name == "Column" and type(inside.this).__name__ != "Star":
        return Condition(Missing(Term("", column_name(inside, names)), missing=False))
    if name in ("Case", "If"):
        return _case(inside, names, zero=False)
    raise refused(
        f"{shown(item)}counts the rows where the condition is known, not where it is true",
        "Write COUNT(*), COUNT(column), or COUNT_IF(condition).",
    )


def _case(node: Expression, names: frozenset[str], zero: bool) -> Condition:
    """CASE WHEN condition THEN 1 [ELSE 0] END; in COUNT, where 0 would count as well, without ELSE."""
    wanted = "SUM(CASE WHEN condition THEN 1 ELSE 0 END)" if zero else "COUNT(CASE WHEN condition THEN 1 END)"
    if type(node).__name__ == "Case":
        only(node, "ifs", "default")
        branches, other = node.args["ifs"], node.args.get("default")
    else:
        only(node, "this", "true", "false")
        branches, other = [node], node.args.get("false")
    if len(branches) == 1:
        branch = branches[0]
        only(branch, "this", "true", *(["false"] if branch is node else []))
        one, rest = branch.args.get("true"), "NULL" if other is None else other.sql("duckdb")
        if one is not None and one.sql("duckdb") == "1" and rest in ({"0", "NULL"} if zero else {"NULL"}):
            return read_condition(branch.this, names)
    raise refused(
        f"{shown(node)} does not add 1 for each row that meets a condition", f"Write {wanted}, or COUNT_IF(condition)."
    )


def _judge_selection(selected: list[str], by: tuple[str, ...], counts: list[Aggregate]) -> None:
    for column in selected:
        if column.casefold() not in {name.casefold() for name in by}:
            raise refused(
                f"{column!r} is selected but not grouped, which would publish people's values", "Add it to GROUP BY."
            )
    for column in by:
        if column.casefold() not in {name.casefold() for name in selected}:
            raise refused(
                f"{column!r} is grouped but not selected, so readers could not tell its counts apart",
                "Select it as well.",
            )
    if len(selected) > len(by):
        raise refused("a column is selected twice", "Select each column once.")
    if not counts:
        raise refused("the question counts nothing", "Select COUNT(*).")
    if len(counts) > MOST_COUNTS:
        raise refused(f"{len(counts)} counts are too many", f"Ask for at most {MOST_COUNTS}, or use GROUP BY.")
    headings = [name.casefold() for name in (*by, *(count.name for count in counts))]
    for heading in headings:
        if headings.count(heading) > 1:
            raise refused(f"two columns of the result have the name {heading!r}", "Name the counts with AS.")
