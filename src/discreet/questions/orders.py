"""The order of groups: another order of the same groups is the same question, counted and recorded in one order.

Counts go from one order to another by the values of their groups, never by their places.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from operator import eq

import numpy as np

from ..errors import InvalidInput
from ..exact.arrays import IntArray
from .domains import REST, Values, has_rest, listed_values
from .groups import Groups


def canonical(groups: Groups) -> Groups:
    """Return the same groups in canonical order: values ascending, then NULL and the rest; groups by their values.

    Bands stay in the order of their edges.

    Structural zeros go along. Groups that are in this order already are returned themselves.

    >>> from .groups import read_domain
    >>> canonical(read_domain(["health=poor,good", "site=2,1"], ["health", "site"])).values
    (('good', 'poor'), (1, 2))
    """
    bands = groups.bands or (None,) * len(groups.columns)
    values = tuple(_ascending(one) if of is None else one for one, of in zip(groups.values, bands, strict=True))
    values_are_sorted = all(map(_same, values, groups.values))
    if values_are_sorted and groups.cells is None:
        return groups
    if groups.cells is None:  # every combination stays every combination: only the zeros have other numbers
        ordered = replace(groups, values=values, zeros=frozenset())
        numbers = np.array(sorted(groups.zeros), dtype=np.int64)
        return replace(ordered, zeros=frozenset(numbers_in(groups, ordered, numbers).tolist()))
    codes = _codes_among(groups, values)
    order = np.lexsort(codes.T[::-1])
    if values_are_sorted and np.array_equal(order, np.arange(groups.size)):
        return groups
    cells = None if prod(map(len, values)) == groups.size else codes[order]
    zeros = np.zeros(groups.size, dtype=bool)
    zeros[sorted(groups.zeros)] = True
    live = frozenset(np.flatnonzero(zeros[order]).tolist())
    return Groups(groups.columns, groups.kinds, values, cells, live, groups.bands)


def places_in(groups: Groups, other: Groups) -> IntArray:
    """Return for each group the number of the group with the same values in ``other``, which has the same ones.

    >>> from .groups import read_domain
    >>> places_in(read_domain(["site=3,1,2"], ["site"]), read_domain(["site=1..3"], ["site"])).tolist()
    [2, 0, 1]
    """
    places = None
    same = (groups.columns, groups.kinds, groups.size, groups.bands)
    if same == (other.columns, other.kinds, other.size, other.bands):
        places = other.index(_codes_among(groups, other.values))
    if places is None or places.min() < 0:
        raise InvalidInput("these groups are not the same groups in another order.", argument="other")
    return places


def numbers_in(groups: Groups, other: Groups, numbers: IntArray) -> IntArray:
    """Return the numbers in ``other`` of some groups, by their numbers here; -1 where it does not have them.

    >>> from .groups import read_domain
    >>> numbers_in(read_domain(["site=3,1,2"], ["site"]), read_domain(["site=1..3"], ["site"]), np.array([0])).tolist()
    [2]
    """
    return other.index(_codes_among(groups, other.values, numbers))


def _codes_among(groups: Groups, values: tuple[Values, ...], numbers: IntArray | None = None) -> IntArray:
    """Return for each group, or for some, the place of each column's value among the known ones; -1 if it is not."""
    codes = groups.codes().copy() if numbers is None else groups.codes_of(numbers).copy()
    for column, (mine, theirs) in enumerate(zip(groups.values, values, strict=True)):
        order = {value: place for place, value in enumerate(theirs)}
        codes[:, column] = np.array([order.get(value, -1) for value in mine], dtype=np.int64)[codes[:, column]]
    return codes


def _ascending(values: Values) -> Values:
    """Return the values in ascending order (texts by code points), then NULL, then the rest."""
    if isinstance(values, range):
        return values if values.step > 0 else values[::-1]
    present = sorted(value for value in listed_values(values) if value is not None)
    return (*present, *([None] if None in values else []), *([REST] if has_rest(values) else []))


def _same(one: Values, other: Values) -> bool:
    return len(one) == len(other) and all(map(eq, one, other))
