"""Places that a file names: relative to its own folder, so that it means the same wherever it is read from."""

from __future__ import annotations

import os
from pathlib import Path

from ..addresses import FILE, Address, read_address, without_passwords
from ..errors import InvalidInput, named


def resolved_place(text: str, use: str, folder: Path, what: str) -> str:
    """Return an address as it is found from here.

    Parameters
    ----------
    text
        The address as the file has it.
    use
        ``"data"`` or ``"ledger"``.
    folder
        The folder of the file.
    what
        What the file is, for messages: "a request".
    """
    refuse_password(text, use, what)
    # a scheme is read as such whatever files are here: the file may be read from elsewhere
    address = read_address(text, use)
    return _with_scheme(address, str(folder / address.rest)) if address.in_files else text


def relative_place(text: str, use: str, folder: Path, what: str) -> str:
    """Return an address as a file in this folder names it."""
    refuse_password(text, use, what)
    address = read_address(text, use)
    return _with_scheme(address, relative_path(address.rest, folder)) if address.in_files else text


def relative_path(place: str | Path, folder: Path) -> str:
    """Return a file as it is named from a folder; a whole path stays one."""
    return str(place) if Path(place).is_absolute() else Path(os.path.relpath(place, folder)).as_posix()


def refuse_password(text: str, use: str, what: str) -> None:
    """Refuse an address with a password in a file that others read."""
    if without_passwords(text) != text:
        raise InvalidInput(
            f"{named(use)} has a password, and {what} is for everyone to read.",
            "Leave it out; PostgreSQL finds it in ~/.pgpass, or in PGPASSWORD.",
            argument=use,
        )


def _with_scheme(address: Address, rest: str) -> str:
    return rest if address.scheme == FILE else f"{address.scheme}:{rest}"
