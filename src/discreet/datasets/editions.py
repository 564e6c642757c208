"""Which file an edition is: the ledger keeps it, so that no file gets the recorded answer of another."""

from __future__ import annotations

import os
from pathlib import Path

from ..addresses import read_address
from ..errors import InvalidInput, arg
from ..ledger.bindings import bind, bound
from ..ledger.ledger import Ledger


def data_name(ledger: Ledger, data: str) -> str:
    """Return what an edition is bound to: the file as it is found from the ledger, or the address of a database."""
    address = read_address(data)
    if not address.in_files:
        return str(address)
    path = address.path.resolve()  # a link is the file that it leads to now
    return path.as_posix() if ledger.folder is None else Path(os.path.relpath(path, ledger.folder.resolve())).as_posix()


def edition_file(ledger: Ledger, table: str, edition: str) -> str | None:
    """Return the file that an edition of a table is bound to; None if it is not bound."""
    return bound(ledger, _what(ledger, table, edition))


def refuse_other_file(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Refuse data that is not the file which an edition is bound to."""
    kept = edition_file(ledger, table, edition)
    if kept is not None and kept != data_name(ledger, data):
        whose = f"the edition {edition!r} of {table}" if edition else f"{table} without an edition"
        raise InvalidInput(
            f"for {ledger.name}, {whose} is the file {kept}, and this is {data_name(ledger, data)}.",
            f"Name a new edition: {arg('edition', 'NAME')}.",
        )


def bind_edition(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Record in the ledger that an edition is this file; an edition of another file is refused."""
    refuse_other_file(ledger, table, edition, data)
    file = data_name(ledger, data)
    named = f"edition {edition} of {table}" if edition else f"{table} without an edition"
    bind(ledger, _what(ledger, table, edition), file, f"{named} is the file {file}")
    refuse_other_file(ledger, table, edition, data)  # of two that bind at once, one is recorded


def _what(ledger: Ledger, table: str, edition: str) -> tuple[str, ...]:
    return ("edition", ledger.terms.dataset, table, edition)
