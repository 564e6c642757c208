"""Tables of exact probabilities: integer weights, one row per true value.

A table stores each distinct weight once (the *palette*) and, for every entry, the index of its weight (the *code*).
A mechanism on a thousand counts whose entries are powers of one ratio has a million entries but a thousand weights of
ten thousand bits; stored this way it fits in a few megabytes, and the judge checks each distinct pair of weights once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, InWords, Unsupported, WrongType
from .arrays import Array, FloatArray
from .base import Ends, Kernel
from .rationals import show_integer
from .sampling import AliasSampler

#: Maximum number of entries of an expanded table; beyond it a kernel answers from its structure only.
MAX_TABLE_ENTRIES = 16_000_000


def refuse_large(rows: int, columns: int) -> None:
    """Refuse to expand a kernel to more entries than memory should hold."""
    if rows * columns > MAX_TABLE_ENTRIES:
        raise Unsupported(
            f"a table of {rows} x {columns} probabilities is too large to write out (at most {MAX_TABLE_ENTRIES:,}).",
            "Noise such as geometric works for any range without it: probability, forward, backward, release.",
        )


@dataclass(frozen=True, eq=False)
class Table(Kernel):
    """Exact conditional probabilities: ``P(report j | truth i) = palette[codes[i, j]] / totals[i]``.

    Build one with :meth:`from_rows` or :meth:`from_codes`; both check that every row adds up to its total.
    """

    palette: tuple[int, ...]
    codes: NDArray[np.int32]
    totals: tuple[int, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Table:
        """Return a table from rows of nonnegative integers; each row is divided by its sum."""
        weights = [_integers(row) for row in rows]
        if not weights or not weights[0]:
            raise InvalidInput("a table needs at least one row and one column; got none.", argument="rows")
        width = len(weights[0])
        if any(len(row) != width for row in weights):
            raise InvalidInput("every row of a table needs the same length.", argument="rows")
        palette = sorted({w for row in weights for w in row})
        number = {w: k for k, w in enumerate(palette)}
        codes = np.array([[number[w] for w in row] for row in weights], dtype=np.int32)
        return cls.from_codes(palette, codes)

    @classmethod
    def from_array(cls, weights: Array) -> Table:
        """Return a table from an integer array; each row is divided by its sum. Faster than :meth:`from_rows`."""
        if weights.ndim != 2 or not weights.size:
            raise InvalidInput(
                f"a table needs at least one row and one column; got an array of shape {weights.shape}.",
                argument="weights",
            )
        distinct, inverse = np.unique(weights, return_inverse=True)
        return cls.from_codes(distinct.tolist(), inverse.reshape(weights.shape))

    @classmethod
    def from_codes(cls, palette: Sequence[int], codes: Array) -> Self:
        """Return a table from distinct weights and, for each entry, the index of its weight."""
        weights = _integers(palette)
        if weights and min(weights) < 0:
            raise InvalidInput.must_be("weights", "0 or more", InWords(min(weights)))
        numbers = np.array(codes, dtype=np.int32, order="C")  # a copy, so that no other code can change it
        numbers.flags.writeable = False
        totals = tuple(_row_sums(weights, numbers))
        for i, total in enumerate(totals):
            if total == 0:
                raise InvalidInput(
                    f"row {i} is all zero: it is not a distribution.", "Give each row a positive weight."
                )
        return cls(weights, numbers, totals)

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.codes.shape[1]

    @property
    def common_total(self) -> int | None:
        """The total that every row shares, or None."""
        return self.totals[0] if len(set(self.totals)) == 1 else None

    def weight(self, i: int, j: int) -> int:
        return self.palette[int(self.codes[i, j])]

    def row(self, i: int) -> list[int]:
        """Return the integer weights of one row."""
        return [self.palette[c] for c in self.codes[i].tolist()]

    def probability(self, i: int, j: int) -> Fraction:
        return Fraction(self.weight(i, j), self.totals[i])

    def matrix(self) -> FloatArray:
        """Return the probabilities as doubles, each within 2^-51 of its value relatively (below 1e-300, absolutely)."""
        shared = self.common_total
        if shared is not None:
            return np.asarray(np.array([w / shared for w in self.palette])[self.codes])
        # Scale palette and totals by one power of two, so that their quotient needs no further care.
        shift = max(max(self.totals).bit_length(), max(self.palette).bit_length()) - 900
        if shift <= 0:
            weights = np.array([float(w) for w in self.palette])[self.codes]
            return np.asarray(weights / np.array([[float(t)] for t in self.totals]))
        return np.array([[w / t for w in self.row(i)] for i, t in enumerate(self.totals)])

    def log_weights(self) -> FloatArray:
        """Return the log of the palette, minus infinity for zero; absolute error below 2^-52 (1 + |log|)."""
        return np.array([math.log(w) if w else -math.inf for w in self.palette])

    def table(self) -> Table:
        """Return the table itself."""
        return self

    def forward(self, distribution: FloatArray) -> FloatArray:
        """Return the distribution of reports when truths have this one."""
        return distribution @ self._floats

    def backward(self, values: FloatArray) -> FloatArray:
        """Return, for each truth, the expectation of these values of the reports."""
        return self._floats @ values

    @cached_property
    def _floats(self) -> FloatArray:
        matrix = self.matrix()
        matrix.flags.writeable = False
        return matrix

    @property
    def is_constant(self) -> bool:
        return bool((self.codes == self.codes[0]).all() and len(set(self.totals)) == 1)

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return self.shape[1] == size

    def sampler(self) -> AliasSampler:
        return AliasSampler(self)

    def to_json(self) -> dict[str, Any]:
        return {"kernel": "table", "palette": [show_integer(w) for w in self.palette], "codes": self.codes.tolist()}

    def reduced(self) -> Table:
        """Return the same probabilities with weights divided by their greatest common divisor."""
        divisor = math.gcd(*self.palette)
        if divisor <= 1:
            return self
        return Table.from_codes([w // divisor for w in self.palette], self.codes)


def _integers(values: Iterable[int]) -> tuple[int, ...]:
    try:
        return tuple(index(v) for v in values)
    except TypeError:
        raise WrongType("the weights of a table must be integers.", argument="weights") from None


def _row_sums(palette: tuple[int, ...], codes: NDArray[np.int32]) -> Iterator[int]:
    """Yield the exact sum of each row; if rows share weights, from the changes from one row to the next.

    In a table such as the explicit fair one, neighbouring rows differ in a few weights: with weights of ten thousand
    bits this saves most of the time.
    """
    if len(palette) > 4 * codes.shape[1]:  # hardly shared
        for row in codes:
            yield _weighted(palette, *np.unique(row, return_counts=True))
        return
    total, before = 0, np.zeros(len(palette), np.int64)
    for row in codes:
        now = np.bincount(row, minlength=len(palette))
        changed = np.flatnonzero(now != before)
        total += _weighted(palette, changed, (now - before)[changed])
        before = now
        yield total


def _weighted(palette: tuple[int, ...], codes: Array, times: Array) -> int:
    return sum(palette[c] * t for c, t in zip(codes.tolist(), times.tolist(), strict=True))
