"""Public look-ups in a declaration: files whose rows give further columns to the rows of the private tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..addresses import read_address
from ..engines.base import ROW
from ..errors import InvalidInput, UnreadableFile
from ..questions.joins.lookups import PublicTable
from ..report import Json

if TYPE_CHECKING:
    from .declaration import Declaration


@dataclass(frozen=True)
class DeclaredLookup:
    """A public look-up of a data set.

    Attributes
    ----------
    data
        Its CSV file, relative to the declaration.
    key
        The column that rows are looked up by, which no two rows share.
    """

    data: str
    key: str

    def to_json(self) -> dict[str, Json]:
        """Return the look-up as the file has it."""
        return {"data": self.data, "key": self.key}


class PublicTables(Mapping[str, PublicTable]):
    """The look-ups of a data set by name; each file is read once, when a question first needs it.

    Parameters
    ----------
    declaration
        Declares the look-ups, and the private tables, none of which may be a look-up.
    data
        The address of the private data in use, where it is not the declared one.
    """

    def __init__(self, declaration: Declaration, data: str | None = None) -> None:
        self._declaration = declaration
        self._data = data
        self._read: dict[str, PublicTable] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._declaration.lookups)

    def __len__(self) -> int:
        return len(self._declaration.lookups)

    def __getitem__(self, name: str) -> PublicTable:
        if name not in self._read:
            self._read[name] = self._open(name)
        return self._read[name]

    def _open(self, name: str) -> PublicTable:
        declaration = self._declaration
        lookup, place = declaration.lookups[name], declaration.lookup_address(name)
        address = read_address(place)
        file = address.path if address.in_files else None
        if file is None or file.suffix.lower() != ".csv":
            raise InvalidInput(
                f"the look-up {name!r} is not a CSV file: {lookup.data}.", "Save it as .csv, in UTF-8.",
                argument="lookups",
            )  # fmt: skip
        addresses = [declaration.data_of(table) for table, one in declaration.tables.items() if one.data]
        for private in filter(None, [*addresses, self._data]):
            if _is_same_file(file, private):
                raise InvalidInput(
                    f"the look-up {name!r} is a table of the data set.",
                    "A look-up is public: its file is part of every release.",
                    argument="lookups",
                )
        try:
            content = file.read_bytes()
        except OSError as problem:
            raise UnreadableFile(f"cannot read {file}: {problem.strerror or problem}.") from None
        table = PublicTable.read(name, lookup.key, content, file.name)
        units = {declaration.unit_of(one).casefold() for one in declaration.tables} - {ROW}
        for column in table.columns:
            if column.casefold() in units:
                raise InvalidInput(
                    f"the look-up {name!r} has the column {column!r}, which names people.",
                    "A look-up is public and has no rows about people.",
                    argument="lookups",
                )
        return table


def _is_same_file(file: Path, private: str) -> bool:
    """Return whether a look-up's file is a private table, or one of its files."""
    address = read_address(private)
    if not address.in_files:
        return False
    path = address.path
    if path.is_dir():
        return path.resolve() in file.resolve().parents
    return path.exists() and file.exists() and os.path.samefile(path, file)
