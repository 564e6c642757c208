"""The question: what may be asked of a table, read from SQL.

One table, WHERE, GROUP BY and counts, because that is what can be protected: each row belongs to one group and
changes each count by at most one. Public look-ups may give its rows further columns. Everything else is refused with
the reason and what to write instead, before any data is touched. The SQL is parsed with sqlglot and rebuilt from parts
that are understood; nothing of the text itself reaches an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ..errors import arg
from ..wording import first_of, nearest
from .band_expressions import BAND_NODES, BandExpression
from .conditions import Condition, column_name, only, refusal
from .exclusion import most_together
from .expressions import name_text
from .joins.clauses import Join, JoinedTable, read_owners, table_text
from .joins.lookups import Lookup
from .levels import Levels, are_separate_tables, levels_text, refuse_stray_grouping
from .select import (
    count_condition,
    counts_distinct,
    group_columns,
    is_quantile,
    joins_of,
    judge_clauses,
    levels_of,
    not_a_question,
    only_statement,
    read_expression,
    read_named_expression,
    read_quantile_expression,
    table_of,
    too_deep,
    where_of,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

#: A quantile that is asked for: its column, and the share of people with at most this value.
QuantileRequest: TypeAlias = tuple[str, Fraction]

#: Maximum number of counts in a question.
MAX_COUNTS = 1_000


@dataclass(frozen=True)
class Aggregate:
    """One count: its heading in the published table, and which rows count (None: every row).

    ``distinct`` is true of COUNT(DISTINCT unit) in the text of a question. Where people are counted it is COUNT(*).
    """

    name: str
    condition: Condition | None
    distinct: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        """Normalised SQL, without the heading."""
        return "COUNT(*)" if self.condition is None else f"COUNT_IF({self.condition.text})"


@dataclass(frozen=True)
class Question:
    """Counts of the rows of one table, by group.

    ``table`` is the table's name, behind its schema and a dot if the name is ``qualified``. ``levels`` are the totals
    it asks for besides its groups (:mod:`~.levels`); none if it asks for the groups alone. ``bands`` are those that
    the text has for columns of ``by``, and ``headings`` their names there; a plan takes both out of the question and
    keeps them with the groups (:attr:`plain`). ``quantiles`` are found in its counts: for each the place of its column
    in ``by``, and the share. ``joins`` are the joins of its text that are not bound yet, and ``owners`` the columns
    that it qualifies with a table there; :mod:`~.resolve.bind` turns them into ``lookups``, to which the CASEs of its
    text belong (:mod:`~.joins.lookups`), and into ``tables`` of the same people.

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
    levels: Levels = ()
    bands: tuple[BandExpression | None, ...] = ()
    headings: tuple[str, ...] = ()
    quantiles: tuple[tuple[int, Fraction], ...] = ()
    joins: tuple[Join, ...] = ()
    owners: tuple[tuple[str, str | None], ...] = field(default=(), compare=False)
    lookups: tuple[Lookup, ...] = ()
    tables: tuple[JoinedTable, ...] = ()

    @property
    def plain(self) -> Question:
        """The question by columns alone."""
        return replace(self, bands=(), headings=(), quantiles=())

    @property
    def asks_separate_tables(self) -> bool:
        """True if GROUPING SETS has no set of all columns, so that each set is a table of its own."""
        return are_separate_tables(self.levels, len(self.by))

    @cached_property
    def text(self) -> str:
        """Normalised SQL of the whole question: equal for equal questions, and a question again when read."""
        counts = [
            count.text if count.name == _heading(place, count.condition) else f"{count.text} AS {name_text(count.name)}"
            for place, count in enumerate(self.aggregates)
        ]
        groups = [name_text(column) for column in self.by]
        cases = {one.name: one.text for one in self.lookups if one.join is None}
        selected = [cases.get(column, group) for column, group in zip(self.by, groups, strict=True)]
        where = "" if self.where is None else f" WHERE {self.where.text}"
        grouping = levels_text(self.levels, groups) if self.levels else ", ".join(groups)
        group_by = f" GROUP BY {grouping}" if groups else ""
        joins = [*self.joins, *(one.join for one in self.tables)]
        joins += [one.join for one in self.lookups if one.join is not None]
        source = " ".join([table_text(self.table, self.qualified), *(join.text for join in joins)])
        return f"SELECT {', '.join([*selected, *counts])} FROM {source}{where}{group_by}"

    @cached_property
    def columns(self) -> frozenset[str]:
        """All columns it looks at."""
        conditions = [self.where, *(count.condition for count in self.aggregates)]
        return frozenset(self.by).union(*(condition.columns for condition in conditions if condition is not None))

    @cached_property
    def looked_up(self) -> Mapping[str, str]:
        """The columns that look-ups give to its rows, and the kind of each."""
        return {column.name: column.kind for lookup in self.lookups for column in lookup.columns}

    @cached_property
    def joined_columns(self) -> Mapping[str, str]:
        """The columns of joined tables that it uses, and the table of each."""
        return {column: one.join.table for one in self.tables for column in one.columns}

    @cached_property
    def owners_of_columns(self) -> Mapping[str, str]:
        """All columns it looks at, and the table of each; of a looked-up column, the table that is looked up from."""
        lookups = {column.name: self.table_of_lookup(one) for one in self.lookups for column in one.columns}
        return {name: lookups.get(name) or self.joined_columns.get(name, self.table) for name in self.columns}

    def table_of_lookup(self, lookup: Lookup) -> str:
        """Return the table whose column is looked up."""
        return self.joined_columns.get(lookup.column, self.table) if lookup.join is None else lookup.join.other

    def stored_of(self, table: str) -> frozenset[str]:
        """Return the columns of one of its tables that are read, besides the one that names people."""
        names = {name for name, owner in self.owners_of_columns.items() if owner == table} - set(self.looked_up)
        return frozenset(names | {one.column for one in self.lookups if self.table_of_lookup(one) == table})

    @cached_property
    def stored_columns(self) -> frozenset[str]:
        """The columns of the counted table that are read, besides the one that names people."""
        return self.stored_of(self.table)

    @cached_property
    def most_at_once(self) -> int:
        """The most counts that one row can be part of: exclusive conditions are found, others are counted."""
        return max(1, most_together([count.condition for count in self.aggregates], self.where))

    def bind(self, columns: Iterable[str], table: str | None = None) -> Question:
        """Return the same question with each name spelled as the table spells it: exactly, or ignoring case if unique.

        Parameters
        ----------
        columns
            The table's columns.
        table
            The table's own spelling of its name, if known.
        """
        table_columns = list(columns)
        bound = self.renamed(lambda name: find_column(name, table_columns))
        return bound if table is None else bound.called(table)

    def called(self, table: str) -> Question:
        """Return the same question of the same table by another name."""

        def renamed(join: Join) -> Join:
            return replace(join, other=table) if join.other == self.table else join

        lookups = tuple(one if one.join is None else replace(one, join=renamed(one.join)) for one in self.lookups)
        tables = tuple(replace(one, join=renamed(one.join)) for one in self.tables)
        return replace(self, table=table, lookups=lookups, tables=tables)

    def renamed(self, names: Callable[[str], str]) -> Question:
        """Return the same question of a table whose columns have other names."""

        def new_name(name: str) -> str:
            return name if name in self.looked_up or name in self.joined_columns else names(name)

        by = tuple(new_name(column) for column in self.by)
        if len(set(by)) < len(by):
            raise refusal("GROUP BY names a column twice", "Name each column once.")
        aggregates = tuple(
            replace(count, condition=None if count.condition is None else count.condition.rename(new_name))
            for count in self.aggregates
        )
        where = None if self.where is None else self.where.rename(new_name)
        lookups = tuple(one.rename(names) if self.table_of_lookup(one) == self.table else one for one in self.lookups)
        tables = tuple(replace(one, join=replace(one.join, column=names(one.join.column))) for one in self.tables)
        return replace(self, where=where, by=by, aggregates=aggregates, lookups=lookups, tables=tables)


def find_column(name: str, columns: Iterable[str]) -> str:
    """Return the column meant by a name: the one spelled so, else the only one spelled so ignoring case.

    >>> find_column("Site", ["site", "year"])
    'site'
    """
    names = list(columns)
    if name in names:
        return name
    alike = [column for column in names if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise refusal(f"{name!r} could be any of the columns {', '.join(map(repr, alike))}", "Spell it exactly.")
    near = nearest(name, names)
    suggestion = f"Did you mean {near!r}? " if near else ""
    raise refusal(f"there is no column {name!r}", f"{suggestion}The columns are {first_of(names)}.")


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
    discreet.errors.InvalidInput: people is joined without a condition, row by row with every row. Write JOIN ...
    """
    try:
        return _read_question(sql, unit)
    except RecursionError:
        pass
    raise too_deep("a question")


def table_of_question(sql: str) -> str:
    """Return the name of the table that a question is about, as it is written there.

    >>> table_of_question("SELECT COUNT(*) FROM visits")
    'visits'
    """
    select = only_statement(sql, "a question")
    if type(select).__name__ != "Select":
        raise not_a_question(select)
    return table_of(select).name


def _read_question(sql: str, unit: str) -> Question:
    select = only_statement(sql, "a question")
    if type(select).__name__ != "Select":
        raise not_a_question(select)
    judge_clauses(select)
    table = table_of(select)
    joins, names = joins_of(select, table)
    where = where_of(select, names)
    by_alias = _named_expressions(select, names)
    named = {alias.casefold(): expression for alias, expression in by_alias.items()}
    by, bands = group_columns(select, names, named)
    levels = levels_of(select, names, by, named)
    headings = {band: alias for alias, band in by_alias.items() if isinstance(band, BandExpression)}
    selected_columns: list[str] = []
    counts: list[Aggregate] = []
    quantiles: list[QuantileRequest] = []
    for item in select.expressions:
        alias = None
        if type(item).__name__ == "Alias":
            only(item, "this", "alias")
            alias, item = item.alias, item.this
        if type(item).__name__ == "Column" and type(item.this).__name__ != "Star":
            column = column_name(item, names)
            if alias not in (None, column):
                raise refusal(
                    f"{column!r} is renamed to {alias!r}",
                    "A group column keeps its own name: leave out AS.",
                )
            selected_columns.append(column)
        elif type(item).__name__ in BAND_NODES:
            expression = by_alias[str(alias)] if alias is not None else read_expression(item, names, named)
            if isinstance(expression, Lookup):
                selected_columns.append(expression.name)
                continue
            if expression not in bands:
                raise refusal(f"{expression.text} is selected but not grouped", "Write the same in GROUP BY.")
            selected_columns.append(expression.column)
        elif type(item).__name__ in ("Grouping", "GroupingId"):
            refuse_stray_grouping(item, levels)  # every published row says its level
        elif is_quantile(item):
            quantiles.append(read_quantile_expression(item, names))
        else:
            condition = count_condition(item, names, unit)
            counts.append(Aggregate(alias or _heading(len(counts), condition), condition, counts_distinct(item)))
    if quantiles:
        if counts:
            raise refusal(
                "counts and quantiles are two questions: the counts of a quantile are by its column too",
                "Ask for the quantile alone; its counts are published with it.",
            )
        counts = [Aggregate(_heading(0, None), None)]
    _judge_selection(selected_columns, by, counts)
    question = Question(table.name, where, by, tuple(counts), table.qualified, levels)
    recodings = tuple(one for one in named.values() if isinstance(one, Lookup))
    if joins or recodings:
        owners = tuple(sorted(read_owners(select, table).items()))
        question = replace(question, joins=joins, owners=owners, lookups=recodings)
    if any(bands):
        pairs = zip(by, bands, strict=True)
        labels = tuple(name if band is None else headings.get(band, name) for name, band in pairs)
        question = replace(question, bands=bands, headings=labels)
    return with_quantiles(question, quantiles) if quantiles else question


def with_quantiles(question: Question, quantiles: Sequence[QuantileRequest]) -> Question:
    """Return a question that counts by the columns of these quantiles too, with the quantiles to find in its counts.

    >>> question = read_question("SELECT sex, COUNT(*) FROM people GROUP BY sex", unit="person")
    >>> question = with_quantiles(question, [("age", Fraction(1, 2))])
    >>> question.text, question.quantiles
    ('SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age', ((1, Fraction(1, 2)),))
    """
    by, places = list(question.by), []
    for column, share in quantiles:
        known = [name.casefold() for name in by]
        if column.casefold() not in known:
            by.append(column)
            known.append(column.casefold())
        places.append((known.index(column.casefold()), share))
    added = len(by) - len(question.by)
    if added and question.levels:
        raise refusal(
            "totals in the question do not go with quantiles of another column",
            f"Group by its columns alone, and ask for {arg('totals', ','.join(question.by))}.",
        )
    bands = (*question.bands, *(None,) * added) if question.bands else ()
    headings = (*question.headings, *by[len(question.by) :]) if question.headings else ()
    places = [*dict.fromkeys((*question.quantiles, *places))]
    return replace(question, by=tuple(by), bands=bands, headings=headings, quantiles=tuple(places))


def _named_expressions(select: Expression, names: frozenset[str]) -> dict[str, BandExpression | Lookup]:
    """Return the bands and recodings among what is selected that have a name of their own."""
    aliases = [item for item in select.expressions if type(item).__name__ == "Alias"]
    return {
        str(item.alias): read_named_expression(item.this, str(item.alias), names)
        for item in aliases
        if type(item.this).__name__ in BAND_NODES
    }


def _heading(place: int, condition: Condition | None) -> str:
    """Return the heading of a count that was given none: what it is and, from the second on, its place."""
    return ("count" if condition is None else "count_if") + ("" if place == 0 else f"_{place + 1}")


def _judge_selection(selected_columns: list[str], by: tuple[str, ...], counts: list[Aggregate]) -> None:
    for column in selected_columns:
        if column.casefold() not in {name.casefold() for name in by}:
            raise refusal(
                f"{column!r} is selected but not grouped, which would publish people's values", "Add it to GROUP BY."
            )
    for column in by:
        if column.casefold() not in {name.casefold() for name in selected_columns}:
            raise refusal(
                f"{column!r} is grouped but not selected, so readers could not distinguish its counts",
                "Select it as well.",
            )
    if len(selected_columns) > len(by):
        raise refusal("a column is selected twice", "Select each column once.")
    if not counts:
        raise refusal("the question counts nothing", "Select COUNT(*).")
    if len(counts) > MAX_COUNTS:
        raise refusal(f"{len(counts)} counts are too many", f"Ask for at most {MAX_COUNTS}, or use GROUP BY.")
    headings = [name.casefold() for name in (*by, *(count.name for count in counts))]
    for heading in headings:
        if headings.count(heading) > 1:
            raise refusal(f"two columns of the result have the name {heading!r}", "Name the counts with AS.")
