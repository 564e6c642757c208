"""Test vectors for samplers of our tables in other languages: replayed bits, and the report they must give.

For each table, truth and threshold there are draws one below the threshold, at it, and one above. At a threshold the
first word does not decide: further words lie just below, at, and just above the exact expansion of the threshold. Every
report comes from the sampler that Python releases with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from ...exact.bits import ReplayBits
from ...exact.tables import Table
from ...mechanisms.fair import explicit_fair
from ...mechanisms.geometric import geometric
from ...mechanisms.planar import planar_geometric
from ...mechanisms.response import randomized_response
from ...privacy.verify import verify
from ...report import Json, stamped
from ...spaces import Counts, Grid

#: The truth, the bytes of the first word and of further words (hexadecimal), the report.
Draw: TypeAlias = "tuple[int, str, str, int]"

#: Rows with more columns than this need a first word of 64 bits instead of 32.
NARROW_COLUMNS = 1 << 12


@cache
def tables() -> Mapping[str, Table]:
    """Return the tables of the vectors by name."""
    wide = [3] * 9 + [1] * (NARROW_COLUMNS - 9) + [5]
    return {
        "geometric on 0..4": geometric(4, epsilon=1).kernel.table(),
        "explicit fair on 0..5": explicit_fair(5, alpha="9/10").kernel.table(),
        "randomized response, 3 labels": randomized_response(["a", "b", "c"], epsilon=1).kernel.table(),
        "planar geometric on 2 x 3 cells": planar_geometric(Grid(2, 3, cell=100.0), epsilon="1/100").kernel.table(),
        "dyadic": Table.from_rows([[8, 4, 2, 1, 1], [1, 1, 2, 4, 8]]),
        "one report": Table.from_rows([[7], [7]]),
        "zeros": Table.from_rows([[0, 1, 0, 2], [1, 0, 2, 0]]),
        "rows with totals of their own": Table.from_rows([[1, 2, 3], [10**40, 1, 1]]),
        "64-bit words": Table.from_rows([wide]),
    }


def vectors() -> dict[str, Json]:
    """Return the published vectors."""
    return stamped("sampling vectors", 1, {"tables": [_case(name, table) for name, table in tables().items()]})


def text() -> str:
    """Return the vectors as the file has them, a draw on each line."""
    return json.dumps(vectors()).replace("[[", "[\n[").replace("], [", "],\n[") + "\n"


def _case(name: str, table: Table) -> dict[str, Json]:
    every = table.shape[1] < NARROW_COLUMNS
    draws: list[Json] = [list(one) for one in threshold_draws(table, every)]
    return {"name": name, **table.to_json(), "local_epsilon": _local_epsilon(table), "draws": draws}


def _local_epsilon(table: Table) -> Json:
    """Return epsilon between any two rows, rounded up; "infinity" if some report rules a truth out."""
    epsilon = verify(table, "local", inputs=Counts(table.shape[0] - 1)).epsilon if table.shape[0] > 1 else 0.0
    return epsilon if epsilon != float("inf") else "infinity"


def threshold_draws(table: Table, every: bool = True) -> Iterator[Draw]:
    """Yield draws at each threshold of a table and next to it, with the reports of the table's own sampler.

    Parameters
    ----------
    table
        The table to sample from.
    every
        If True, take every column; otherwise some of them.
    """
    sampler = table.sampler()
    shift = max(1, (table.shape[1] - 1).bit_length())
    width = 32 if shift <= 12 else 64
    free = width - shift
    columns = range(1 << shift) if every else [*range(12), 2**shift // 2 - 1, 2**shift // 2, 2**shift - 1]
    for truth in range(table.shape[0]):
        weights, alias, height = sampler.split(truth)
        for column in columns:
            threshold = Fraction(weights[column], height) if alias[column] != column else None
            for low, deep in numbers_near(threshold, free):
                main = ((column << free) | low).to_bytes(width // 8, "little")
                bits = ReplayBits(main, deep=deep)
                report = sampler.draw_one(truth, bits)
                yield truth, main.hex(), deep[: len(deep) - bits.left["deep"]].hex(), report


def numbers_near(threshold: Fraction | None, free: int) -> Iterator[tuple[int, bytes]]:
    """Yield numbers in a column: the first, the last, and those near a threshold; ``free`` bits, then further words.

    >>> [low for low, _ in numbers_near(Fraction(3, 8), 3)]
    [0, 7, 2, 4, 3, 3, 3]
    """
    end = 1 << free
    yield 0, b"\0" * 32
    yield end - 1, b"\xff" * 32
    if threshold is None:
        return
    first, second, third = _words(threshold, free)
    for low in (first - 1, first + 1):
        if 0 <= low < end:
            yield low, b""
    for words in ((second - 1,), (second, third - 1), (second, third), (second, third + 1), (second + 1,)):
        if all(0 <= word < 2**64 for word in words):
            yield first, b"".join(word.to_bytes(8, "little") for word in (*words, 0, 0))


def _words(threshold: Fraction, free: int) -> tuple[int, int, int]:
    """Return the first bits of a threshold below one, and the next two words of 64."""
    whole = int(threshold * (1 << (free + 128)))
    return whole >> 128, (whole >> 64) & (2**64 - 1), whole & (2**64 - 1)
