"""Which kind of store keeps the ledger at an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...addresses import Address, no_engine, read_address
from ..chain import Row
from .base import Session, Store
from .postgres import PostgresStore
from .sqlite import SqliteStore

#: Every kind of store, by the scheme of its addresses.
STORES: dict[str, type[Store]] = {"file": SqliteStore, "sqlite": SqliteStore, "postgresql": PostgresStore}


def open_store(address: str | Path | Address) -> Store:
    """The store at an address, whether or not a ledger is there."""
    kind, place = _kind_of(address)
    return kind(place)


def create_store(
    address: str | Path | Address, first: Row, secret: bytes, fill: Callable[[Session], None] | None = None
) -> Store:
    """A new store at an address, with its first event and what else ``fill`` writes in the same step."""
    kind, place = _kind_of(address)
    return kind.create(place, first, secret, fill)


def _kind_of(given: str | Path | Address) -> tuple[type[Store], str | Path]:
    """The kind of store, and the address as that kind reads it."""
    address = read_address(given, "ledger")
    if address.scheme not in STORES:
        raise no_engine(address)
    return STORES[address.scheme], address.path if address.in_files else address.rest
