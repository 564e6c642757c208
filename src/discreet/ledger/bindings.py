"""Facts that a ledger keeps from its first release, at no cost: the file of an edition, the name of its unit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction

from ..errors import InvalidInput, arg
from .budget import Cost
from .ledger import Ledger


def bound_value(ledger: Ledger, what: Sequence[str]) -> str | None:
    """Return the value bound to ``what``, or None."""
    recorded = ledger.recorded(_key(what))
    return None if recorded is None else recorded.answer.decode()


def bind_value(ledger: Ledger, what: Sequence[str], value: str, description: str) -> str:
    """Bind a value if none is bound, under an entry with this description; return the value that is bound."""
    value_before = bound_value(ledger, what)
    if value_before is not None:
        return value_before
    entry = {"tables": [{"question": description}]}
    return ledger.answer(_key(what), entry, Cost(Fraction(0)), lambda: value.encode()).answer.decode()


def refuse_other_unit_name(ledger: Ledger, name: str | None, *, named: bool = False) -> None:
    """Refuse a name of the unit other than that of the first release; a release without a name is never refused.

    With ``named``, the ledger must already have the name.
    """
    bound_name = name if name is None else bound_value(ledger, _unit(ledger))
    if bound_name != name and (named or bound_name is not None):
        state = "has no name" if bound_name is None else f"is called {bound_name!r} since its first release with a name"
        raise InvalidInput(
            f"the unit of {ledger.name} {state}.",
            "" if bound_name is None else f"Call it so, here or in the dataset file: {arg('unit_name', bound_name)}.",
        )


def bind_unit_name(ledger: Ledger, name: str | None) -> None:
    """Bind the name of the unit, if this release is the first to give one."""
    if name is not None:
        bind_value(ledger, _unit(ledger), name, f"the unit {ledger.terms.unit} is called {name}")
        refuse_other_unit_name(ledger, name)


def _unit(ledger: Ledger) -> tuple[str, ...]:
    return ("unit name", ledger.terms.dataset, ledger.terms.unit)


def _key(what: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(what)).encode()).hexdigest()
