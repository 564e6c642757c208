"""The declaration of a data set: its privacy unit, its public values and its ledger.

A declaration is a TOML file for people to review and keep under version control. It holds no secret, and reading it
reads no row. Addresses are relative to the file.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..addresses import Address, read_address
from ..engines.base import ROW, refuse_period
from ..errors import DiscreetError, InvalidInput, InWords, UnreadableFile, WrongType, arg, named
from ..ledger.budget import read_name
from ..periods import Per
from ..report import Json, Report, Result, Section, Terms
from ..sources.encodings import read_encoding, read_text_file
from ..sources.files import is_csv, refuse_encoding
from ..unit import read_unit_name
from ..wording import in_sql, listed, nearest
from .columns import DeclaredColumn
from .locations import relative_location, resolve_location
from .lookups import DeclaredLookup
from .publication import LABELS, Publication, read_publication_text
from .toml_values import toml_key, toml_value

#: The format in the first line of a declaration, which identifies the file.
FORMAT = "discreet dataset"

#: The ending of a declaration's name.
ENDING = ".toml"

#: The noun for the file in messages.
_WHAT = "a dataset file"

#: Fields that a declaration and its ledger fix: another value would mean another data set, or a second budget.
FIXED = ("unit", "unit_name", "per", "relation", "dataset", "encoding", "ledger")


@dataclass(frozen=True)
class DeclaredTable:
    """A table of a data set.

    Attributes
    ----------
    data
        The address of its data, relative to the declaration.
    unit
        Its column for the unit, where it differs from that of the data set; otherwise None.
    encoding
        The encoding of its CSV file; None if it is not declared, which means UTF-8.
    per
        Its period by its own date column, where that differs from that of the data set; otherwise None.
    """

    data: str
    unit: str | None = None
    encoding: str | None = None
    per: Per | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the table as the file has it."""
        per = None if self.per is None else self.per.text
        optional = {"unit": self.unit, "per": per, "encoding": self.encoding}
        return {"data": self.data, **{key: value for key, value in optional.items() if value is not None}}


def _text(value: object, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongType.must_be(key, "a text", InWords(f"a {type(value).__name__}"))
    return value


def _encoding(value: object, key: str) -> str:
    return read_encoding(_text(value, key), key)


def _dataset(value: object, key: str) -> str:
    return read_name(_text(value, key), "the name of a data set")


def _tables(value: object, key: str) -> dict[str, DeclaredTable]:
    if not isinstance(value, Mapping) or not value or not all(isinstance(one, Mapping) for one in value.values()):
        raise InvalidInput(
            "the tables are missing.", 'Write each as: [tables.visits], and below it data = "visits.csv".', argument=key
        )
    tables = {str(name): DeclaredTable(**_read_keys(one, _TABLE_KEYS, ("data",))) for name, one in value.items()}
    _refuse_alike(tables, "tables")
    return tables


def read_lookups(value: object, key: str) -> dict[str, DeclaredLookup]:
    """Read the look-ups of a declaration, each a mapping with ``data`` and ``key``."""
    if not isinstance(value, Mapping) or not all(isinstance(one, Mapping) for one in value.values()):
        raise InvalidInput(
            "the look-ups cannot be read.",
            'Write each as: [lookups.regions], and below it data = "regions.csv" and key = "county".',
            argument=key,
        )
    lookups = {
        str(name): DeclaredLookup(**_read_keys(one, _LOOKUP_KEYS, ("data", "key"))) for name, one in value.items()
    }
    _refuse_alike(lookups, key)
    return lookups


def _columns(value: object, key: str) -> dict[str, DeclaredColumn]:
    if not isinstance(value, Mapping):
        raise WrongType.must_be(key, "a table of TOML, [columns]", InWords(f"a {type(value).__name__}"))
    columns = {str(name): DeclaredColumn.from_toml(str(name), one) for name, one in value.items()}
    _refuse_alike(columns, "columns")
    return columns


def _refuse_alike(names: Mapping[str, object], what: str) -> None:
    """Refuse names that differ only in case, which SQL ignores."""
    if len({name.casefold() for name in names}) < len(names):
        raise InvalidInput(f"two of the {what} differ in case alone.", "Declare each once.", argument=what)


#: Keys of a declaration, in order -> how each is read. A new key is one line here and a field of the class.
_KEYS: dict[str, Callable[[object, str], Any]] = {
    "dataset": _dataset,
    "unit": _text,
    "unit_name": lambda value, _: read_unit_name(value),
    "per": lambda value, _: Per.read(value),
    **dict.fromkeys(LABELS, read_publication_text),
    "ledger": _text,
    "tables": _tables,
    "lookups": read_lookups,
    "columns": _columns,
}

#: Keys of a table -> how each is read.
_TABLE_KEYS: dict[str, Callable[[object, str], Any]] = {
    "data": _text,
    "unit": _text,
    "per": lambda value, _: Per.read(value),
    "encoding": _encoding,
}


#: Keys of a look-up -> how each is read.
_LOOKUP_KEYS: dict[str, Callable[[object, str], str]] = {"data": _text, "key": _text}


def _read_keys(
    content: Mapping[str, object], readers: Mapping[str, Callable[[object, str], Any]], required: tuple[str, ...]
) -> dict[str, Any]:
    for key in content:
        if key not in readers:
            near = nearest(key, readers)
            suggestion = f"Did you mean {near}? " if near else ""
            raise InvalidInput(f"{_WHAT} has no key {key!r} here.", f"{suggestion}It has {', '.join(readers)}.")
    for key in required:
        if key not in content:
            raise InvalidInput(f"{key} is missing.", f'Write it as: {key} = "..."', argument=key)
    return {key: readers[key](value, key) for key, value in content.items()}


@dataclass(frozen=True)
class Declaration(Result):
    """The public facts about a data set, stated before a row is read.

    Attributes
    ----------
    dataset
        The name of the data set, as its ledger has it.
    unit
        Whose data is protected: a column, or ``"row"``.
    tables
        The tables by name: the address of each, and its unit where that differs.
    columns
        The public values of columns, by name.
    ledger
        The ledger that pays, relative to the file; None if none is declared.
    path
        The file; None if it was not read from one.
    unit_name
        The noun for the unit in texts; None for the name of its column.
    publication
        The title, publisher, source and contact of every release from it, unless the request has its own.
    lookups
        The public look-ups by name: the file and the key of each.
    per
        The period that is part of the unit: one month of one person. None if the unit is the whole person.

    Examples
    --------
    >>> visits = Declaration("visits", "person", {"visits": DeclaredTable("visits.csv")}, {}, "visits.ledger")
    >>> visits.find_table("Visits"), visits.unit_of("visits")
    ('visits', 'person')
    """

    dataset: str
    unit: str
    tables: Mapping[str, DeclaredTable]
    columns: Mapping[str, DeclaredColumn] = field(default_factory=dict)
    ledger: str | None = None
    path: Path | None = None
    unit_name: str | None = None
    publication: Publication = field(default_factory=Publication)
    lookups: Mapping[str, DeclaredLookup] = field(default_factory=dict)
    per: Per | None = None

    def __post_init__(self) -> None:
        if self.per is not None and ROW in {self.unit, *(table.unit for table in self.tables.values())}:
            raise refuse_period()
        for name, table in self.tables.items():
            if table.per is not None and (self.per is None or table.per.granularity != self.per.granularity):
                raise InvalidInput(
                    f"the period of {name!r} is not that of the data set.",
                    f"Declare one granularity for all, above the tables: {arg('per', table.per.text)}.",
                    argument="per",
                )
        for name in self.lookups:
            if self.find_table(name) is not None:
                raise InvalidInput(f"{name!r} is a table and a look-up.", "Give one another name.", argument="lookups")

    @classmethod
    def open(cls, path: str | Path) -> Declaration:
        """Read a declaration from its file, without opening the data or the ledger."""
        file = Path(path)
        return cls.from_text(read_text_file(file), file)

    @classmethod
    def from_text(cls, text: str, path: Path) -> Declaration:
        """Read a declaration from the text of its file."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise UnreadableFile(f"{path} is not TOML: {problem}.", "Texts stand in quotes.") from None
        try:
            if content.pop("format", None) != FORMAT:
                raise InvalidInput("this is not a dataset file.", f'Its first line is: format = "{FORMAT}"')
            if (version := content.pop("version", 1)) != 1:
                raise InvalidInput.must_be("version", "1", version)
            values = _read_keys(content, _KEYS, ("dataset", "unit", "tables"))
            publication = Publication(**{name: values.pop(name) for name in LABELS if name in values})
            declaration = cls(**values, path=path, publication=publication)
            declaration.data_of(next(iter(declaration.tables)))  # refuses an unreadable address now
            for table in declaration.tables:
                declaration.refuse_encoding(table)
            _ = declaration.ledger_address
        except DiscreetError as problem:
            raise UnreadableFile.because(str(path), problem) from None
        return declaration

    @property
    def folder(self) -> Path:
        """The folder that addresses are relative to."""
        return Path() if self.path is None else self.path.parent

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return "the dataset" if self.path is None else self.path.name

    def find_table(self, table: str) -> str | None:
        """Return the declared name of a table, ignoring case; None if it is not declared."""
        return next((name for name in self.tables if name.casefold() == table.casefold()), None)

    def unit_of(self, table: str) -> str:
        """Return the column of the unit in a table, or "row"."""
        return self.tables[table].unit or self.unit

    def per_of(self, table: str) -> Per | None:
        """Return the period of the unit, by the date column of a table; None if the unit is the whole person."""
        return self.tables[table].per or self.per

    @property
    def granularity(self) -> str | None:
        """The granularity of the periods; None without periods."""
        return None if self.per is None else self.per.granularity

    def data_of(self, table: str) -> str:
        """Return the address of a table's data, relative to the working folder."""
        return resolve_location(self.tables[table].data, "data", self.folder, _WHAT)

    def lookup_address(self, name: str) -> str:
        """Return the address of a look-up, relative to the working folder."""
        return resolve_location(self.lookups[name].data, "data", self.folder, _WHAT)

    def encoding_of(self, table: str, data: str | None = None) -> str | None:
        """Return the declared encoding of a table's CSV file; None if none is declared.

        If other ``data`` of the same table is a CSV file, it has that encoding too; otherwise it has none.
        """
        encoding = self.tables[table].encoding
        return encoding if data is None or is_csv(read_address(data)) else None

    def refuse_encoding(self, table: str) -> None:
        """Refuse an encoding for data that is not a CSV file."""
        if (encoding := self.tables[table].encoding) is not None:
            refuse_encoding(read_address(self.data_of(table)), encoding)

    @property
    def ledger_address(self) -> str | None:
        """The address of the ledger, relative to the working folder."""
        return None if self.ledger is None else resolve_location(self.ledger, "ledger", self.folder, _WHAT)

    def find_column(self, column: str) -> DeclaredColumn | None:
        """Return the declaration of a column, ignoring case."""
        return next((one for name, one in self.columns.items() if name.casefold() == column.casefold()), None)

    def values_of(self, name: str, asked: Mapping[str, object]) -> list[object] | None:
        """Return all values of a column; None where there may be others.

        ``asked`` has the values that a request declares instead, by the name of the column in lower case.
        """
        column, values = self.find_column(name), asked.get(name.casefold())
        try:
            if values is None and column is not None and column.bands is None:
                values = column.domain(self.folder)
        except DiscreetError:  # this question does not need them
            return None
        return None if not isinstance(values, list | tuple | range) or ... in values else list(values)

    # -------------------------------------------------------------------------------------------- writing

    def to_json(self) -> dict[str, Json]:
        """Return the declaration as the file has it."""
        content: dict[str, Json] = {"format": FORMAT, "dataset": self.dataset, "unit": self.unit}
        if self.unit_name is not None:
            content["unit_name"] = self.unit_name
        if self.per is not None:
            content["per"] = self.per.text
        content |= self.publication.to_json()
        if self.ledger is not None:
            content["ledger"] = self.ledger
        content["tables"] = {name: table.to_json() for name, table in self.tables.items()}
        if self.lookups:
            content["lookups"] = {name: lookup.to_json() for name, lookup in self.lookups.items()}
        content["columns"] = {name: column.to_toml() for name, column in self.columns.items()}
        return content

    def text(self, undeclared: tuple[str, ...] = ()) -> str:
        """Return the file's text; columns without public values become comments to complete."""
        lines = [f"format = {toml_value(FORMAT)}", f"dataset = {toml_value(self.dataset)}"]
        lines.append(f'unit = {toml_value(self.unit)}    # who is protected: a column, or "{ROW}"')
        noun = toml_value(self.unit_name or "person")
        note = ": every row is a different one" if self.unit == ROW else ""
        lines.append(f"{'# ' if self.unit_name is None else ''}unit_name = {noun}    # what texts call it{note}")
        if self.per is not None:
            lines.append(f"per = {toml_value(self.per.text)}    # one {self.per.granularity} of each is protected")
        lines += [f"{name} = {toml_value(text)}" for name, text in self.publication.to_json().items()]
        if self.ledger is not None:
            lines.append(f"ledger = {toml_value(self.ledger)}")
        for name, table in self.tables.items():
            lines += ["", f"[tables.{toml_key(name)}]", f"data = {toml_value(table.data)}"]
            if table.unit is not None:
                lines.append(f"unit = {toml_value(table.unit)}")
            if table.per is not None:
                lines.append(f"per = {toml_value(table.per.text)}")
            if table.encoding is not None:
                lines.append(f"encoding = {toml_value(table.encoding)}")
        for name, lookup in self.lookups.items():
            lines += ["", f"[lookups.{toml_key(name)}]"]
            lines += [f"{key} = {toml_value(value)}" for key, value in lookup.to_json().items()]
        lines += ["", "# Public values of columns, never taken from the data.", "[columns]"]
        lines += [f"{toml_key(name)} = {toml_value(column.to_toml())}" for name, column in self.columns.items()]
        if undeclared:
            lines.append("# To group by one of these, write its public values and remove the #:")
            lines += [f"# {toml_key(name)} = " for name in undeclared]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path, undeclared: tuple[str, ...] = ()) -> Path:
        """Write the declaration to a new file, whole or not at all; refuse an existing file."""
        file = Path(path)
        refuse_existing(file)
        write_new_file(file, self.moved_to(file).text(undeclared))
        return file

    def moved_to(self, file: Path) -> Declaration:
        """Return the same declaration for another file, with addresses relative to that file."""
        if self.folder.resolve() == file.parent.resolve():
            return self
        folder = file.parent
        tables = {
            name: replace(table, data=relative_location(self.data_of(name), "data", folder, _WHAT))
            for name, table in self.tables.items()
        }
        ledger = (
            None if self.ledger_address is None else relative_location(self.ledger_address, "ledger", folder, _WHAT)
        )
        columns = {name: column.moved_to(self.folder, folder) for name, column in self.columns.items()}
        lookups = {
            name: replace(lookup, data=relative_location(self.lookup_address(name), "data", folder, _WHAT))
            for name, lookup in self.lookups.items()
        }
        return replace(self, tables=tables, columns=columns, ledger=ledger, path=file, lookups=lookups)

    def report(self) -> Report:
        """Report the declaration for people."""
        pairs = [("dataset", self.dataset), ("unit", self.unit)]
        if self.unit_name is not None:
            pairs.append(("called", self.unit_name))
        if self.per is not None:
            pairs.append(("period", f"each {self.per.granularity} of {self.per.column} by itself"))
        pairs += self.publication.to_json().items()
        for name, table in self.tables.items():
            options = [f"{key} {value}" for key, value in table.to_json().items() if key != "data"]
            options_text = f" ({', '.join(options)})" if options else ""
            pairs.append(("table", f"{name}: {_address_text(table.data)}{options_text}"))
        pairs += [("look-up", f"{name}: {one.data}, by {one.key}") for name, one in self.lookups.items()]
        pairs += [("column", f"{name}: {toml_value(column.to_toml())}") for name, column in self.columns.items()]
        if self.ledger is not None:
            pairs.append(("ledger", self.ledger))
        return Report(f"The dataset in {self.name}", "A dataset", sections=(Section(parts=(Terms(tuple(pairs)),)),))

    def no_table(self, table: str) -> InvalidInput:
        """Return the error for a question about an undeclared table."""
        return InvalidInput(
            f"{self.name} declares no table {table!r}.",
            f"It declares {listed(sorted(map(in_sql, self.tables)), 'and')}.",
        )

    def fixed_field_error(self, field: str) -> InvalidInput:
        """Return the error for a field that this declaration fixes."""
        return fixed_field_error(self.name, field, named(field))


def fixed_field_error(file: str, field: str, field_text: str) -> InvalidInput:
    """Return the error for a field that a dataset file fixes."""
    return InvalidInput(f"{field_text} is declared in {file}.", f"Edit {file} to change it.", argument=field)


def _address_text(text: str) -> str:
    return str(Address("file", text)) if "://" not in text else str(read_address(text))


def refuse_existing(file: Path) -> None:
    """Refuse an existing file, a missing folder, and a name with another ending."""
    if file.suffix.lower() != ENDING:
        raise InvalidInput.must_be("path", f"a file whose name ends in {ENDING}", file.name)
    if os.path.lexists(file):
        raise InvalidInput(f"{file} exists already.", "Choose another name, or remove it first.", argument="path")
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {file.parent}.", "Make it first.", argument="path")


def write_new_file(file: Path, text: str) -> None:
    """Write a new file, whole or not at all; if several processes try, one succeeds."""
    try:
        with _complete_file(file, text, 0o644) as partial:
            os.link(partial, file)
    except FileExistsError:
        raise InvalidInput(f"{file} exists already.", "Choose another name.", argument="path") from None
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise InvalidInput(f"cannot write {file}: {why}.", "Choose another place.", argument="path") from None


def replace_file(file: Path, text: str) -> None:
    """Replace the text of a file, whole or not at all."""
    with _complete_file(file, text, file.stat().st_mode & 0o777) as partial:
        os.replace(partial, file)


@contextmanager
def _complete_file(file: Path, text: str, mode: int) -> Iterator[str]:
    """Write a temporary file next to ``file``, for the caller to link or move; remove it afterwards."""
    handle, partial = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(partial, mode)
        yield partial
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial)
