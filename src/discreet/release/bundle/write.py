"""The bundle: a folder that can be published and re-checked, written completely or not at all.

The files (:mod:`~.contents` says which, and what is in them) are written to a folder beside, brought to the disk, and
appear under their name all at once. :mod:`~.audit` re-checks them.
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
from .contents import MALFORMED, SUMS, bundle_files, table_files

if TYPE_CHECKING:
    from .released import Release

#: What a bundle takes at most: what every one has, and for each count its lines in the files and the page.
_BYTES, _BYTES_A_CELL = 2_000_000, 400


def refuse_part_of_bundle(file: Path) -> None:
    """Refuse one file of a bundle where the folder is meant; a mechanism in it stands for itself."""
    if not file.name.startswith("mechanism") and (file.parent / SUMS).is_file():
        folder = str(file.parent)
        whole = call(f"dc.verify({folder!r})", f"discreet verify {shlex.quote(folder)}")
        raise InvalidInput(f"{file} is one file of a bundle.", f"Check the whole bundle: {whole}")


def refuse_occupied(folder: str | Path, key: str | None = None) -> None:
    """Refuse a place where the bundle could not be written, before anything is spent.

    It must not exist, or be an empty folder, or, when ``key`` is given, hold the answer to the request with that key.
    Give ``key`` only if that answer is recorded already: a new one would differ and could not be put there.
    """
    target = Path(folder)
    ancestor = next(place for place in (target, *target.absolute().parents) if os.path.lexists(place))
    if ancestor != target and not (ancestor.is_dir() and os.access(ancestor, os.W_OK | os.X_OK)):
        raise InvalidInput(
            f"{target} cannot be made: {ancestor} is not a folder that can be written to.", "Choose another folder."
        )
    if ancestor == target and not _is_empty(target) and (key is None or _key_of(target) != key):
        raise InvalidInput(f"{target} exists and is not this release.", "Choose another folder, or remove it first.")


def refuse_without_room(folder: str | Path, cells: int) -> None:
    """Refuse a disk without room for what will be written, before anything is spent."""
    target = Path(folder)
    ancestor = next(place for place in (target, *target.absolute().parents) if os.path.lexists(place))
    needed, free = _BYTES + cells * _BYTES_A_CELL, shutil.disk_usage(ancestor).free
    if free < needed:
        raise InvalidInput(
            f"{target} cannot be written: it takes about {needed // 10**6 + 1} MB, and {free // 10**6} MB are free.",
            "Make room, or choose another folder.",
        )


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _key_of(folder: Path) -> str | None:
    """The digest of the request in a folder, as a ledger keys it; None if there is no request that can be rebuilt."""
    try:
        return plan_from_request(read_json((folder / "request.json").read_bytes(), "request.json")).key
    except (DiscreetError, OSError, *MALFORMED):
        return None


def write_bundle(release: Release, folder: str | Path) -> Path:
    """Write a release to a folder that appears complete or not at all.

    A folder that holds this very release already stays as it is.

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
            return _same(release, target)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
        partial.mkdir()
        try:
            _fill(release, partial)
            if target.exists():
                target.rmdir()
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        sync_folder(target.parent)
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
    else:
        return target
    raise InvalidInput(
        f"cannot write {target}: {why}. The answer is recorded in the ledger.",
        "Ask the same question again with another folder; it costs nothing.",
    )


def _same(release: Release, target: Path) -> Path:
    for name, table in zip(table_files(len(release.tables)), release.tables, strict=True):
        if not (target / name).is_file() or (target / name).read_bytes() != table.csv_text().encode():
            raise InvalidInput(f"{target} holds another answer to the same question.", "Choose another folder.")
    return target


def _fill(release: Release, folder: Path) -> None:
    sums = []
    for name, data in bundle_files(release):
        _put(folder / name, data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    _put(folder / SUMS, "".join(sums).encode())
    sync_folder(folder)


def _put(file: Path, data: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
