"""Neighbour relations: which two tables must look alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """A neighbour relation: how two tables differ that must look alike.

    Attributes
    ----------
    change
        What happened to one unit: "added or removed".
    moves
        How often one change moves what a unit counts in: 1 where it joins or leaves, 2 where it does both. It is the
        sensitivity of a count in which each unit counts once.
    hides_presence
        Whether readers cannot tell that a unit is in the table; otherwise how many there are is public.
    """

    change: str
    moves: int
    hides_presence: bool


#: The neighbour relations by name.
RELATIONS = {
    "add-remove": Relation("added or removed", moves=1, hides_presence=True),
    "substitution": Relation("replaced by another", moves=2, hides_presence=False),
}
