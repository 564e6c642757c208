"""Least squares on a tree, in two passes.

Leaves ``y_l`` and nodes ``y_v`` are measured independently with variances ``s_v``. Up: ``z_v`` is the inverse-variance
mean of ``y_v`` and the sum Z of the children's z; with T the sum of the children's t its variance is ``1/t_v = 1/s_v +
1/T``. Down: a root keeps its z, and a child gets ``x_c = z_c + (t_c / T) (x_parent - Z)``, with variance ``t_c - (t_c /
T)^2 (T - Var x_parent)`` (Hay, Rastogi, Miklau, Suciu 2010; the smoother of Rauch, Tung, Striebel 1965).

The passes use integer multiples of ``2^-BINARY_DIGITS`` and floor division, so every machine computes the same result.
Each step is off by less than one such multiple, so a leaf of a tree with N nodes is within ``4 N 2^-BINARY_DIGITS`` of
the least-squares solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import floordiv, truediv

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from .shape import Shape

#: Binary digits after the point in the two passes.
BINARY_DIGITS = 192


@dataclass(frozen=True, eq=False)
class TreeLeastSquares:
    """Least squares for levels each of which is coarser than the one before it.

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
    def _live(self) -> list[IntArray]:
        """For each level, the indices of the nodes that can exist."""
        return [np.flatnonzero(live) for live in self.shape.live_nodes]

    @cached_property
    def _parents(self) -> list[IntArray]:
        """For each level but the last, the index of each live node's parent among the live nodes of the next."""
        parents = []
        for level in range(len(self._live) - 1):
            above = np.full(self.shape.sizes[level], -1, np.int64)
            above[self.shape.node_of_leaf[level]] = self.shape.node_of_leaf[level + 1]
            position = np.full(self.shape.sizes[level + 1], -1, np.int64)
            position[self._live[level + 1]] = np.arange(len(self._live[level + 1]))
            parents.append(position[above[self._live[level]]])
        return parents

    @cached_property
    def _orders(self) -> list[tuple[IntArray, IntArray]]:
        """For each level but the last, its nodes sorted by parent, and the position of each parent's first child."""
        orders = [np.argsort(parent, kind="stable") for parent in self._parents]
        return [
            (order, np.searchsorted(parent[order], np.arange(len(self._live[level + 1]))))
            for level, (order, parent) in enumerate(zip(orders, self._parents, strict=True))
        ]

    def _sum(self, values: Array, level: int) -> Array:
        """Return the sums over the children of each node of the next level."""
        order, starts = self._orders[level]
        return np.add.reduceat(values[order], starts, axis=0)

    def _spreads(
        self, s: Sequence[float], kind: type, over: Callable[[Array, Array], Array]
    ) -> tuple[list[Array], list[Array]]:
        """Return the variances t of the upward estimates of each level, and the sums T of the children's."""
        t: list[Array] = [np.full(len(self._live[0]), s[0], dtype=kind)]
        sums: list[Array] = []
        for level in range(1, len(s)):
            sums.append(self._sum(t[-1], level - 1))
            t.append(over(s[level] * sums[-1], s[level] + sums[-1]))
        return t, sums

    def _passes(
        self, measured: Sequence[Array], s: Sequence[float], kind: type, over: Callable[[Array, Array], Array]
    ) -> Array:
        """Return the combined leaves, computed in numbers of this kind and divided by `over`."""
        t, sums = self._spreads(s, kind, over)
        rest = (slice(None), *(None,) * (measured[0].ndim - 1))
        z = [measured[0][self._live[0]]]
        below: list[Array] = []
        for level in range(1, len(s)):
            total, spread = self._sum(z[-1], level - 1), sums[level - 1][rest]
            below.append(total)
            counts = measured[level][self._live[level]]
            z.append(over(counts * spread + total * s[level], s[level] + spread))
        x = z[-1]
        for level in range(len(s) - 2, -1, -1):
            parent = self._parents[level]
            gap = (x - below[level])[parent]
            x = z[level] + over(gap * t[level][rest], sums[level][parent][rest])
        leaves: Array = np.zeros(measured[0].shape, dtype=kind)
        leaves[self._live[0]] = x
        return leaves

    def leaves(self, measured: Sequence[Array]) -> tuple[Array, int]:
        """Return the combined leaves as integers over ``2^BINARY_DIGITS``."""
        unit = 1 << BINARY_DIGITS
        s = [int(variance * unit) for variance in self.variances]
        return self._passes([one.astype(object) * unit for one in measured], s, object, floordiv), unit

    def float_leaves(self, measured: Sequence[FloatArray]) -> FloatArray:
        """Return the combined leaves in doubles."""
        return self._passes(measured, [float(v) for v in self.variances], np.float64, truediv)

    def node_variances(self) -> list[FloatArray]:
        """Return the variance of each node's combined count, as doubles; 0 where a node cannot exist."""
        t, sums = self._spreads([float(v) for v in self.variances], np.float64, truediv)
        combined = [t[-1]]
        for level in range(len(t) - 2, -1, -1):
            parent = self._parents[level]
            share = t[level] / sums[level][parent]
            combined.insert(0, t[level] - share**2 * (sums[level] - combined[0])[parent])
        full = []
        for level, values in enumerate(combined):
            nodes = np.zeros(self.shape.sizes[level])
            nodes[self._live[level]] = values
            full.append(nodes)
        return full
