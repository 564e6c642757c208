"""Write a bundle, a folder to publish, completely or not at all.

The files (see :mod:`~.contents`) are written to a temporary folder next to it and synced to disk, and the folder is
then renamed. :mod:`~.verify` checks a bundle.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import DiscreetError, InvalidInput, call
from ...strict_json import read_json
from ...system import sync_folder
from ..plan.plan import plan_from_request
from ..tables.csv_text import table_files
from .contents import CHECKSUM_FILE, MALFORMED, bundle_files

if TYPE_CHECKING:
    from .released import Release

#: Upper bound of the size of a bundle in bytes: a constant, and the lines of each count in the files and the page.
_BASE_BYTES, _BYTES_PER_CELL = 2_000_000, 400


def refuse_part_of_bundle(file: Path) -> None:
    """Refuse a file of a bundle where the folder is meant; a mechanism file can be checked alone."""
    if not file.name.startswith("mechanism") and (file.parent / CHECKSUM_FILE).is_file():
        folder = str(file.parent)
        whole = call(f"dc.verify({folder!r})", f"discreet verify {shlex.quote(folder)}")
        raise InvalidInput(f"{file} is one file of a bundle.", f"Check the whole bundle: {whole}")


def refuse_occupied(folder: str | Path, key: str | None = None) -> None:
    """Refuse a folder to which the bundle could not be written, before anything is spent.

    It must not exist, or be empty, or, when ``key`` is given, hold the answer to the request with that key. Give
    ``key`` only if that answer is recorded already: a new answer would differ and could not be written there.
    """
    target = Path(folder)
    ancestor = next(path for path in (target, *target.absolute().parents) if os.path.lexists(path))
    if ancestor != target and not (ancestor.is_dir() and os.access(ancestor, os.W_OK | os.X_OK)):
        raise InvalidInput(
            f"{target} cannot be made: {ancestor} is not a folder that can be written to.", "Choose another folder."
        )
    if ancestor == target and not _is_empty(target) and (key is None or _key_of(target) != key):
        raise InvalidInput(f"{target} exists and is not this release.", "Choose another folder, or remove it first.")


def refuse_without_room(folder: str | Path, cells: int) -> None:
    """Refuse a disk without room for the bundle, before anything is spent."""
    target = Path(folder)
    ancestor = next(path for path in (target, *target.absolute().parents) if os.path.lexists(path))
    needed, free = _BASE_BYTES + cells * _BYTES_PER_CELL, shutil.disk_usage(ancestor).free
    if free < needed:
        raise InvalidInput(
            f"{target} cannot be written: it takes about {needed // 10**6 + 1} MB, and {free // 10**6} MB are free.",
            "Make room, or choose another folder.",
        )


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _key_of(folder: Path) -> str | None:
    """Return the ledger's key of the request in a folder; None if no request can be rebuilt."""
    try:
        return plan_from_request(read_json((folder / "request.json").read_bytes(), "request.json")).key
    except (DiscreetError, OSError, *MALFORMED):
        return None


def _publication_of(folder: Path) -> object:
    """Return the curator's statements in a folder."""
    return read_json((folder / "request.json").read_bytes(), "request.json").get("publication", {})


def write_bundle(release: Release, folder: str | Path) -> Path:
    """Write a release to a folder that appears complete or not at all.

    A folder that already holds this release is not changed.

    Raises
    ------
    InvalidInput
        When the folder holds something else, or cannot be written.
    """
    target = Path(folder)
    refuse_occupied(target, release.plan.key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target) and not _is_empty(target):
            return _check_same(release, target)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
        partial.mkdir()
        try:
            _write_files(release, partial)
            if target.exists():
                target.rmdir()
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync_folder(target.parent)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    else:
        return target
    raise InvalidInput(
        f"cannot write {target}: {reason}. The answer is recorded in the ledger.",
        "Ask the same question again with another folder; it costs nothing.",
    )


def _check_same(release: Release, target: Path) -> Path:
    """Return the folder if it holds the counts of this release; refuse any other."""
    for name, table in zip(table_files(len(release.tables)), release.tables, strict=True):
        if not (target / name).is_file() or (target / name).read_bytes() != table.csv_text().encode():
            raise InvalidInput(f"{target} holds another answer to the same question.", "Choose another folder.")
    if _publication_of(target) != release.plan.publication.to_json():
        raise InvalidInput(
            f"{target} holds this answer with another title, publisher, source or contact.", "Choose another folder."
        )
    return target


def _write_files(release: Release, folder: Path) -> None:
    """Write all files of the bundle and their checksums to a folder."""
    sums = []
    for name, data in bundle_files(release):
        _write_file(folder / name, data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    _write_file(folder / CHECKSUM_FILE, "".join(sums).encode())
    sync_folder(folder)


def _write_file(file: Path, data: bytes) -> None:
    """Write a new file and sync it to disk."""
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
