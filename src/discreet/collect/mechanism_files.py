"""Mechanisms for columns of files: objects or the paths of their files, one for all people or one for each group."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import InvalidInput, Unsupported, arg, named
from ..files import load
from ..mechanism import Mechanism


def open_mechanism(mechanism: Mechanism | str | Path) -> Mechanism:
    """Return a mechanism, loaded if a path is given; refuse one for tuples of answers, as a column holds one answer."""
    opened = mechanism if isinstance(mechanism, Mechanism) else load(mechanism)
    if opened.factors:
        what = opened.title if isinstance(mechanism, Mechanism) else mechanism
        raise Unsupported(
            f"{what} is for {len(opened.factors)} answers of each person, and files are read one column at a time.",
            "In Python: m.release(table) and dc.estimate(reports=table, mechanism=m), with a column for each answer.",
            argument="mechanism",
        )
    return opened


def open_mechanisms(
    mechanisms: Mechanism | str | Path | Mapping[str, Mechanism | str | Path], group: str | None
) -> dict[str, Mechanism]:
    """Return the mechanism of each group by its name; the name is empty where no column of groups is named."""
    if isinstance(mechanisms, Mapping) != (group is not None):
        raise InvalidInput(
            f"several mechanisms by name go with {named('group')}, the column of these names.",
            f"Give one mechanism without {arg('group')}, or a mapping from names to mechanisms with it.",
            argument="mechanism",
        )
    if not isinstance(mechanisms, Mapping):
        return {"": open_mechanism(mechanisms)}
    if not mechanisms:
        raise InvalidInput("no group has a mechanism.", "Give one for each name.", argument="mechanism")
    return {str(name): open_mechanism(one) for name, one in mechanisms.items()}
