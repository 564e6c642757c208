"""Many tables of the same people counted at once: the rule, the SQL that all engines share, and reading its result.

**The rule.** Rows outside WHERE, without a unit, or with an undeclared value in any of the columns vanish. Of each
person one record counts, in every table: that of the smallest hash, where columns are packed in order into numbers
``w0, w1, ...`` of at most 62 bits, a column with n values in the bits of n - 1, and

    H = the first 15 hexadecimal digits of md5(hex(key) || ':' || the unit as text || ':' || w0 || ':' || w1 ...)

Equal hashes are ordered by the numbers. Where the unit is the row, every row counts.

Counts come back as pairs of a *signature* and a number. The signature of a cell of a set of columns is the sum of
``a_j + b_j code_j`` over the columns of the set, with public multipliers for which no two wanted cells are alike. So
one short statement has any number of tables, and no table but the wanted ones is counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from math import prod

import numpy as np

from ...errors import InvalidInput, arg
from ...exact.arrays import IntArray
from ..base import ROW, Counting

#: Bits of a number that columns are packed into.
PACKED_BITS = 62

#: Bits of a multiplier, and of its product with the largest code.
_MULTIPLIER_BITS, _PRODUCT_BITS = 48, 56


@dataclass(frozen=True)
class CountingTables(Counting):
    """Tables of sets of the GROUP BY columns, with one record of each person in all of them.

    ``groups`` has the declared values of each column. The counts of all sets are returned one set after the other, in
    one column.

    Parameters
    ----------
    sets
        The columns of each table: ascending places in GROUP BY.
    """

    sets: tuple[tuple[int, ...], ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        if len(self.question.aggregates) != 1 or self.conditions or self.max_rows is not None:
            raise InvalidInput("tables at once have one count, COUNT(*).", "Put a condition into WHERE.")
        if self.per is not None:
            raise InvalidInput(
                "tables at once protect whole people, not their periods.", f"Leave {arg('per')} out.", argument="per"
            )
        if self.groups.cells is not None or self.groups.zeros:
            raise InvalidInput("tables at once have all combinations of values.", "Declare values for each column.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of declared values of each column."""
        return tuple(map(len, self.groups.values))

    def cells(self, columns: Sequence[int]) -> int:
        """Return the number of cells of a set of columns."""
        return prod(self.sizes[column] for column in columns)

    @property
    def size(self) -> int:
        """Number of cells of all sets."""
        return sum(map(self.cells, self.sets))

    def no_counts(self) -> IntArray:
        """Return a zero for each cell."""
        return np.zeros((self.size, 1), dtype=np.int64)

    @cached_property
    def words(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The numbers that columns are packed into: for each the columns, and the place of their lowest bit."""
        words: list[list[tuple[int, int]]] = [[]]
        used = 0
        for column, size in enumerate(self.sizes):
            bits = (size - 1).bit_length()
            if used + bits > PACKED_BITS:
                words.append([])
                used = 0
            words[-1].append((column, used))
            used += bits
        return tuple(map(tuple, words))

    @cached_property
    def signatures(self) -> Signatures:
        """The signatures of all cells."""
        return next(one for one in (Signatures.of(self, salt) for salt in count()) if one is not None)


@dataclass(frozen=True, eq=False)
class Signatures:
    """The signature of each cell, and the multipliers.

    Attributes
    ----------
    multipliers
        ``a`` and ``b`` of each column.
    ordered
        The signatures in ascending order.
    cells
        The number of the cell of each.
    """

    multipliers: tuple[tuple[int, int], ...]
    ordered: IntArray
    cells: IntArray

    @classmethod
    def of(cls, counting: CountingTables, salt: int) -> Signatures | None:
        """Return the signatures with the multipliers that a number gives; None if two cells are alike."""
        multipliers = []
        for column, size in enumerate(counting.sizes):
            digest = hashlib.md5(f"{salt}:{column}".encode(), usedforsecurity=False).digest()
            a, b = (int.from_bytes(half) for half in (digest[:8], digest[8:]))
            multipliers.append((a >> (64 - _MULTIPLIER_BITS), (b >> (64 - _PRODUCT_BITS + size.bit_length())) | 1))
        parts = []
        for columns in counting.sets:
            total = np.zeros(1, dtype=np.int64)
            for column in columns:
                a, b = multipliers[column]
                codes = a + b * np.arange(counting.sizes[column], dtype=np.int64)
                total = (total[:, None] + codes[None, :]).reshape(-1)
            parts.append(total)
        every = np.concatenate(parts)
        cells = np.argsort(every, kind="stable")
        ordered = every[cells]
        return None if (np.diff(ordered) == 0).any() else cls(tuple(multipliers), ordered, cells)

    def add(self, counts: IntArray, signatures: IntArray, numbers: IntArray) -> None:
        """Add counted cells to counts of shape (cells, 1)."""
        places = np.searchsorted(self.ordered, signatures)
        np.add.at(counts[:, 0], self.cells[places], numbers)


def chosen_records_sql(counting: CountingTables, coded: str, hashed: Callable[[str], str], text: str) -> str:
    """Return SQL of ``c0, c1, ...`` for the one record of each person, or for each row if it is the unit.

    Parameters
    ----------
    counting
        The counts to make.
    coded
        SQL of ``c0, c1, ...``, the number of each value, and ``unit``, for each row with declared values.
    hashed
        Returns SQL of the bounding hash of a text.
    text
        The engine's type of texts.
    """
    if counting.unit == ROW:
        return coded
    names = [f"w{k}" for k in range(len(counting.words))]
    packed = ", ".join(
        f"{' + '.join(f'(CAST(c{column} AS BIGINT) << {bit})' for column, bit in word)} AS {name}"
        for word, name in zip(counting.words, names, strict=True)
    )
    rows = f"SELECT unit, {packed} FROM ({coded}) AS coded"
    joined = " || ':' || ".join(f"CAST({name} AS {text})" for name in ("unit", *names))
    listed = ", ".join(names)
    ranked = f"SELECT unit, {listed}, {hashed(joined)} AS h FROM ({rows}) AS packed"
    ordered = f"SELECT {listed}, row_number() OVER (PARTITION BY unit ORDER BY h, {listed}) AS place"
    codes = ", ".join(
        f"(({name} >> {bit}) & {(1 << (counting.sizes[column] - 1).bit_length()) - 1}) AS c{column}"
        for word, name in zip(counting.words, names, strict=True)
        for column, bit in word
    )
    return f"SELECT {codes} FROM ({ordered} FROM ({ranked}) AS ranked) AS ordered WHERE place = 1"


def cells_sql(counting: CountingTables, sets: Sequence[tuple[int, ...]], records: str) -> str:
    """Return SQL of ``signature`` and ``n`` for each cell of these sets, from a FROM item with ``c0, c1, ...``."""
    columns = sorted({column for one in sets for column in one})
    grouped = ", ".join(f"({', '.join(f'c{column}' for column in one)})" for one in sets)
    names = "".join(f"c{column}, " for column in columns)
    counted = f"SELECT {names}count(*) AS n FROM {records} GROUP BY GROUPING SETS ({grouped})"
    terms = ["CAST(0 AS BIGINT)"]
    for column in columns:
        a, b = counting.signatures.multipliers[column]
        terms.append(f"CASE WHEN c{column} IS NULL THEN 0 ELSE {a} + CAST(c{column} AS BIGINT) * {b} END")
    return f"SELECT {' + '.join(terms)} AS signature, n FROM ({counted}) AS counted"


def in_chunks(sets: Sequence[tuple[int, ...]], most: int) -> Iterator[Sequence[tuple[int, ...]]]:
    """Yield these sets, at most that number at a time."""
    for start in range(0, len(sets), most):
        yield sets[start : start + most]
