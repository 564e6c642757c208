"""Joins of tables of the same people, in SQL that all engines understand.

**The rule.** A question of joined tables counts the rows of their join on the columns that name people, as if it was
one table. A joined row belongs to one person, because units are equal only where their texts are, byte for byte. So two
data sets that differ in one person differ in the joined rows of that person, and people are bounded as always.
With periods the unit of each table is the pair of a person and the period of the row, by the table's own date
column: the one text that names the pair is compared, so a row meets the rows of the same month only.

**Before it is joined, each table is reduced** to the distinct combinations of what the question needs to know of a row:
the person, the number of the row's group among the values that are declared for the table's own columns, and which
conditions hold. Equal rows of a person count once in any case, and how many combinations there are is public: a person
with a hundred thousand rows in each of two tables has few joined rows.

**Events** are joined rows, so each combination has its multiplicity, saturated at the cap c, and a joined row stands
for the product, saturated at c again. A count is then min(c, sum of those products), which is what min(c, number of
joined rows) is: min(c, a b) = min(c, min(c, a) min(c, b)) for positive whole numbers (where a factor is c or more, both
sides are c; else nothing is cut off), and min(c, a + b) = min(c, min(c, a) + min(c, b)) likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...errors import InvalidInput
from ...periods import Per
from ...questions.conditions import Condition
from ...questions.domains import has_rest
from ...questions.expressions import AndOr, Compare, Literal, Member, Missing, SqlTerm, Test, join_tests
from ...questions.groups import TOTAL, Groups
from ...questions.joins.clauses import Join
from ...questions.question import Aggregate, Question
from ..base import ROW, Counting
from ..dialect import Dialect
from ..grouping import Declared, conditions_sql, group_keys, unit_sql, where_sql
from .lookup import looked_up

#: A function from what is read of one table to the same by the columns as they are read, a FROM item and its kinds.
RowsOf = Callable[[Counting], tuple[Counting, str, Mapping[str, str]]]

#: Maximum number of joined rows for each row of a table that is joined as it stands; beyond it, all are reduced.
_MAX_FACTOR = 64


@dataclass(frozen=True)
class PartCounting(Counting):
    """What a question reads of one of its tables: its group columns, and conditions that need no other table."""

    def __post_init__(self) -> None:
        """Check nothing: the whole question was checked."""


@dataclass(frozen=True)
class _JoinedCounting(Counting):
    """A question of joined rows, whose groups are numbers of groups of each table.

    ``has_bands`` is true if the question has bands, on which the choice of a person's one group depends. Where events
    are counted, the column ``m`` is the number of joined rows that a row stands for, saturated at ``max_rows``.
    """

    has_bands: bool = False

    @property
    def multiplicity(self) -> str | None:
        return None if self.max_rows is None else "m"

    @property
    def uses_hashed_choice(self) -> bool:
        return self.unit != ROW and self.max_groups == 1 and self.has_bands


@dataclass
class _TablePart:
    """One table of a question.

    Attributes
    ----------
    join
        Its join; None for the counted table.
    per
        The period of its rows, by its own date column; None if the unit is the whole person.
    places
        The positions of its columns among those that the question groups by.
    where
        Conditions that its rows must meet, before they are joined.
    tests
        Further tests of its rows, by the names of their results.
    """

    table: str
    unit: str
    join: Join | None
    per: Per | None
    places: list[int] = field(default_factory=list)
    where: list[Test] = field(default_factory=list)
    tests: dict[str, Test] = field(default_factory=dict)

    @property
    def outer(self) -> bool:
        return self.join is not None and self.join.outer


class _Split:
    """A question of joined tables, split into what is read of each."""

    def __init__(self, counting: Counting) -> None:
        question = counting.question
        self.counting = counting
        self.owners = question.owners_of_columns
        self.parts = {question.table: _TablePart(question.table, counting.unit, None, counting.per)}
        for one in question.tables:
            self.parts[one.join.table] = _TablePart(one.join.table, one.join.key, one.join, one.per)
        self._names: dict[tuple[str, Test], str] = {}
        for place, column in enumerate(question.by):
            self.parts[self.owners[column]].places.append(place)
        self.where = self._where(question.where)
        self.aggregates = tuple(
            Aggregate(one.name, None if one.condition is None else Condition(self._joined(one.condition.test)))
            for one in question.aggregates
        )

    def _where(self, where: Condition | None) -> Condition | None:
        """Return the part of WHERE that is decided on joined rows; the rest goes to the tables."""
        if where is None:
            return None
        tests = where.test.parts if isinstance(where.test, AndOr) and where.test.word == "AND" else (where.test,)
        rest = []
        for test in tests:
            table = self._table_of(test)
            if table is None or self.parts[table].outer:
                rest.append(self._joined(test))
            else:
                self.parts[table].where.append(test)
        return Condition(join_tests("AND", rest)) if rest else None

    def _table_of(self, test: Test) -> str | None:
        """Return the table that a test reads; None if it reads several."""
        tables = {self.owners[column] for column in Condition(test).columns}
        return tables.pop() if len(tables) == 1 else None

    def _joined(self, test: Test) -> Test:
        """Return a test of joined rows, in terms of tests of one table each."""
        table = self._table_of(test)
        if table is not None:
            name = self._names.setdefault((table, test), f"q{len(self._names)}")
            self.parts[table].tests[name] = test
            return Compare(SqlTerm("", name), "=", Literal("BOOLEAN", True))
        if isinstance(test, AndOr):
            return join_tests(test.word, [self._joined(part) for part in test.parts])
        raise InvalidInput(f"{test.text} compares columns of two tables.", "Compare columns of one table.")

    def counting_of(self, part: _TablePart) -> PartCounting:
        """Return what is read of one table."""
        question, groups = self.counting.question, self.counting.groups
        lookups = tuple(one for one in question.lookups if question.table_of_lookup(one) == part.table)
        by = tuple(question.by[place] for place in part.places)
        aggregates = tuple(Aggregate(name, Condition(test)) for name, test in part.tests.items())
        where = Condition(join_tests("AND", part.where)) if part.where else None
        part_question = Question(part.table, where, by, aggregates, "." in part.table, lookups=lookups)
        if part.outer:
            _refuse_on_outer(part_question, part)
        return PartCounting(
            part_question, _groups_of(groups, part.places), part.unit, 1, self.counting.key, per=part.per
        )


def _groups_of(groups: Groups, places: Sequence[int]) -> Groups:
    """Return the groups of some columns: every combination of their values."""
    if not places:
        return TOTAL
    bands = tuple(groups.bands[place] for place in places) if groups.bands else ()
    return Groups(
        tuple(groups.columns[place] for place in places),
        tuple(groups.kinds[place] for place in places),
        tuple(groups.values[place] for place in places),
        bands=bands if any(bands) else (),
    )


def _refuse_on_outer(question: Question, part: _TablePart) -> None:
    """Refuse what has no plain answer for a person who has no row in a table of a LEFT JOIN."""
    for lookup in question.lookups:
        if lookup.keys is not None:
            raise InvalidInput(
                f"{lookup.file_name} is joined with {part.table}, which may have no row of a person.",
                f"Write LEFT JOIN {lookup.file_name}.",
            )
        if any(column.default is not None for column in lookup.columns):
            raise InvalidInput(
                f"ELSE in the CASE of {lookup.column} would count people without a row in {part.table}.",
                f"Leave out ELSE, or write JOIN {part.table}.",
            )
    for one in question.aggregates:
        assert one.condition is not None
        if not all(_never_fills_in(test) for test in _leaves(one.condition.test)):
            raise InvalidInput(
                f"COALESCE of a column of {part.table} would count people without a row there.",
                f"Write column = 'value' OR column IS NULL, or JOIN {part.table}.",
            )


def _leaves(test: Test) -> list[Compare | Member | Missing]:
    return [leaf for part in test.parts for leaf in _leaves(part)] if isinstance(test, AndOr) else [test]


def _never_fills_in(test: Compare | Member | Missing) -> bool:
    right = test.right if isinstance(test, Compare) else None
    return test.left.never_fills_in and not (isinstance(right, SqlTerm) and not right.never_fills_in)


def truth_of_missing(test: Test) -> bool | None:
    """Return whether a test holds where every column is NULL; None for neither. It has no COALESCE.

    >>> from sqlglot import parse_one
    >>> from ...questions.conditions import read_condition
    >>> tests = ["a = 1", "a IS NULL", "a IS DISTINCT FROM 1", "a = 1 OR b IS NULL", "a = 1 AND b IS NOT NULL"]
    >>> [truth_of_missing(read_condition(parse_one(sql, read="duckdb")).test) for sql in tests]
    [None, True, True, True, False]
    """
    if isinstance(test, AndOr):
        truths = [truth_of_missing(part) for part in test.parts]
        decisive = test.word == "OR"
        return decisive if decisive in truths else None if None in truths else not decisive
    if isinstance(test, Missing):
        return test.missing
    if isinstance(test, Compare) and test.op.startswith("IS"):
        return test.op == "IS DISTINCT FROM"
    return None


def refuse_unclear(counting: Counting) -> None:
    """Refuse a question of joined tables that has no plain meaning; a plan needs no data to tell."""
    if counting.question.tables:
        split = _Split(counting)
        for part in split.parts.values():
            split.counting_of(part)


def one_table(
    counting: Counting, rows_of: RowsOf, dialect: Dialect, declared: Declared
) -> tuple[Counting, str, Mapping[str, str]]:
    """Return a counting of one table that has the same counts, its FROM item, and the kind of each column.

    Parameters
    ----------
    counting
        The counts to make; of one table, what ``rows_of`` says of it is returned.
    rows_of
        What the engine reads of one table.
    declared
        Makes a table of public values in the engine.
    """
    if not counting.question.tables:
        return rows_of(counting)
    split = _Split(counting)
    parts = list(split.parts.values())
    countings = [split.counting_of(part) for part in parts]
    sizes = [(one.groups.size + 1) * 3 ** len(part.tests) for one, part in zip(countings, parts, strict=True)]
    as_it_stands = _joined_as_it_stands(sizes)
    sources, selected, factors, kinds = [], ["p0.u AS u"], [], {}
    for number, (part, one) in enumerate(zip(parts, countings, strict=True)):
        repeated = number == as_it_stands
        sql, unit_kind = _coded(
            one, part, number, rows_of, dialect, declared, distinct=not repeated, most=counting.max_rows
        )
        kinds["u"] = unit_kind
        if counting.max_rows is not None and not repeated:
            factors.append(f"COALESCE(p{number}.m, 1)" if part.outer else f"p{number}.m")
        if part.join is None:
            sources.append(f"({sql}) AS p0")
        else:
            left, right = (
                dialect.as_text(f"p{k}.u", "text") if unit_kind == "text" else f"p{k}.u" for k in (0, number)
            )
            sources.append(f"{'LEFT ' if part.outer else ''}JOIN ({sql}) AS p{number} ON {left} = {right}")
        selected += _joined_columns(part, one, number)
        kinds |= {f"g{number}": "integer"} if part.places else {}
        kinds |= dict.fromkeys(part.tests, "boolean")
    if counting.max_rows is not None:
        selected.append(f"{_saturated_product(factors, counting.max_rows)} AS m")
    rows = f"(SELECT {', '.join(selected)} FROM {' '.join(sources)}) AS joined_rows"
    return _of_joined_rows(split, parts, countings), rows, kinds


def _joined_as_it_stands(sizes: Sequence[int]) -> int | None:
    """Return the number of the table that is joined without being reduced; None if all are reduced.

    Each of its rows meets at most as many rows as there are combinations of the other tables, which is public. Of
    several such tables it is the one with most combinations, whose rows a reduction would leave the most of.

    >>> _joined_as_it_stands([1, 51]), _joined_as_it_stands([1001, 51]), _joined_as_it_stands([1001, 500])
    (1, 0, None)
    """
    few = [place for place in range(len(sizes)) if prod(sizes[:place]) * prod(sizes[place + 1 :]) <= _MAX_FACTOR]
    return max(few, key=lambda place: sizes[place], default=None)


def _saturated_product(factors: Sequence[str], most: int) -> str:
    """Return SQL of the product of whole numbers from 1 to ``most``, saturated at it after each step.

    Saturating the product at ``most`` gives min(most, the true product), although the factors were saturated before: a
    factor that was cut off is ``most``, and the others are at least one. No step exceeds the square of ``most``.

    >>> _saturated_product(["p0.m", "p1.m", "p2.m"], 5)
    'least(least(p0.m * p1.m, 5) * p2.m, 5)'
    """
    product = "1"
    for place, factor in enumerate(factors):
        product = f"least({product} * {factor}, {most})" if place else factor
    return product


def _coded(
    counting: PartCounting, part: _TablePart, number: int, rows_of: RowsOf, dialect: Dialect, declared: Declared, *,
    distinct: bool, most: int | None = None,
) -> tuple[str, str]:  # fmt: skip
    """Return SQL of a table's rows as ``u``, ``g`` and the results of its tests, and the kind of ``u``.

    If distinct, equal rows are one; with ``most``, ``m`` is then how many there are, saturated at it.
    """

    def declared_here(name: str, columns: Mapping[str, Sequence[object]], texts: frozenset[str]) -> str:
        unique = f"p{number}_{name}"  # each part has its own tables of declared values
        item = declared(unique, columns, texts)
        return f"{unique} AS {name}" if item == unique else item.replace(f" AS {unique}(", f" AS {name}(")

    read, rows, kinds = rows_of(counting)
    rows, kinds = looked_up(read, rows, kinds, dialect, declared_here)
    keys = group_keys(read, kinds, dialect, declared_here)
    unit = unit_sql(read, kinds, dialect)
    conditions = [
        f"({sql}) AS {name}" for sql, name in zip(conditions_sql(read, kinds, dialect), part.tests, strict=True)
    ]
    tests = list(unit.tests)
    if read.question.where is not None:
        tests.append(dialect.condition(read.question.where, kinds))
    inner = f"SELECT {', '.join([*keys.reads, *conditions, f'{unit.sql} AS u'])} FROM {rows}{where_sql(tests, dialect)}"
    group, joins, outside = keys.number, keys.joins, where_sql(keys.tests, dialect)
    if part.outer:  # a row outside the declared groups is still a row of the person
        joins = [join if join.startswith("LEFT ") else f"LEFT {join}" for join in joins]
        known = f"CASE WHEN {' AND '.join(keys.tests)} THEN {group} END" if keys.tests else group
        group, outside = f"COALESCE({known}, -1)", ""
    columns = ["u", *([f"{group} AS g"] if part.places else []), *part.tests]
    once = by = ""
    if distinct and most is None:
        once = "DISTINCT "
    elif distinct:
        by = f" GROUP BY {', '.join(map(str, range(1, len(columns) + 1)))}"
        columns.append(f"CAST(least(count(*), {most}) AS INTEGER) AS m")
    return f"SELECT {once}{', '.join(columns)} FROM ({inner}) AS read {' '.join(joins)}{outside}{by}", unit.kind


def _joined_columns(part: _TablePart, counting: PartCounting, number: int) -> list[str]:
    """Return what is selected of a table in the join; people without a row there have NULL in all its columns."""
    columns = {f"g{number}": ("g", str(_number_of_missing(counting.groups)))} if part.places else {}
    for name, test in part.tests.items():
        truth = truth_of_missing(test) if part.outer else None
        columns[name] = (name, "CAST(NULL AS BOOLEAN)" if truth is None else "TRUE" if truth else "FALSE")
    if not part.outer:
        return [f"p{number}.{column} AS {name}" for name, (column, _) in columns.items()]
    return [
        f"CASE WHEN p{number}.u IS NULL THEN {missing} ELSE p{number}.{column} END AS {name}"
        for name, (column, missing) in columns.items()
    ]


def _number_of_missing(groups: Groups) -> int:
    """Return the number of the group where every value is missing, or -1."""
    number = 0
    for values in groups.values:
        place = list(values).index(None) if None in values else len(values) - 1 if has_rest(values) else None
        if place is None:
            return -1
        number = number * len(values) + place
    return number


def _of_joined_rows(split: _Split, parts: Sequence[_TablePart], countings: Sequence[Counting]) -> Counting:
    """Return the counting of joined rows: by the number of each table's group, on the results of the tests."""
    counting = split.counting
    numbered = enumerate(zip(parts, countings, strict=True))
    grouped = [(number, part, one.groups) for number, (part, one) in numbered if part.places]
    by = tuple(f"g{number}" for number, _, _ in grouped)
    groups = TOTAL
    if by:
        in_order = [place for _, part, _ in grouped for place in part.places] == list(range(len(counting.question.by)))
        cells = None
        if counting.groups.cells is not None or not in_order:
            codes = counting.groups.codes()
            cells = np.stack([_numbers(codes[:, part.places], part_groups) for _, part, part_groups in grouped], axis=1)
        groups = Groups(
            by, ("integer",) * len(by), tuple(range(one.size) for _, _, one in grouped), cells, counting.groups.zeros
        )
    question = Question(counting.question.table, split.where, by, split.aggregates)
    return _JoinedCounting(
        question, groups, "u", counting.max_groups, counting.key, has_bands=counting.uses_hashed_choice,
        max_rows=counting.max_rows,
    )  # fmt: skip


def _numbers(codes: np.ndarray, groups: Groups) -> np.ndarray:
    """Return the number of the group for each row of positions in the values of its columns."""
    number = np.zeros(len(codes), dtype=np.int64)
    for column, values in enumerate(groups.values):
        number = number * len(values) + codes[:, column]
    return number
