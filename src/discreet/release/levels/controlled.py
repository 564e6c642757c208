"""Controlled rounding of a two-way table: round every entry and every total to an adjacent whole number.

The negated totals are appended as a row and a column, so that all rows and columns add up to zero. A row or column then
has either no fractional entry or at least two, so fractional entries form cycles. Along a cycle an amount is added and
subtracted in turn until one entry is whole; sums do not change, and no entry passes a whole number. Hence a controlled
rounding always exists (Bacharach 1966; Cox 1987, JASA 82). All arithmetic is in integers.
"""

from __future__ import annotations

from ...exact.arrays import Array, IntArray


def controlled_rounding(values: Array, rows: IntArray, columns: IntArray, unit: int) -> list[int]:
    """Round each entry ``values / unit`` down or up so that every row and column sum is rounded down or up as well.

    The grand total is rounded to the nearest whole number. Several entries may have the same row and column.

    Parameters
    ----------
    values
        The entries, as whole numbers of units of ``1/unit``.
    rows, columns
        The row and the column of each entry.
    unit
        Number of units in one.

    Examples
    --------
    >>> import numpy as np
    >>> cells = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> controlled_rounding(np.array([14, 14, 14, 14]), *cells, 10)
    [1, 2, 2, 1]
    """
    down, across = int(rows.max()) + 1, int(columns.max()) + 1
    entries = [int(value) for value in values]
    row_sums, column_sums = [0] * down, [0] * across
    edges: list[tuple[int, int]] = []
    for value, row, column in zip(entries, rows.tolist(), columns.tolist(), strict=True):
        row_sums[row] += value
        column_sums[column] += value
        edges.append((row, down + 1 + column))
    totals, last = down, down + 1 + across  # the appended row and column
    edges += [(row, last) for row in range(down)] + [(totals, down + 1 + column) for column in range(across)]
    edges.append((totals, last))
    everything = [*entries, *(-one for one in row_sums), *(-one for one in column_sums), sum(entries)]
    whole, part = map(list, zip(*(divmod(value, unit) for value in everything), strict=True))
    at: list[list[int]] = [[] for _ in range(last + 1)]
    for edge, ends in enumerate(edges):
        if part[edge]:
            for end in ends:
                at[end].append(edge)
    grand = len(edges) - 1
    upwards = 2 * part[grand] >= unit

    def move_along(cycle: list[int]) -> None:
        """Add and subtract in turn until an entry is whole; move the grand total to its nearest, the others least."""
        plus, minus = cycle[::2], cycle[1::2]
        forward_step = min(min(unit - part[one] for one in plus), min(part[one] for one in minus))
        backward_step = min(min(part[one] for one in plus), min(unit - part[one] for one in minus))
        forward = (grand in plus) == upwards if grand in cycle else forward_step <= backward_step
        more, less, step = (plus, minus, forward_step) if forward else (minus, plus, backward_step)
        for one in more:
            part[one] += step
            if part[one] == unit:
                whole[one], part[one] = whole[one] + 1, 0
        for one in less:
            part[one] -= step

    for start in range(last + 1):
        nodes, position = [start], {start: 0}
        path: list[int] = []
        while (edge_ahead := _next_fractional(at[nodes[-1]], path[-1] if path else None, part)) is not None:
            ahead = sum(edges[edge_ahead]) - nodes[-1]
            path.append(edge_ahead)
            if ahead not in position:
                position[ahead] = len(nodes)
                nodes.append(ahead)
                continue
            first = position[ahead]
            move_along(path[first:])
            for passed in nodes[first + 1 :]:
                del position[passed]
            del nodes[first + 1 :], path[first:]
    return whole[: len(entries)]


def _next_fractional(edges: list[int], before: int | None, part: list[int]) -> int | None:
    """Return a fractional entry other than `before`, or None, and drop the entries that have become whole."""
    before_dropped = False
    while edges and (part[edges[-1]] == 0 or edges[-1] == before):
        before_dropped |= edges.pop() == before
    entry = edges[-1] if edges else None
    if before_dropped and before is not None and part[before]:
        edges.insert(max(len(edges) - 1, 0), before)
    return entry
