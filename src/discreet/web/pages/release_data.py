"""Data that the pages can ask: an address with ledgers beside it, or a data set that a file declares.

Everything is opened for one request, and nothing is kept between two.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ...datasets.columns import DeclaredColumn
from ...datasets.declaration import Declaration
from ...engines.base import ROW
from ...engines.sources import open_source
from ...errors import DiscreetError, InvalidInput
from ...ledger.budget import Cost, amount_text
from ...ledger.ledger import Ledger
from ...release.bundle.released import Release
from ...release.counts import LedgerDecision, open_ledger, preview_release, release_plan
from ...release.dataset import Dataset
from ...release.plan.plan import Plan
from ...release.plan.planning import plan_request, refuse_unnamed_selection
from ...release.plan.request import read_request
from ...unit import Unit
from .elsewhere import Elsewhere, with_data, with_dataset
from .release_form import AS_DECLARED, ReleaseForm

#: Columns that have a place in the form.
MAX_COLUMNS = 300

#: Characters of the public values that the form shows of one column.
_MAX_SHOWN = 120


@dataclass(frozen=True)
class OfferedColumn:
    """A column in the form.

    Attributes
    ----------
    name, kind
        Its name and its type.
    public
        Its declared groups, in words; empty where none are declared.
    way
        How its groups are given unless somebody chooses another way.
    typed
        What its field holds at first: the declared groups as somebody would type them.
    """

    name: str
    kind: str
    public: str = ""
    way: str = "values"
    typed: str = ""


@dataclass(frozen=True)
class Offer:
    """What the form of a table offers.

    Attributes
    ----------
    table, columns
        The table and its columns; those whose groups are declared come first.
    unit
        Who is protected, where that is fixed; None where it is chosen.
    units
        What can be chosen, where it is.
    fixed_by
        What fixes the unit, in words.
    relation
        The neighbour relation, where a ledger fixes it; else empty.
    ledgers
        The names of ledgers that may pay; one that fixes the unit is chosen from the start.
    budget
        What is left of the budget, in words; empty where that is not known.
    problem
        Why nothing can pay; None where something can, or is chosen.
    declared
        Whether a file declares the data set, with its ledger.
    """

    table: str
    columns: tuple[OfferedColumn, ...]
    unit: Unit | None
    units: tuple[str, ...] = ()
    fixed_by: str = ""
    relation: str = ""
    ledgers: tuple[str, ...] = ()
    budget: str = ""
    problem: DiscreetError | None = None
    declared: bool = False

    @property
    def may_choose_rows(self) -> bool:
        """Whether rows may be the units, and it is to be said if each person has one."""
        return self.unit is None or (self.unit.is_row and self.unit.name is None)


@dataclass(frozen=True)
class PlannedRelease:
    """A question of the form, planned: its data and its ledger are open for this request.

    Attributes
    ----------
    plan
        The plan.
    ledger
        The name of the ledger that pays; empty where none does.
    elsewhere
        The same without the pages.
    preview, release
        What the ledger would decide (None without one), and the release itself; both take the folder of the bundle.
    origin, overrides
        Where it is declared, and what is given instead of what is declared.
    places
        Where the data and the ledger are.
    """

    plan: Plan
    ledger: str
    elsewhere: Elsewhere
    preview: Callable[[Path | None], LedgerDecision | None]
    release: Callable[[Path], Release]
    origin: str = ""
    overrides: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def confirmation(self) -> str:
        """The key of the question, and a digest of all else that is confirmed: data, ledger, the unit's name."""
        shown = json.dumps([self.plan.request, self.ledger, self.origin, self.overrides, self.places])
        return self.plan.key + hashlib.sha256(shown.encode()).hexdigest()


class AvailableData(Protocol):
    """Data that the pages can ask."""

    def tables(self) -> list[str]:
        """Return the names of its tables."""
        ...

    def offer(self, table: str) -> Offer:
        """Return what the form of a table offers; no row is read."""
        ...

    def planned(self, form: ReleaseForm) -> PlannedRelease:
        """Return the plan of a form that was filled in."""
        ...


@dataclass(frozen=True)
class AddressedData:
    """Data by its address (``--data``), and the ledgers that may pay.

    Attributes
    ----------
    address
        Where it is.
    ledgers
        The name that is shown -> where it is.
    """

    address: str
    ledgers: Mapping[str, str]

    def tables(self) -> list[str]:
        return open_source(self.address).tables()

    def offer(self, table: str) -> Offer:
        source = open_source(self.address)
        kinds = source.table(table)
        columns = tuple(OfferedColumn(name, kind) for name, kind in kinds.items())
        fitting = self._fitting(source.dataset, kinds)
        units = tuple(dict.fromkeys(book.terms.unit for book in fitting.values()))
        if len(units) != 1:
            ledgers = tuple(fitting or self.ledgers)
            return Offer(table, columns[:MAX_COLUMNS], None, units or (ROW, *kinds), ledgers=ledgers)
        name, book = next(iter(fitting.items()))
        fixed = f"The ledger {name} is bound to it."
        budget = budget_text(book, name)
        return Offer(
            table, _beside(units[0], columns), Unit(units[0]), (), fixed, book.terms.relation, tuple(fitting), budget
        )

    def _fitting(self, dataset: str, kinds: Mapping[str, str]) -> dict[str, Ledger]:
        """Return the ledgers that are bound to this data set, and to rows or one of these columns."""
        units = {ROW, *(name.casefold() for name in kinds)}
        fitting = {}
        for name, place in self.ledgers.items():
            try:
                book = Ledger.open(place)
            except DiscreetError:
                continue  # its own page says why
            if book.terms.dataset == dataset and book.terms.unit.casefold() in units:
                fitting[name] = book
        return fitting

    def planned(self, form: ReleaseForm) -> PlannedRelease:
        if not form.unit:
            raise InvalidInput(
                "say who is protected.", "Choose the column that tells them apart, or each row.", argument="unit"
            )
        fields = {"unit": form.unit, **form.fields(form.unit)}
        request = read_request(form.sql, **fields)
        refuse_unnamed_selection(self.address, request.edition)
        source = open_source(self.address)
        plan = plan_request(request, source)
        place = self._ledger_place(form.ledger)
        book = None if place is None else open_ledger(place, plan)
        elsewhere = with_data(form.sql, fields, self.address, place or "study.ledger", form.folder or "bundle")

        def preview(out: Path | None) -> LedgerDecision | None:
            return None if book is None else replace(preview_release(plan, source, book, out), ledger=form.ledger)

        def release(out: Path) -> Release:
            if book is None:
                raise missing_ledger()
            return release_plan(plan, source, book, out)

        return PlannedRelease(plan, form.ledger, elsewhere, preview, release)

    def _ledger_place(self, name: str) -> str | None:
        if name and name not in self.ledgers:
            raise InvalidInput(
                "this server was not started with that ledger.", "Start it with `discreet serve --ledger ...`.",
                argument="ledger",
            )  # fmt: skip
        return self.ledgers[name] if name else None


@dataclass(frozen=True)
class DeclaredData:
    """A data set that a file declares (``--dataset``). The file is read for each request.

    Attributes
    ----------
    file
        The file.
    """

    file: str

    def tables(self) -> list[str]:
        return list(Declaration.open(self.file).tables)

    def offer(self, table: str) -> Offer:
        dataset = Dataset.open(self.file)
        declared = dataset.declaration
        name = _declared_table(declared, table)
        source = dataset.open_table(name)
        kinds = source.table(source.spelled(name))
        unit = Unit(declared.unit_of(name), declared.unit_name)
        columns = sorted(
            (_offered(column, kind, declared) for column, kind in kinds.items()), key=lambda one: not one.public
        )
        offer = Offer(
            name, _beside(unit.column, columns), unit, fixed_by=f"Declared in {declared.name}.", declared=True
        )
        try:
            return replace(offer, budget=budget_text(dataset.ledger, str(declared.ledger)))
        except DiscreetError as problem:
            return replace(offer, problem=problem)

    def planned(self, form: ReleaseForm) -> PlannedRelease:
        dataset = Dataset.open(self.file)
        declared = dataset.declaration
        fields = form.fields(declared.unit_of(_declared_table(declared, form.table)))
        bound = dataset.plan(form.sql, **fields)

        def preview(out: Path | None) -> LedgerDecision | None:
            return None if declared.ledger is None else replace(bound.preview(out), ledger=declared.ledger)

        elsewhere = with_dataset(form.sql, fields, bound, form.folder or "bundle")
        origin = f"Declared in {declared.name}."
        places = (bound.place or "", declared.ledger_address or "")
        return PlannedRelease(
            bound.plan, declared.ledger or "", elsewhere, preview, bound.release, origin, bound.overrides, places
        )


def missing_ledger() -> InvalidInput:
    """Return the error of a release that nothing pays for."""
    return InvalidInput("no ledger was chosen.", "Choose the one that pays.", argument="ledger")


def budget_text(ledger: Ledger, name: str) -> str:
    """Return what is left of a budget, in a sentence."""
    terms = ledger.terms
    total = amount_text(Cost(terms.epsilon, terms.delta, terms.rho))
    return f"In {name}, {amount_text(ledger.left())} is left of {total}."


def _beside(unit: str, columns: Sequence[OfferedColumn]) -> tuple[OfferedColumn, ...]:
    """Return the columns to group by: not that of the unit, whose groups would be one unit each."""
    return tuple([column for column in columns if column.name.casefold() != unit.casefold()][:MAX_COLUMNS])


def _declared_table(declared: Declaration, table: str) -> str:
    name = declared.find_table(table)
    if name is None:
        raise declared.no_table(table)
    return name


def _offered(name: str, kind: str, declared: Declaration) -> OfferedColumn:
    column = declared.find_column(name)
    if column is None:
        return OfferedColumn(name, kind)
    typed = typed_groups(column)
    shown = typed if len(typed) <= _MAX_SHOWN else f"{typed[:_MAX_SHOWN]} …"
    public = f"bands {shown}" if column.bands is not None else shown or f"the values in {column.file}"
    return OfferedColumn(name, kind, public, AS_DECLARED, typed)


def typed_groups(column: DeclaredColumn) -> str:
    """Return the declared groups of a column as somebody types them; empty for those in a file.

    >>> typed_groups(DeclaredColumn("town", ("Ghent", "Aalst, east", "*")))
    "Ghent,'Aalst, east',*"
    >>> typed_groups(DeclaredColumn("age", bands=(18, 30, 65)))
    '18,30,65'
    """
    if column.bands is not None:
        return column.bands if isinstance(column.bands, str) else column.edges.body
    if isinstance(column.values, str):
        return column.values
    return ",".join(map(_typed, column.values or ()))


def _typed(value: str | int) -> str:
    """Return a value as it is typed: a text in quotes where it would be read as something else."""
    plain = isinstance(value, str) and value.strip(" -") == value and re.sub("[ -]", "", value).isalpha()
    if isinstance(value, int) or value == "*" or (plain and value.upper() not in ("NULL", "NONE", "NAN")):
        return str(value)
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
