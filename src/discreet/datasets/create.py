"""Make a declaration and its ledger from the names of columns, without reading a row."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from ..addresses import read_address
from ..engines.base import ROW
from ..engines.sources import Source, open_source
from ..errors import DiscreetError, InvalidInput, UnreadableFile, arg
from ..ledger.bindings import refuse_other_unit_name
from ..ledger.budget import Cost
from ..ledger.ledger import Ledger
from ..ledger.terms import LedgerTerms
from ..periods import Per
from ..sources.encodings import read_encoding, read_text_file
from ..unit import read_unit_name
from ..wording import nearest
from .columns import DeclaredColumn
from .declaration import ENDING, Declaration, DeclaredTable, refuse_existing, replace_file, write_new_file
from .editions import bind_edition
from .locations import relative_location
from .lookups import PublicTables
from .search import declarations_in
from .toml_values import toml_key, toml_value

#: Patterns of column names that look like values -> what they look like.
_VALUE_PATTERNS = (
    (r"\s*", "blank"),
    (r"[-+]?[0-9]+([.,][0-9]+)?(e[-+]?[0-9]+)?%?", "a number"),
    (r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}([ T][0-9:.]+)?", "a date"),
    (r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address"),
)


@dataclass(frozen=True)
class NewDataset:
    """A complete declaration, not written yet.

    Attributes
    ----------
    declaration
        The declaration.
    undeclared
        Columns without declared public values.
    name_warnings
        Warnings about names that look like values: "column 2 looks like a number". No name is quoted, since it may be
        a person's value.
    """

    declaration: Declaration
    undeclared: tuple[str, ...]
    name_warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.declaration.text(self.undeclared)


def draft_declaration(
    data: str,
    *,
    unit: str,
    unit_name: str | None = None,
    columns: Sequence[DeclaredColumn] = (),
    ledger: str | None = None,
    name: str | None = None,
    file: Path | None = None,
    encoding: str | None = None,
    per: str | Per | None = None,
) -> NewDataset:
    """Draft the declaration of some data from the names and types of its columns; nothing is written.

    Parameters
    ----------
    data
        The address of the data.
    unit
        Whose data is protected: a column, or "row".
    unit_name
        The noun for it in texts; by default the name of its column, if that is a word.
    columns
        The public values of columns.
    ledger
        The ledger that pays; by default a file next to the declaration.
    name
        The name of the data set; by default that of the data.
    file
        The declaration's file; by default NAME.toml in the working folder.
    encoding
        The encoding of a CSV file; UTF-8 if not given.
    per
        The period that is part of the unit, by a date column: ``month:visit_date``.
    """
    encoding = None if encoding is None else read_encoding(encoding)
    source = open_source(data, encoding=encoding)
    dataset = source.dataset if name is None else name
    if file is None:
        if Path(dataset).name != dataset:
            raise InvalidInput(
                f"{dataset!r} cannot be the name of a file.", f"Name the file: {arg('out', 'FILE.toml')}."
            )
        file = Path(f"{dataset}{ENDING}")
    tables = source.tables()
    if not tables:
        raise InvalidInput(f"{read_address(data)} has no tables.", "Make one first.", argument="data")
    columns_of_table = {table: source.table(table) for table in tables}
    names = tuple(dict.fromkeys(column for table in columns_of_table.values() for column in table))
    unit = spell_column(unit, names, "unit") if unit != ROW else unit
    unit_name = suggest_unit_name(unit) if unit_name is None else read_unit_name(unit_name)
    declared_columns = {}
    for column in columns:
        spelled = spell_column(column.name, names, "domain" if column.bands is None else "bands")
        if spelled in declared_columns:
            raise InvalidInput(f"the column {spelled!r} is declared twice.", "Declare it once.", argument="domain")
        declared_columns[spelled] = replace(column, name=spelled)
    location = relative_location(data, "data", file.parent, "a dataset file")
    book = str(file.with_suffix(".ledger")) if ledger is None else ledger
    declaration = Declaration(
        dataset, unit, {table: DeclaredTable(location, encoding=encoding) for table in tables},
        declared_columns, relative_location(book, "ledger", file.parent, "a dataset file"), file, unit_name,
    )  # fmt: skip
    if per is not None:
        period = Per.read(per)
        period = Per(period.granularity, spell_column(period.column, names, "per"))
        declaration = replace(declaration, per=period)
    undeclared = tuple(column for column in names if column not in declared_columns and column != unit)
    return NewDataset(declaration, undeclared, _name_warnings(source, columns_of_table))


def suggest_unit_name(unit: str) -> str | None:
    """Return the noun for a unit that its column suggests: a word that does not name a code.

    >>> [suggest_unit_name(column) for column in ("person", "pid", "user_month", "row")]
    ['person', None, None, None]
    """
    return unit if re.fullmatch("[a-z]{4,}", unit) and not unit.endswith(("id", "code", "key")) else None


def _name_warnings(source: Source, columns_of_table: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Warn of column names that look like values: a CSV file without a heading has a person's row there."""
    warnings = []
    for table, columns in columns_of_table.items():
        for place, column in enumerate(columns, 1):
            looks = next((what for pattern, what in _VALUE_PATTERNS if re.fullmatch(pattern, column)), None)
            if looks is not None:
                warnings.append(f"column {place} of {table} looks like {looks}")
        if source.unnamed_columns(table):
            warnings.append(f"{table} has columns with no name of their own (blank, or the same twice)")
    return tuple(warnings)


def spell_column(name: str, columns: Sequence[str], argument: str) -> str:
    """Return a column in the spelling of the table; the error for an unknown one suggests the nearest."""
    alike = [column for column in columns if column == name] or [
        column for column in columns if column.casefold() == name.casefold()
    ]
    if len(alike) == 1:
        return alike[0]
    near = nearest(name, columns)
    suggestion = f"Did you mean {near}? " if near else ""
    also = f"A unit is {ROW}, or a column: " if argument == "unit" else "The columns are "
    raise InvalidInput(
        f"there is no column {name!r}.", f"{suggestion}{also}{', '.join(columns[:20])}.", argument=argument, given=name
    )


def refuse_second_budget(declaration: Declaration) -> None:
    """Refuse a new ledger for data that another declaration already gives a ledger."""
    assert declaration.path is not None
    try:
        others = declarations_in(declaration.path.parent)
    except DiscreetError:
        return  # an unreadable file declares nothing
    addresses = {_absolute_address(declaration.data_of(table)) for table in declaration.tables}
    for other in others:
        if other.ledger is not None and not addresses.isdisjoint(
            _absolute_address(other.data_of(table)) for table in other.tables
        ):
            raise InvalidInput(
                f"{other.name} declares this data already, and another ledger would be a second budget.",
                f"Use its ledger: {arg('ledger', other.ledger)}.",
            )


def _absolute_address(data: str) -> str:
    address = read_address(data)
    return str(address.path.resolve()) if address.in_files else str(address)


def write_dataset(new: NewDataset, *, budget: object = None, delta: object = 0, adopt: bool = False) -> Ledger:
    """Write a declaration, and make its ledger or adopt the existing one: both, or neither.

    The ledger is made first. A program that is killed before the declaration is written leaves an unused ledger with
    these terms, which the same call then takes.
    """
    declaration = new.declaration
    file = declaration.path
    assert file is not None and declaration.ledger_address is not None
    refuse_existing(file)
    address = declaration.ledger_address
    if adopt:
        ledger = Ledger.open(address)
        refuse_other_terms(ledger, declaration)
        write_new_file(file, new.text)
        return ledger
    refuse_second_budget(declaration)
    ledger, is_new = _unused_ledger(declaration, address, budget, delta)
    try:
        for table in declaration.tables:  # from now on, another file is another edition
            bind_edition(ledger, table, "", declaration.data_of(table))
        write_new_file(file, new.text)
    except BaseException:
        if is_new:
            Path(address).unlink(missing_ok=True)  # no other process knows this new file
        raise
    return ledger


def _unused_ledger(declaration: Declaration, address: str, budget: object, delta: object) -> tuple[Ledger, bool]:
    """Return a new ledger and True, or an existing unused ledger with the same terms and False."""
    if os.path.lexists(address):
        try:
            ledger = Ledger.open(address)
        except UnreadableFile:
            ledger = None
        if ledger is not None and all(entry.reservation.cost == Cost(Fraction(0)) for entry in ledger.entries()):
            same = LedgerTerms.new(
                declaration.dataset, declaration.unit, "add-remove", budget, delta, "sum", per=declaration.granularity
            )
            if replace(same, ledger=ledger.terms.ledger, key=ledger.terms.key) == ledger.terms:
                return ledger, False
        raise InvalidInput(
            f"{address} exists already, and a ledger is never overwritten.", f"Use it: {arg('ledger', address)}."
        )
    return Ledger.create(
        address,
        dataset=declaration.dataset,
        unit=declaration.unit,
        epsilon=budget,
        delta=delta,
        per=declaration.granularity,
    ), True


def refuse_other_terms(ledger: Ledger, declaration: Declaration) -> None:
    """Refuse a ledger of another data set or unit than the declaration's."""
    terms = ledger.terms
    for what, actual, expected in (
        ("data set", terms.dataset, declaration.dataset), ("unit", terms.unit, declaration.unit),
        ("period", terms.per, declaration.granularity),
    ):  # fmt: skip
        if actual != expected:
            raise InvalidInput(
                f"the ledger {ledger.name} is for the {what} {actual!r}, and {declaration.name} declares {expected!r}.",
                f"Name the ledger of this {what}, or declare the {what} {actual}.",
                argument="ledger",
            )


def check_dataset(declaration: Declaration) -> tuple[str, ...]:
    """Check a declaration against its data, its look-ups and its ledger; return the problems.

    Of the look-ups, which are public, the rows are read, and of the data none.
    """
    problems = []
    names: list[str] = []
    for table in declaration.tables:
        try:
            source = open_source(declaration.data_of(table), encoding=declaration.encoding_of(table)).call_table(table)
            columns = list(source.table(source.spelled(table)))
            names += columns
            unit = declaration.unit_of(table)
            if unit != ROW:
                source.check_unit(source.spelled(table), spell_column(unit, columns, "unit"))
        except (InvalidInput, UnreadableFile) as problem:
            problems.append(f"{table}: {problem}")
    for name, column in declaration.columns.items():
        try:
            if names:
                spell_column(name, names, "columns")
            if column.bands is None:
                column.domain(declaration.folder)
        except InvalidInput as problem:
            problems.append(f"{name}: {problem}")
    lookups = PublicTables(declaration)
    for name in lookups:
        try:
            lookups[name].keys(None)
        except (InvalidInput, UnreadableFile) as problem:
            problems.append(str(problem))
    try:
        if declaration.ledger_address is not None:
            ledger = Ledger.open(declaration.ledger_address)
            refuse_other_terms(ledger, declaration)
            refuse_other_unit_name(ledger, declaration.unit_name)
    except (InvalidInput, UnreadableFile) as problem:
        problems.append(str(problem))
    return tuple(problems)


def add_columns(path: Path, columns: Sequence[DeclaredColumn]) -> Declaration:
    """Add public values of columns to a declaration; keep its other lines and comments."""
    dataset = Declaration.open(path)
    text = read_text_file(path)
    sources = [
        open_source(dataset.data_of(table), encoding=dataset.encoding_of(table)).call_table(table)
        for table in dataset.tables
    ]
    names = list(dict.fromkeys(name for source in sources for name in source.column_names()))
    lines = []
    for column in columns:
        name = spell_column(column.name, sorted(names), "domain" if column.bands is None else "bands")
        if dataset.find_column(name) is not None:
            raise InvalidInput(
                f"{dataset.name} declares {name!r} already.", f"Edit {dataset.name} to change it.", argument="domain"
            )
        lines.append(f"{toml_key(name)} = {toml_value(column.to_toml())}")
        text = re.sub(rf"(?m)^# {re.escape(toml_key(name))} = *\n", "", text)
    new_text = _with_lines(text, lines)
    dataset = Declaration.from_text(new_text, path)
    replace_file(path, new_text)
    return dataset


def _with_lines(text: str, lines: Sequence[str]) -> str:
    """Insert lines at the end of the declared columns; add the table of columns if it is missing."""
    insertion = "".join(f"{line}\n" for line in lines)
    heading = re.search(r"(?m)^\[columns\][^\n]*\n?", text)
    if heading is None:
        return f"{text.rstrip()}\n\n[columns]\n{insertion}"
    end = heading.end()
    start = text[:end] if text[:end].endswith("\n") else text[:end] + "\n"
    rest = text[end:]
    # after the declared columns, before comments and other tables
    columns = re.match(r"(?:[^#\[\n][^\n]*\n)*", rest)
    cut = columns.end() if columns is not None and "[\n" not in rest[: columns.end()] else 0
    return start + rest[:cut] + insertion + rest[cut:]
