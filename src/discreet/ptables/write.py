"""Writing p-tables in the formats of other programs, with a companion file for the figures that none records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidInput, Unsupported, arg
from ..exact.rationals import text_down
from ..wording import find_name

if TYPE_CHECKING:
    from .table import PTable

#: The last row of an ONS table, and the number of last rows that ONS software uses in turn for larger counts.
ONS_LAST, ONS_CYCLE = 750, 250

#: The number of rows of SuperSTAR's matrix, one for each value of a byte.
SUPERSTAR_KEYS = 256

#: The default layout by the ending of the file.
ENDINGS = {".txt": "ptable", ".csv": "ptable", ".yaml": "cellkey", ".yml": "cellkey", ".pert": "superstar"}

LAYOUTS = ("ptable", "sas", "cellkey", "ons", "superstar")


def write_ptable(table: PTable, path: str | Path, layout: str | None = None, **about: object) -> Path:
    """Write a table, and a companion file ``path.json`` with the figures that the format does not hold.

    Parameters
    ----------
    path
        The path of the file.
    layout
        "ptable" (``i;j;p;v;p_int_ub``, for tau-ARGUS and R; the default for .txt and .csv), "sas" (with lower bounds),
        "cellkey" (YAML), "ons" (CSV, one line for each count and key) or "superstar" (a matrix of 256 rows).
    about
        Further plain values for the companion file.

    Returns
    -------
    Path
        The path of the file.
    """
    target = Path(path)
    kind = read_layout(target, layout)
    writers = {"ptable": _text, "sas": _sas, "cellkey": _yaml, "ons": _ons, "superstar": _superstar}
    target.write_text("\n".join(writers[kind](table)) + "\n", encoding="ascii")
    companion = {
        "format": "discreet p-table", "layout": kind, "keys": table.keys, "reach": table.reach,
        "variance": float(table.variance), "stay": float(table.stay), **table.about, **about,
    }  # fmt: skip
    if kind == "superstar":
        companion["small_n"] = table.cycle
    Path(f"{target}.json").write_text(json.dumps(companion, indent=1) + "\n", encoding="utf-8")
    return target


def read_layout(path: Path, layout: str | None) -> str:
    """Return the requested layout, or the one for the ending of the file's name."""
    if layout is not None:
        return find_name(layout, LAYOUTS, "a layout of p-tables", argument="layout")
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(
            f"the name {path.name!r} does not say which layout is meant.",
            f"End it in {', '.join(ENDINGS)}, or give {arg('layout', 'ons')} or another of {', '.join(LAYOUTS)}.",
        )
    return ENDINGS[path.suffix.lower()]


def _lines(table: PTable) -> Iterator[tuple[int, int, Fraction, Fraction]]:
    """Yield count, noise, lower and upper bound of every interval."""
    if table.cycle != 1:
        raise Unsupported(
            "this layout has one block for all large counts, and the table goes round in several.", argument="layout"
        )
    for count, block in enumerate(table.blocks):
        low = 0
        for noise, weight in block:
            yield count, noise, Fraction(low, table.keys), Fraction(low + weight, table.keys)
            low += weight


def _decimals(table: PTable) -> int:
    """Return the number of decimals that hold every bound exactly."""
    rest, twos, fives = table.keys, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise Unsupported(
            f"bounds in {table.keys}ths have no exact decimals.",
            "Take a number of keys such as 256, 4096, 65536 or 10^8.",
        )
    return max(twos, fives)


def _columns(table: PTable, lower: bool) -> Iterator[str]:
    decimals = max(_decimals(table), 2)
    rows = list(_lines(table))
    widths = [
        max(len(str(cell)) for cell in column) for column in zip(*((i, i + v, v) for i, v, _, _ in rows), strict=True)
    ]
    yield "i;j;p;v;" + ("p_int_lb;" if lower else "") + "p_int_ub"
    for i, v, low, high in rows:
        first, second, third = (str(cell).rjust(width) for cell, width in zip((i, i + v, v), widths, strict=True))
        bounds = [low, high] if lower else [high]
        yield ";".join([first, second, _decimal(high - low, decimals), third, *(_decimal(b, decimals) for b in bounds)])


def _decimal(value: Fraction, decimals: int) -> str:
    whole = int(value * 10**decimals)
    return f"{whole // 10**decimals}.{whole % 10**decimals:0{decimals}d}"


def _text(table: PTable) -> Iterator[str]:
    return _columns(table, lower=False)


def _sas(table: PTable) -> Iterator[str]:
    return _columns(table, lower=True)


def _yaml(table: PTable) -> Iterator[str]:
    decimals = max(_decimals(table), 2)
    rows = list(_lines(table))
    yield "params:"
    yield "  ptable:"
    columns = {
        "i": [f"{i}.0" for i, _, _, _ in rows],
        "j": [f"{i + v}.0" for i, v, _, _ in rows],
        "p": [_decimal(high - low, decimals) for _, _, low, high in rows],
        "v": [f"{v}.0" for _, v, _, _ in rows],
        "lb": [_decimal(low, decimals) for _, _, low, _ in rows],
        "ub": [_decimal(high, decimals) for _, _, _, high in rows],
        "type": ["all"] * len(rows),
    }
    for name, cells in columns.items():
        yield f"    {name}:"
        yield from (f"    - {cell}" for cell in cells)
    yield "type: cnts"
    yield "version: 1.0.2"
    yield "ptype: params_cnts"


def _ons(table: PTable) -> Iterator[str]:
    """Yield a line for each count up to 750 and each key; larger counts use the last 250 rows in turn."""
    if table.cycle == 1 and len(table.blocks) > ONS_LAST - 250 + 2:
        raise Unsupported(
            "the ONS layout serves large counts by rows 501..750; this table has own blocks there.", argument="layout"
        )
    if table.cycle not in (1, 250):
        raise Unsupported("the ONS layout goes round in 250 rows; this table does not.", argument="layout")
    if table.keys > 4096:
        raise Unsupported(f"keys of ONS tables go up to 4095; this table has {table.keys} keys.", argument="layout")
    yield '"pcv","ckey","pvalue"'
    for count in range(0 if not table.untouched_zeros else 1, ONS_LAST + 1):
        # key 0 means no noise if possible: ONS software looks up all empty cells with it
        entries = sorted(table.block(count), key=lambda entry: entry[0] != 0) if count == 0 else table.block(count)
        key = 0
        for noise, weight in entries:
            for _ in range(weight):
                yield f"{count},{key},{noise}"
                key += 1


def _superstar(table: PTable) -> Iterator[str]:
    if table.keys != SUPERSTAR_KEYS:
        raise Unsupported(
            f"a SuperSTAR table has {SUPERSTAR_KEYS} rows, a key each; this table has {table.keys} keys.",
            argument="layout",
        )
    if not table.untouched_zeros:
        escaping = 1 - table.law(1).probability(-1)
        raise Unsupported(
            "a SuperSTAR table has no column for a count of 0, so this table's noise for zeros would be lost, and "
            f"delta would be at least {text_down(escaping)} at every epsilon.",
            argument="layout",
        )
    size, small = len(table.blocks) - 1, table.cycle
    served = {
        count if count <= size - small else size - small + count % small + 1: count for count in range(1, size + 1)
    }
    columns = [[v for v, weight in table.block(served[c]) for _ in range(weight)] for c in range(1, size + 1)]
    return (",".join(str(column[row]) for column in columns) for row in range(SUPERSTAR_KEYS))
