"""Neighbour relations: which two tables must look alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """A neighbour relation: how two tables differ that must look alike.

    Attributes
    ----------
    change
        The change of one unit: "added or removed".
    moves
        The number of moves in or out of a group in one change: 1 if a unit joins or leaves, 2 if it does both. It is
        the sensitivity of a count in which each unit counts once.
    hides_presence
        True if readers cannot tell that a unit is in the table; otherwise the number of units is public.
    """

    change: str
    moves: int
    hides_presence: bool


#: The neighbour relations by name.
RELATIONS = {
    "add-remove": Relation("added or removed", moves=1, hides_presence=True),
    "substitution": Relation("replaced by another", moves=2, hides_presence=False),
}
