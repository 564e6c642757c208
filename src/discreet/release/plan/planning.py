"""Making a plan from a request: questions, public groups, privacy or error. No row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from ...addresses import Address, read_address
from ...engines.base import ROW
from ...engines.sources import Counting, Data, Source, open_source
from ...errors import InvalidInput, arg
from ...exact.rationals import text_up
from ...ledger.budget import Cost, read_name
from ...questions.question import Question, expand_view, find_column, read_question, read_view
from ...questions.readings import reading_notes
from ...unit import Unit
from ..levels.shape import Shape
from ..pricing import price
from ..protection import Protection
from .banding import banded_notes, declared_bands, rest_notes
from .declaring import blank_notes, contribution_bound, declared_groups, declared_sizes, refuse_texts_for_numbers
from .discovery import declared_part, noise_for, price_discovery, read_discovery, refuse_misfits, sensitivity
from .levels import level_drafts, question_with_totals, refuse_with_totals
from .noise_request import NoiseRequest, TableDraft
from .plan import Plan, TablePlan
from .request import ReleaseRequest, RequestFields, read_request

#: A release of more cells than this is a mistake in a domain.
MOST_CELLS = 10_000_000

_DEEPEST_VIEW = 20


def plan_release(
    questions: str | Sequence[str] | ReleaseRequest, *, data: Data, **fields: Unpack[RequestFields]
) -> Plan:
    """Work out what a release would publish and cost, without reading a row.

    Parameters
    ----------
    questions
        SQL: one table, WHERE, GROUP BY, COUNT(*), COUNT(DISTINCT unit), COUNT_IF(condition). Several questions make one
        release, whose epsilon is split among them. Or a :class:`ReleaseRequest` that says everything.
    data
        The file (CSV, Parquet or a DuckDB database), the address of a database, or a table in memory (a DataFrame of
        pandas or polars, a table of pyarrow), for which ``dataset`` is required. Only the names and types of its
        columns are read, if it is there.
    fields
        ``unit`` (required), ``domain`` or ``groups``, ``epsilon`` or ``error``, ``mechanism``, ``max_groups`` and
        whatever else a :class:`ReleaseRequest` has.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_release(
    ...     "SELECT COUNT(*) FROM visits WHERE health = 'poor'", data="visits.csv", unit="person", error=5,
    ... )
    >>> plan.cells, round(float(plan.cost.epsilon), 2)
    (1, 0.54)
    """
    return plan_request(read_request(questions, **fields), data)


def plan_request(request: ReleaseRequest, data: Data) -> Plan:
    """The plan of a request, for this data."""
    refuse_misfits(request)
    source = _existing(data, request.dataset)
    written = [read_question(sql, unit=request.unit) for sql in request.questions]
    asked = [question.plain for question in written]
    if source is not None:
        asked = [question.bind(source.table(question.table), source.spelled(question.table)) for question in asked]
    asked = [question_with_totals(question, request.totals) for question in asked]
    refuse_with_totals(request, asked)
    bases, unit = _expanded(asked, request.unit, source)
    if request.discover:
        if any(any(question.bands) for question in written):
            raise InvalidInput("bands are declared, and cannot be discovered.", "Group by the column itself.")
        return _plan_discovery(request, data, source, asked[0], bases[0], unit)
    kinds = [{} if source is None else source.table(question.table) for question in asked]
    banded = declared_bands(asked, request.bands, written, kinds)
    cells = declared_groups(asked, request.domain, request.groups, request.zeros, banded, kinds)
    most = contribution_bound(request.max_groups, Unit(unit, request.unit_name), bases, cells)
    protection = Protection(unit, request.relation, most, request.unit_name)
    notes = blank_notes(request.domain)
    for question, group in zip(asked, cells, strict=True):
        notes += rest_notes(question, group, protection)
    if source is not None:
        for question, group, stored in zip(asked, cells, kinds, strict=True):
            notes += banded_notes(question, group, stored)
        refuse_texts_for_numbers(asked, cells, source)
        notes += [note for base in bases for note in reading_notes(base, source.table(base.table))]
        notes += [note for base in bases for note in source.column_notes(base.table, sorted(base.columns))]
    if sum(g.size * len(q.aggregates) for q, g in zip(asked, cells, strict=True)) > MOST_CELLS:
        raise InvalidInput(f"that is more than {MOST_CELLS:,} cells.", "Declare fewer groups.")
    sizes = None if request.sizes is None else declared_sizes(request.sizes, asked, cells)
    noise = NoiseRequest(request, sizes)
    drafts = []
    for question, group, share in zip(bases, cells, request.shares, strict=True):
        draft = TableDraft(question, group, share, protection.sensitivity(question, group), request.suppress_below)
        if question.levels:
            shape = Shape(group, question.levels)
            changes = protection.level_changes(question, shape)
            levels = level_drafts(request, question, shape, changes, share, sizes)
            draft = replace(draft, sensitivity=sum(change.l1 for change in changes), levels=levels)
        drafts.append(draft)
    for question, group in zip(bases, cells, strict=True):
        # refuses what cannot be counted, before anything is spent
        Counting(question, group, unit, protection.max_groups, b"")
    tables = noise.tables(drafts)
    cost = price(tables, *noise.stated_cost(tables))
    notes += noise.overpayment_note(tables, cost)
    notes += _doubtful(asked, unit, cost)
    refuse_unnamed_selection(data, request.edition)
    return Plan(
        _account(request, data, source),
        protection, tuple(tables), cost, request.level, request.edition, tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _plan_discovery(
    request: ReleaseRequest, data: Data, source: Source | None, asked: Question, base: Question, unit: str
) -> Plan:
    """The plan of a question whose groups are found in the data."""
    discovery = read_discovery(request, asked, base, source)
    groups = declared_part(request, asked, discovery)
    most = 1 if request.max_groups is None else request.max_groups
    protection = Protection(unit, request.relation, most, request.unit_name)
    notes = blank_notes(request.domain)
    if source is not None:
        refuse_texts_for_numbers([replace(asked, by=_without(asked.by, discovery.places))], [groups], source)
        notes += [*reading_notes(base, source.table(base.table))]
        notes += source.column_notes(base.table, sorted(base.columns))
    discovery.counting(base, groups, protection, b"")  # refuses what cannot be counted, before anything is spent
    epsilon, delta = request.epsilon, request.delta
    assert epsilon is not None  # what has none was refused
    noise = noise_for(base, protection, epsilon, delta)
    cost = price_discovery(base, protection, noise, epsilon, delta)
    notes += _doubtful([asked], unit, cost)
    table = TablePlan(base, groups, noise, Fraction(1), sensitivity(base, protection), discovery=discovery)
    refuse_unnamed_selection(data, request.edition)
    return Plan(
        _account(request, data, source),
        protection, (table,), cost, request.level, request.edition, tuple(dict.fromkeys(notes)),
    )  # fmt: skip


#: A delta above this is questioned: so often the guarantee may fail altogether.
_LARGE_DELTA = Fraction(1, 100)


def _doubtful(asked: Sequence[Question], unit: str, cost: Cost) -> list[str]:
    """What is allowed, and hardly meant: groups of one unit each, and a guarantee that may often fail."""
    notes = []
    if unit != ROW and any(column.casefold() == unit.casefold() for question in asked for column in question.by):
        notes.append(f"{unit} is the unit, and is grouped by: each group has one {unit} or none. Is that meant?")
    if cost.delta > _LARGE_DELTA:
        notes.append(
            f"the delta is {text_up(cost.delta, 3)}: so often the guarantee may fail altogether. A delta is far below "
            "one over the number of people."
        )
    return notes


def _without(by: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    return tuple(column for place, column in enumerate(by) if place not in places)


def _existing(data: Data | Address, dataset: str | None) -> Source | None:
    """The source, if it is there: a plan can be made for data that is not."""
    if not isinstance(data, str | Path | Address):
        return open_source(data, dataset)
    address = read_address(data)
    return open_source(address) if address.may_be_opened else None


def _account(request: ReleaseRequest, data: Data, source: Source | None) -> str:
    """The data set whose account pays: the file's own, or the one it was said to belong to, with its edition."""
    own = read_address(data).dataset if source is None else source.dataset  # type: ignore[arg-type]
    if request.dataset is None:
        return own
    if not request.edition and (source is None or source.has_own_name):
        raise InvalidInput(
            f"a data set named by {arg('dataset')} has several files, so say which one this is: "
            f"{arg('edition', own)}, or your own name for it. The same question for the same edition gets the "
            "recorded answer."
        )
    return read_name(request.dataset, "data set")


def refuse_unnamed_selection(data: object, edition: str) -> None:
    """A pattern that chooses among files of one name would get the recorded answer of another choice."""
    if not edition and isinstance(data, str | Path | Address) and read_address(data).is_selection:
        raise InvalidInput(
            f"{data} chooses some files of one name, so say which these are: {arg('edition', '2024')}, or your own "
            "name for them. The same question for the same edition gets the recorded answer."
        )


def _expanded(asked: Sequence[Question], unit: str, source: Source | None) -> tuple[list[Question], str]:
    """The questions to the tables themselves, and the unit's column there.

    A ledger binds the table's own column: a view that calls another column by the name of the unit protects nobody.
    """
    if source is None:
        return list(asked), unit
    found = [_base(question, unit, source) for question in asked]
    units = sorted({column for _, column in found})
    if ROW in units and unit != ROW:
        raise InvalidInput(
            f"the unit {unit!r} is the column {ROW!r} of the table, but {arg('unit', ROW)} means that each row is "
            "its own unit.",
            "Give the column another name.",
        )
    if len(units) > 1:
        raise InvalidInput(
            f"{unit!r} stands for different columns of the tables: {', '.join(units)}.",
            "Ask them apart.",
            argument="unit",
        )
    return [question for question, _ in found], units[0]


def _base(question: Question, unit: str, source: Source) -> tuple[Question, str]:
    column = unit if unit == ROW else find_column(unit, source.table(question.table))
    for _ in range(_DEEPEST_VIEW):
        definition = source.view(question.table)
        if definition is None:
            for read in sorted(question.columns):
                source.check_column(question.table, read)
            if column != ROW:
                source.check_unit(question.table, column)
            return question, column
        view = read_view(definition)
        columns = source.table(view.table)
        column = column if column == ROW else find_column(view.column(column), columns)
        question = expand_view(question, definition).bind(columns, source.spelled(view.table))
    raise InvalidInput(f"the view rests on views more than {_DEEPEST_VIEW} deep.", "Ask the table itself.")
