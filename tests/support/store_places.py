"""Addresses at which a store of each kind can be made."""

from __future__ import annotations

from pathlib import Path

from support.postgres_server import server


def empty_place(kind: str, folder: Path, file: str, database: str) -> str:
    """Return the address of a store of this kind; nothing is there yet."""
    if kind == "postgresql":
        return server().address(server().database(name=database))
    return {"file": "", "sqlite": "sqlite:"}[kind] + str(folder / file)
