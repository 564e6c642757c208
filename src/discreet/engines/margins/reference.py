"""The rule of ``counting`` in plain Python, on plain rows: the oracle for every engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from ...exact.arrays import IntArray
from ..base import ROW
from ..reference import Row, bounding_hash, group_value, holds, looked_up_rows, read_value
from .counting import CountingTables


def count_tables_of_rows(rows: Iterable[Row], counting: CountingTables) -> IntArray:
    """Return the counts of all tables by the rule, one table after the other, shape (cells, 1).

    Examples
    --------
    >>> from ...questions.groups import ColumnValues
    >>> from ...questions.question import read_question
    >>> question = read_question("SELECT sex, site, COUNT(*) FROM visits GROUP BY sex, site", unit="person")
    >>> values = ColumnValues(("sex", "site"), ("text", "integer"), (("f", "m"), range(1, 4)))
    >>> counting = CountingTables(question, values, "person", 1, b"key", sets=((0,), (0, 1)))
    >>> rows = [{"person": "ann", "sex": "f", "site": 2}, {"person": "bob", "sex": "m", "site": 9}]
    >>> count_tables_of_rows(rows, counting)[:, 0].tolist()
    [1, 0, 0, 1, 0, 0, 0, 0]
    """
    question, groups = counting.question, counting.groups
    places: list[dict[object, int]] = [{value: k for k, value in enumerate(values)} for values in groups.values]
    records: dict[object, set[tuple[int, ...]]] = defaultdict(set)
    for number, row in enumerate(looked_up_rows(rows, question)):
        unit = number if counting.unit == ROW else read_value(row[counting.unit], "VARCHAR")
        if unit is None or (question.where is not None and not holds(question.where, row)):
            continue
        values = [group_value(row[column], groups, j) for j, column in enumerate(question.by)]
        if all(value in known for value, known in zip(values, places, strict=True)):
            records[unit].add(tuple(known[value] for value, known in zip(values, places, strict=True)))
    tables = [np.zeros([counting.sizes[column] for column in columns], dtype=np.int64) for columns in counting.sets]
    for unit, codes_of_unit in records.items():
        record = min(codes_of_unit, key=lambda codes: _place(str(unit), codes, counting))
        for columns, table in zip(counting.sets, tables, strict=True):
            table[tuple(record[column] for column in columns)] += 1
    return np.concatenate([table.reshape(-1) for table in tables])[:, None]


def _place(unit: str, codes: tuple[int, ...], counting: CountingTables) -> tuple[int, ...]:
    """Return the hash of a record, and the numbers that its columns are packed into."""
    words = [sum(codes[column] << bit for column, bit in word) for word in counting.words]
    return bounding_hash(":".join(map(str, [unit, *words])), counting.key), *words
