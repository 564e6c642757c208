"""Least squares where levels overlap and some combinations are missing: conjugate gradients, certified exactly.

The normal matrix ``A = sum_S Q_S' Q_S / v_S`` includes the measurements of the leaves, so ``A >= I / v`` with the
variance v of a leaf, and a solution with residual r is within ``v |r|`` of the least-squares solution. Leaves are
multiples of ``2^-BINARY_DIGITS``. Doubles propose corrections, and residuals are computed in integers, until the bound
is at most ``MAX_LEAF_ERROR``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, lcm
from typing import Any

import numpy as np

from ...errors import NotCertified
from ...exact.arrays import Array, FloatArray
from .shape import Shape

#: Binary digits of the leaves after the point.
BINARY_DIGITS = 96

#: Largest distance of a leaf from the least-squares solution, in counts.
MAX_LEAF_ERROR = Fraction(1, 10**15)

#: Largest number of leaves for which variances come from a dense inverse; beyond, those of the measurements bound them.
MAX_DENSE_LEAVES = 1_500

_MAX_CORRECTIONS = 60


@dataclass(frozen=True, eq=False)
class OverlappingLeastSquares:
    """Least squares for any levels of any groups.

    Attributes
    ----------
    shape
        The groups and their levels; structural zeros are skipped.
    variances
        The variance of a measurement of each level.
    """

    shape: Shape
    variances: tuple[Fraction, ...]

    @cached_property
    def _incidence(self) -> list[Any]:
        """For each level, the sparse matrix Q that sums the leaves that can exist."""
        from scipy.sparse import csr_array

        live = np.flatnonzero(self.shape.live)
        ones, columns = np.ones(len(live)), np.arange(len(live))
        return [
            csr_array((ones, (nodes[live], columns)), shape=(size, len(live)))
            for nodes, size in zip(self.shape.node_of_leaf, self.shape.sizes, strict=True)
        ]

    @cached_property
    def _normal(self) -> Any:
        return sum((q.T @ q) / float(v) for q, v in zip(self._incidence, self.variances, strict=True)).tocsr()

    def _solve(self, right: FloatArray) -> FloatArray:
        """Return ``A^-1 right`` approximately, column by column."""
        from scipy.sparse.linalg import cg

        diagonal = self._normal.diagonal()
        scale = 1 / np.sqrt(diagonal)
        scaled = self._normal * scale[:, None] * scale[None, :]
        columns = [cg(scaled, column * scale, rtol=1e-9, maxiter=2_000)[0] * scale for column in right.T]
        return np.stack(columns, axis=1)

    def leaves(self, measured: Sequence[Array]) -> tuple[Array, int]:
        """Return the combined leaves as integers over ``2^BINARY_DIGITS``."""
        flat = [one.reshape(len(one), -1).astype(object) for one in measured]
        live, unit = np.flatnonzero(self.shape.live), 1 << BINARY_DIGITS
        common = lcm(*((1 / v).denominator for v in self.variances))
        weights = [int(common / v) for v in self.variances]
        x: Array = np.zeros((self.shape.groups.size, flat[0].shape[1]), dtype=object)
        for _ in range(_MAX_CORRECTIONS):
            residual: Array = np.zeros((len(live), flat[0].shape[1]), dtype=object)
            for level, sums in enumerate(self.shape.sums(x)):
                gap = (flat[level] * unit - sums) * weights[level]
                residual = residual + gap[self.shape.node_of_leaf[level][live]]
            square = max(int(value) for value in (residual * residual).sum(axis=0))
            if (isqrt(square) + 1) * self.variances[0] <= MAX_LEAF_ERROR * common * unit:
                return x.reshape(measured[0].shape), unit
            size = max(1, isqrt(square))
            right = np.array([[value / size for value in row] for row in residual.tolist()])
            step = Fraction(size, common)
            correction = [[int(Fraction(value) * step) for value in row] for row in self._solve(right).tolist()]
            x[live] = x[live] + np.array(correction, dtype=object)
        raise NotCertified("the totals could not be combined: conjugate gradients did not converge.")

    def float_leaves(self, measured: Sequence[FloatArray]) -> FloatArray:
        """Return the combined leaves in doubles."""
        flat = [one.reshape(len(one), -1) for one in measured]
        right = sum(q.T @ one / float(v) for q, one, v in zip(self._incidence, flat, self.variances, strict=True))
        leaves = np.zeros(flat[0].shape)
        leaves[self.shape.live] = self._solve(np.asarray(right))
        return leaves.reshape(measured[0].shape)

    @property
    def variances_are_bounds(self) -> bool:
        """True if :meth:`node_variances` gives upper bounds of the variances."""
        return bool(self._normal.shape[0] > MAX_DENSE_LEAVES)

    def node_variances(self) -> list[FloatArray]:
        """Return the variance of each node's combined count, or an upper bound; 0 where a node cannot exist."""
        if self.variances_are_bounds:
            levels = zip(self.shape.live_nodes, self.variances, strict=True)
            return [np.where(live, float(v), 0.0) for live, v in levels]
        inverse = np.linalg.inv(self._normal.toarray())
        return [np.asarray(((q @ inverse) * q.toarray()).sum(axis=1)) for q in self._incidence]
