"""Which file an edition is: the ledger keeps it, so that no file gets the recorded answer of another.

The first release of an edition records the name of its file, as an entry of the ledger that costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from ..addresses import read_address
from ..errors import InvalidInput, arg
from ..ledger.ledger import Cost, Ledger, Recorded


def file_name(data: str) -> str:
    """Return what an edition is bound to: the file without its folder, or the address without its password."""
    address = read_address(data)
    return address.path.name if address.in_files else str(address)


def edition_file(ledger: Ledger, table: str, edition: str) -> str | None:
    """Return the file that an edition of a table is bound to; None if it is not bound."""
    recorded = ledger.recorded(_key(ledger, table, edition))
    return None if recorded is None else recorded.answer.decode()


def refuse_other_file(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Refuse data that is not the file which an edition is bound to."""
    bound = edition_file(ledger, table, edition)
    if bound is not None and bound != file_name(data):
        raise InvalidInput(
            f"the edition {edition!r} of {table} is the file {bound}, and this is {file_name(data)}.",
            f"Name a new edition: {arg('edition', 'NAME')}.",
        )


def bind_edition(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Record in the ledger that an edition is this file; an edition of another file is refused."""
    refuse_other_file(ledger, table, edition, data)
    key, file = _key(ledger, table, edition), file_name(data)
    if ledger.recorded(key) is not None:
        return
    said = {"tables": [{"question": f"edition {edition} of {table} is the file {file}"}]}
    recorded = ledger.answer(key, said, Cost(Fraction(0)), lambda: file.encode())
    assert isinstance(recorded, Recorded)
    refuse_other_file(ledger, table, edition, data)  # of two that bind at once, one is recorded


def _key(ledger: Ledger, table: str, edition: str) -> str:
    content = ["edition", ledger.terms.dataset, table, edition]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
