"""Which kind of store keeps the reports at an address."""

from __future__ import annotations

from pathlib import Path

from ...addresses import Address, no_engine, read_address
from .base import ReportStore
from .postgres import PostgresReports
from .sqlite import SqliteReports

#: Every kind of store, by the scheme of its addresses.
STORES: dict[str, type[ReportStore]] = {
    "file": SqliteReports,
    "sqlite": SqliteReports,
    "postgresql": PostgresReports,
}


def report_store(given: str | Path | Address) -> ReportStore:
    """The store at an address, not opened yet."""
    address = read_address(given, "reports")
    if address.scheme not in STORES:
        raise no_engine(address)
    return STORES[address.scheme](str(address.path) if address.in_files else address.rest)
