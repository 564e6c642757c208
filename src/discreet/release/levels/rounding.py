"""Whole, non-negative counts that still add up, for readers who need them; they are biased.

From the coarsest level down, each node's whole count is divided among its children. The children are rounded down, and
the rest goes to the largest remainders, so every count is adjacent to the combined one. Where raising negative counts
to zero makes that impossible, the children are first projected onto the simplex of their total: all are lowered by one
amount, none below zero.

Where two levels overlap, such as row and column totals, alternating projections on rows and columns make the counts
non-negative with the same totals, and controlled rounding (:mod:`.controlled`) makes them whole. Where more levels
overlap, as in a cube of three columns, a controlled rounding need not exist: the totals may move within their standard
errors (:mod:`.overlapping_rounding`). In bundles of layouts before 5, the grand total is divided among all leaves at
once instead, and every other total is a sum of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from .controlled import controlled_rounding
from .division import divide_totals
from .overlapping_rounding import margins_of, rounded_groups
from .shape import Shape

#: Largest number of leaf counts for controlled rounding; larger tables are rounded like those with more levels.
MAX_CONTROLLED_COUNTS = 100_000

#: Largest number of alternating projections, and of projections times leaves.
_MAX_PROJECTIONS, _MAX_PROJECTED_LEAVES = 200, 4_000_000


def rounded_leaves(shape: Shape, leaves: Array, unit: int, errors: Sequence[FloatArray] | None = None) -> IntArray:
    """Return whole leaves from combined leaves in units of ``1/unit``, a column for each measure.

    Parameters
    ----------
    errors
        The standard error of each count of each level, in counts. Without them, totals that overlap in more than two
        ways are not held near their combined counts.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..3", ["site"]), ((0,), ()))
    >>> rounded_leaves(shape, np.array([[126], [-34], [8]]), 10).tolist()
    [[10], [0], [0]]
    """
    live = np.flatnonzero(shape.live)
    flat = leaves.reshape(len(leaves), -1)
    whole: IntArray = np.zeros(flat.shape, np.int64)
    largest = max(int(flat.max()), -int(flat.min()))
    kind = np.int64 if largest * len(flat) < 2**62 else object
    margins = _two_margins(shape, flat.size)
    for measure in range(flat.shape[1]):
        column = flat[:, measure].astype(kind)
        if margins is None and not shape.is_tree and errors is not None:
            overlapping = margins_of(shape, column, unit, errors)
            whole[live, measure] = rounded_groups(column[live], overlapping, unit)
        elif margins is None:
            whole[live, measure] = _divide_top_down(shape, column, unit)[live]
        else:
            rows, columns = (np.unique(nodes[live], return_inverse=True)[1] for nodes in margins)
            values = _make_non_negative(column[live], rows, columns)
            whole[live, measure] = controlled_rounding(values, rows, columns, unit)
    return whole.reshape(leaves.shape)


def has_adjacent_rounding(shape: Shape, counts: int) -> bool:
    """Return True if every total is rounded to an adjacent number as well: totals are nested, or two-way and not many.

    ``counts`` is the number of leaf counts, of all measures. Negative counts that are raised to zero may move others.
    """
    return shape.is_tree or _two_margins(shape, counts) is not None


def _two_margins(shape: Shape, counts: int) -> tuple[IntArray, IntArray] | None:
    """Return each leaf's row and column for controlled rounding of this number of counts, else None."""
    between = [k for k, columns in enumerate(shape.levels) if k and columns]
    if shape.is_tree or len(between) != 2 or counts > MAX_CONTROLLED_COUNTS:
        return None
    first, second = between
    return shape.node_of_leaf[first], shape.node_of_leaf[second]


def _make_non_negative(values: Array, rows: IntArray, columns: IntArray) -> Array:
    """Make values non-negative, keeping the sums of rows and columns as far as possible.

    Negative sums are raised to zero at the cost of the others. Alternating projections on rows and columns approach all
    sums; where structural zeros make that impossible, the column sums win.
    """
    if (values >= 0).all():
        return values
    total = np.array([max(values.sum(), 0)], dtype=values.dtype)
    margins = []
    for nodes in (rows, columns):
        sums: Array = np.zeros(int(nodes.max()) + 1, dtype=values.dtype)
        np.add.at(sums, nodes, values)
        margins.append((nodes, divide_totals(sums, np.zeros(len(sums), np.int64), total, 1)))
    for _ in range(max(1, min(_MAX_PROJECTIONS, _MAX_PROJECTED_LEAVES // len(values)))):
        before = values
        for nodes, sums in margins:
            values = divide_totals(values, nodes, sums, 1)
        if np.array_equal(values, before):
            break
    return values


def _divide_top_down(shape: Shape, leaves: Array, unit: int) -> Array:
    """Divide the rounded grand total among the nodes of each finer level in turn; return the whole leaves."""
    chain = list(range(len(shape.levels) - 1, -1, -1)) if shape.is_tree else [0]
    sums = [shape.level_sums(leaves, level) for level in chain]
    if shape.is_tree:
        above = np.maximum((2 * sums[0] + unit) // (2 * unit), 0)
        parents = shape.node_of_leaf[chain[0]]
    else:
        total = leaves.sum()
        above = np.array([max((2 * total + unit) // (2 * unit), 0)], dtype=leaves.dtype)
        parents = np.zeros(len(leaves), np.int64)
    rest = zip(chain[1:], sums[1:], strict=True) if shape.is_tree else zip(chain, sums, strict=True)
    for level, values in rest:
        nodes = shape.node_of_leaf[level]
        parent = np.zeros(shape.sizes[level], np.int64)
        parent[nodes] = parents
        live = np.flatnonzero(shape.live_nodes[level])
        whole: Array = np.zeros(shape.sizes[level], dtype=leaves.dtype)
        whole[live] = divide_totals(values[live], parent[live], above, unit)
        above, parents = whole, nodes
    return np.asarray(above)
