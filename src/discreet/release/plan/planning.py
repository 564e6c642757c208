"""Make a plan from a request: questions, public groups, privacy or error. No row is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from ...addresses import Address, read_address
from ...datasets.publication import Publication
from ...engines.base import ROW
from ...engines.relations.join import refuse_unclear
from ...engines.sources import Data, Source, open_source
from ...errors import InvalidInput, InWords, arg
from ...exact.rationals import text_up
from ...ledger.budget import Cost, read_name
from ...periods import Per
from ...questions.joins.clauses import RelatedTable
from ...questions.joins.lookups import PublicTable
from ...questions.question import Question, find_column, read_question
from ...questions.readings import reading_notes
from ...questions.resolve.bind import refuse_looked_up_unit
from ...questions.resolve.joined_views import expand_joined_view, read_joined_view
from ...questions.resolve.views import expand_view, read_view
from ...unit import Unit
from ..protection import Protection
from ..tables.discovery import refuse_misfits
from ..tables.draft import Draft, joined_kinds
from ..tables.table import TablePlan
from .banding import banded_notes, declare_bands
from .caps import CapError, errors_of_caps, refuse_with_rows
from .declaring import (
    blank_notes,
    columns_with_missing,
    contribution_bound,
    declare_groups,
    declared_sizes,
    refuse_too_many_cells,
    refuse_unmatchable_values,
)
from .kinds import draft_of
from .noise_request import NoiseRequest
from .plan import Plan
from .quantile_planning import add_quantiles, quantiles_of, refuse_without_bands, request_for_quantiles
from .request import ReleaseRequest, RequestFields, read_request

#: Maximum number of views between the question and its table.
_MAX_VIEW_DEPTH = 20


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
        the other fields of a :class:`ReleaseRequest`.

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


def plan_request(
    request: ReleaseRequest,
    data: Data,
    questions: Sequence[Question] = (),
    declaring: Callable[[str], str] | None = None,
    public: Mapping[str, PublicTable] | None = None,
    related: Mapping[str, RelatedTable] | None = None,
) -> Plan:
    """Plan a request for this data.

    Parameters
    ----------
    request, data
        What is asked of what.
    questions
        Those of the request, if the caller has read them already.
    declaring
        The advice on how to declare a column that is not declared; by default ``domain=``.
    public
        The declared look-ups, by name.
    related
        The declared tables of the same people that the questions join, by name; all of them are in ``data``.
    """
    refuse_misfits(request)
    source = _existing_source(data, request.dataset)
    parsed = list(questions) or read_questions(request)
    refuse_with_rows(request, parsed)
    request = request_for_quantiles(request, parsed)
    drafts = [draft_of(request, question) for question in parsed]
    for draft in drafts:
        draft.bind_joins(public or {}, related or {}, source)
        if source is not None:
            draft.bind(source)
    for draft in drafts:
        draft.add_totals()
    _refuse_stray_split(request, drafts)
    for draft in drafts:
        draft.refuse_misfits()
    unit, per = _expand(drafts, request.unit, request.per, source, related or {})
    for draft in drafts:
        refuse_looked_up_unit(draft.base, unit)
    for draft in drafts:
        draft.inspect_columns(source)
    declare_bands(drafts, request.bands)
    refuse_without_bands(drafts, request.domain)
    declare_groups(drafts, request, declaring)
    most = contribution_bound(request.max_groups, Unit(unit, request.unit_name, per), drafts)
    protection = Protection(unit, request.relation, most, request.unit_name, request.max_rows, per)
    notes = _notes(request, drafts, protection, source)
    refuse_too_many_cells(drafts)
    sizes = declared_sizes(request.sizes, drafts)
    for draft in drafts:
        draft.name_groups()
    for draft, share in zip(drafts, request.shares, strict=True):
        draft.share = share
    for draft in drafts:
        refuse_unclear(draft.counting(protection))  # a question that cannot be counted is refused before it is priced
    noise = NoiseRequest(request, sizes)

    def priced(protection: Protection) -> tuple[Sequence[TablePlan], Cost]:
        for draft in drafts:
            draft.measure(protection, sizes)
        tables = drafts[0].tables(drafts, protection, noise)
        return tables, tables[0].price(tables, protection, *noise.stated_cost(tables))

    tables, cost = priced(protection)
    for table in tables:
        table.refuse_unreasonable()
    caps: tuple[CapError, ...] = ()
    if (rows := protection.max_rows) is not None:
        caps = errors_of_caps(rows, request.level, lambda cap: priced(replace(protection, max_rows=cap)))
    notes += noise.overpayment_note(tables, cost)
    notes += [draft.split_note for draft in drafts if draft.split_note]
    notes += _unusual_request_notes(drafts, unit, cost)
    refuse_unnamed_selection(data, request.edition)
    return Plan(
        _account(request, data, source),
        protection, tuple(tables), cost, request.level, request.edition, tuple(dict.fromkeys(notes)),
        quantiles=tuple(map(quantiles_of, drafts)),
        publication=Publication(request.title, request.publisher, request.source, request.contact),
        other_caps=caps,
    )  # fmt: skip


def read_questions(request: ReleaseRequest) -> list[Question]:
    """Return the questions of a request, with its quantiles."""
    return add_quantiles([read_question(sql, unit=request.unit) for sql in request.questions], request.quantile)


def _refuse_stray_split(request: ReleaseRequest, drafts: Sequence[Draft]) -> None:
    """Refuse a split among levels where no table has levels."""
    if request.split_objective and not (len(drafts) == 1 and drafts[0].has_levels):
        raise InvalidInput(
            f"{arg('split', request.split_objective)} is for one table with totals.",
            f"Add {arg('totals', 'all')}, or leave it out.",
        )
    if request.level_split and not any(draft.has_levels for draft in drafts):
        raise InvalidInput.must_be(
            "split",
            "as many positive numbers as there are questions, 1",
            InWords(", ".join(map(str, request.level_split))),
        )


def _notes(
    request: ReleaseRequest, drafts: Sequence[Draft], protection: Protection, source: Source | None
) -> list[str]:
    """Return notes on the declared groups and on how the columns of the source are read."""
    notes = blank_notes(request.domain)
    for draft in drafts:
        notes += draft.group_notes(protection)
    if source is None:
        return notes
    for draft in drafts:
        notes += banded_notes(draft)
    refuse_unmatchable_values(drafts)
    bases = [draft.base for draft in drafts]
    kinds = [{**source.table(base.table), **base.looked_up, **joined_kinds(base, source)} for base in bases]
    notes += [note for base, each in zip(bases, kinds, strict=True) for note in reading_notes(base, each)]
    for draft in drafts:
        for column in columns_with_missing(draft):
            for table in (draft.base.table, *(one.join.table for one in draft.base.tables)):
                if column in draft.base.stored_of(table):
                    source.refuse_missing(table, column)
    for base in bases:
        for table in (base.table, *(one.join.table for one in base.tables)):
            notes += source.column_notes(table, sorted(base.stored_of(table)))
    return notes


#: The delta above which a plan warns: a mechanism may reveal everything with this probability.
_LARGE_DELTA = Fraction(1, 100)


def _unusual_request_notes(drafts: Sequence[Draft], unit: str, cost: Cost) -> list[str]:
    """Return notes on requests that are allowed but rarely intended: groups of one unit each, and a large delta."""
    notes = []
    if unit != ROW and any(column.casefold() == unit.casefold() for draft in drafts for column in draft.question.by):
        notes.append(f"{unit} is the unit, and is grouped by: each group has one {unit} or none. Is that meant?")
    if cost.delta > _LARGE_DELTA:
        notes.append(
            f"the delta is {text_up(cost.delta, 3)}: with this probability a release may reveal everything about "
            "someone. Choose a delta far below one over the number of people."
        )
    return notes


def _existing_source(data: Data | Address, dataset: str | None) -> Source | None:
    """Return the source, if it exists: a plan can be made without the data."""
    if not isinstance(data, str | Path | Address):
        return open_source(data, dataset)
    address = read_address(data)
    return open_source(address) if address.may_be_opened else None


def _account(request: ReleaseRequest, data: Data, source: Source | None) -> str:
    """Return the data set whose ledger pays: the one that the request names, or that of the file."""
    dataset = read_address(data).dataset if source is None else source.dataset  # type: ignore[arg-type]
    if request.dataset is None:
        return dataset
    if not request.edition and (source is None or source.has_own_name):
        raise InvalidInput(
            f"a data set named by {arg('dataset')} has several files, so say which one this is: "
            f"{arg('edition', dataset)}, or your own name for it. The same question for the same edition gets the "
            "recorded answer."
        )
    return read_name(request.dataset, "data set")


def refuse_unnamed_selection(data: object, edition: str) -> None:
    """Refuse a pattern without an edition: other files that match it would get the recorded answer of these."""
    if not edition and isinstance(data, str | Path | Address) and read_address(data).is_selection:
        raise InvalidInput(
            f"{data} chooses some files of one name, so say which these are: {arg('edition', '2024')}, or your own "
            "name for them. The same question for the same edition gets the recorded answer."
        )


def _expand(
    drafts: Sequence[Draft], unit: str, per: Per | None, source: Source | None, related: Mapping[str, RelatedTable]
) -> tuple[str, Per | None]:
    """Replace views by the tables they read, and return the unit's column and its period there.

    A ledger binds the column of the table, because a view can give the name of the unit to another column.
    """
    if source is None:
        return unit, per
    columns, periods = [], []
    for draft in drafts:
        draft.base, column, period = _base(draft.question, unit, per, source, related)
        columns.append(column)
        periods.append(period)
    units = sorted(set(columns))
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
    if len(set(periods)) > 1:
        raise InvalidInput(
            f"{per.column if per else ''!r} stands for different columns of the tables.", "Ask them apart.",
            argument="per",
        )  # fmt: skip
    return units[0], periods[0]


def _check_joins(question: Question, unit: str, source: Source) -> None:
    """Refuse joined tables that cannot be counted, or whose units could be compared otherwise than by their texts."""
    units = {one.join.table: one.join.key for one in question.tables}
    source.check_join({question.table: unit, **units})
    for table, column in units.items():
        for name in sorted(question.stored_of(table)):
            source.check_column(table, name)
        source.check_unit(table, column)
    for one in question.tables:
        if one.per is not None:
            source.check_column(one.join.table, one.per.column)
            source.check_period(one.join.table, one.per.column)


def _base(
    question: Question, unit: str, per: Per | None, source: Source, related: Mapping[str, RelatedTable]
) -> tuple[Question, str, Per | None]:
    """Return the question to the table behind a view, the unit's column there, and its period."""
    column = unit if unit == ROW else find_column(unit, source.table(question.table))
    if per is not None:
        per = Per(per.granularity, find_column(per.column, source.table(question.table)))
    for _ in range(_MAX_VIEW_DEPTH):
        definition = source.view(question.table)
        if definition is None:
            for name in sorted(question.stored_columns):
                source.check_column(question.table, name)
            if column != ROW:
                source.check_unit(question.table, column)
            if question.tables:
                _check_joins(question, column, source)
            if per is not None:
                source.check_column(question.table, per.column)
                source.check_period(question.table, per.column)
            return question, column, per
        joined = read_joined_view(definition) if source.expands_joined_views and related else None
        if joined is not None:
            if per is not None:
                raise InvalidInput(
                    f"the view {question.table} joins tables, which have a date each.",
                    "Ask of the tables behind it, joined in the question.",
                    argument="per",
                )
            question, column = expand_joined_view(question, joined, column, related)
            continue
        view = read_view(definition)
        columns = source.table(view.table)
        column = column if column == ROW else find_column(view.column(column), columns)
        if per is not None:
            per = Per(per.granularity, find_column(view.column(per.column), columns))
        question = expand_view(question, definition).bind(columns, source.spelled(view.table))
    raise InvalidInput(f"the view rests on views more than {_MAX_VIEW_DEPTH} deep.", "Ask the table itself.")
