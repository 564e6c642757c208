"""Data that the pages can query: an address with ledgers, or a dataset that a file declares.

Everything is opened for one request, and nothing is kept between two.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ...datasets.columns import DeclaredColumn
from ...datasets.declaration import Declaration
from ...engines.base import ROW
from ...engines.sources import open_source
from ...errors import DiscreetError, InvalidInput
from ...ledger.budget import Cost, amount_text
from ...ledger.ledger import Ledger
from ...periods import DATED_KINDS
from ...questions.domains import REST
from ...release.bundle.released import Release
from ...release.counts import LedgerDecision, open_ledger, preview_release, release_plan
from ...release.dataset import Dataset
from ...release.plan.plan import Plan
from ...release.plan.planning import plan_request, refuse_unnamed_selection
from ...release.plan.request import read_request
from ...unit import Unit
from ...wording import plural
from .recipes import Recipe, recipe_for_data, recipe_for_dataset
from .release_form import AS_DECLARED, ReleaseForm

#: Maximum number of columns in the form.
MAX_COLUMNS = 300

#: Maximum number of characters of a column's public values in the form.
_MAX_SHOWN = 70

#: Maximum number of declared values of a column to choose from.
MAX_CHOICES = 400

#: Pattern of a text that stands for itself on a line of its own.
_PLAIN_LINE = re.compile(r"""(?!(?i:null|none|nan)$)[^\W\d_](?!.*[.][.])([^'"\n]*[^'"\s])?""")

#: Kinds of columns whose values have no order that quantiles could use.
_UNORDERED_KINDS = ("boolean", "other")


@dataclass(frozen=True)
class ColumnOffer:
    """A column in the form.

    Attributes
    ----------
    name, kind
        Its name and its type.
    public
        Its declared groups, in words; empty if none are declared.
    way
        The way to declare its groups that is selected at first.
    text
        The declared groups as a person types them: the initial text of its field.
    values
        The declared values, to choose some of them; empty for bands and for very long lists.
    has_order
        True if its values can be in order, so that it may have quantiles.
    is_text
        True if it is stored as text, as in CSV files: then only its bands have quantiles.
    """

    name: str
    kind: str
    public: str = ""
    way: str = "values"
    text: str = ""
    values: tuple[str, ...] = ()
    has_order: bool = False
    is_text: bool = False


@dataclass(frozen=True)
class TableOffer:
    """The choices that the form of a table offers.

    Attributes
    ----------
    table, columns
        The table and its columns; first those whose groups are declared.
    unit
        The privacy unit if it is fixed, or None if it is chosen.
    units
        The units to choose from.
    unit_source
        The reason why the unit is fixed, in words.
    relation
        The neighbour relation if a ledger fixes it, else empty.
    ledgers
        The names of ledgers that may pay; one that fixes the unit is selected at first.
    budget
        The remaining budget, in words; empty if unknown.
    problem
        The reason why no ledger can pay, or None.
    is_declared
        True if a file declares the dataset and its ledger.
    may_spend_delta
        True if the budget has a delta, so that the form asks for one.
    publication
        The curator's statements that the dataset declares, by their fields.
    granularity
        The granularity of the protected period if a ledger fixes it, else empty.
    dates
        The columns that may date a row, where the form asks for a period; empty if it does not.
    """

    table: str
    columns: tuple[ColumnOffer, ...]
    unit: Unit | None
    units: tuple[str, ...] = ()
    unit_source: str = ""
    relation: str = ""
    ledgers: tuple[str, ...] = ()
    budget: str = ""
    problem: DiscreetError | None = None
    is_declared: bool = False
    may_spend_delta: bool = False
    publication: Mapping[str, str] = field(default_factory=dict)
    granularity: str = ""
    dates: tuple[str, ...] = ()

    @property
    def may_choose_rows(self) -> bool:
        """True if the unit may be a row, so that the form asks if each person has one row."""
        return self.unit is None or (self.unit.is_row and self.unit.name is None)


@dataclass(frozen=True)
class PlannedRelease:
    """The planned release of a form, whose data and ledger are open for this request.

    Attributes
    ----------
    plan
        The plan.
    ledger
        The name of the ledger that pays, or empty.
    recipe
        The same release without the pages.
    preview, release
        Functions of the bundle's folder: the ledger's decision (None without a ledger), and the release itself.
    origin, overrides
        The file that declares the dataset, and the declared options that the form overrides.
    locations
        The addresses of the data and the ledger.
    """

    plan: Plan
    ledger: str
    recipe: Recipe
    preview: Callable[[Path | None], LedgerDecision | None]
    release: Callable[[Path], Release]
    origin: str = ""
    overrides: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()

    @property
    def confirmation(self) -> str:
        """The request key, and a digest of everything else that is confirmed: data, ledger, the unit's name."""
        content = json.dumps([self.plan.request, self.ledger, self.origin, self.overrides, self.locations])
        return self.plan.key + hashlib.sha256(content.encode()).hexdigest()


class AvailableData(Protocol):
    """Data that the pages can query."""

    def tables(self) -> list[str]:
        """Return the names of its tables."""
        ...

    def offer(self, table: str) -> TableOffer:
        """Return the choices of a table's form, without reading a row."""
        ...

    def plan_release(self, form: ReleaseForm) -> PlannedRelease:
        """Plan the release of a filled-in form."""
        ...


@dataclass(frozen=True)
class AddressedData:
    """Data by its address (``--data``), and the ledgers that may pay.

    Attributes
    ----------
    address
        The address.
    ledgers
        Shown name -> address.
    """

    address: str
    ledgers: Mapping[str, str]

    def tables(self) -> list[str]:
        return open_source(self.address).tables()

    def offer(self, table: str) -> TableOffer:
        source = open_source(self.address)
        kinds = source.table(table)
        columns = tuple(_undeclared_column(name, kind) for name, kind in kinds.items())
        matching = self._matching_ledgers(source.dataset, kinds)
        units = tuple(dict.fromkeys(ledger.terms.unit for ledger in matching.values()))
        granularities = {ledger.terms.per for ledger in matching.values()}
        dates = tuple(name for name, kind in kinds.items() if kind in DATED_KINDS and name not in units)
        if len(units) != 1 or len(granularities) != 1:
            ledgers = tuple(matching or self.ledgers)
            delta = any(ledger.terms.delta for ledger in matching.values())
            return TableOffer(
                table, columns[:MAX_COLUMNS], None, units or (ROW, *kinds), ledgers=ledgers, may_spend_delta=delta,
                dates=dates,
            )  # fmt: skip
        name, ledger = next(iter(matching.items()))
        reason = f"The ledger {name} is bound to it."
        budget = budget_text(ledger, name)
        return TableOffer(
            table, _groupable(units[0], columns), Unit(units[0]), (), reason, ledger.terms.relation, tuple(matching),
            budget, may_spend_delta=bool(ledger.terms.delta), granularity=ledger.terms.per or "",
            dates=dates if ledger.terms.per else (),
        )  # fmt: skip

    def _matching_ledgers(self, dataset: str, kinds: Mapping[str, str]) -> dict[str, Ledger]:
        """Return the ledgers of this dataset whose unit is the row or one of these columns."""
        units = {ROW, *(name.casefold() for name in kinds)}
        matching = {}
        for name, address in self.ledgers.items():
            try:
                ledger = Ledger.open(address)
            except DiscreetError:
                continue  # its own page says why
            if ledger.terms.dataset == dataset and ledger.terms.unit.casefold() in units:
                matching[name] = ledger
        return matching

    def plan_release(self, form: ReleaseForm) -> PlannedRelease:
        fields = {**form.who(), **form.fields(form.unit)}
        request = read_request(form.sql, **fields)
        refuse_unnamed_selection(self.address, request.edition)
        source = open_source(self.address)
        plan = plan_request(request, source)
        address = self._ledger_address(form.ledger)
        ledger = None if address is None else open_ledger(address, plan)
        recipe = recipe_for_data(form.sql, fields, self.address, address or "study.ledger", form.folder or "bundle")

        def preview(out: Path | None) -> LedgerDecision | None:
            return None if ledger is None else replace(preview_release(plan, source, ledger, out), ledger=form.ledger)

        def release(out: Path) -> Release:
            if ledger is None:
                raise missing_ledger()
            return release_plan(plan, source, ledger, out)

        return PlannedRelease(plan, form.ledger, recipe, preview, release)

    def _ledger_address(self, name: str) -> str | None:
        if name and name not in self.ledgers:
            raise InvalidInput(
                "this server was not started with that ledger.", "Start it with `discreet serve --ledger ...`.",
                argument="ledger",
            )  # fmt: skip
        return self.ledgers[name] if name else None


@dataclass(frozen=True)
class DeclaredData:
    """A dataset that a file declares (``--dataset``). The file is read for each request.

    Attributes
    ----------
    file
        The file.
    """

    file: str

    def tables(self) -> list[str]:
        return list(Declaration.open(self.file).tables)

    def offer(self, table: str) -> TableOffer:
        dataset = Dataset.open(self.file)
        declaration = dataset.declaration
        name = _declared_table(declaration, table)
        source = dataset.open_table(name)
        kinds = source.table(source.spelled(name))
        unit = Unit(declaration.unit_of(name), declaration.unit_name, declaration.per_of(name))
        columns = [_column_offer(column, kind, declaration) for column, kind in kinds.items()]
        columns.sort(key=lambda choice: not choice.public)
        offer = TableOffer(
            name, _groupable(unit.column, columns), unit, unit_source=f"Declared in {declaration.name}.",
            is_declared=True, publication=declaration.publication.to_json(),
        )  # fmt: skip
        try:
            budget = budget_text(dataset.ledger, str(declaration.ledger))
            return replace(offer, budget=budget, may_spend_delta=bool(dataset.ledger.terms.delta))
        except DiscreetError as problem:
            return replace(offer, problem=problem)

    def plan_release(self, form: ReleaseForm) -> PlannedRelease:
        dataset = Dataset.open(self.file)
        declaration = dataset.declaration
        fields = form.fields(declaration.unit_of(_declared_table(declaration, form.table)))
        bound = dataset.plan(form.sql, **fields)

        def preview(out: Path | None) -> LedgerDecision | None:
            return None if declaration.ledger is None else replace(bound.preview(out), ledger=declaration.ledger)

        recipe = recipe_for_dataset(form.sql, fields, bound, form.folder or "bundle")
        origin = f"Declared in {declaration.name}."
        places = (bound.place or "", declaration.ledger_address or "")
        return PlannedRelease(
            bound.plan, declaration.ledger or "", recipe, preview, bound.release, origin, bound.overrides, places
        )


def missing_ledger() -> InvalidInput:
    """Return the error of a release without a ledger."""
    return InvalidInput("no ledger was chosen.", "Choose the one that pays.", argument="ledger")


def budget_text(ledger: Ledger, name: str) -> str:
    """Return the remaining budget as a sentence."""
    terms = ledger.terms
    total = amount_text(Cost(terms.epsilon, terms.delta, terms.rho))
    return f"In {name}, {amount_text(ledger.left())} is left of {total}."


def _groupable(unit: str, columns: Sequence[ColumnOffer]) -> tuple[ColumnOffer, ...]:
    """Return the columns to group by: all but the unit's, whose groups would have one unit each."""
    return tuple([column for column in columns if column.name.casefold() != unit.casefold()][:MAX_COLUMNS])


def _declared_table(declaration: Declaration, table: str) -> str:
    name = declaration.find_table(table)
    if name is None:
        raise declaration.no_table(table)
    return name


def _undeclared_column(name: str, kind: str) -> ColumnOffer:
    """Return a column whose groups are not declared."""
    return ColumnOffer(name, kind, has_order=kind not in _UNORDERED_KINDS, is_text=kind == "text")


def _column_offer(name: str, kind: str, declaration: Declaration) -> ColumnOffer:
    column = declaration.find_column(name)
    if column is None:
        return _undeclared_column(name, kind)
    text = groups_text(column)
    if column.bands is not None:
        return ColumnOffer(name, kind, f"bands {_shortened(text)}", AS_DECLARED, text, has_order=True)
    try:
        values = column_values(column, declaration.folder)
    except DiscreetError:  # of a file, which the plan says
        return ColumnOffer(name, kind, f"the values in {column.file}", AS_DECLARED)
    items = tuple(map(_item_text, values))
    is_range = isinstance(column.values, str) and ".." in column.values
    place = "" if column.file is None else f" in {column.file}"
    shown = _shortened(", ".join(map(str, values)))
    public = text if is_range else f"{plural(len(items), 'value')}{place}: {shown}"
    return ColumnOffer(
        name, kind, public, AS_DECLARED, text if is_range else _lines(values[:MAX_CHOICES], items),
        items if len(items) <= MAX_CHOICES else (), all(isinstance(value, int) for value in values),
    )  # fmt: skip


def column_values(column: DeclaredColumn, folder: Path) -> tuple[object, ...]:
    """Return the declared values of a column without bands; its file is relative to a folder."""
    values = column.domain(folder)
    assert isinstance(values, Iterable)
    return tuple(values)


def _lines(values: Sequence[object], items: Sequence[str]) -> str:
    """Return values one on each line, as plain as they can be; ``items`` are the same values in quotes where needed."""
    if len(values) == 1:
        return items[0]
    return "\n".join(
        str(value) if isinstance(value, str) and value is not REST and _PLAIN_LINE.fullmatch(value) else item
        for value, item in zip(values, items, strict=False)
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN].rstrip(', ')} …"


def groups_text(column: DeclaredColumn) -> str:
    """Return the declared groups of a column as a person types them; empty if a file has them.

    >>> groups_text(DeclaredColumn("town", ("Ghent", "Aalst, east", "*")))
    "Ghent,'Aalst, east',*"
    >>> groups_text(DeclaredColumn("age", bands=(18, 30, 65)))
    '18,30,65'
    """
    if column.bands is not None:
        return column.bands if isinstance(column.bands, str) else column.edges.body
    if isinstance(column.values, str):
        return column.values
    return ",".join(map(_value_text, column.values or ()))


def _item_text(value: object) -> str:
    """Return a value of a domain as a person types it: also a missing one, and all others."""
    if value is None:
        return "NULL"
    return "*" if value is ... or value is REST else _value_text(value if isinstance(value, int) else str(value))


def _value_text(value: str | int) -> str:
    """Return a value as a person types it: in quotes if it would be read as something else."""
    is_word = isinstance(value, str) and value.strip(" -") == value and re.sub("[ -]", "", value).isalpha()
    if isinstance(value, int) or value == "*" or (is_word and value.upper() not in ("NULL", "NONE", "NAN")):
        return str(value)
    escaped = value.replace("'", "''")
    return f"'{escaped}'"
