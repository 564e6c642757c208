"""The tables of a bundle, read back from their CSV files: every group, count, flag and error column is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..noise.discovered import DiscoveredNoise
from ..plan.plan import Plan, TablePlan
from ..publish import contents
from ..publish.levelled import LevelledTable
from ..publish.recorded import level_status
from ..publish.tables import IMPOSSIBLE, NORMAL, STATUS_MEANING, SUPPRESSED, ErrorColumn, ReleasedTable
from .findings import Refuted
from .found_groups import table_with_groups

#: Columns that are not whole numbers may differ by this from what is worked out here: six digits are written, and other
#: machines have other last digits.
_CLOSE = 2e-5


def read_table(text: str, name: str, plan: Plan, number: int, layout: int) -> ReleasedTable:
    """The counts and flags of a CSV file that has exactly the lines its plan asks for."""
    table = plan.tables[number]
    if table.levels:
        return _read_levels(text, name, plan, table, layout)
    edition = plan.edition if layout > 1 else ""
    if table.open:
        table = table_with_groups(text, name, table, bool(edition))
    empty = ReleasedTable(table, np.zeros((0, 0), np.int64), np.zeros((0, 0), "U1"), plan.level, edition, layout)
    cells, named = contents.cell_names(empty), contents.has_names(empty)
    heading = ",".join(map(contents.written, empty.headings)) + "\n"
    if not text.startswith(heading):
        raise Refuted(f"{name} has another heading than its question.")
    place, counts, flags = len(heading), [], []
    for line, cell in enumerate(cells, 2):
        start = f"{cell}," if named else ""
        end = text.find("\n", place + len(start))
        if not text.startswith(start, place) or end < 0:
            raise Refuted(f"{name}: cell {line - 1} is not the group that was declared there.")
        count, _, rest = text[place + len(start) : end].partition(",")
        flags.append(rest.partition(",")[0])
        counts.append(count)
        place = end + 1
    if place != len(text):
        raise Refuted(f"{name} has more lines than its question has cells.")
    judged = replace(_judged(name, plan, table, counts, flags), edition=edition, layout=layout)
    if isinstance(table.noise, DiscoveredNoise) and (judged.counts[:, :1] <= table.noise.reach).any():
        raise Refuted(f"{name} names a group whose noisy count is not above {table.noise.reach}.")
    return judged


def _read_levels(text: str, name: str, plan: Plan, table: TablePlan, layout: int) -> LevelledTable:
    """The measurements of a table with totals; all else in it is worked out again and compared."""
    flags = level_status(table)
    empty = LevelledTable(table, np.zeros(flags.shape, np.int64), flags, plan.level, plan.edition, layout)
    heading = ",".join(map(contents.written, empty.headings)) + "\n"
    if not text.startswith(heading):
        raise Refuted(f"{name} has another heading than its question.")
    place, measured = len(heading), []
    for line, cell in enumerate(contents.level_names(empty), 2):
        end = text.find("\n", place + len(cell))
        if not text.startswith(f"{cell},", place) or end < 0:
            raise Refuted(f"{name}: cell {line - 1} is not the group that was declared there.")
        measured.append(text[place:end].rpartition(",")[2])
        place = end + 1
    if place != len(text):
        raise Refuted(f"{name} has more lines than its question has cells.")
    numbers = list(map(int, measured))
    if list(map(str, numbers)) != measured:
        raise Refuted(f"{name} has a count that is not written as a plain whole number.")
    values = np.empty(flags.size, dtype=np.int64)
    values[empty.order] = numbers
    if values.reshape(flags.shape)[flags == IMPOSSIBLE].any():
        raise Refuted(f"{name}: a cell that cannot exist has a count.")
    return replace(empty, counts=values.reshape(flags.shape))


def _judged(name: str, plan: Plan, table: TablePlan, counts: list[str], flags: list[str]) -> ReleasedTable:
    if not set(flags) <= set(STATUS_MEANING):
        raise Refuted(f"{name} has an unknown status; the known ones are {', '.join(STATUS_MEANING)}.")
    status = np.array(flags)
    unseen = status == SUPPRESSED
    numbers = [0 if hidden else int(count) for count, hidden in zip(counts, unseen.tolist(), strict=True)]
    again = ["" if hidden else str(number) for number, hidden in zip(numbers, unseen.tolist(), strict=True)]
    if again != counts:
        raise Refuted(f"{name} has a count that is not written as a plain whole number, or one that is suppressed.")
    values = np.array(numbers, dtype=np.int64)
    shape = (table.groups.size, len(table.question.aggregates))
    declared = np.zeros(shape, dtype=bool)
    declared[sorted(table.groups.zeros)] = True
    impossible = status == IMPOSSIBLE
    if not np.array_equal(impossible, declared.reshape(-1)):
        raise Refuted(f"{name}: the cells marked {IMPOSSIBLE} are not those declared as structural zeros.")
    if values[impossible].any():
        raise Refuted(f"{name}: a cell that cannot exist has a count.")
    below, above = table.noise.clamp(values.size)
    normal = status == NORMAL
    if ((values < below) | (values > above))[normal].any():
        raise Refuted(f"{name} has a count outside the range of its noise.")
    least = table.suppress_below
    if (least is None and unseen.any()) or (least is not None and (values[normal] < least).any()):
        raise Refuted(f"{name}: what is suppressed does not follow the stated rule.")
    return ReleasedTable(table, values.reshape(shape), status.reshape(shape), plan.level)


def compare_error_columns(written: str, again: str, name: str, columns: Sequence[ErrorColumn]) -> None:
    """Refuse error columns that differ; worst cases may, by the last digits of another machine."""
    for number, (one, other) in enumerate(zip(written.split("\n"), again.split("\n"), strict=True), 1):
        if one == other:
            continue
        mine, theirs = one.rsplit(",", len(columns)), other.rsplit(",", len(columns))
        whole = [k for k, column in enumerate(columns, 1) if column.rounding is None]
        if any(mine[k] != theirs[k] for k in (0, *whole)):
            raise Refuted(f"{name}, line {number}: the interval is not that of the count.")
        if not all(_close(a, b) for a, b in zip(mine[1:], theirs[1:], strict=True)):
            raise Refuted(f"{name}, line {number}: the error columns are not those of the noise.")


def _close(stated: str, found: str) -> bool:
    if stated == found or not (stated and found):
        return stated == found
    if contents.decimal_text(float(stated)) != stated:
        return False  # another way to write a number near it
    return bool(abs(float(stated) - float(found)) <= _CLOSE * max(abs(float(found)), 1e-3))
