"""Reading p-tables: the text tables of ptable and tau-ARGUS, cellKey's YAML, the CSV of ONS, SuperSTAR's matrix.

Probabilities are read exactly. As in the programs, the noise of a key is that of the first line of the block, in the
order of the file, whose upper bound is above the key.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import Altered, InvalidInput, UnreadableFile, named
from ..exact.integers import positive_integer
from ..exact.rationals import text_down
from ..sources.encodings import read_text_file
from ..strict_json import read_json
from .table import Block, PTable
from .write import ONS_CYCLE, ONS_LAST, SUPERSTAR_KEYS

#: Number of SuperSTAR's columns for all larger counts, by default.
SMALL_N = 10

#: Maximum number of keys of a table.
MAX_KEYS = 10**12

#: Upper limit of ONS keys, which go to 4095: a table holds all keys up to the largest one.
ONS_KEYS = 2**16

#: Numbers with few digits and small exponents, as programs write them, so that none takes long to read.
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,2})?", re.ASCII)

LAYOUTS = ("ptable", "cellkey", "ons", "superstar")


def read_ptable(path: str | Path, layout: str | None = None, *, small_n: int | None = None) -> PTable:
    """Read a p-table from a file of any of the known formats.

    Parameters
    ----------
    path
        The file. A companion file ``path.json`` from :meth:`~discreet.PTable` ``.write`` is read too.
    layout
        "ptable" (the text tables of R's ptable and of tau-ARGUS, ``i;j;p;v;p_int_ub``), "cellkey" (YAML), "ons" (CSV
        ``pcv,ckey,pvalue``) or "superstar" (a matrix of 256 rows). By default recognised from the file.
    small_n
        For "superstar": the number of last columns for all larger counts in turn, SmallN; by default that of the
        companion file, else 10, or all columns if there are fewer.

    Returns
    -------
    PTable
        The exact table; ``notes`` name what had to be supplied, such as a block for 0.

    Examples
    --------
    >>> import tempfile, pathlib, discreet as dc
    >>> text = "i;j;p;v;p_int_ub\\n0;0;1.00; 0;1.00\\n1;0;0.25;-1;0.25\\n1;1;0.50; 0;0.75\\n1;2;0.25; 1;1.00\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "table.txt"
    ...     _ = file.write_text(text)
    ...     table = read_ptable(file)
    >>> table
    <PTable: blocks 0..1, 4 keys, reach 1>
    >>> print(dc.verify(table).delta_witness(1))
    a true count of 1 gives a report in 1..2 with probability 0.75, which a true count of 0 never gives
    """
    text = read_text_file(path)
    kind = layout or recognise(text, Path(path).suffix)
    if kind is None or kind not in LAYOUTS:
        raise UnreadableFile(f"{path} is not a p-table of a known layout; the layouts are {', '.join(LAYOUTS)}.")
    about = _companion(path)
    if small_n is None and isinstance(about.get("small_n"), int):
        small_n = about["small_n"]
    return ptable_from_text(text, kind, str(path), small_n=small_n, about=about)


def ptable_from_text(
    text: str, kind: str, name: str, *, small_n: int | None = None, about: Mapping[str, object] | None = None
) -> PTable:
    """Read a p-table from the text of a file of this layout; errors call it by the name."""
    readers = {"ptable": _read_text, "cellkey": _read_yaml, "ons": _read_ons}
    try:
        table = _read_superstar(text, small_n) if kind == "superstar" else readers[kind](text)
    except Altered as problem:
        raise Altered.because(name, problem) from None
    except InvalidInput as problem:
        raise UnreadableFile.because(name, problem) from None
    about = dict(about or {})
    if kind in ("ptable", "cellkey"):  # their bounds are shares of all keys
        table = _on_keys(table, about.get("keys"))
    return PTable(table.blocks, table.keys, table.cycle, kind, (*table.notes, *_notes_on_zeros(table)), about)


def _on_keys(table: PTable, keys: object) -> PTable:
    """Return the same table on its original number of keys, which bounds such as 1/2 do not determine."""
    if type(keys) is not int or not table.keys < keys <= MAX_KEYS or keys % table.keys:
        return table
    each = keys // table.keys
    blocks = tuple(tuple((noise, weight * each) for noise, weight in block) for block in table.blocks)
    return replace(table, blocks=blocks, keys=keys)


def recognise(text: str, suffix: str = "") -> str | None:
    """Return the layout of a p-table, from its first lines; None if it is not one."""
    first = text.lstrip().partition("\n")[0]
    heading = [cell.strip().strip('"').lower() for cell in re.split("[;,\t]", first)]
    if heading[:2] == ["i", "j"] and len(heading) >= 5:
        return "ptable"
    if {"pcv", "ckey", "pvalue"} <= set(heading):
        return "ons"
    if re.search(r"^\s*ptable:\s*$", text, flags=re.M) and re.search(r"^\s*ub:", text, flags=re.M):
        return "cellkey"
    if suffix.lower() == ".pert":
        return "superstar"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == SUPERSTAR_KEYS and all(re.fullmatch(r"\s*-?\d+(\s*,\s*-?\d+)*\s*", line) for line in lines):
        return "superstar"
    return None


def _companion(path: str | Path) -> dict[str, Any]:
    """Return the figures of the companion file: plain values only."""
    try:
        content = read_json(Path(f"{path}.json").read_bytes(), f"{path}.json")
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict) or content.get("format") != "discreet p-table":
        return {}
    return {
        name: value
        for name, value in content.items()
        if re.fullmatch(r"[a-z_]{1,30}", name)
        and isinstance(value, bool | int | float | str)
        and re.fullmatch(r"[\w./ +-]{0,60}", str(value))
    }


def _notes_on_zeros(table: PTable) -> tuple[str, ...]:
    if table.untouched_zeros:
        return ()
    left = PTable((((0, table.keys),), *table.blocks[1:]), table.keys, table.cycle)
    escaping = 1 - left.law(1).probability(-1)
    return (
        "programs that leave empty cells alone (tau-ARGUS, cellKey, ONS) do not apply the block of 0; delta is then at "
        f"least {text_down(escaping)} at every epsilon",
    )


# ------------------------------------------------------------------------------------------------ i;j;p;v;p_int_ub


def _number(cell: str, line: int, what: str) -> Fraction:
    text = cell.strip().strip('"')
    if not _NUMBER.fullmatch(text):
        raise UnreadableFile(f"line {line}: {what} is {text[:40]!r}, not a number with a decimal point.")
    return Fraction(text)


def _whole(value: Fraction, line: int, what: str) -> int:
    if value.denominator != 1:
        raise UnreadableFile(
            f"line {line}: {what} is not a whole number. Tables for magnitudes are not counts, and are not read."
        )
    return int(value)


#: Largest rounding error of p: programs write it with a few digits, and use the bounds.
_ROUNDED_P = Fraction(1, 1000)


def _read_text(text: str) -> PTable:
    """Read by position, as tau-ARGUS does: i, j, p, v, the upper bound last (except for a type), ``;`` between."""
    lines = text.splitlines()
    mark = ";" if ";" in lines[0] else "," if "," in lines[0] else "\t"
    heading = [cell.strip().strip('"').lower() for cell in lines[0].split(mark)]
    kinds = "type" in heading
    upper = len(heading) - (2 if kinds else 1)
    intervals: list[tuple[int, int, Fraction]] = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split(mark)
        if len(cells) != len(heading):
            raise UnreadableFile(f"line {number}: {len(cells)} cells instead of {len(heading)}.")
        if kinds and cells[-1].strip().strip('"') != "all":
            raise UnreadableFile(f"line {number}: a table of type other than 'all' is for magnitudes, not counts.")
        count = _whole(_number(cells[0], number, "i"), number, "i")
        report = _whole(_number(cells[1], number, "j"), number, "j")
        noise = _whole(_number(cells[3], number, "v"), number, "v")
        if noise != report - count:
            raise UnreadableFile(f"line {number}: v must be j - i, but it is not.")
        bound = _number(cells[upper], number, "the upper bound")
        before = intervals[-1][2] if intervals and intervals[-1][0] == count else Fraction(0)
        if abs(_number(cells[2], number, "p") - (bound - before)) > _ROUNDED_P:
            raise Altered(
                f"line {number}: p is not the step between the upper bounds, which is what programs use. One of the "
                "two was changed.",
                "Write the table anew.",
            )
        intervals.append((count, noise, bound))
    return _from_bounds(intervals)


def _from_bounds(intervals: Sequence[tuple[int, int, Fraction]]) -> PTable:
    """Return the table from lines of (count, noise, upper bound) in the order of the file."""
    if not intervals:
        raise UnreadableFile("the table has no lines.")
    by_count: dict[int, list[tuple[int, Fraction]]] = {}
    for count, noise, upper in intervals:
        if not 0 <= upper <= 1:
            raise UnreadableFile(f"block {count}: an upper bound lies outside 0..1.")
        by_count.setdefault(count, []).append((noise, upper))
    if list(by_count) != list(range(len(by_count))):
        raise UnreadableFile("blocks must come in the order 0, 1, 2, ... without gaps: programs number them so.")
    keys = math.lcm(*(upper.denominator for _, _, upper in intervals))
    if keys > MAX_KEYS:
        raise UnreadableFile("the bounds have more digits than keys can have.")
    notes: list[str] = []
    blocks: list[Block] = []
    for count, entries in by_count.items():
        block, last = [], Fraction(0)
        for noise, upper in entries:
            if upper > last:
                block.append((noise, int((upper - last) * keys)))
                last = upper
        if last < 1:
            block.append((0, int((1 - last) * keys)))
            notes.append(f"block {count} ends below 1: the keys beyond leave the count as it is")
        blocks.append(tuple(block))
    return PTable(tuple(blocks), keys, notes=tuple(notes))


# ------------------------------------------------------------------------------------------------ cellKey


def _read_yaml(text: str) -> PTable:
    """Read the columns below ``ptable:``, as lists in brackets or one item a line; no more of YAML is needed."""
    columns: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.partition("ptable:")[2].splitlines():
        item = re.fullmatch(r"\s*-\s+(.*\S)\s*", line)
        heading = re.fullmatch(r"\s*(\w+):\s*(\[.*\])?\s*", line)
        if item and current is not None:
            current.append(item[1])
        elif heading and heading[1] in ("i", "j", "p", "v", "lb", "ub", "type"):
            current = columns.setdefault(heading[1], [])
            if heading[2]:
                current.extend(cell.strip() for cell in heading[2][1:-1].split(","))
        elif line.strip():
            current = None
    if not {"i", "v", "ub"} <= set(columns) or len({len(column) for column in columns.values()}) != 1:
        raise UnreadableFile("the p-table needs columns i, v and ub of one length.")
    if set(columns.get("type", ["all"])) - {"all"}:
        raise UnreadableFile("a table of type other than 'all' is for magnitudes, not counts.")
    intervals = []
    for number, (i, v, ub) in enumerate(zip(columns["i"], columns["v"], columns["ub"], strict=True), 1):
        count = _whole(_number(i, number, "i"), number, "i")
        intervals.append((count, _whole(_number(v, number, "v"), number, "v"), _number(ub, number, "ub")))
    return _from_bounds(intervals)


# ------------------------------------------------------------------------------------------------ ONS and SuperSTAR


def _read_ons(text: str) -> PTable:
    lines = list(csv.reader(text.splitlines()))
    heading = [cell.strip().lower() for cell in lines[0]]
    columns = [heading.index(name) for name in ("pcv", "ckey", "pvalue")]
    noise: dict[tuple[int, int], int] = {}
    for number, line in enumerate(lines[1:], 2):
        if not any(line):
            continue
        try:
            count, key, value = (int(line[place]) for place in columns)
        except (ValueError, IndexError):
            raise UnreadableFile(f"line {number}: pcv, ckey and pvalue must be whole numbers.") from None
        if count < 0 or key < 0:
            raise UnreadableFile(f"line {number}: pcv and ckey must not be negative.")
        if key >= ONS_KEYS:
            raise UnreadableFile(f"line {number}: ckey must be below {ONS_KEYS}; ONS tables have 256 or 4096 keys.")
        if (count, key) in noise:
            raise UnreadableFile(f"line {number}: pcv and ckey are those of an earlier line.")
        noise[count, key] = value
    if not noise:
        raise UnreadableFile("the table has no lines.")
    keys = max(key for _, key in noise) + 1
    last = max(count for count, _ in noise)
    notes = []
    if len(noise) != keys * len({count for count, _ in noise}):
        notes.append("missing pairs of pcv and ckey were taken as no noise, as ONS software in Python does")
    if last < ONS_LAST:
        notes.append(f"rows end at {last}: ONS software leaves larger counts untouched")
    if not any(count == 0 for count, _ in noise):
        notes.append("there is no row for 0: zeros are published as they are")
    rows = ([noise.get((count, key), 0) for key in range(keys)] for count in range(ONS_LAST + 1))
    return PTable(tuple(map(_runs, rows)), keys, ONS_CYCLE, notes=tuple(notes))


def _runs(values: Iterable[int]) -> Block:
    """Return the noise of each key in turn, as runs of equal values."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1] = value, runs[-1][1] + 1
        else:
            runs.append((value, 1))
    return tuple(runs)


def _read_superstar(text: str, small_n: int | None) -> PTable:
    lines = [line for line in csv.reader(text.splitlines()) if any(line)]
    try:
        matrix = [[int(cell) for cell in line] for line in lines]
    except ValueError:
        raise UnreadableFile("a SuperSTAR table is a matrix of whole numbers without a heading.") from None
    size = len(matrix[0]) if matrix else 0
    if len(matrix) != SUPERSTAR_KEYS or any(len(line) != size for line in matrix):
        raise UnreadableFile(f"a SuperSTAR table has {SUPERSTAR_KEYS} rows of one length; got {len(matrix)}.")
    small = min(SMALL_N, size) if small_n is None else positive_integer(small_n, "small_n", least=1)
    if small > size:
        raise UnreadableFile(
            f"SmallN = {small} is more than the {size} columns there are.", f"Give another {named('small_n')}."
        )
    blocks: list[Block] = [((0, SUPERSTAR_KEYS),)]
    for count in range(1, size + 1):
        column = count if count <= size - small else size - small + count % small + 1
        blocks.append(_runs(line[column - 1] for line in matrix))
    notes = ["what happens to zeros is not documented for SuperSTAR; they were taken as published untouched"]
    if small_n is None:
        notes.append(f"SmallN was taken as {small}: the last {small} columns serve all larger counts in turn")
    return PTable(tuple(blocks), SUPERSTAR_KEYS, small, notes=tuple(notes))
