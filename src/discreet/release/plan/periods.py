"""The periods that a question reads, as they follow from its conditions alone.

A row outside WHERE changes no count, so a question whose WHERE holds for rows of some periods only tells nothing about
the others. Which periods these are follows from comparisons of the date column with dates: both read the column as a
day, in the same way. Everything else (other literals, functions, an end that is open) counts as no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from ...periods import Per, periods_between
from ...questions.conditions import Condition
from ...questions.expressions import AndOr, Compare, Literal, Member, SqlTerm, Test
from ...questions.question import Question

#: Maximum number of periods that a question is charged to by name; one that reads more is charged to all.
MAX_PERIODS = 400

#: The first and the last day, each included; None where there is no limit.
_Span = tuple[date | None, date | None]


def periods_of(question: Question, per: Per) -> tuple[str, ...] | None:
    """Return the names of the periods that contain every row that a question reads; None for all periods.

    Examples
    --------
    >>> from ...questions.question import read_question
    >>> where = "d >= DATE '2025-01-15' AND d < DATE '2025-03-01' AND site = 1"
    >>> question = read_question(f"SELECT COUNT(*) FROM visits WHERE {where}", unit="person")
    >>> periods_of(question, Per("month", "d")), periods_of(question, Per("month", "other"))
    (('2025-01', '2025-02'), None)
    """
    if question.where is None or per.column in {*question.joined_columns, *question.looked_up}:
        return None  # a column of another table, by the same name, is no limit
    days = _days(question.where, per)
    if days is not None:
        names = tuple(sorted({per.period_of(day) for day in days}))
        return names if 0 < len(names) <= MAX_PERIODS else None
    first, last = _span(question.where, per)
    if first is None or last is None or last < first:
        return None
    return periods_between(first, last, per.granularity, MAX_PERIODS)


def periods_of_questions(questions: Sequence[Question], per: Per) -> tuple[str, ...] | None:
    """Return the periods that some of the questions reads; None if one may read all."""
    names: set[str] = set()
    for question in questions:
        periods = periods_of(question, per)
        if periods is None:
            return None
        names.update(periods)
    return tuple(sorted(names)) if len(names) <= MAX_PERIODS else None


def _conjuncts(where: Condition, per: Per) -> Iterator[Compare | Member]:
    """Yield the tests that every row meets and that compare the date column with dates."""
    tests: tuple[Test, ...] = (where.test,)
    if isinstance(where.test, AndOr):
        tests = where.test.parts if where.test.word == "AND" else ()
    for test in tests:
        if isinstance(test, Compare | Member) and _reads_a_day(test.left, per):
            literals = test.literals if isinstance(test, Member) else (test.right,)
            if all(isinstance(one, Literal) and _is_day(one.value) and one.type == "DATE" for one in literals):
                yield test


def _reads_a_day(term: SqlTerm, per: Per) -> bool:
    """Return whether a term is the date column, read as a day."""
    return term.column == per.column and term.type in (None, "DATE") and (
        term.inner is None or (term.function == "TRY_CAST" and term.inner.inner is None)
    )  # fmt: skip


def _is_day(value: object) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _days(where: Condition, per: Per) -> list[date] | None:
    """Return the days of the shortest list of days that every row is in; None if there is none."""
    lists = []
    for test in _conjuncts(where, per):
        if isinstance(test, Member) and test.inside:
            lists.append([one.value for one in test.literals])
    return min(lists, key=len, default=None)  # type: ignore[return-value]  # each is a day


def _span(where: Condition, per: Per) -> _Span:
    """Return the first and the last day that a row can have."""
    first: date | None = None
    last: date | None = None
    for test in _conjuncts(where, per):
        if not isinstance(test, Compare) or not isinstance(test.right, Literal):
            continue
        day = test.right.value
        assert isinstance(day, date)
        if test.op in ("=", "IS NOT DISTINCT FROM", ">=", ">"):
            low = _shifted(day, 1) if test.op == ">" else day
            first = low if first is None else max(first, low)
        if test.op in ("=", "IS NOT DISTINCT FROM", "<=", "<"):
            high = _shifted(day, -1) if test.op == "<" else day
            last = high if last is None else min(last, high)
    return first, last


def _shifted(day: date, days: int) -> date:
    """Return a day some days later; the first or the last day of the calendar where there is none."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return day
