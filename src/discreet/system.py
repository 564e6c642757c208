"""Differences between operating systems: file locks, limits of a process, private files, forks.

POSIX systems have ``fcntl`` and ``resource``; Windows has neither. Nothing else in the package imports them, and every
function here works on both. The result tells the caller what the system cannot bound.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Protocol

#: The modules ``fcntl`` and ``resource``, or None where they do not exist.
_locks: ModuleType | None = None
_limits: ModuleType | None = None
with suppress(ImportError):
    import fcntl

    _locks = fcntl
with suppress(ImportError):
    import resource

    _limits = resource


class FileLock(Protocol):
    """A lock that this process holds until it is closed, or until the process ends."""

    def close(self) -> None: ...


def lock_file(file: Path) -> FileLock | None:
    """Create a file if needed and lock it for this process; return None while another holds the lock.

    Where ``flock`` is missing, SQLite locks the file, which works on every system. The system releases either lock
    when the process ends, even if it is killed.

    Raises
    ------
    OSError
        If the file cannot be created.
    """
    stream = os.fdopen(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), "rb+", buffering=0)
    if _locks is None:
        stream.close()
        return _sqlite_lock(file)
    try:
        _locks.flock(stream, _locks.LOCK_EX | _locks.LOCK_NB)
    except OSError:
        stream.close()
        return None
    return stream


def _sqlite_lock(file: Path) -> FileLock | None:
    """Lock a file by a transaction of SQLite that is never committed."""
    connection = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        connection.close()
        return None
    return connection


def max_open_files() -> int | None:
    """Return the number of files and connections that this process may open; None where the system states none."""
    if _limits is None:
        return None
    files, _ = _limits.getrlimit(_limits.RLIMIT_NOFILE)
    return None if files == _limits.RLIM_INFINITY else int(files)


def limit_memory(size: int) -> bool:
    """Bound the memory of this process, in bytes, so that it gets a ``MemoryError``; False where the system cannot."""
    if _limits is None:
        return False
    try:
        _limits.setrlimit(_limits.RLIMIT_DATA, (size, size))
    except (ValueError, OSError):
        return False
    return True


#: The part of the machine's memory that a private file may take; a larger one is on the disk.
_PRIVATE_FILE_SHARE = 4


@contextmanager
def private_file(size: int) -> Iterator[tuple[Path, BinaryIO]]:
    """Make a file that only this user can open and that is gone afterwards; yield its path and the stream to write to.

    On Linux it has no name, so that nothing is left of it however the process ends: it is in memory, or on the disk if
    it would take too much of that. Elsewhere it is in a private folder for temporary files.

    Parameters
    ----------
    size
        The expected size in bytes.
    """
    descriptors = Path("/proc/self/fd")
    if hasattr(os, "memfd_create") and descriptors.is_dir():
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        in_memory = size <= memory // _PRIVATE_FILE_SHARE
        with os.fdopen(os.memfd_create("discreet"), "wb") if in_memory else tempfile.TemporaryFile("wb") as stream:
            yield descriptors / str(stream.fileno()), stream
        return
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder) / "private"
        with path.open("wb") as stream:
            yield path, stream


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def call_after_fork(function: Callable[[], None]) -> None:
    """Call a function in every child that this process forks, where processes can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def system_user() -> str:
    """Return the name of the user that this process belongs to, as the system knows it."""
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):  # Windows has no such list, and a container may lack the user
        import getpass

        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError):
            return "unknown"
