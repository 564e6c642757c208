"""Choose the kind of store by the scheme of an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...addresses import Address, no_engine, read_address
from ..chain import EventRow
from .base import Store, StoreSession
from .postgres import PostgresStore
from .sqlite import SqliteStore

#: Scheme of an address -> kind of store.
STORES: dict[str, type[Store]] = {"file": SqliteStore, "sqlite": SqliteStore, "postgresql": PostgresStore}


def open_store(address: str | Path | Address) -> Store:
    """Return the store at an address, which need not exist yet."""
    kind, place = _kind_of(address)
    return kind(place)


def create_store(
    address: str | Path | Address, first: EventRow, secret: bytes, fill: Callable[[StoreSession], None] | None = None
) -> Store:
    """Make a store at an address, with its first event and what ``fill`` adds in the same step."""
    kind, place = _kind_of(address)
    return kind.create(place, first, secret, fill)


def _kind_of(text: str | Path | Address) -> tuple[type[Store], str | Path]:
    """Return the kind of store, and the address as that kind reads it."""
    address = read_address(text, "ledger")
    if address.scheme not in STORES:
        raise no_engine(address)
    return STORES[address.scheme], address.path if address.in_files else address.rest
