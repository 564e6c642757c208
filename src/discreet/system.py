"""What operating systems do differently: locks on files, limits of a process, folders on the disk, forks.

POSIX systems have ``fcntl`` and ``resource``; Windows has neither. Nothing else in the package imports them, and every
function here works on both. What a system cannot bound is returned, so that the caller can say so.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class FileLock(Protocol):
    """A lock that this process holds until it is closed, or until the process ends."""

    def close(self) -> None: ...


def lock_file(file: Path) -> FileLock | None:
    """Lock a file for this process alone, which creates it; None while somebody else holds the lock.

    Where ``flock`` is missing, SQLite locks the file, which it can on every system. The system gives back either lock
    when the process ends, however it ends.

    Raises
    ------
    OSError
        If the file cannot be created.
    """
    stream = os.fdopen(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), "rb+", buffering=0)
    if fcntl is None:
        stream.close()
        return _sqlite_lock(file)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    if resource is None:
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if files == resource.RLIM_INFINITY else int(files)


def limit_memory(size: int) -> bool:
    """Bound the memory of this process, in bytes, so that it gets a ``MemoryError``; False where the system cannot."""
    if resource is None:
        return False
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except (ValueError, OSError):
        return False
    return True


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
