"""Levels: the totals that a question asks for besides its groups, read from ROLLUP, CUBE and GROUPING SETS.

A level is a set of the GROUP BY columns: its counts are by these columns, summed over the others. The finest level has
all columns, and the counts of every other level are sums of its counts. Where no level of GROUPING SETS has all
columns, each is a table of its own, and the question is answered as all tables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..sources.parsing import duckdb_sql
from .conditions import bare, only, piece, refusal

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

#: For each level the numbers of its columns among those of GROUP BY, ascending. Those of more columns come first.
Levels = tuple[tuple[int, ...], ...]

#: Maximum number of levels; more are a mistake (CUBE of seven columns has 128).
MAX_LEVELS = 64

_SEVERAL = ("Rollup", "Cube", "GroupingSets")


def grouped_items(group: Expression) -> list[Expression]:
    """Return the expressions that GROUP BY names, wherever ROLLUP, CUBE and GROUPING SETS have them, each once."""
    items: list[Expression] = []
    for item in group.expressions:
        item = bare(item)
        if type(item).__name__ not in _SEVERAL:
            items.append(item)
            continue
        texts = {duckdb_sql(one).casefold() for one in items}
        for one in _within(item):
            if (text := duckdb_sql(one).casefold()) not in texts:
                texts.add(text)
                items.append(one)
    return items


def read_levels(group: Expression | None, position: Callable[[Expression], int]) -> Levels:
    """Return the levels that GROUP BY asks for; none if it has one only.

    Parameters
    ----------
    group
        The clause.
    position
        The number of a column among those that GROUP BY names.
    """
    if group is None or not any(type(bare(item)).__name__ in _SEVERAL for item in group.expressions):
        return ()
    levels: list[frozenset[int]] = [frozenset()]
    for item in group.expressions:
        levels = _limited(one | other for one in levels for other in _sets(bare(item), position))
    return order_levels(levels)


def order_levels(levels: Iterable[Iterable[int]]) -> Levels:
    """Return levels in their order, those of more columns first; none if there is only one."""
    unique_levels = sorted({tuple(sorted(set(level))) for level in levels}, key=lambda level: (-len(level), level))
    return tuple(unique_levels) if len(unique_levels) > 1 else ()


def are_separate_tables(levels: Levels, columns: int) -> bool:
    """Return whether no level has all columns, so that the levels are tables and not totals of one table.

    >>> are_separate_tables(((0, 1), (0, 2)), 3), are_separate_tables(((0, 1), (0,)), 2)
    (True, False)
    """
    return bool(levels) and len(levels[0]) < columns


def with_totals(columns: Sequence[str], totals: Iterable[str], find: Callable[[str], str]) -> Levels:
    """Return the levels of a question by these columns with totals over some of them, in every combination.

    >>> with_totals(["sex", "age"], ["age"], str)
    ((0, 1), (0,))
    """
    positions = {list(columns).index(find(name)) for name in totals}
    if not positions:
        raise InvalidInput("totals names no column.", "Name those to sum over, or all.", argument="totals")
    subsets = [set(one) for size in range(len(positions) + 1) for one in combinations(sorted(positions), size)]
    return order_levels(_limited(frozenset(range(len(columns))) - one for one in subsets))


def levels_text(levels: Levels, columns: Sequence[str]) -> str:
    """Return the levels as GROUP BY has them, for columns written as in SQL.

    >>> levels_text(((0, 1), (0,), ()), ["a", "b"])
    'ROLLUP (a, b)'
    """
    size = len(columns)
    if levels == tuple(tuple(range(k)) for k in range(size, -1, -1)):
        return f"ROLLUP ({', '.join(columns)})"
    if len(levels) == 2**size:
        return f"CUBE ({', '.join(columns)})"
    sets = (", ".join(columns[k] for k in level) for level in levels)
    return f"GROUPING SETS ({', '.join(f'({one})' for one in sets)})"


def is_chain(levels: Levels) -> bool:
    """Return whether each level is a coarser one of the level before it, so that they are a tree."""
    return all(set(after) < set(before) for before, after in pairwise(levels))


def grouping_number(level: Sequence[int], columns: int) -> int:
    """Return SQL's GROUPING of all columns for a level: a bit for each, 1 if it is summed over, the last lowest.

    >>> grouping_number((0,), 2), grouping_number((), 2)
    (1, 3)
    """
    return sum(1 << (columns - 1 - k) for k in range(columns) if k not in level)


def _within(item: Expression) -> list[Expression]:
    """Return the columns within one item of GROUP BY."""
    item = bare(item)
    if type(item).__name__ not in (*_SEVERAL, "Tuple"):
        return [item]
    only(item, "expressions")
    return [one for part in item.expressions for one in _within(part)]


def _sets(item: Expression, position: Callable[[Expression], int]) -> list[frozenset[int]]:
    """Return the levels of one item of GROUP BY."""
    kind = type(item).__name__
    if kind == "GroupingSets":
        return [one for part in item.expressions for one in _sets(bare(part), position)]
    parts = [frozenset(map(position, _within(part))) for part in item.expressions] if kind in _SEVERAL else []
    if kind == "Rollup":
        return [frozenset().union(*parts[:size]) for size in range(len(parts), -1, -1)]
    if kind == "Cube":
        if 2 ** len(parts) > MAX_LEVELS:
            raise _too_many()
        sizes = range(len(parts), -1, -1)
        return [frozenset().union(*some) for size in sizes for some in combinations(parts, size)]
    return [frozenset(map(position, _within(item)))]


def _limited(levels: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    unique_levels = list(dict.fromkeys(levels))
    if len(unique_levels) > MAX_LEVELS:
        raise _too_many()
    return unique_levels


def _too_many() -> InvalidInput:
    return refusal(f"that is more than {MAX_LEVELS} levels", "Use ROLLUP, or name the levels by GROUPING SETS.")


def refuse_stray_grouping(item: Expression, levels: Levels) -> None:
    """Refuse GROUPING() where every row is of one level."""
    if not levels:
        raise refusal(
            f"{piece(item)} distinguishes totals from groups, but the question has no totals",
            "Leave it out, or group by ROLLUP (...).",
        )
