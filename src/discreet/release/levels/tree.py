"""Least squares on a tree: two passes, whatever its branches are.

Leaves ``y_l`` and nodes ``y_v`` are measured independently with variances ``s_v``. Up: ``z_v`` is the inverse-variance
mean of ``y_v`` and the sum Z of the children's z; with T the sum of the children's t its variance is ``1/t_v = 1/s_v +
1/T``. Down: a root keeps its z, and a child gets ``x_c = z_c + (t_c / T) (x_parent - Z)``, with variance ``t_c - (t_c /
T)^2 (T - Var x_parent)`` (Hay, Rastogi, Miklau, Suciu 2010; the smoother of Rauch, Tung, Striebel 1965).

The passes are done in whole multiples of ``2^-PLACES``, with floor division: no machine rounds otherwise. Each step is
off by less than one of these, so that a leaf of a tree with N nodes is within ``4 N 2^-PLACES`` of the least-squares
solution.
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

#: Binary places of the two passes.
PLACES = 192


@dataclass(frozen=True, eq=False)
class TreeLeastSquares:
    """Least squares for levels of which each is a coarser one of the level before it.

    Attributes
    ----------
    shape
        The groups and their levels; groups that cannot exist are left out.
    variances
        The variance of a measurement of each level.
    """

    shape: Shape
    variances: tuple[Fraction, ...]

    @cached_property
    def _live(self) -> list[IntArray]:
        """For each level, the nodes that can exist."""
        return [np.flatnonzero(live) for live in self.shape.live_nodes]

    @cached_property
    def _parents(self) -> list[IntArray]:
        """For each level but the last, the place of each node's parent among the nodes of the next level."""
        parents = []
        for level in range(len(self._live) - 1):
            above = np.full(self.shape.sizes[level], -1, np.int64)
            above[self.shape.node_of_leaf[level]] = self.shape.node_of_leaf[level + 1]
            place = np.full(self.shape.sizes[level + 1], -1, np.int64)
            place[self._live[level + 1]] = np.arange(len(self._live[level + 1]))
            parents.append(place[above[self._live[level]]])
        return parents

    @cached_property
    def _orders(self) -> list[tuple[IntArray, IntArray]]:
        """For each level but the last, its nodes sorted by parent, and where each parent's children begin."""
        orders = [np.argsort(parent, kind="stable") for parent in self._parents]
        return [
            (order, np.searchsorted(parent[order], np.arange(len(self._live[level + 1]))))
            for level, (order, parent) in enumerate(zip(orders, self._parents, strict=True))
        ]

    def _sum(self, values: Array, level: int) -> Array:
        """The sums over the children of each node of the next level."""
        order, starts = self._orders[level]
        return np.add.reduceat(values[order], starts, axis=0)

    def _spreads(
        self, s: Sequence[float], kind: type, over: Callable[[Array, Array], Array]
    ) -> tuple[list[Array], list[Array]]:
        """The variances t of the upward estimates of each level, and the sums T of the children's."""
        t: list[Array] = [np.full(len(self._live[0]), s[0], dtype=kind)]
        sums: list[Array] = []
        for level in range(1, len(s)):
            sums.append(self._sum(t[-1], level - 1))
            t.append(over(s[level] * sums[-1], s[level] + sums[-1]))
        return t, sums

    def _passes(
        self, measured: Sequence[Array], s: Sequence[float], kind: type, over: Callable[[Array, Array], Array]
    ) -> Array:
        t, sums = self._spreads(s, kind, over)
        rest = (slice(None), *(None,) * (measured[0].ndim - 1))
        z = [measured[0][self._live[0]]]
        below: list[Array] = []
        for level in range(1, len(s)):
            total, spread = self._sum(z[-1], level - 1), sums[level - 1][rest]
            below.append(total)
            own = measured[level][self._live[level]]
            z.append(over(own * spread + total * s[level], s[level] + spread))
        x = z[-1]
        for level in range(len(s) - 2, -1, -1):
            parent = self._parents[level]
            gap = (x - below[level])[parent]
            x = z[level] + over(gap * t[level][rest], sums[level][parent][rest])
        leaves: Array = np.zeros(measured[0].shape, dtype=kind)
        leaves[self._live[0]] = x
        return leaves

    def leaves(self, measured: Sequence[Array]) -> tuple[Array, int]:
        """The combined leaves as integers over ``2^PLACES``."""
        unit = 1 << PLACES
        s = [int(variance * unit) for variance in self.variances]
        return self._passes([one.astype(object) * unit for one in measured], s, object, floordiv), unit

    def float_leaves(self, measured: Sequence[FloatArray]) -> FloatArray:
        """The combined leaves in doubles."""
        return self._passes(measured, [float(v) for v in self.variances], np.float64, truediv)

    def node_variances(self) -> list[FloatArray]:
        """The variance of each combined count of each level, as doubles; 0 where a node cannot exist."""
        t, sums = self._spreads([float(v) for v in self.variances], np.float64, truediv)
        found = [t[-1]]
        for level in range(len(t) - 2, -1, -1):
            parent = self._parents[level]
            share = t[level] / sums[level][parent]
            found.insert(0, t[level] - share**2 * (sums[level] - found[0])[parent])
        full = []
        for level, values in enumerate(found):
            nodes = np.zeros(self.shape.sizes[level])
            nodes[self._live[level]] = values
            full.append(nodes)
        return full
