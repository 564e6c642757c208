"""Making a declaration and its ledger: column names are looked at, never a row; both files are written, or neither."""

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
from ..ledger.budget import Cost, Terms
from ..ledger.ledger import Ledger
from ..sources.encodings import read_encoding
from ..unit import read_unit_name
from ..wording import nearest
from .columns import DeclaredColumn
from .declaration import ENDING, Declaration, DeclaredTable, refuse_existing, replace_file, write_new_file
from .editions import bind_edition
from .finding import declarations_in
from .places import relative_place
from .toml_values import toml_key, toml_value

#: Names of columns that look like values -> what they look like.
_VALUES = (
    (r"\s*", "blank"),
    (r"[-+]?[0-9]+([.,][0-9]+)?(e[-+]?[0-9]+)?%?", "a number"),
    (r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}([ T][0-9:.]+)?", "a date"),
    (r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address"),
)


@dataclass(frozen=True)
class NewDataset:
    """A declaration that is ready to be written.

    Attributes
    ----------
    declaration
        The declaration, for its file.
    undeclared
        Columns whose public values are not declared yet.
    suspicious
        What some names of columns look like, by their places: "column 2 looks like a number". No name is quoted, as
        it may be a person's value.
    """

    declaration: Declaration
    undeclared: tuple[str, ...]
    suspicious: tuple[str, ...]

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
) -> NewDataset:
    """Draft the declaration of some data from the names and types of its columns; nothing is written.

    Parameters
    ----------
    data
        The address of the data.
    unit
        Whose data is protected: a column, or "row".
    unit_name
        What texts call it; by default a column is called by its name if that is a word.
    columns
        The public values of columns.
    ledger
        The ledger that pays; by default a file beside the declaration.
    name
        The name of the data set; by default that of the data.
    file
        The declaration's file; by default NAME.toml in the working folder.
    encoding
        The encoding of a CSV file; UTF-8 if not given.
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
    stored = {table: source.table(table) for table in tables}
    names = tuple(dict.fromkeys(column for table in stored.values() for column in table))
    unit = spelled_column(unit, names, "unit") if unit != ROW else unit
    unit_name = proposed_name(unit) if unit_name is None else read_unit_name(unit_name)
    declared = {}
    for column in columns:
        own = spelled_column(column.name, names, "domain" if column.bands is None else "bands")
        if own in declared:
            raise InvalidInput(f"the column {own!r} is declared twice.", "Declare it once.", argument="domain")
        declared[own] = replace(column, name=own)
    place = relative_place(data, "data", file.parent, "a dataset file")
    book = str(file.with_suffix(".ledger")) if ledger is None else ledger
    declaration = Declaration(
        dataset, unit, {table: DeclaredTable(place, encoding=encoding) for table in tables},
        declared, relative_place(book, "ledger", file.parent, "a dataset file"), file, unit_name,
    )  # fmt: skip
    undeclared = tuple(column for column in names if column not in declared and column != unit)
    return NewDataset(declaration, undeclared, _suspicious(source, stored))


def proposed_name(unit: str) -> str | None:
    """Return the name of a unit that its column suggests: a word that is not the name of a code.

    >>> proposed_name("person"), proposed_name("pid"), proposed_name("user_month"), proposed_name("row")
    ('person', None, None, None)
    """
    return unit if re.fullmatch("[a-z]{4,}", unit) and not unit.endswith(("id", "code", "key")) else None


def _suspicious(source: Source, stored: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Say which names of columns look like values: a CSV file without a heading has a person's row there."""
    said = []
    for table, columns in stored.items():
        for place, column in enumerate(columns, 1):
            looks = next((what for pattern, what in _VALUES if re.fullmatch(pattern, column)), None)
            if looks is not None:
                said.append(f"column {place} of {table} looks like {looks}")
        if source.unnamed_columns(table):
            said.append(f"{table} has columns with no name of their own (blank, or the same twice)")
    return tuple(said)


def spelled_column(name: str, columns: Sequence[str], argument: str) -> str:
    """Return a column in its own spelling; one that is not there is refused with the nearest."""
    alike = [column for column in columns if column == name] or [
        column for column in columns if column.casefold() == name.casefold()
    ]
    if len(alike) == 1:
        return alike[0]
    near = nearest(name, columns)
    meant = f"Did you mean {near}? " if near else ""
    also = f"A unit is {ROW}, or a column: " if argument == "unit" else "The columns are "
    raise InvalidInput(
        f"there is no column {name!r}.", f"{meant}{also}{', '.join(columns[:20])}.", argument=argument, given=name
    )


def refuse_second_budget(declared: Declaration) -> None:
    """Refuse a new ledger for data that another declaration in the folder has, whose ledger is its budget."""
    assert declared.path is not None
    try:
        others = declarations_in(declared.path.parent)
    except DiscreetError:
        return  # a file that cannot be read declares nothing
    places = {_same_place(declared.data_of(table)) for table in declared.tables}
    for other in others:
        if other.ledger is not None and not places.isdisjoint(
            _same_place(other.data_of(table)) for table in other.tables
        ):
            raise InvalidInput(
                f"{other.name} declares this data already, and another ledger would be a second budget.",
                f"Use its ledger: {arg('ledger', other.ledger)}.",
            )


def _same_place(data: str) -> str:
    address = read_address(data)
    return str(address.path.resolve()) if address.in_files else str(address)


def write_dataset(
    new: NewDataset, *, budget: object = None, delta: object = 0, relation: str = "add-remove", adopt: bool = False
) -> Ledger:
    """Write a declaration, and make its ledger or adopt the one that is there: both, or neither.

    The ledger is made first. A program that is killed before the declaration is written leaves an unused ledger of
    these very terms, which the same call takes.
    """
    declared = new.declaration
    file = declared.path
    assert file is not None and declared.ledger_place is not None
    refuse_existing(file)
    place = declared.ledger_place
    if adopt:
        ledger = Ledger.open(place)
        refuse_other_terms(ledger, declared)
        write_new_file(file, new.text)
        return ledger
    refuse_second_budget(declared)
    ledger, made = _unused_ledger(declared, place, budget, delta, relation)
    try:
        for table in declared.tables:  # another file is an edition, from now on
            bind_edition(ledger, table, "", declared.data_of(table))
        write_new_file(file, new.text)
    except BaseException:
        if made:
            Path(place).unlink(missing_ok=True)  # ours alone: nobody has been told of it
        raise
    return ledger


def _unused_ledger(
    declared: Declaration, place: str, budget: object, delta: object, relation: str
) -> tuple[Ledger, bool]:
    """Return a new ledger and True, or an unused one of the same terms that is there, and False."""
    if os.path.lexists(place):
        try:
            ledger = Ledger.open(place)
        except UnreadableFile:
            ledger = None
        if ledger is not None and all(entry.reservation.cost == Cost(Fraction(0)) for entry in ledger.entries()):
            terms, same = ledger.terms, Terms.new(declared.dataset, declared.unit, relation, budget, delta, "sum")
            if replace(same, ledger=terms.ledger, key=terms.key) == terms:
                return ledger, False
        raise InvalidInput(
            f"{place} exists already, and a ledger is never overwritten.", f"Use it: {arg('ledger', place)}."
        )
    made = Ledger.create(
        place, dataset=declared.dataset, unit=declared.unit, relation=relation, epsilon=budget, delta=delta
    )
    return made, True


def refuse_other_terms(ledger: Ledger, declared: Declaration) -> None:
    """Refuse a ledger of another data set or unit than is declared."""
    terms = ledger.terms
    for what, bound, given in (
        ("data set", terms.dataset, declared.dataset), ("unit", terms.unit, declared.unit),
    ):  # fmt: skip
        if bound != given:
            raise InvalidInput(
                f"the ledger {ledger.name} is for the {what} {bound!r}, and {declared.name} declares {given!r}.",
                f"Name the ledger of this {what}, or declare the {what} {bound}.",
                argument="ledger",
            )


def check_dataset(declared: Declaration) -> tuple[str, ...]:
    """Hold a declaration against its data and its ledger, without reading a row; return what does not fit."""
    problems = []
    names: list[str] = []
    for table in declared.tables:
        try:
            source = open_source(declared.data_of(table), encoding=declared.encoding_of(table)).call_table(table)
            columns = list(source.table(source.spelled(table)))
            names += columns
            unit = declared.unit_of(table)
            if unit != ROW:
                source.check_unit(source.spelled(table), spelled_column(unit, columns, "unit"))
        except (InvalidInput, UnreadableFile) as problem:
            problems.append(f"{table}: {problem}")
    for name, column in declared.columns.items():
        try:
            if names:
                spelled_column(name, names, "columns")
            if column.bands is None:
                column.domain(declared.folder)
        except InvalidInput as problem:
            problems.append(f"{name}: {problem}")
    try:
        if declared.ledger_place is not None:
            ledger = Ledger.open(declared.ledger_place)
            refuse_other_terms(ledger, declared)
            refuse_other_unit_name(ledger, declared.unit_name)
    except (InvalidInput, UnreadableFile) as problem:
        problems.append(str(problem))
    return tuple(problems)


def add_columns(path: Path, columns: Sequence[DeclaredColumn]) -> Declaration:
    """Add public values of columns to a declaration; its other lines and comments stay as they are."""
    declared = Declaration.open(path)
    text = path.read_text(encoding="utf-8")
    sources = [
        open_source(declared.data_of(table), encoding=declared.encoding_of(table)).call_table(table)
        for table in declared.tables
    ]
    names = list(dict.fromkeys(name for source in sources for name in source.column_names()))
    lines = []
    for column in columns:
        name = spelled_column(column.name, sorted(names), "domain" if column.bands is None else "bands")
        if declared.column_named(name) is not None:
            raise InvalidInput(
                f"{declared.name} declares {name!r} already.", f"Edit {declared.name} to change it.", argument="domain"
            )
        lines.append(f"{toml_key(name)} = {toml_value(column.to_toml())}")
        text = re.sub(rf"(?m)^# {re.escape(toml_key(name))} = *\n", "", text)
    changed = _with_lines(text, lines)
    declared = Declaration.from_text(changed, path)
    replace_file(path, changed)
    return declared


def _with_lines(text: str, lines: Sequence[str]) -> str:
    """Return the text with lines at the beginning of its table of columns, which is made if it is missing."""
    added = "".join(f"{line}\n" for line in lines)
    heading = re.search(r"(?m)^\[columns\][^\n]*\n?", text)
    if heading is None:
        return f"{text.rstrip()}\n\n[columns]\n{added}"
    end = heading.end()
    start = text[:end] if text[:end].endswith("\n") else text[:end] + "\n"
    rest = text[end:]
    # behind the columns that are declared, before comments and other tables
    declared = re.match(r"(?:[^#\[\n][^\n]*\n)*", rest)
    cut = declared.end() if declared is not None and "[\n" not in rest[: declared.end()] else 0
    return start + rest[:cut] + added + rest[cut:]
