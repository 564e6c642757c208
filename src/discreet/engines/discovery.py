"""Discovery of groups in the data, shared by all SQL engines.

**The rule.** Rows vanish as in ``base``: without a unit, outside WHERE, outside the declared values of those group
columns that are declared. So do rows without a value in a column whose values are found, and rows whose value cannot be
read (of whole numbers, those beyond 2^53). Whole numbers are compared as numbers, everything else by its text, byte by
byte: never by the engine's own equality. Then each person is bounded, by their own rows and a secret key.

- *One row in each group*, as in ``base``; the conditions are gone round from number ``H mod c``. Where rows are counted
  (``max_rows``), every count has all rows of the person that meet its own condition, up to that many.
- *At most k groups.* No declared order exists. Let ``H'`` be the first 15 hexadecimal digits of
  ``md5(hex(key) || ':' || the unit || ':' || the group)`` as a number, where the group is its values as text with ':'
  between them, behind the number of its declared part if there is one. The k groups with the smallest
  ``(H', declared part, values)`` are taken: never more, also where two hashes are equal (ROW_NUMBER, not RANK).

All groups with somebody in them come back. No true count is tested (no HAVING, no LIMIT): that is for the noise. A text
that cannot be published (it contains NUL, or has more than 1,000 characters) is dropped from the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..exact.arrays import Array, IntArray
from ..questions.expressions import LARGEST_WHOLE
from .base import ROW, Counting, DiscoveredGroups, Discovering
from .dialect import Dialect
from .events import capped_counts
from .grouping import Declared, conditions_sql, group_keys, unit_sql, where_sql

#: Maximum number of characters in a discovered label; groups with longer ones are dropped.
MAX_LABEL_CHARACTERS = 1_000

#: A function from the SQL of a text to the SQL of its hash ``H``.
Hashed = Callable[[str], str]


def declared_part(counting: Discovering) -> Counting:
    """Return the same counting by its declared columns alone."""
    by = tuple(column for column in counting.question.by if column not in counting.label_columns)
    question = replace(counting.question, by=by)
    return Counting(question, counting.groups, counting.unit, counting.max_groups, counting.key)


def groups_sql(
    counting: Discovering, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared, hashed: Hashed
) -> str:
    """Return SQL of all groups: ``g`` (the declared part), ``t0, t1, ...`` (the values), ``n`` and ``n0, n1, ...``."""
    rows, labels = _located_rows(counting, table, kinds, dialect, declared, hashed)
    c, key = len(counting.conditions), ", ".join(["g", *labels])
    if counting.unit == ROW:
        conditions_met = [f"count(*) FILTER (WHERE h{i}) AS n{i}" for i in range(c)]
        return f"SELECT {', '.join([key, 'count(*) AS n', *conditions_met])} FROM ({rows}) AS located GROUP BY {key}"
    people = _people(counting, rows, key) if counting.max_rows is None else _rows_of_people(counting, rows, key)
    key_texts = ["CAST(g AS BIGINT)"] if counting.groups.columns else []
    group = dialect.as_text(key_texts[0], "integer") if key_texts else ""
    texts = [
        dialect.as_text(name, "integer") if kind == "integer" else name
        for name, kind in zip(labels, counting.kinds, strict=True)
    ]
    unit = dialect.as_text("unit", "integer") if unit_sql(counting, kinds, dialect).kind == "integer" else "unit"
    spoken = " || ':' || ".join([unit, *([group] if group else []), *texts])
    order = f"row_number() OVER (PARTITION BY unit ORDER BY {hashed(f'({spoken})')}, {key})"
    if counting.max_rows is None:
        missed = ", turn, v" if c else ""
        counts = ["count(*) AS n", *(f"count(*) FILTER (WHERE {_meets(i, c)}) AS n{i}" for i in range(c))]
    else:
        names = ["n", *(f"n{i}" for i in range(c))]
        missed = f", {', '.join(names)}"
        counts = [f"CAST(sum({name}) AS BIGINT) AS {name}" for name in names]
    chosen = f"SELECT {key}{missed}, {order} AS place FROM ({people}) AS people"
    return (
        f"SELECT {', '.join([key, *counts])} FROM ({chosen}) AS chosen "
        f"WHERE place <= {counting.max_groups} GROUP BY {key}"
    )


def _located_rows(
    counting: Discovering, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared, hashed: Hashed
) -> tuple[str, list[str]]:
    """Return SQL of the rows that count: ``g``, ``t0, ...``, ``h0, ...``, and for people ``unit`` and ``turn``."""
    keys = group_keys(declared_part(counting), kinds, dialect, declared)
    labels, reads, declared_tests = [], list(keys.reads), list(keys.tests)
    for j, (column, kind) in enumerate(zip(counting.label_columns, counting.kinds, strict=True)):
        labels.append(f"t{j}")
        if kind == "integer":
            reads.append(f"{dialect.whole_number(column, kinds[column])} AS t{j}")
            declared_tests.append(f"t{j} BETWEEN {-LARGEST_WHOLE} AND {LARGEST_WHOLE}")
        else:
            reads.append(f"{dialect.reading(column, 'VARCHAR', kinds[column])} AS t{j}")
            declared_tests.append(f"t{j} IS NOT NULL")
    names = [f"h{i}" for i in range(len(counting.conditions))]
    reads += [f"({sql}) AS {name}" for sql, name in zip(conditions_sql(counting, kinds, dialect), names, strict=True)]
    columns, tests = [*labels, *names], []
    if counting.unit != ROW:
        unit = unit_sql(counting, kinds, dialect)
        reads.append(f"{unit.sql} AS unit")
        tests += unit.tests
        columns.append("unit")
        if names:
            turn = f"{hashed('unit')} % {len(names)}" if len(names) > 1 else "0"
            columns.append(f"CAST({turn} AS INT) AS turn")
    if counting.question.where is not None:
        tests.append(dialect.condition(counting.question.where, kinds))
    read = f"SELECT {', '.join(reads)} FROM {table}{where_sql(tests, dialect)}"
    rows = f"SELECT {', '.join([f'{keys.number} AS g', *columns])} FROM ({read}) AS read {' '.join(keys.joins)}"
    return rows + where_sql(declared_tests, dialect), labels


def _people(counting: Discovering, rows: str, key: str) -> str:
    """Return SQL of a row for each person and group; ``v``: the conditions its best row misses, turned round."""
    c = len(counting.conditions)
    if not c:
        return f"SELECT unit, {key} FROM ({rows}) AS located GROUP BY unit, {key}"
    places = [f"CASE WHEN h{i} THEN 0 ELSE 1 << (({c - 1 - i} + turn) % {c}) END" for i in range(c)]
    missed = f"min({' + '.join(places)}) AS v"
    return f"SELECT unit, {key}, turn, {missed} FROM ({rows}) AS located GROUP BY unit, turn, {key}"


def _rows_of_people(counting: Discovering, rows: str, key: str) -> str:
    """Return SQL of the rows that each person has in each group: ``n`` and, for the conditions, ``n0, n1, ...``."""
    counts = capped_counts([f"h{i}" for i in range(len(counting.conditions))], counting.max_rows)
    return f"SELECT unit, {key}, {counts} FROM ({rows}) AS located GROUP BY unit, {key}"


def _meets(i: int, c: int) -> str:
    """Return SQL: whether condition number i is met, from the conditions missed turned round."""
    return f"(v >> (({c - 1 - i} + turn) % {c})) & 1 = 0"


def discovered_groups(counting: Discovering, columns: Sequence[Array]) -> DiscoveredGroups:
    """Return the groups in the columns of :func:`groups_sql`, without texts that cannot be published."""
    many = len(counting.label_columns)
    labels, numbers = list(columns[1 : 1 + many]), iter(columns[1 + many :])
    every = np.asarray(next(numbers), np.int64)
    condition_counts = [np.asarray(column, np.int64) for column in numbers]
    by_condition = iter(condition_counts)
    counts = np.empty((every.size, len(counting.question.aggregates)), np.int64)
    for j, aggregate in enumerate(counting.question.aggregates):
        counts[:, j] = every if aggregate.condition is None else next(by_condition)
    groups = DiscoveredGroups(
        tuple(
            np.asarray(column, np.int64 if kind == "integer" else object)
            for column, kind in zip(labels, counting.kinds, strict=True)
        ),
        np.asarray(columns[0], np.int64),
        counts,
    )
    return _publishable(groups, counting.kinds)


def merge(parts: Sequence[DiscoveredGroups]) -> DiscoveredGroups:
    """Merge the groups of disjoint sets of people, adding the counts."""
    labels = [np.concatenate(columns) for columns in zip(*(part.labels for part in parts), strict=True)]
    declared, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("declared", "counts"))
    numbers: dict[tuple[object, ...], int] = {}
    keys = zip(declared.tolist(), *(column.tolist() for column in labels), strict=True)
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    together = np.zeros((len(numbers), counts.shape[1]), dtype=np.int64)
    np.add.at(together, group, counts)
    return DiscoveredGroups(tuple(column[first] for column in labels), declared[first], together)


def _publishable(groups: DiscoveredGroups, kinds: Sequence[str]) -> DiscoveredGroups:
    kept: IntArray | None = None
    for column, kind in zip(groups.labels, kinds, strict=True):
        texts = column.tolist() if kind == "text" else []
        if max(map(len, texts), default=0) > MAX_LABEL_CHARACTERS or not _is_printed("".join(texts)):
            good = np.array([is_publishable(text) for text in texts], dtype=bool)
            kept = np.flatnonzero(good) if kept is None else kept[good[kept]]
    if kept is None:
        return groups
    return DiscoveredGroups(tuple(column[kept] for column in groups.labels), groups.declared[kept], groups.counts[kept])


def is_publishable(text: str) -> bool:
    """Return whether a text is valid in every published file format."""
    return len(text) <= MAX_LABEL_CHARACTERS and _is_printed(text)


def _is_printed(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in set(text))
