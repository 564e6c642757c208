"""The shape of a table with totals: which groups each total adds up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...exact.arrays import Array, BoolArray, IntArray
from ...questions.bands import bands_of
from ...questions.groups import Groups
from ...questions.levels import Levels, is_chain

#: What a request can want to be small by the split of its levels, in words.
SPLITS_IN_WORDS = {"largest": "the largest variance of a count", "sum": "the sum of the variances of all counts"}


@dataclass(frozen=True, eq=False)
class Shape:
    """The groups of a question (*leaves*), and the sums of leaves on each level (*nodes*).

    Attributes
    ----------
    groups
        The leaves.
    levels
        The columns of each level, finest first; the finest level is the leaves themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain(["site=1..2", "sex=f,m"], ["site", "sex"]), ((0, 1), (0,), ()))
    >>> [level.tolist() for level in shape.sums(np.array([1, 2, 3, 4]))]
    [[1, 2, 3, 4], [3, 7], [10]]
    """

    groups: Groups
    levels: Levels

    @cached_property
    def nodes(self) -> tuple[Groups, ...]:
        """The nodes of each level as groups; a node is a structural zero if all its leaves are."""
        return tuple(self._nodes_of(columns) for columns in self.levels)

    @cached_property
    def node_of_leaf(self) -> tuple[IntArray, ...]:
        """For each level, the index of the node that each leaf belongs to."""
        codes = self.groups.codes()
        return tuple(
            nodes.index(codes[:, list(columns)]) for columns, nodes in zip(self.levels, self.nodes, strict=True)
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of nodes of each level."""
        return tuple(nodes.size for nodes in self.nodes)

    @cached_property
    def regular(self) -> bool:
        """True if every combination of values is a group that can exist."""
        return self.groups.cells is None and not self.groups.zeros

    @property
    def is_tree(self) -> bool:
        return is_chain(self.levels)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return tuple(map(len, self.groups.values))

    @cached_property
    def live(self) -> BoolArray:
        """Mask of the leaves that can exist."""
        return _live(self.groups)

    @cached_property
    def live_nodes(self) -> tuple[BoolArray, ...]:
        """For each level, a mask of the nodes that can exist."""
        return tuple(map(_live, self.nodes))

    @cached_property
    def most_leaves(self) -> tuple[int, ...]:
        """For each level, the number of live leaves of its largest node."""
        return tuple(int(np.bincount(nodes[self.live]).max()) for nodes in self.node_of_leaf)

    def sums(self, leaves: Array) -> list[Array]:
        """Return the exact sums of each level: a row for each node, from an array with a row for each leaf."""
        return [self.level_sums(leaves, level) for level in range(len(self.levels))]

    def level_sums(self, leaves: Array, level: int) -> Array:
        """Return the exact sums of one level."""
        columns = self.levels[level]
        if len(columns) == len(self.lengths):
            return leaves
        if self.groups.cells is None:
            axes = tuple(k for k in range(len(self.lengths)) if k not in columns)
            summed = leaves.reshape(*self.lengths, *leaves.shape[1:]).sum(axis=axes)
            kind = object if leaves.dtype == object else None  # numpy returns a full sum as a Python integer
            return np.asarray(summed, dtype=kind).reshape(self.sizes[level], *leaves.shape[1:])
        order, starts = self._order(level)
        return np.add.reduceat(leaves[order], starts, axis=0)

    def _order(self, level: int) -> tuple[IntArray, IntArray]:
        """Return the leaves sorted by node, and the position at which each node begins."""
        nodes = self.node_of_leaf[level]
        order = np.argsort(nodes, kind="stable")
        return order, np.searchsorted(nodes[order], np.arange(self.sizes[level]))

    def _nodes_of(self, columns: tuple[int, ...]) -> Groups:
        """Return the nodes of the level with these columns."""
        groups = self.groups
        if len(columns) == len(groups.columns):
            return groups
        level = replace(
            groups,
            columns=tuple(groups.columns[k] for k in columns),
            kinds=tuple(groups.kinds[k] for k in columns),
            values=tuple(groups.values[k] for k in columns),
            cells=None if groups.cells is None or not columns else _distinct_rows(groups.cells[:, list(columns)]),
            zeros=frozenset(),
            bands=bands_of(groups.bands, columns),
        )
        if groups.cells is None and not groups.zeros:
            return level
        nodes = level.index(groups.codes()[:, list(columns)])
        possible = np.zeros(level.size, dtype=bool)
        possible[nodes[self.live]] = True
        return replace(level, zeros=frozenset(np.flatnonzero(~possible).tolist()))


def _distinct_rows(codes: IntArray) -> IntArray:
    """Return each row once, in order of first appearance."""
    _, first = np.unique(codes, axis=0, return_index=True)
    return codes[np.sort(first)]


def _live(groups: Groups) -> BoolArray:
    """Return a mask of the groups that can exist."""
    live = np.ones(groups.size, dtype=bool)
    live[sorted(groups.zeros)] = False
    return live
