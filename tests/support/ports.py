"""Ports of this computer that belong to one test."""

from __future__ import annotations

import getpass
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.system import lock_file
from support.waiting import wait_for


@contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve a port of 127.0.0.1 for a server of this test, which may be killed and started again on it.

    A socket that is bound and does not listen keeps the port: the system hands it to nobody else, and a server that is
    told its number, and reuses addresses as servers do, can still listen on it. Only Linux shares a port like this;
    elsewhere the port is given up before the server takes it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()
        yield port


@contextmanager
def documented_ports() -> Iterator[None]:
    """Hold the ports that the documentation names: the same for every run, so that one run at a time uses them."""
    lock = wait_for(lambda: lock_file(Path(tempfile.gettempdir()) / f"discreet-documented-ports-{getpass.getuser()}"))
    assert lock is not None
    try:
        yield
    finally:
        lock.close()
