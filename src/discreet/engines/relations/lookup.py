"""Looked-up columns in SQL, for all engines: rows joined with public tables, each of which has a value once.

A public table lists every key at most once, so that a join with it leaves each row one row, and what a row gets depends
on the row alone. The rule is in ``questions/lookups.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import InvalidInput
from ...questions.joins.lookups import Lookup
from ..base import Counting
from ..dialect import Dialect
from ..grouping import Declared


def looked_up(
    counting: Counting, rows: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared
) -> tuple[str, Mapping[str, str]]:
    """Return a FROM item that has the looked-up columns too, and the kind of each column.

    Parameters
    ----------
    counting
        The counts to make.
    rows
        SQL that stands after FROM and has the stored columns of the counting under their own names.
    kinds
        The kind of each stored column.
    declared
        Makes a table of public values in the engine.
    """
    lookups = counting.question.lookups
    if not lookups:
        return rows, kinds
    stored = [dialect.quoted(column) for column in counting.columns]
    longer = "_" * max(map(len, counting.columns), default=0)  # than any column's name
    reads, joins, derived = [], [], []
    number = 0
    for j, lookup in enumerate(lookups):
        key = f"key{j}{longer}"
        column = lookup.column
        read = (
            dialect.whole_number(column, kinds[column])
            if lookup.reads == "integer"
            else dialect.reading(column, "VARCHAR", kinds[column])
        )
        reads.append(f"{read} AS {key}")
        if lookup.keys is not None:
            joins.append(_join("", f"u{number}", {"k": sorted(lookup.keys)}, lookup, key, dialect, declared))
            number += 1
        for one in lookup.columns:
            if one.values is None:
                raise InvalidInput(f"the look-up of {one.name!r} was not read.", "Plan again with the dataset file.")
            if not one.values:
                nothing = dialect.text("") if one.kind == "text" else "0"
                derived.append(f"CASE WHEN 1 = 0 THEN {nothing} END AS {dialect.quoted(one.name)}")
                continue
            name = f"u{number}"
            pairs = {"k": list(one.values), "v": list(one.values.values())}
            joins.append(_join("LEFT ", name, pairs, lookup, key, dialect, declared, one.kind == "text"))
            value = dialect.as_text(f"{name}.v", "text") if one.kind == "text" else f"{name}.v"
            if one.default is not None:
                value = f"CASE WHEN {name}.k IS NULL THEN {dialect.text(one.default)} ELSE {value} END"
            derived.append(f"{value} AS {dialect.quoted(one.name)}")
            number += 1
    keyed = f"(SELECT {', '.join([*stored, *reads])} FROM {rows}) AS keyed"
    columns = ", ".join([*(f"keyed.{column}" for column in stored), *derived]) or "0"
    return f"(SELECT {columns} FROM {keyed} {' '.join(joins)}) AS looked_up", {**kinds, **counting.question.looked_up}


def _join(
    side: str, name: str, columns: Mapping[str, Sequence[object]], lookup: Lookup, key: str, dialect: Dialect,
    declared: Declared, text_values: bool = False,
) -> str:  # fmt: skip
    """Return SQL that joins a public table of keys, and of their values if it has some."""
    text_keys = lookup.reads == "text"
    texts = {*({"k"} if text_keys else ()), *({"v"} if text_values else ())}
    table = declared(name, columns, frozenset(texts))
    public_key = dialect.as_text(f"{name}.k", "text") if text_keys else f"{name}.k"
    return f"{side}JOIN {table} ON {public_key} = keyed.{key}"
