"""Groups that are found in the data, as engines of SQL share it.

**The rule.** Rows vanish as in ``base``: without a unit, outside WHERE, outside the declared values of those group
columns that are declared. So do rows without a value in a column whose values are found, and rows whose value cannot be
read (of whole numbers, those beyond 2^53). Whole numbers are told apart as they are, everything else by its text, byte
by byte: never by an equality of the engine's own. Then each person is bounded, by their own rows and a secret key.

- *One row in each group*, as in ``base``; the conditions are gone round from number ``H mod c``.
- *At most k groups.* No declared order exists. Let ``H'`` be the first 15 hexadecimal digits of
  ``md5(hex(key) || ':' || the unit || ':' || the group)`` as a number, where the group is its values as text with ':'
  between them, behind the number of its declared part if there is one. The k groups with the smallest
  ``(H', declared part, values)`` are taken: never more, also where two hashes are equal (ROW_NUMBER, not RANK).

All groups with somebody in them come back. No test is made of a true count (no HAVING, no LIMIT): that is for the
noise. A text that cannot be published (it holds the character NUL, or has more than 1,000 characters) is dropped from
what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..exact.arrays import Array, IntArray
from ..questions.expressions import LARGEST_WHOLE
from .base import ROW, Counting, Discovering, Found
from .dialect import Dialect
from .grouping import Declared, conditions_sql, group_keys, where_sql

#: Texts with more characters are never named.
LONGEST_LABEL = 1_000

#: From the SQL of a text to the SQL of ``H`` for it.
Hashed = Callable[[str], str]


def declared_part(counting: Discovering) -> Counting:
    """The same counting by its declared columns alone."""
    by = tuple(column for column in counting.question.by if column not in counting.found)
    question = replace(counting.question, by=by)
    return Counting(question, counting.groups, counting.unit, counting.max_groups, counting.key)


def groups_sql(
    counting: Discovering, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared, hashed: Hashed
) -> str:
    """SQL of all groups: ``g`` (the declared part), ``t0, t1, ...`` (the values), ``n`` and ``n0, n1, ...``."""
    rows, labels = _located_rows(counting, table, kinds, dialect, declared, hashed)
    c, key = len(counting.conditions), ", ".join(["g", *labels])
    if counting.unit == ROW:
        met = [f"count(*) FILTER (WHERE h{i}) AS n{i}" for i in range(c)]
        return f"SELECT {', '.join([key, 'count(*) AS n', *met])} FROM ({rows}) AS located GROUP BY {key}"
    people = _people(counting, rows, key)
    said = ["CAST(g AS BIGINT)"] if counting.groups.columns else []
    group = dialect.as_text(said[0], "integer") if said else ""
    texts = [
        dialect.as_text(name, "integer") if kind == "integer" else name
        for name, kind in zip(labels, counting.kinds, strict=True)
    ]
    unit = dialect.as_text("unit", "integer") if kinds[counting.unit] == "integer" else "unit"
    spoken = " || ':' || ".join([unit, *([group] if group else []), *texts])
    order = f"row_number() OVER (PARTITION BY unit ORDER BY {hashed(f'({spoken})')}, {key})"
    missed = ", turn, v" if c else ""
    chosen = f"SELECT {key}{missed}, {order} AS place FROM ({people}) AS people"
    met = [f"count(*) FILTER (WHERE {_meets(i, c)}) AS n{i}" for i in range(c)]
    return (
        f"SELECT {', '.join([key, 'count(*) AS n', *met])} FROM ({chosen}) AS chosen "
        f"WHERE place <= {counting.max_groups} GROUP BY {key}"
    )


def _located_rows(
    counting: Discovering, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared, hashed: Hashed
) -> tuple[str, list[str]]:
    """SQL of the rows that count: ``g``, ``t0, t1, ...``, ``h0, h1, ...``, and of people ``unit`` and ``turn``."""
    keys = group_keys(declared_part(counting), kinds, dialect, declared)
    labels, reads, wanted = [], list(keys.reads), list(keys.wanted)
    for j, (column, kind) in enumerate(zip(counting.found, counting.kinds, strict=True)):
        labels.append(f"t{j}")
        if kind == "integer":
            reads.append(f"{dialect.whole_number(column, kinds[column])} AS t{j}")
            wanted.append(f"t{j} BETWEEN {-LARGEST_WHOLE} AND {LARGEST_WHOLE}")
        else:
            reads.append(f"{dialect.reading(column, 'VARCHAR', kinds[column])} AS t{j}")
            wanted.append(f"t{j} IS NOT NULL")
    met = [f"h{i}" for i in range(len(counting.conditions))]
    reads += [f"({sql}) AS {name}" for sql, name in zip(conditions_sql(counting, kinds, dialect), met, strict=True)]
    kept, tests = [*labels, *met], []
    if counting.unit != ROW:
        kind = kinds[counting.unit]
        unit = dialect.quoted(counting.unit) if kind == "integer" else dialect.reading(counting.unit, "VARCHAR", kind)
        reads.append(f"{unit} AS unit")
        tests.append(f"{dialect.quoted(counting.unit)} IS NOT NULL")
        kept.append("unit")
        if met:
            turn = f"{hashed('unit')} % {len(met)}" if len(met) > 1 else "0"
            kept.append(f"CAST({turn} AS INT) AS turn")
    if counting.question.where is not None:
        tests.append(dialect.condition(counting.question.where, kinds))
    read = f"SELECT {', '.join(reads)} FROM {table}{where_sql(tests, dialect)}"
    rows = f"SELECT {', '.join([f'{keys.number} AS g', *kept])} FROM ({read}) AS read {' '.join(keys.joins)}"
    return rows + where_sql(wanted, dialect), labels


def _people(counting: Discovering, rows: str, key: str) -> str:
    """SQL of a row for each person and group; ``v``: the conditions that the best row there misses, turned round."""
    c = len(counting.conditions)
    if not c:
        return f"SELECT unit, {key} FROM ({rows}) AS located GROUP BY unit, {key}"
    places = [f"CASE WHEN h{i} THEN 0 ELSE 1 << (({c - 1 - i} + turn) % {c}) END" for i in range(c)]
    missed = f"min({' + '.join(places)}) AS v"
    return f"SELECT unit, {key}, turn, {missed} FROM ({rows}) AS located GROUP BY unit, turn, {key}"


def _meets(i: int, c: int) -> str:
    """SQL: whether condition number i is met, from the conditions missed turned round."""
    return f"(v >> (({c - 1 - i} + turn) % {c})) & 1 = 0"


def as_found(counting: Discovering, columns: Sequence[Array]) -> Found:
    """What the columns of :func:`groups_sql` say, without the texts that cannot be published."""
    many = len(counting.found)
    labels, numbers = list(columns[1 : 1 + many]), iter(columns[1 + many :])
    every = np.asarray(next(numbers), np.int64)
    met = [np.asarray(column, np.int64) for column in numbers]
    by_condition = iter(met)
    counts = np.empty((every.size, len(counting.question.aggregates)), np.int64)
    for j, aggregate in enumerate(counting.question.aggregates):
        counts[:, j] = every if aggregate.condition is None else next(by_condition)
    found = Found(
        tuple(
            np.asarray(column, np.int64 if kind == "integer" else object)
            for column, kind in zip(labels, counting.kinds, strict=True)
        ),
        np.asarray(columns[0], np.int64),
        counts,
    )
    return _publishable(found, counting.kinds)


def merged(parts: Sequence[Found]) -> Found:
    """What was found of some people and of others, as what was found of all."""
    labels = [np.concatenate(columns) for columns in zip(*(part.labels for part in parts), strict=True)]
    declared, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("declared", "counts"))
    numbers: dict[tuple[object, ...], int] = {}
    keys = zip(declared.tolist(), *(column.tolist() for column in labels), strict=True)
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    together = np.zeros((len(numbers), counts.shape[1]), dtype=np.int64)
    np.add.at(together, group, counts)
    return Found(tuple(column[first] for column in labels), declared[first], together)


def _publishable(found: Found, kinds: Sequence[str]) -> Found:
    kept: IntArray | None = None
    for column, kind in zip(found.labels, kinds, strict=True):
        texts = column.tolist() if kind == "text" else []
        if max(map(len, texts), default=0) > LONGEST_LABEL or not _is_printed("".join(texts)):
            good = np.array([is_publishable(text) for text in texts], dtype=bool)
            kept = np.flatnonzero(good) if kept is None else kept[good[kept]]
    if kept is None:
        return found
    return Found(tuple(column[kept] for column in found.labels), found.declared[kept], found.counts[kept])


def is_publishable(text: str) -> bool:
    """Whether a text can stand in every file that is published."""
    return len(text) <= LONGEST_LABEL and _is_printed(text)


def _is_printed(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in set(text))
