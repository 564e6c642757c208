"""The rule of counting in plain Python, on plain rows: the oracle for every engine.

It follows ``base`` and ``questions.conditions`` word by word and shares nothing with any engine. A row is a mapping
from columns to values: None, bool, int, float, Decimal, str, date or datetime (without a zone), or unreadable.

What engines are free to do differently is refused as :class:`~discreet.errors.Unsupported` rather than guessed: the
text of a float, a fraction as a whole number, a text that looks like a date or a number and is not plainly one.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..exact.arrays import IntArray
from ..questions.bands import BAND
from ..questions.conditions import Condition
from ..questions.domains import Rest
from ..questions.expressions import INTEGERS, LARGEST_WHOLE, AndOr, Compare, Literal, Member, Missing, SqlTerm, Test
from ..questions.groups import Groups
from ..questions.question import Question
from .base import HASH_DIGITS, ROW, Contributing, Counting, Discovering
from .case_mapping import map_case


class Unreadable:
    """A value of CSV with bytes that are invalid in the encoding of its file."""


Value = bool | int | float | Decimal | str | date | datetime | Unreadable | None
Row = Mapping[str, Value]


def bounding_hash(unit: str, key: bytes) -> int:
    """Return ``H`` of the rule of bounding.

    >>> bounding_hash("ann", b"key") % 10, bounding_hash("ann", b"key") % 100
    (0, 80)
    """
    hash_input = f"{key.hex()}:{unit}".encode()
    return int(hashlib.md5(hash_input, usedforsecurity=False).hexdigest()[:HASH_DIGITS], 16)


def count_rows(rows: Iterable[Row], counting: Counting) -> IntArray:
    """Return the counts of a table by the rule, shape (groups, counts).

    Examples
    --------
    >>> from ..questions.groups import groups_from
    >>> from ..questions.question import read_question
    >>> question = read_question("SELECT site, COUNT(*) FROM visits GROUP BY site", unit="person")
    >>> counting = Counting(question, groups_from({"site": range(1, 4)}, question.by), "person", 1, b"key")
    >>> rows = [{"person": person, "site": site} for person, site in [("ann", 2), ("ann", 2), ("bob", 3), ("eve", 9)]]
    >>> count_rows(rows, counting).tolist()
    [[0], [1], [1]]
    """
    question, groups = counting.question, counting.groups
    counts = np.zeros((groups.size, len(question.aggregates)), dtype=np.int64)
    numbers = _group_numbers(counting)
    people: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in looked_up_rows(rows, question):
        unit = None if counting.unit == ROW else _unit_text(row, counting)
        if counting.unit != ROW and unit is None:
            continue
        if question.where is not None and not holds(question.where, row):
            continue
        place = tuple(group_value(row[column], groups, j) for j, column in enumerate(question.by))
        if (group := numbers.get(place)) is None:
            continue
        if unit is None:
            counts[group] += _counts_of_row(counting, row)
        else:
            people[unit][group].append(row)
    if isinstance(counting, Contributing):
        return _histogram(counting, people)
    for unit, rows_by_group in people.items():
        if counting.max_rows is not None:
            for group in _chosen_groups(counting, unit, rows_by_group):
                counts[group] += _capped_rows(counting, rows_by_group[group])
            continue
        for group, row in _bounded_rows(counting, unit, rows_by_group):
            counts[group] += _counts_of_row(counting, row)
    return counts


def _capped_rows(counting: Counting, rows: Sequence[Row]) -> IntArray:
    """Return how many of a person's rows in a group each count has, up to the cap."""
    assert counting.max_rows is not None
    many = np.sum([_counts_of_row(counting, row) for row in rows], axis=0)
    return np.asarray(np.minimum(many, counting.max_rows), np.int64)


def _unit_text(row: Row, counting: Counting) -> str | None:
    """Return the text of the unit of a row: the person, behind the name of its period if that is part of the unit."""
    person: str | None = read_value(row[counting.unit], "VARCHAR")
    if counting.per is None or person is None:
        return person
    day = read_value(row[counting.per.column], "DATE")
    return None if day is None else f"{counting.per.period_of(day)}:{person}"


def _histogram(counting: Contributing, people: Mapping[str, Mapping[int, list[Row]]]) -> IntArray:
    """Return the number of people in each cell, by the rule of ``events``."""
    histogram = np.zeros((counting.top, 1), dtype=np.int64)
    for groups in people.values():
        contribution = len(groups) if counting.of == "groups" else max(map(len, groups.values()))
        histogram[min(contribution, counting.top) - 1] += 1
    return histogram


def discover_rows(rows: Iterable[Row], counting: Discovering) -> dict[tuple[object, ...], list[int]]:
    """Return the groups of a table by the rule of ``discovery``: declared part and values -> the counts.

    Examples
    --------
    >>> from ..questions.groups import TOTAL
    >>> from ..questions.question import read_question
    >>> question = read_question("SELECT job, COUNT(*) FROM people GROUP BY job", unit="person")
    >>> counting = Discovering(question, TOTAL, "person", 1, b"key", ("job",), ("text",))
    >>> rows = [{"person": person, "job": job} for person, job in [("ann", "cook"), ("ann", "cook"), ("bob", None)]]
    >>> discover_rows(rows, counting)
    {(0, 'cook'): [1]}
    """
    question, groups, conditions = counting.question, counting.groups, counting.conditions
    numbers = _group_numbers(counting)
    people: dict[str, dict[tuple[int, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(looked_up_rows(rows, question)):
        unit = f"row {place}" if counting.unit == ROW else _unit_text(row, counting)
        if unit is None or (question.where is not None and not holds(question.where, row)):
            continue
        fixed = (row[column] for column in question.by if column not in counting.label_columns)
        number = numbers.get(tuple(group_value(value, groups, k) for k, value in enumerate(fixed)))
        labels = tuple(map(_plain_value, (row[column] for column in counting.label_columns), counting.kinds))
        if number is None or any(value is None or value is _NO_GROUP or _is_too_large(value) for value in labels):
            continue
        people[unit][(number, *labels)].append(row)  # type: ignore[arg-type]
    counts: dict[tuple[object, ...], list[int]] = {}
    for unit, rows_by_group in people.items():
        turn = bounding_hash(unit, counting.key) % max(len(conditions), 1)
        going_round = conditions[turn:] + conditions[:turn]

        def place_of(group: tuple[object, ...], unit: str = unit) -> tuple[object, ...]:
            hashed_values = group if groups.columns else group[1:]
            return (bounding_hash(":".join([unit, *map(str, hashed_values)]), counting.key), *group)

        for group in sorted(rows_by_group, key=place_of)[: counting.max_groups]:
            so_far = counts.setdefault(group, [0] * len(question.aggregates))
            if counting.max_rows is None:
                best = max(rows_by_group[group], key=lambda row: [holds(condition, row) for condition in going_round])
                rows_of_counts = np.asarray(_counts_of_row(counting, best), np.int64)
            else:
                rows_of_counts = _capped_rows(counting, rows_by_group[group])
            for j, rows_of_count in enumerate(rows_of_counts.tolist()):
                so_far[j] += rows_of_count
    return {group: rows_by_group for group, rows_by_group in counts.items() if all(map(_is_publishable, group))}


def looked_up_rows(rows: Iterable[Row], question: Question) -> Iterable[Row]:
    """Yield the rows of a table with their looked-up columns; of an inner join, those with a key."""
    for row in rows:
        more: dict[str, Value] = {}
        kept = True
        for lookup in question.lookups:
            value = _plain_value(row[lookup.column], lookup.reads)
            kept = kept and (lookup.keys is None or value in lookup.keys)
            for column in lookup.columns:
                values = column.values or {}
                more[column.name] = values.get(value, column.default)  # type: ignore[call-overload]
        if kept:
            yield {**row, **more}


def _is_too_large(value: object) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST_WHOLE


def _is_publishable(value: object) -> bool:
    return not isinstance(value, str) or ("\0" not in value and len(value) <= 1000)


def _chosen_groups(counting: Counting, unit: str, groups: Iterable[int]) -> list[int]:
    """Return at most k groups of a person."""
    h, size = bounding_hash(unit, counting.key), counting.groups.size
    nearest = sorted(groups, key=lambda group: (group - h % size) % size)
    if counting.uses_hashed_choice:
        nearest = sorted(groups, key=lambda group: (bounding_hash(f"{unit}:{group}", counting.key), group))
    return nearest[: counting.max_groups]


def _bounded_rows(counting: Counting, unit: str, rows_by_group: Mapping[int, list[Row]]) -> Iterable[tuple[int, Row]]:
    """Return at most k groups of a person, and one row in each."""
    h, size, conditions = bounding_hash(unit, counting.key), counting.groups.size, counting.conditions
    turn = h // size % max(len(conditions), 1)
    going_round = conditions[turn:] + conditions[:turn]
    for group in _chosen_groups(counting, unit, rows_by_group):
        yield group, max(rows_by_group[group], key=lambda row: [holds(condition, row) for condition in going_round])


def _counts_of_row(counting: Counting, row: Row) -> list[bool]:
    """Return for each count whether it includes the row."""
    return [count.condition is None or holds(count.condition, row) for count in counting.question.aggregates]


#: A value that is in no declared group.
_NO_GROUP = object()


def _group_numbers(counting: Counting) -> dict[tuple[object, ...], int]:
    """Return values of the group columns -> the number of their group; structural zeros have none."""
    groups = counting.groups
    codes = groups.codes().tolist() if groups.columns else [[]]
    return {
        tuple(values[code] for values, code in zip(groups.values, cell, strict=True)): number
        for number, cell in enumerate(codes)
        if number not in groups.zeros
    }


def group_value(value: Value, groups: Groups, column: int) -> object:
    """Return a value as a group declares it; undeclared values become the rest where the column has one."""
    kind, declared = groups.kinds[column], groups.values[column]
    group = _banded_value(value, groups, column) if kind == BAND else _plain_value(value, kind)
    listed = declared[:-1] if (starred := isinstance(declared[-1], Rest)) else declared
    return declared[-1] if starred and group not in listed else group


def _banded_value(value: Value, groups: Groups, column: int) -> object:
    """Return the name of the band that a value is in: the last edge that is not above it begins the band."""
    bands = groups.bands[column]
    assert bands is not None
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    read: object = value if whole and bands.type == "DOUBLE" else read_value(value, bands.type)
    if read is None or (isinstance(read, float) and not math.isfinite(read)):
        return _NO_GROUP
    passed = [edge for edge in bands.edges if edge <= read]  # type: ignore[operator]  # both are numbers or days
    place = len(passed) - (0 if bands.below else 1)
    last = len(bands.edges) - 1 + bands.below + bands.above
    return groups.values[column][place] if 0 <= place < last else _NO_GROUP


def _plain_value(value: Value, kind: str) -> object:
    """Return a whole number or a text; None only for a missing value."""
    if value is None:
        return None
    if kind == "text":
        return _NO_GROUP if (text := read_value(value, "VARCHAR")) is None else text
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = read_value(value, "DOUBLE")
    if not isinstance(number, float) or not math.isfinite(number) or number != math.trunc(number):
        return _NO_GROUP
    return int(number)


# ------------------------------------------------------------------------------------------------ conditions


def holds(condition: Condition, row: Row) -> bool:
    """Return whether a row matches: a condition that is neither true nor false does not hold.

    >>> from sqlglot import parse_one
    >>> from ..questions.conditions import read_condition
    >>> condition = read_condition(parse_one("age > 64 OR NOT ill", read="duckdb"))
    >>> [holds(condition, {"age": age, "ill": ill}) for age, ill in [(70, None), (60, None), ("70", True), (1, False)]]
    [True, False, True, True]
    """
    return _truth(condition.test, row) is True


def _truth(test: Test, row: Row) -> bool | None:
    """Return True, False, or None for neither."""
    if isinstance(test, AndOr):
        truths = [_truth(part, row) for part in test.parts]
        decisive = test.word == "OR"
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if isinstance(test, Missing):
        value = row[test.left.column] if test.left.type is None else _value(test.left, test.left.type, row)
        return (value is None or isinstance(value, Unreadable)) == test.missing
    if isinstance(test, Member):
        value = _value(test.left, test.left.type or test.literals[0].type, row)
        return None if value is None else (_order(value) in [_order(one.value) for one in test.literals]) == test.inside
    return _compared(test, row)


def _compared(test: Compare, row: Row) -> bool | None:
    left = _value(test.left, test.left.type or test.right.type or "", row)
    right = test.right.value if isinstance(test.right, Literal) else _value(test.right, test.right.type or "", row)
    if test.op.startswith("IS"):
        same = left is not None and _order(left) == _order(right)
        return same == (test.op == "IS NOT DISTINCT FROM")
    if left is None or right is None:
        return None
    if "LIKE" in test.op:
        return _like(str(left), str(right), "ILIKE" in test.op) != test.op.startswith("NOT")
    return bool(_COMPARED[test.op](_order(left), _order(right)))


_COMPARED = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _order(value: object) -> tuple[int, Any]:
    """Return the sort key of a value: NaN equals itself and is above every number; texts go by code point."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def _like(text: str, pattern: str, folded: bool) -> bool:
    if folded:
        text, pattern = map_case(text, "LOWER"), map_case(pattern, "LOWER")
    spelled = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(spelled, text, re.DOTALL) is not None


def _trim(text: str) -> str:
    return text.strip(" ")


_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "LOWER": lambda text: map_case(text, "LOWER"), "UPPER": lambda text: map_case(text, "UPPER"), "TRIM": _trim,
}  # fmt: skip


def _value(term: SqlTerm, type_: str, row: Row) -> Any:
    """Return the value of a term read as a type."""
    if term.inner is None:
        return read_value(row[term.column], type_)
    if term.default is not None:
        value = _value(term.inner, term.type or type_, row)
        return term.default.value if value is None else value
    if term.function == "TRY_CAST":
        whole = term.inner.inner is None
        return read_value(row[term.column] if whole else _value(term.inner, "VARCHAR", row), term.type or type_)
    text = _value(term.inner, "VARCHAR", row)
    return None if text is None else _FUNCTIONS[term.function](str(text))


# ------------------------------------------------------------------------------------------------ readings


def read_value(value: Value, type_: str) -> Any:
    """Return a value read as one of ``expressions.READINGS``: None where it cannot be read so.

    >>> read_value("1.50", "DOUBLE"), read_value("one", "DOUBLE"), read_value(True, "VARCHAR")
    (1.5, None, 'true')
    """
    if value is None or isinstance(value, Unreadable):
        return None
    return _READ[type_ if type_ not in INTEGERS else "WHOLE"](value, type_)


def _differs(value: object, type_: str) -> Unsupported:
    return Unsupported(
        f"engines may read a {type(value).__name__} as {type_} differently; the reference has no answer.",
        "Compare other values.",
    )


def _as_text(value: object, type_: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime) and value.microsecond == 0:
        return value.isoformat(" ")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise _differs(value, type_)


_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(nan|[+-]?inf(inity)?)", re.IGNORECASE)


def _as_double(value: Any, type_: str) -> float | None:
    if isinstance(value, date):
        return None
    if not isinstance(value, str):
        return float(value)
    text = value.strip(" ")
    if _NUMBER.fullmatch(text) or _WORD.fullmatch(text):
        return float(text)
    if re.search("[0-9]", text) and not re.fullmatch(r"[0-9 :.-]+", text):
        raise _differs(value, type_)
    return None


def _as_whole(value: Any, type_: str) -> int | None:
    if isinstance(value, date):
        return None
    number = value if isinstance(value, int) else _as_double(value, type_)
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return None
    if number != math.trunc(number) or (isinstance(value, str) and not re.fullmatch(r" *[+-]?[0-9]+ *", value)):
        raise _differs(value, type_)
    whole = int(value)
    return whole if -INTEGERS[type_] <= whole < INTEGERS[type_] else None


def _as_boolean(value: object, type_: str) -> bool | None:
    if isinstance(value, date):
        return None
    if not isinstance(value, str):
        return bool(value)
    word = value.lower()
    if word in ("true", "t", "1", "false", "f", "0"):
        return word in ("true", "t", "1")
    if re.fullmatch(r"\s*(true|t|1|false|f|0|yes|no|y|n|on|off|tr|tru|fa|fal|fals|ye|of)\s*", word):
        raise _differs(value, type_)
    return None


def _as_moment(value: object, type_: str) -> date | None:
    moment: datetime | None = None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value) if re.fullmatch(_MOMENT, value) else None
        except ValueError:  # such as the 30th of February
            return None
        if moment is None and re.search("[0-9]|inf|epoch|now|today|yesterday|tomorrow", value, re.IGNORECASE):
            raise _differs(value, type_)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    if moment is None:
        return None
    return moment.date() if type_ == "DATE" else moment


_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?"

_READ = {
    "VARCHAR": _as_text,
    "DOUBLE": _as_double,
    "WHOLE": _as_whole,
    "BOOLEAN": _as_boolean,
    "DATE": _as_moment,
    "TIMESTAMP": _as_moment,
}
