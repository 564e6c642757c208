"""Spaces by the name of their kind, as files describe them."""

from __future__ import annotations

from ..errors import DiscreetError, InvalidInput
from .base import Description, Space
from .graphs import Graph, Ring, Tree
from .grid import Grid
from .labels import Labels
from .line import Counts, Integers
from .metric import MetricSpace
from .ranges import Range

#: Spaces of single values. The tuples of a product are described by their parts (:mod:`.products`).
KINDS: dict[str, type[Counts] | type[Integers] | type[Grid] | type[Labels] | type[Range]] = {
    kind.name: kind for kind in (Counts, Integers, Grid, Labels, MetricSpace, Graph, Tree, Ring, Range)
}


def space_from(description: Description) -> Space:
    """Return the space with this description (the inverse of ``to_json``)."""
    try:
        kind = description["kind"]
        if kind in KINDS:
            return KINDS[kind].from_json(description)
    except DiscreetError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as problem:
        raise InvalidInput(
            f"not the description of a space: {description!r} ({problem}).", argument="description"
        ) from None
    raise InvalidInput(f"{kind!r} is not a kind of space.", f"The kinds are {', '.join(KINDS)}.", argument="kind")
