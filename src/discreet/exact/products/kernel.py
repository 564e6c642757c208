"""The product of kernels: independent reports of several values of one person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray, IntArray
from ..base import Ends, Kernel
from ..bits import Bits
from ..sampling import Sampler
from ..tables import Table, refuse_large

#: A part with at most so many places is multiplied as a matrix; a larger one by its structure, row by row.
DENSE_PLACES = 1 << 20


@dataclass(frozen=True)
class Product(Kernel):
    """Each part reports its own truth, independently: ``P((y1, y2) | (x1, x2)) = P1(y1 | x1) P2(y2 | x2)``.

    Truths and reports are numbered with the last part fastest.

    Parameters
    ----------
    parts
        The kernels, with finitely many truths and reports each.
    sizes
        For each of them, how many truths and how many reports it has.
    """

    parts: tuple[Kernel, ...]
    sizes: tuple[tuple[int, int], ...]

    @property
    def truths(self) -> tuple[int, ...]:
        """How many truths each part has."""
        return tuple(size for size, _ in self.sizes)

    @property
    def reports(self) -> tuple[int, ...]:
        """How many reports each part has."""
        return tuple(size for _, size in self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """How many truths and reports there are."""
        return prod(self.truths), prod(self.reports)

    def places(self, truths: Array, reports: Array) -> Iterator[tuple[Kernel, IntArray, IntArray]]:
        """Return each part, with the numbers of its truths and of its reports."""
        yield from zip(
            self.parts, np.unravel_index(truths, self.truths), np.unravel_index(reports, self.reports), strict=True
        )

    def probability(self, i: int, j: int) -> Fraction:
        parts = self.places(np.asarray(i), np.asarray(j))
        return prod((one.probability(int(x), int(y)) for one, x, y in parts), start=Fraction(1))

    def table(self) -> Table:
        refuse_large(*self.shape)
        return reduce(_table_of_two, (one.table() for one in self.parts))

    def matrix(self) -> FloatArray:
        refuse_large(*self.shape)
        return reduce(lambda a, b: np.asarray(np.kron(a, b)), (one.matrix() for one in self.parts))

    def forward(self, distribution: FloatArray) -> FloatArray:
        found = np.asarray(distribution, float).reshape(self.truths)
        for axis, (one, size) in enumerate(zip(self.parts, self.sizes, strict=True)):
            if prod(size) <= DENSE_PLACES:
                found = np.moveaxis(np.moveaxis(found, axis, -1) @ one.matrix(), -1, axis)
            else:
                found = _by_rows(one.forward, found, axis)
        return found.ravel()

    def backward(self, values: FloatArray) -> FloatArray:
        found = np.asarray(values, float).reshape(self.reports)
        for axis, (one, size) in enumerate(zip(self.parts, self.sizes, strict=True)):
            if prod(size) <= DENSE_PLACES:
                found = np.moveaxis(np.moveaxis(found, axis, -1) @ one.matrix().T, -1, axis)
            else:
                found = _by_rows(one.backward, found, axis)
        return found.ravel()

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return the parts' probabilities, each worked out once for every truth and report of the part, multiplied."""
        chances = np.ones((len(truths), len(reports)))
        for part, own, reported in self.places(truths, reports):
            rows, row = np.unique(own, return_inverse=True)
            columns, column = np.unique(reported, return_inverse=True)
            chances *= part.block(rows, columns)[np.ix_(row, column)]
        return chances

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return self.parts

    @property
    def factor_sizes(self) -> tuple[tuple[int, int], ...]:
        return self.sizes

    @property
    def is_constant(self) -> bool:
        return any(part.is_constant for part in self.parts)

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return False  # files keep the parts of a product, never its own kernel

    def sampler(self) -> Sampler:
        return _ProductSampler(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": "product",
            "parts": [one.to_json() for one in self.parts],
            "sizes": [list(size) for size in self.sizes],
        }


def _by_rows(apply: Callable[[FloatArray], FloatArray], values: FloatArray, axis: int) -> FloatArray:
    """Return a product with a kernel along one axis."""
    moved = np.moveaxis(values, axis, -1)
    rows = np.stack([apply(row) for row in np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])])
    return np.moveaxis(rows.reshape(*moved.shape[:-1], -1), -1, axis)


def _table_of_two(first: Table, second: Table) -> Table:
    """Return every weight of the one times every weight of the other: no place is looked at twice."""
    palette = [a * b for a in first.palette for b in second.palette]
    codes = first.codes[:, None, :, None].astype(np.int64) * len(second.palette) + second.codes[None, :, None, :]
    rows, columns = first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]
    return Table.from_codes(palette, codes.reshape(rows, columns))


class _ProductSampler:
    """Draws each part's report with bits of its own."""

    def __init__(self, kernel: Product) -> None:
        self._truths, self._reports = kernel.truths, kernel.reports
        self._samplers = [one.sampler() for one in kernel.parts]

    def draw(self, truths: Array, bits: Bits) -> Array:
        split = np.unravel_index(truths.astype(np.int64, copy=False), self._truths)
        drawn = [one.draw(x, bits.part(k)) for k, (one, x) in enumerate(zip(self._samplers, split, strict=True))]
        return np.asarray(np.ravel_multi_index(tuple(y.astype(np.int64) for y in drawn), self._reports))

    def draw_one(self, truth: int, bits: Bits) -> int:
        split = np.unravel_index(truth, self._truths)
        drawn = [
            one.draw_one(int(x), bits.part(k)) for k, (one, x) in enumerate(zip(self._samplers, split, strict=True))
        ]
        return int(np.ravel_multi_index(tuple(drawn), self._reports))
