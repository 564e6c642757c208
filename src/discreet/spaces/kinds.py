"""Spaces by the name of their kind, as files describe them."""

from __future__ import annotations

from ..errors import InvalidInput
from .base import Description
from .grid import Grid
from .labels import Labels
from .line import Counts, Integers

#: Spaces of single values. The tuples of a product are described by their parts (:mod:`.products`).
KINDS: dict[str, type[Counts] | type[Integers] | type[Grid] | type[Labels]] = {
    kind.name: kind for kind in (Counts, Integers, Grid, Labels)
}


def space_from(description: Description) -> Counts | Integers | Grid | Labels:
    """Return the space with this description (the inverse of ``to_json``)."""
    try:
        kind = description["kind"]
        if kind in KINDS:
            return KINDS[kind].from_json(description)
    except (KeyError, TypeError) as problem:
        raise InvalidInput(
            f"not the description of a space: {description!r} ({problem}).", argument="description"
        ) from None
    raise InvalidInput(f"{kind!r} is not a kind of space.", f"The kinds are {', '.join(KINDS)}.", argument="kind")
