"""Which kind of store keeps the ledger at an address."""

from __future__ import annotations

from pathlib import Path

from ..chain import Row
from .base import Store
from .sqlite import SqliteStore

#: Every kind of store, by the scheme of its addresses. An address without a scheme is a SQLite file.
STORES: dict[str, type[Store]] = {"sqlite": SqliteStore}


def open_store(address: str | Path) -> Store:
    """The store at an address, whether or not a ledger is there."""
    kind, place = _read_address(address)
    return kind(place)


def create_store(address: str | Path, first: Row, secret: bytes) -> Store:
    """A new store at an address, with its first event."""
    kind, place = _read_address(address)
    return kind.create(place, first, secret)


def _read_address(address: str | Path) -> tuple[type[Store], str | Path]:
    """The kind of store, and the address as that kind reads it. A ``Path`` is always a file."""
    if isinstance(address, str):
        scheme, colon, place = address.partition(":")
        if colon and scheme in STORES:
            return STORES[scheme], place
    return STORES["sqlite"], address
