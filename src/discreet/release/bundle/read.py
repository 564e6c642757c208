"""Read the files of a bundle, and open the ledger that paid for it."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import DiscreetError, UnreadableFile
from ...ledger.ledger import Ledger
from ...ledger.stores.open import open_store
from ...strict_json import read_json


def read_files(folder: str | Path) -> tuple[dict[str, bytes], list[str]]:
    """Read the plain files of a bundle; return them by name, and the names of links and folders, which are not read."""
    path = Path(folder)
    try:
        entries = sorted(path.iterdir())
        odd = [entry.name for entry in entries if entry.is_symlink() or not entry.is_file()]
        return {entry.name: entry.read_bytes() for entry in entries if entry.name not in odd}, odd
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    raise UnreadableFile(f"cannot read the bundle {path}: {reason}.")


def open_ledger(ledger: Ledger | str | Path | None) -> Ledger | str | None:
    """Return the ledger, or a sentence on what is wrong with it; refuse one that does not exist."""
    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    if not open_store(ledger).exists():
        raise UnreadableFile(f"there is no ledger {ledger}.", argument="ledger")
    try:
        return Ledger.open(ledger)
    except DiscreetError as problem:
        return str(problem)


def ledger_head(folder: str | Path) -> str:
    """Return the place in the ledger's chain that a bundle states."""
    file = Path(folder) / "release.json"
    try:
        head = read_json(file.read_bytes(), str(file))["ledger"]["head"]
    except OSError as problem:
        raise UnreadableFile(f"cannot read {file}: {problem.strerror or problem}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        head = None
    if not isinstance(head, str) or not re.fullmatch(r"[0-9a-f]{64}", head):
        raise UnreadableFile(f"{file} does not state its place in a ledger (ledger.head): is {folder} a bundle?")
    return head
