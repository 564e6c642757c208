"""The files of a bundle and the ledger that paid for it, as somebody names them."""

from __future__ import annotations

from pathlib import Path

from ...errors import DiscreetError, UnreadableFile
from ...ledger.ledger import Ledger
from ...ledger.stores.opening import open_store


def read_files(folder: str | Path) -> dict[str, bytes]:
    """The files of a bundle by name; links and folders within are refused."""
    place = Path(folder)
    try:
        entries = sorted(place.iterdir())
        odd = [entry.name for entry in entries if entry.is_symlink() or not entry.is_file()]
        if odd:
            raise UnreadableFile(
                f"{place} holds {odd[0]!r}, which is not a plain file.", "A bundle has plain files only."
            )
        return {entry.name: entry.read_bytes() for entry in entries}
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
    raise UnreadableFile(f"cannot read the bundle {place}: {why}.")


def opened_ledger(ledger: Ledger | str | Path | None) -> Ledger | str | None:
    """The ledger, or what is wrong with it; a file that is not there is the caller's mistake."""
    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    if not open_store(ledger).exists():
        raise UnreadableFile(f"there is no ledger {ledger}.", argument="ledger")
    try:
        return Ledger.open(ledger)
    except DiscreetError as problem:
        return str(problem)
