"""Groups that were found in the data, read back from the table that names them: no other file of a bundle does."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...questions.domains import INTEGER
from ...questions.groups import Groups, Value
from ...questions.orders import canonical
from ..plan.plan import TablePlan
from .findings import Refuted


def table_with_groups(text: str, name: str, table: TablePlan, has_edition: bool) -> TablePlan:
    """The table with the groups that a CSV file names: each once, in canonical order, in a declared part if any is.

    Only labels are read here; whoever calls compares every line with the one that these groups and their counts have.
    """
    discovery, question = table.discovery, table.question
    assert discovery is not None
    by, measures = len(question.by), len(question.aggregates)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1::measures]
    except csv.Error as problem:
        raise Refuted(f"{name} is not a CSV file: {problem}.") from None
    first = int(has_edition)
    labels = [line[first : first + by] for line in lines]
    found = dict(zip(discovery.places, zip(discovery.columns, discovery.kinds, strict=True), strict=True))
    fixed = iter(range(len(table.groups.columns)))
    columns, kinds, values, codes = [], [], [], []
    for place in range(by):
        written = [label[place] for label in labels]
        if place in found:
            column, kind = found[place]
            read = [_value(one, kind, name) for one in written]
        else:
            number = next(fixed)
            column, kind = table.groups.columns[number], table.groups.kinds[number]
            read = [_declared(one, table.groups.values[number], kind, name) for one in written]
        known = set(read)
        distinct = [*sorted(value for value in known if value is not None), *([None] if None in known else [])]
        order = {value: code for code, value in enumerate(distinct)}
        columns.append(column)
        kinds.append(kind)
        values.append(tuple(distinct))
        codes.append([order[value] for value in read])
    cells = np.array(codes, np.int64).reshape(by, len(labels)).T
    groups = Groups(tuple(columns), tuple(kinds), tuple(values), cells)
    if not groups.is_empty and canonical(groups).to_json() != groups.to_json():
        raise Refuted(f"{name} does not list its groups in their order.")
    return replace(table, groups=groups)


def _value(written: str, kind: str, name: str) -> Value:
    """A label as it was found, from the way it is written: a text may be marked by an apostrophe."""
    if kind == "text":
        return written.removeprefix("'")
    if not INTEGER.fullmatch(written):
        raise Refuted(f"{name} has {written[:40]!r} where a whole number was found.")
    return int(written)


def _declared(written: str, known: Sequence[Value], kind: str, name: str) -> Value:
    value = None if written == "NULL" else _value(written, kind, name)
    if value not in known:
        raise Refuted(f"{name} has the value {written[:40]!r}, which was not declared.")
    return value
