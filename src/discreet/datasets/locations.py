"""Addresses in a file, relative to its own folder, so that the file can be read from any working folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..addresses import FILE, Address, read_address, without_passwords
from ..errors import InvalidInput, named


def resolve_location(text: str, use: str, folder: Path, what: str) -> str:
    """Resolve an address in a file against the folder of the file.

    Parameters
    ----------
    text
        The address in the file.
    use
        ``"data"`` or ``"ledger"``.
    folder
        The folder of the file.
    what
        The noun for the file in messages: "a request".
    """
    refuse_password(text, use, what)
    # parsed as text, without looking whether such a file exists here: the file may be elsewhere
    address = read_address(text, use)
    return _with_scheme(address, str(folder / address.rest)) if address.in_files else text


def relative_location(text: str, use: str, folder: Path, what: str) -> str:
    """Return an address relative to a folder, for a file in that folder."""
    refuse_password(text, use, what)
    address = read_address(text, use)
    return _with_scheme(address, relative_path(address.rest, folder)) if address.in_files else text


def relative_path(path: str | Path, folder: Path) -> str:
    """Return a path relative to a folder; an absolute path stays as it is."""
    return str(path) if Path(path).is_absolute() else Path(os.path.relpath(path, folder)).as_posix()


def refuse_password(text: str, use: str, what: str) -> None:
    """Refuse an address with a password, since others read the file."""
    if without_passwords(text) != text:
        raise InvalidInput(
            f"{named(use)} has a password, and {what} is for everyone to read.",
            "Leave it out; PostgreSQL finds it in ~/.pgpass, or in PGPASSWORD.",
            argument=use,
        )


def _with_scheme(address: Address, rest: str) -> str:
    return rest if address.scheme == FILE else f"{address.scheme}:{rest}"
