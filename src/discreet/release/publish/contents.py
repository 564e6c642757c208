"""What the files of a bundle hold.

========================  =====================================================================================
counts.csv                the noisy counts with the error of each (``counts_1.csv``, ... when there are several tables)
counts_rounded.csv        beside a table with totals: whole counts that are not negative and add up; they are biased
request.json              everything public that was asked: enough to rebuild the plan
release.json              cost, sensitivity, relation, noise, the ledger's receipt, what flags and columns mean
mechanism.json            the mechanism, as ``dc.load`` reads it (``mechanism_1.json``, ... when there are several)
GUARANTEE.md, index.html  for people
SHA256SUMS                for ``sha256sum -c``
========================  =====================================================================================

Text in a CSV file is marked where a spreadsheet would take it for a formula: before a label that begins with ``=``,
``+``, ``-``, ``@`` (blanks aside), a tab or a line's end stands an apostrophe. So it does before one that begins with
an apostrophe, or that reads NULL, which stands for the missing value: taking one apostrophe away gives back every
label. Numbers are never marked, negative ones neither. Programs that split at other marks than commas are not provided
for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from ...exact.arrays import Array, BoolArray, FloatArray, IntArray
from ...mechanism import Mechanism
from ...pages.html import page
from ..noise.accuracy import NO_END
from .guarantee import guarantee_text
from .levelled import GROUPING_MEANING, TOTAL, LevelledTable
from .tables import STATUS_MEANING, SUPPRESSED, ReleasedTable, error_meanings

if TYPE_CHECKING:
    from ..plan.plan import Plan
    from .released import Release

FORMAT = "discreet release"
SUMS = "SHA256SUMS"

#: What reading a file that was tampered with may run into.
MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)

_DIGITS = 6

#: What the columns mean that every layout has.
COLUMN_MEANING = {
    "edition": "the state of the data that was counted, by the name its curator gave it; missing if it has none",
    "count": "the noisy count; empty if suppressed",
    "status": "A, M or Q: see status_meaning",
}

#: What the rounded counts beside a table with totals are.
ROUNDED_MEANING = (
    "the counts made whole and not negative so that they still add up: each next to the count itself, unless negative "
    "counts were raised to 0 or more than two totals overlap. They are biased, small counts upwards: work with the "
    "counts of the table itself"
)


# ------------------------------------------------------------------------------------------------ one table as CSV


def csv_text(table: ReleasedTable) -> str:
    """The published table: a line for each count."""
    if isinstance(table, LevelledTable):
        return _levelled_text(table)
    flags = table.status.reshape(-1)
    columns = [table.counts.reshape(-1), flags, *table.errors.values()]
    first, alike = _told_apart(columns)
    unseen = flags[first] == SUPPRESSED
    said = [_integers(columns[0][first], unseen), flags[first].tolist()]
    for column in table.columns:
        values = table.errors[column.name][first]
        if column.rounding is None:
            said.append(_integers(values, unseen | (values == NO_END)))
        else:
            said.append(_rounded(values, unseen, column.rounding))
    named = has_names(table)
    tails = ["," * named + tail for tail in map(",".join, zip(*said, strict=True))]
    lines: Iterable[str] = map(tails.__getitem__, alike.tolist())
    if named:
        lines = map(add, cell_names(table), lines)
    return "\n".join([",".join(map(written, table.headings)), *lines]) + "\n"


def _levelled_text(table: LevelledTable) -> str:
    """A table with totals: the coarsest level first."""
    flags = table.status.reshape(-1)[table.order].tolist()
    none = np.zeros(len(flags), dtype=bool)
    said = [level_names(table), table.texts, flags]
    for column in table.columns:
        values = table.errors[column.name]
        said.append(_integers(values, none) if column.rounding is None else _rounded(values, none, column.rounding))
    return "\n".join([",".join(map(written, table.headings)), *map(",".join, zip(*said, strict=True))]) + "\n"


def rounded_text(table: LevelledTable) -> str:
    """The counts of a table with totals, made whole and not negative so that they still add up."""
    counts = np.concatenate([one.reshape(-1) for one in table.rounded])[table.order]
    headings = table.headings[: table.headings.index("count")]
    lines = map(",".join, zip(level_names(table), map(str, counts.tolist()), strict=True))
    return "\n".join([",".join([*map(written, headings), "rounded_count"]), *lines]) + "\n"


def level_names(table: LevelledTable) -> list[str]:
    """What stands before the count in each line of a table with totals: edition, grouping, values, measure."""
    edition = [written(table.edition)] if table.edition else []
    measures = [[written(name)] if len(table.measures) > 1 else [] for name in table.measures]
    lines: list[str] = []
    for level in reversed(range(len(table.groupings))):
        nodes, own = table.combination.shape.nodes[level], table.question.levels[level]
        size = nodes.size
        columns = [
            list(map(written, nodes.labels(own.index(k)))) if k in own else [TOTAL] * size
            for k in range(len(table.groups.columns))
        ]
        before = [*edition, str(table.groupings[level])]
        starts = [",".join([*before, *values]) for values in zip(*columns, strict=True)]
        lines += [",".join([start, *measure]) for start in starts for measure in measures]
    return lines


def _told_apart(columns: Sequence[Array]) -> tuple[IntArray, IntArray]:
    """Where each different row stands first, and which of those each row is like.

    A million noisy counts have a few thousand values, and what is said of a count mostly follows from it: each such
    line is put together once.
    """
    _, first, alike = np.unique(columns[0], return_index=True, return_inverse=True)
    alike = alike.reshape(-1)
    for column in columns[1:]:
        if not np.array_equal(column[first][alike], column):
            _, codes = np.unique(column, return_inverse=True)
            _, first, alike = np.unique(alike * (codes.max() + 1) + codes, return_index=True, return_inverse=True)
    return first, alike


def cell_names(table: ReleasedTable) -> list[str]:
    """What stands before the count in each line: the edition if it has a name, the group's values, and the measure
    where there are several."""
    groups, names = table.groups, [written(name) for name in table.measures]
    edition = [[written(table.edition)]] if table.edition else []
    texts = [list(map(str, one)) if isinstance(one, range) else list(map(written, one)) for one in groups.values]
    measures = [names] if len(names) > 1 else []
    if groups.cells is None:
        return list(map(",".join, product(*edition, *texts, *measures)))
    columns = [np.array(own, dtype=object)[groups.cells[:, k]].tolist() for k, own in enumerate(texts)]
    columns = [*(own * groups.size for own in edition), *columns]
    lines = map(",".join, zip(*columns, strict=True))
    return [f"{line},{name}" for line in lines for name in names] if measures else list(lines)


def has_names(table: ReleasedTable) -> bool:
    """Whether anything stands before the counts: a single total of an edition without a name has none."""
    return bool(table.edition or table.groups.columns) or len(table.measures) > 1


def written(value: object) -> str:
    """A label in a CSV file: safe to open in a spreadsheet, and read back without loss."""
    if value is None:
        return "NULL"
    text = str(value)
    if isinstance(value, str) and _needs_mark(text):
        text = "'" + text
    if any(mark in text for mark in ',"\n\r') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _needs_mark(text: str) -> bool:
    return text == "NULL" or text.lstrip()[:1] in tuple("=+-@'＝＋－＠") or text[:1] in ("\t", "\r", "\n")


def _integers(values: IntArray, empty: BoolArray) -> list[str]:
    texts = list(map(str, values.tolist()))
    for k in np.flatnonzero(empty).tolist():
        texts[k] = ""
    return texts


def _rounded(values: FloatArray, empty: BoolArray, direction: str) -> list[str]:
    """Six digits of each; few values are different, so each is written once."""
    distinct, places = np.unique(values, return_inverse=True)
    texts = np.array([_decimal(value, direction) for value in distinct.tolist()], dtype=object)[places.reshape(-1)]
    texts[empty] = ""
    return list(texts.tolist())


def _decimal(value: float, direction: str) -> str:
    # the shortest decimal that is this double, so that 1.1 stays 1.1
    return decimal_text(float(Context(prec=_DIGITS, rounding=direction).create_decimal(Decimal(repr(value)))))


def decimal_text(rounded: float) -> str:
    """A number of six digits as tables have it."""
    return f"{rounded + 0.0:.{_DIGITS}g}"  # no minus before zero


# ------------------------------------------------------------------------------------------------ the files


def table_files(number: int) -> list[str]:
    """The names of the CSV files of so many tables."""
    return ["counts.csv"] if number == 1 else [f"counts_{k}.csv" for k in range(1, number + 1)]


def rounded_file(name: str) -> str:
    """The name of the file of rounded counts beside a table with totals."""
    return f"{name.removesuffix('.csv')}_rounded.csv"


def file_names(plan: Plan) -> list[str]:
    """The names of all files of a bundle but the checksums, which follow from its plan."""
    names = []
    for name, table in zip(table_files(len(plan.tables)), plan.tables, strict=True):
        names += [name, rounded_file(name)] if table.levels else [name]
    mechanisms, _ = mechanism_files(table.mechanisms for table in plan.tables)
    return [*names, "request.json", "release.json", *mechanisms, "GUARANTEE.md", "index.html"]


def mechanism_files(mechanisms: Iterable[Sequence[Mechanism]]) -> tuple[dict[str, str], list[list[str]]]:
    """The files of all mechanisms, each once, and for each table the names of its own."""
    tables = [[mechanism_text(one) for one in table] for table in mechanisms]
    distinct = list(dict.fromkeys(text for table in tables for text in table))
    single = len(distinct) == 1
    names = {text: "mechanism.json" if single else f"mechanism_{k}.json" for k, text in enumerate(distinct, 1)}
    return {name: text for text, name in names.items()}, [[names[text] for text in table] for table in tables]


def mechanism_text(mechanism: Mechanism) -> str:
    """What ``m.save`` writes."""
    return json.dumps(mechanism.to_json(), indent=1) + "\n"


def statement(release: Release) -> dict[str, Any]:
    """What release.json says. It is for reading: whoever checks a bundle works all of it out again."""
    plan = release.plan
    _, mechanisms = mechanism_files(table.plan.mechanisms for table in release.tables)
    files = table_files(len(release.tables))
    return {
        "format": FORMAT,
        "version": release.layout,
        **({"template": release.template} if release.layout > 2 else {}),
        "program": {"name": "discreet", "version": release.version},
        "dataset": plan.dataset,
        "edition": plan.edition,
        "unit": plan.protection.unit,
        "relation": plan.protection.relation,
        "max_groups": plan.protection.max_groups,
        "cost": plan.cost.to_json(),
        "level": str(plan.level),
        "cells_moved_by_one_unit": [table.plan.sensitivity for table in release.tables],
        "tables": [
            {
                "title": table.title,
                "file": file,
                "question": table.question.text,
                "columns": list(table.headings),
                "measures": list(table.measures),
                "cells": int(table.counts.size),
                "structural_zeros": len(table.groups.zeros) * len(table.measures),
                "suppress_below": table.plan.suppress_below,
                "output": table.plan.noise.output,
                "mechanisms": own,
                **(levels_statement(table, file) if isinstance(table, LevelledTable) else {}),
            }
            for table, file, own in zip(release.tables, files, mechanisms, strict=True)
        ],
        "ledger": dict(release.ledger),
        "guarantee": list(release.guarantee),
        "status_meaning": STATUS_MEANING,
        "column_meaning": column_meaning(release),
        "label_marks": "a label that begins with an apostrophe has it as a mark: take one apostrophe away; NULL "
        "without one is the missing value",
    }


def column_meaning(release: Release) -> dict[str, str]:
    """What every column of the tables means."""
    levelled = any(isinstance(table, LevelledTable) for table in release.tables)
    columns = error_meanings((one for table in release.tables for one in table.columns), release.plan.protection.unit)
    return {**COLUMN_MEANING, **columns, **({"grouping": GROUPING_MEANING} if levelled else {})}


def levels_statement(table: LevelledTable, file: str) -> dict[str, object]:
    """What release.json says of the levels of a table with totals."""
    sizes, names = table.combination.shape.sizes, table.groups.columns
    told = zip(table.groupings, table.question.levels, sizes, table.plan.levels, strict=True)
    return {
        "levels": [
            {"grouping": number, "columns": [names[k] for k in columns], "groups": size, "share": str(level.share)}
            for number, columns, size, level in told
        ],
        "rounded": {"file": rounded_file(file), "meaning": ROUNDED_MEANING},
    }


def json_text(content: Mapping[str, object]) -> str:
    text = json.dumps(content, ensure_ascii=False)
    # for people, unless it is so long that nobody reads it and indenting takes seconds
    return (json.dumps(content, indent=1, ensure_ascii=False) if len(text) < 200_000 else text) + "\n"


def bundle_files(release: Release) -> Iterator[tuple[str, bytes]]:
    """Every file of the bundle but the checksums, one after the other."""
    for name, table in zip(table_files(len(release.tables)), release.tables, strict=True):
        yield name, csv_text(table).encode()
        if isinstance(table, LevelledTable):
            yield rounded_file(name), rounded_text(table).encode()
    yield "request.json", json_text(release.request).encode()
    yield "release.json", json_text(statement(release)).encode()
    for name, text in mechanism_files(table.plan.mechanisms for table in release.tables)[0].items():
        yield name, text.encode()
    yield "GUARANTEE.md", guarantee_text(release).encode()
    yield "index.html", page(release.report()).encode()
