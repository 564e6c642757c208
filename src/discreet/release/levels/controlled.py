"""Controlled rounding of a two-way table: every entry and every total to a whole number next to it.

The table gets its totals as a further row and column, with the opposite sign, so that all rows and columns add up to
zero. A row or column has no entry that is not whole, or several: the others lead on to a cycle of such entries, along
which an amount is added and subtracted in turn until one of them is whole. Sums stay as they are, and no entry passes a
whole number. So a controlled rounding always exists (Bacharach 1966; Cox 1987, JASA 82). All in whole numbers of units.
"""

from __future__ import annotations

from ...exact.arrays import Array, IntArray


def controlled_rounding(values: Array, rows: IntArray, columns: IntArray, unit: int) -> list[int]:
    """Each entry ``values / unit`` rounded down or up, so that the same holds for all sums of rows and of columns.

    The grand total goes to the nearest whole number. Several entries may have the same row and column.

    Parameters
    ----------
    values
        The entries in units of ``1/unit``, whole numbers.
    rows, columns
        The number of the row and of the column of each entry.
    unit
        How many units make one.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> controlled_rounding(np.array([14, 14, 14, 14]), *places, 10)
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
    totals, last = down, down + 1 + across  # the further row, and the further column
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
        """Add and subtract in turn until an entry is whole: the grand total to the nearest, the others the less."""
        plus, minus = cycle[::2], cycle[1::2]
        there = min(min(unit - part[one] for one in plus), min(part[one] for one in minus))
        back = min(min(part[one] for one in plus), min(unit - part[one] for one in minus))
        forward = (grand in plus) == upwards if grand in cycle else there <= back
        more, less, step = (plus, minus, there) if forward else (minus, plus, back)
        for one in more:
            part[one] += step
            if part[one] == unit:
                whole[one], part[one] = whole[one] + 1, 0
        for one in less:
            part[one] -= step

    for start in range(last + 1):
        nodes, place = [start], {start: 0}
        path: list[int] = []
        while (found := _another(at[nodes[-1]], path[-1] if path else None, part)) is not None:
            ahead = sum(edges[found]) - nodes[-1]
            path.append(found)
            if ahead not in place:
                place[ahead] = len(nodes)
                nodes.append(ahead)
                continue
            first = place[ahead]
            move_along(path[first:])
            for passed in nodes[first + 1 :]:
                del place[passed]
            del nodes[first + 1 :], path[first:]
    return whole[: len(entries)]


def _another(edges: list[int], before: int | None, part: list[int]) -> int | None:
    """An entry that is not whole, other than the one before; those that have become whole are forgotten."""
    held = False
    while edges and (part[edges[-1]] == 0 or edges[-1] == before):
        held |= edges.pop() == before
    found = edges[-1] if edges else None
    if held and before is not None and part[before]:
        edges.insert(max(len(edges) - 1, 0), before)
    return found
