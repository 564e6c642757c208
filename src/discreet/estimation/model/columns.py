"""The probabilities of chosen reports for chosen truths, as doubles, of every kind of kernel."""

from __future__ import annotations

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ...exact.kernels import Kernel, Noise, Response
from ...exact.lattice import Lattice
from ...exact.products.kernel import Product
from ...exact.projective import Projective

#: Reports of noise spread wider than this are looked up one by one.
WIDEST = 1 << 22


def block(kernel: Kernel, truths: IntArray, reports: IntArray) -> FloatArray:
    """P(report | truth), a row for each of these truths and a column for each of these reports."""
    if isinstance(kernel, Lattice | Projective):
        return kernel.block(truths, reports)
    if isinstance(kernel, Response):
        same = truths[:, None] == reports[None, :]
        return np.where(same, float(kernel.probability(0, 0)), float(kernel.probability(0, 1)))
    if isinstance(kernel, Product):
        return _product(kernel, truths, reports)
    if isinstance(kernel, Noise):
        return _noise(kernel, truths, reports)
    matrix = kernel.matrix()
    rows = matrix if len(truths) == len(matrix) else matrix.take(truths, 0)
    return rows if len(reports) == matrix.shape[1] else rows.take(reports, 1)


def _product(kernel: Product, truths: IntArray, reports: IntArray) -> FloatArray:
    """The parts' probabilities, each worked out once for every truth and report of the part, multiplied."""
    found = np.ones((len(truths), len(reports)))
    for part, own, reported in kernel.places(truths, reports):
        rows, row = np.unique(own, return_inverse=True)
        columns, column = np.unique(reported, return_inverse=True)
        found *= block(part, rows, columns)[np.ix_(row, column)]
    return found


def _noise(kernel: Noise, truths: IntArray, reports: IntArray) -> FloatArray:
    """Row by row from the law of the noise; reports at an end of a clamped range hold everything beyond it."""
    least, largest = int(reports.min()), int(reports.max())
    places = reports - least
    wide = largest - least > WIDEST
    ends = [k for k, j in enumerate(reports.tolist()) if j in kernel.clamp]
    rows = np.empty((len(truths), len(reports)))
    for row, i in zip(rows, truths.tolist(), strict=True):
        law = kernel.law_at(i)
        if wide:
            row[:] = [law.floats(j - i, j - i)[0] for j in reports.tolist()]
        else:
            row[:] = law.floats(least - i, largest - i)[places]
        for k in ends:
            row[k] = kernel.approximate(i, int(reports[k]))
    return rows
