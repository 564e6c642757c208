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

#: Maximum number of entries of a part that is multiplied as a matrix; a larger one uses its structure, row by row.
MAX_DENSE_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Product(Kernel):
    """Each part reports its own truth, independently: ``P((y1, y2) | (x1, x2)) = P1(y1 | x1) P2(y2 | x2)``.

    Truths and reports are numbered with the last part fastest.

    Parameters
    ----------
    parts
        The kernels, with finitely many truths and reports each.
    sizes
        The numbers of truths and of reports of each kernel.
    """

    parts: tuple[Kernel, ...]
    sizes: tuple[tuple[int, int], ...]

    @property
    def truths(self) -> tuple[int, ...]:
        """The number of truths of each part."""
        return tuple(size for size, _ in self.sizes)

    @property
    def reports(self) -> tuple[int, ...]:
        """The number of reports of each part."""
        return tuple(size for _, size in self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of truths and of reports."""
        return prod(self.truths), prod(self.reports)

    def split(self, truths: Array, reports: Array) -> Iterator[tuple[Kernel, IntArray, IntArray]]:
        """Yield each part, with the indices of its truths and of its reports."""
        yield from zip(
            self.parts, np.unravel_index(truths, self.truths), np.unravel_index(reports, self.reports), strict=True
        )

    def probability(self, i: int, j: int) -> Fraction:
        parts = self.split(np.asarray(i), np.asarray(j))
        return prod((one.probability(int(x), int(y)) for one, x, y in parts), start=Fraction(1))

    def table(self) -> Table:
        refuse_large(*self.shape)
        return reduce(_table_of_two, (one.table() for one in self.parts))

    def matrix(self) -> FloatArray:
        refuse_large(*self.shape)
        return reduce(lambda a, b: np.asarray(np.kron(a, b)), (one.matrix() for one in self.parts))

    def forward(self, distribution: FloatArray) -> FloatArray:
        product = np.asarray(distribution, float).reshape(self.truths)
        for axis, (one, size) in enumerate(zip(self.parts, self.sizes, strict=True)):
            if prod(size) <= MAX_DENSE_ENTRIES:
                product = np.moveaxis(np.moveaxis(product, axis, -1) @ one.matrix(), -1, axis)
            else:
                product = _by_rows(one.forward, product, axis)
        return product.ravel()

    def backward(self, values: FloatArray) -> FloatArray:
        product = np.asarray(values, float).reshape(self.reports)
        for axis, (one, size) in enumerate(zip(self.parts, self.sizes, strict=True)):
            if prod(size) <= MAX_DENSE_ENTRIES:
                product = np.moveaxis(np.moveaxis(product, axis, -1) @ one.matrix().T, -1, axis)
            else:
                product = _by_rows(one.backward, product, axis)
        return product.ravel()

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return the products of the parts' probabilities, each computed once per truth and report of the part."""
        chances = np.ones((len(truths), len(reports)))
        for part, part_truths, part_reports in self.split(truths, reports):
            rows, row = np.unique(part_truths, return_inverse=True)
            columns, column = np.unique(part_reports, return_inverse=True)
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
        return False  # files hold the parts of a product, never its kernel

    def sampler(self) -> Sampler:
        return _ProductSampler(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": "product",
            "parts": [one.to_json() for one in self.parts],
            "sizes": [list(size) for size in self.sizes],
        }


def _by_rows(apply: Callable[[FloatArray], FloatArray], values: FloatArray, axis: int) -> FloatArray:
    """Return the product with a kernel along one axis."""
    last = np.moveaxis(values, axis, -1)
    rows = np.stack([apply(row) for row in np.ascontiguousarray(last).reshape(-1, last.shape[-1])])
    return np.moveaxis(rows.reshape(*last.shape[:-1], -1), -1, axis)


def _table_of_two(first: Table, second: Table) -> Table:
    """Return the table of all products of a weight of the one and a weight of the other."""
    palette = [a * b for a in first.palette for b in second.palette]
    codes = first.codes[:, None, :, None].astype(np.int64) * len(second.palette) + second.codes[None, :, None, :]
    rows, columns = first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]
    return Table.from_codes(palette, codes.reshape(rows, columns))


class _ProductSampler:
    """The sampler of a product: each part's report with separate bits."""

    def __init__(self, kernel: Product) -> None:
        self._truths, self._reports = kernel.truths, kernel.reports
        self._samplers = [one.sampler() for one in kernel.parts]

    def draw(self, truths: Array, bits: Bits) -> Array:
        split = np.unravel_index(truths.astype(np.int64, copy=False), self._truths)
        reports = [one.draw(x, bits.part(k)) for k, (one, x) in enumerate(zip(self._samplers, split, strict=True))]
        return np.asarray(np.ravel_multi_index(tuple(y.astype(np.int64) for y in reports), self._reports))

    def draw_one(self, truth: int, bits: Bits) -> int:
        split = np.unravel_index(truth, self._truths)
        reports = [
            one.draw_one(int(x), bits.part(k)) for k, (one, x) in enumerate(zip(self._samplers, split, strict=True))
        ]
        return int(np.ravel_multi_index(tuple(reports), self._reports))
