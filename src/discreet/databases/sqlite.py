"""Connections to SQLite files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from .failures import Failures


class Mark(NamedTuple):
    """The identity of a SQLite file: its application id, and the version of its layout."""

    application: int
    version: int


def make_private_file(path: Path, *, new: bool) -> None:
    """Make an empty file that only its owner can read; SQLite gives its journal and its log the same mode."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | (os.O_EXCL if new else 0), 0o600))


def connect(
    path: Path, mode: str, *, timeout: float, settings: Mapping[str, str], one_thread: bool = True
) -> sqlite3.Connection:
    """Connect to an existing file ("rw" or "ro"), with settings (pragmas) and without automatic transactions.

    The file must not be opened by other means: closing it would drop the locks of this process's other threads.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True, timeout=timeout, isolation_level=None, check_same_thread=one_thread,
    )  # fmt: skip
    try:
        for name, value in {"trusted_schema": "OFF", **settings}.items():
            connection.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


def read_mark(connection: sqlite3.Connection) -> Mark:
    """Read the application id and the version of a file."""
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    return Mark(application, version)


def write_mark(connection: sqlite3.Connection, mark: Mark) -> None:
    """Write the application id and the version of a file, in the open transaction."""
    connection.execute(f"PRAGMA application_id = {mark.application}")
    connection.execute(f"PRAGMA user_version = {mark.version}")


@contextmanager
def withheld(name: str, failures: Failures) -> Iterator[None]:
    """Replace errors of SQLite by the store's messages and advice."""
    try:
        yield
    except sqlite3.Error as problem:
        raise failures.refusal(name, getattr(problem, "sqlite_errorname", "") or "") from None
    except UnicodeDecodeError:  # Python cannot decode SQLite's message about a damaged file
        raise failures.refusal(name, "SQLITE_CORRUPT") from None
