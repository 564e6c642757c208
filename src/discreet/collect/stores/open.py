"""The store of reports behind an address."""

from __future__ import annotations

from pathlib import Path

from ...addresses import Address, no_engine, read_address
from .base import ReportStore
from .postgres import PostgresReports
from .sqlite import SqliteReports

#: Scheme of an address -> kind of store.
STORES: dict[str, type[ReportStore]] = {
    "file": SqliteReports,
    "sqlite": SqliteReports,
    "postgresql": PostgresReports,
}


def report_store(location: str | Path | Address) -> ReportStore:
    """Return the store at an address, not opened yet."""
    address = read_address(location, "reports")
    if address.scheme not in STORES:
        raise no_engine(address)
    return STORES[address.scheme](str(address.path) if address.in_files else address.rest)
