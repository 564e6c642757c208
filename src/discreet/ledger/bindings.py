"""What a ledger keeps of its first use at no cost: which file an edition is, what its unit is called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction

from ..errors import InvalidInput, arg
from .budget import Cost
from .ledger import Ledger


def bound(ledger: Ledger, what: Sequence[str]) -> str | None:
    """Return what was bound to this; None if nothing was."""
    recorded = ledger.recorded(_key(what))
    return None if recorded is None else recorded.answer.decode()


def bind(ledger: Ledger, what: Sequence[str], value: str, said: str) -> str:
    """Bind a value if nothing is bound, under an entry that says so; return what is bound, for one may be faster."""
    kept = bound(ledger, what)
    if kept is not None:
        return kept
    entry = {"tables": [{"question": said}]}
    return ledger.answer(_key(what), entry, Cost(Fraction(0)), lambda: value.encode()).answer.decode()


def refuse_other_unit_name(ledger: Ledger, name: str | None, *, named: bool = False) -> None:
    """Refuse a name of the unit other than the first that a release gave it; a release without one is always right.

    With ``named``, the ledger must have the name.
    """
    kept = name if name is None else bound(ledger, _unit(ledger))
    if kept != name and (named or kept is not None):
        known = "has no name" if kept is None else f"is called {kept!r} since its first release with a name"
        raise InvalidInput(
            f"the unit of {ledger.name} {known}.",
            "" if kept is None else f"Call it so, here or in the dataset file: {arg('unit_name', kept)}.",
        )


def bind_unit_name(ledger: Ledger, name: str | None) -> None:
    """Keep the name of the unit that the first release gives it."""
    if name is not None:
        bind(ledger, _unit(ledger), name, f"the unit {ledger.terms.unit} is called {name}")
        refuse_other_unit_name(ledger, name)


def _unit(ledger: Ledger) -> tuple[str, ...]:
    return ("unit name", ledger.terms.dataset, ledger.terms.unit)


def _key(what: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(what)).encode()).hexdigest()
