"""The file of each edition: the ledger binds it, so that no file gets the recorded answer of another."""

from __future__ import annotations

import os
from pathlib import Path

from ..addresses import read_address
from ..errors import InvalidInput, arg
from ..ledger.bindings import bind_value, bound_value
from ..ledger.ledger import Ledger


def data_name(ledger: Ledger, data: str) -> str:
    """Return the name that an edition is bound to: a file relative to the ledger, or the address of a database."""
    address = read_address(data)
    if not address.in_files:
        return str(address)
    path = address.path.resolve()  # a link stands for its present target
    return path.as_posix() if ledger.folder is None else Path(os.path.relpath(path, ledger.folder.resolve())).as_posix()


def edition_file(ledger: Ledger, table: str, edition: str) -> str | None:
    """Return the file that an edition of a table is bound to, or None."""
    return bound_value(ledger, _what(ledger, table, edition))


def refuse_other_file(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Refuse data other than the file that an edition is bound to."""
    bound_file = edition_file(ledger, table, edition)
    if bound_file is not None and bound_file != data_name(ledger, data):
        whose = f"the edition {edition!r} of {table}" if edition else f"{table} without an edition"
        raise InvalidInput(
            f"for {ledger.name}, {whose} is the file {bound_file}, and this is {data_name(ledger, data)}.",
            f"Name a new edition: {arg('edition', 'NAME')}.",
        )


def bind_edition(ledger: Ledger, table: str, edition: str, data: str) -> None:
    """Bind an edition to a file in the ledger; refuse an edition that is bound to another file."""
    refuse_other_file(ledger, table, edition, data)
    file = data_name(ledger, data)
    description = f"edition {edition} of {table}" if edition else f"{table} without an edition"
    bind_value(ledger, _what(ledger, table, edition), file, f"{description} is the file {file}")
    refuse_other_file(ledger, table, edition, data)  # of two processes that bind at once, one succeeds


def _what(ledger: Ledger, table: str, edition: str) -> tuple[str, ...]:
    return ("edition", ledger.terms.dataset, table, edition)
