"""A plan: the questions, their cells, the noise of each, and what it all costs. No row is read to make one.

The public request is one canonical JSON object, ``plan.request``. Its digest is the key under which a ledger records
the answer, and an auditor rebuilds the whole plan from it (:func:`plan_from_request`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import is_
from typing import Any, TypeAlias

from ...datasets.publication import Publication
from ...errors import InvalidInput
from ...exact.rationals import as_fraction
from ...ledger.budget import Cost
from ...periods import Per
from ...questions.groups import Groups
from ...questions.joins.lookups import Lookup
from ...questions.question import QuantileRequest, read_question
from ...questions.resolve.bind import refuse_looked_up_unit, with_bound_joins
from ...report import Json, Report, Result, stamped
from ...sources.encodings import ENCODINGS, UTF8
from ...unit import read_unit_name
from ...wording import noun
from ..acceptance import Accept, Acceptance, check_plan
from ..levels.quantiles import read_share
from ..noise.accuracy import Expected, read_level
from ..protection import Protection, read_max_rows
from ..tables.table import TablePlan
from .caps import CapError
from .kinds import table_from_json
from .periods import periods_of_questions
from .report import odds_in_words, plan_report, units_of_one_person_in_words

#: The public request of a release, as JSON.
Request: TypeAlias = Mapping[str, Any]

#: Format and version that a request states.
FORMAT, VERSION = "discreet request", 1

#: Fields of a request that do not change its answer.
_NOT_IN_KEY = ("level", "unit_name", "publication", "quantiles")


@dataclass(frozen=True)
class Plan(Result):
    """What will be released and what it costs, before any row is read.

    Attributes
    ----------
    dataset, edition
        The name of the data set, and your name for its state.
    protection
        The unit, the neighbour relation and the bound on contributions.
    tables
        The plan of each table, one for each question.
    cost
        Epsilon, delta (and rho) for the whole release, per unit.
    level
        The coverage of the intervals.
    notes
        Notes on how the question reads the table's columns; the request does not contain them.
    encoding
        The encoding of the CSV file that is counted.
    quantiles
        For each table, the column and the share of each quantile to find in its counts. They cost nothing.
    publication
        The curator's title, publisher, source and contact, which change no answer and no key.
    other_caps
        The error, or the cost, with other numbers for ``max_rows``; the request does not contain them.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_release(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data="visits", unit="person",
    ...     domain={"site": range(1, 7)}, max_groups=1, epsilon=1,
    ... )
    >>> plan.cells, plan.tables[0].sensitivity, str(plan.cost.epsilon)
    (6, 1, '1')
    """

    dataset: str
    protection: Protection
    tables: tuple[TablePlan, ...]
    cost: Cost
    level: Fraction
    edition: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    encoding: str = UTF8
    quantiles: tuple[tuple[QuantileRequest, ...], ...] = ()
    publication: Publication = field(default_factory=Publication)
    other_caps: tuple[CapError, ...] = field(default=(), compare=False)

    @property
    def cells(self) -> int:
        """Number of published cells; 0 where it is not known beforehand."""
        return self.known_cells or 0

    @property
    def known_cells(self) -> int | None:
        """Number of published cells; None where groups are discovered in the data."""
        cells = [table.known_cells for table in self.tables]
        return None if None in cells else sum(filter(None, cells))

    @property
    def lead(self) -> TablePlan:
        """The first table, which answers for the whole release where its kind allows no other table."""
        return self.tables[0]

    @cached_property
    def request(self) -> dict[str, Any]:
        """The public request as JSON: enough to rebuild this plan."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": self.dataset,
            "edition": self.edition,
            "unit": self.protection.unit,
            **({} if self.protection.unit_name is None else {"unit_name": self.protection.unit_name}),
            **({} if self.protection.per is None else {"per": self.protection.per.text}),
            "relation": self.protection.relation,
            "max_groups": self.protection.max_groups,
            **({} if self.protection.max_rows is None else {"max_rows": self.protection.max_rows}),
            "epsilon": str(self.cost.epsilon),
            "delta": str(self.cost.delta),
            "level": str(self.level),
            **({} if self.encoding == UTF8 else {"encoding": self.encoding}),
            **({"publication": self.publication.to_json()} if self.publication != Publication() else {}),
            "tables": [table.to_json() for table in self.tables],
            **({"quantiles": self._quantiles_json()} if any(self.quantiles) else {}),
        }

    def _quantiles_json(self) -> Json:
        """Return the quantiles of each table as JSON."""
        return [[[column, str(share)] for column, share in table] for table in self.quantiles]

    def quantiles_of(self, table: int) -> tuple[QuantileRequest, ...]:
        """Return the column and the share of each quantile of a table."""
        return self.quantiles[table] if self.quantiles else ()

    @cached_property
    def periods(self) -> tuple[str, ...] | None:
        """The periods whose rows its questions read, which the ledger charges; None for all periods."""
        if self.protection.per is None:
            return None
        return periods_of_questions([table.question for table in self.tables], self.protection.per)

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """The look-ups in public files, one for each file."""
        every = (one for table in self.tables for one in table.question.lookups)
        return tuple({one.join.table: one for one in every if one.join is not None}.values())

    def with_lookups(self, contents: Sequence[bytes]) -> Plan:
        """Return the plan with the files of its look-ups, in the order of :attr:`lookups`, read again."""
        by_name = {one.file_name: content for one, content in zip(self.lookups, contents, strict=True)}
        tables = [
            replace(
                table,
                question=replace(
                    table.question,
                    lookups=tuple(
                        one if one.join is None else one.with_file(by_name[one.file_name])
                        for one in table.question.lookups
                    ),
                ),
            )
            for table in self.tables
        ]
        return replace(self, tables=tuple(tables))

    @cached_property
    def canonical(self) -> Plan:
        """The same plan with the groups of every table in their canonical order: what is counted, and recorded.

        It has no quantiles, title, publisher, source or contact: a ledger records questions and answers.
        """
        tables = tuple(table.canonical for table in self.tables)
        if all(map(is_, tables, self.tables)) and self.publication == Publication() and not self.quantiles:
            return self
        return replace(self, tables=tables, publication=Publication(), quantiles=())

    @property
    def key(self) -> str:
        """The digest of the canonical request: the same question has the same key, and the data has no influence on it.

        A question stays the same in another order of its groups, at another coverage or with other quantiles (which
        need no new noise), and with another name of the unit, title, publisher, source or contact.
        """
        return self.canonical.declared_key

    @cached_property
    def declared_key(self) -> str:
        """The digest of the request with its groups in declared order: the key that older versions used."""
        fields = {name: value for name, value in self.request.items() if name not in _NOT_IN_KEY}
        return hashlib.sha256(
            json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        ).hexdigest()

    @cached_property
    def guarantee(self) -> tuple[str, ...]:
        """The guarantee in sentences: what is protected, and how well."""
        odds = (*odds_in_words(self), *units_of_one_person_in_words(self))
        groups = max(table.groups.live for table in self.tables)
        about = [*self.lead.bound_sentences(self.protection, groups, len(self.tables))]
        about += dict.fromkeys(one for table in self.tables for one in table.group_sentences(self.protection))
        about += dict.fromkeys(one for table in self.tables for one in table.total_sentences(self.protection))
        about += dict.fromkeys(one for table in self.tables for one in table.join_sentences(self.protection))
        return (*about, self.sensitivity_text, *odds)

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The error of each table's counts in the worst case, before any row is read."""
        return tuple(table.expected(self.level) for table in self.tables)

    def acceptance(self, accept: Accept) -> Acceptance:
        """Return the value of each acceptance criterion, a TOML file or a mapping, and its outcome."""
        return check_plan(self, accept)

    @property
    def sensitivity_text(self) -> str:
        """The sensitivity in words: the number of cells that one unit can change."""
        who = self.protection.who.one
        many = " + ".join(str(table.sensitivity) for table in self.tables)
        total = sum(table.sensitivity for table in self.tables)
        if total == 1:
            return f"One {who} changes at most one count, by one."
        if (rows := self.protection.max_rows) is not None and all(table.measured_levels == 0 for table in self.tables):
            moved = [table.moved_cells for table in self.tables]
            cells = f"{' + '.join(map(str, moved))} = {sum(moved)}" if len(moved) > 1 else f"{moved[0]}"
            return (
                f"One {who} changes at most {cells} {noun(sum(moved), 'count')}, each by at most {rows}; epsilon is "
                "the total for all of them."
            )
        if not all(change.by_one for table in self.tables for _, change in table.changes):
            return f"One {who} changes all counts together by at most {total}; epsilon is the total for all of them."
        cells = f"{many} = {total}" if len(self.tables) > 1 else f"{total}"
        return f"One {who} changes at most {cells} counts, each by one; epsilon is the total for all of them."

    def report(self, guarantee: bool = True) -> Report:
        """Report the plan for people: questions, cells, noise, the error of each cell, cost, guarantee."""
        return plan_report(self, guarantee)

    def describe(self, guarantee: bool = True) -> str:
        """Return the report as text."""
        return self.report(guarantee).text()

    def __str__(self) -> str:
        return self.describe()

    def to_json(self) -> dict[str, Json]:
        """Return the plan for programs."""
        content: dict[str, Json] = {
            "dataset": self.dataset,
            "edition": self.edition,
            "request": self.request,
            "key": self.key,
            "cells": self.known_cells,
            "cost": self.cost.to_json(),
            "tables": [
                {
                    "cells": table.known_cells,
                    "sensitivity": table.sensitivity,
                    "noise": table.noise_json(),
                    "error": {
                        name: str(value) if isinstance(value, Fraction) else value
                        for name, value in asdict(expected).items()
                    },
                }
                for table, expected in zip(self.tables, self.expected, strict=True)
            ],
            "guarantee": list(self.guarantee),
            "notes": list(self.notes),
        }
        if self.other_caps:
            content["other_caps"] = [
                {"max_rows": one.max_rows, "half_width": one.half_width, "epsilon": str(one.epsilon)}
                for one in self.other_caps
            ]
        return stamped("plan", 2, content)


def plan_from_request(request: Request) -> Plan:
    """Rebuild a plan from its request: check the question again, prove the noise again, compute the cost again.

    Raises
    ------
    InvalidInput
        When this is not a request, or the noise does not have the epsilon and delta that the request states.
    """
    plan = _plan_from_request(request)
    if "publication" in request:
        plan = replace(plan, publication=Publication.from_json(request["publication"]))
    if "encoding" not in request:
        return plan
    if (encoding := request["encoding"]) not in ENCODINGS or encoding == UTF8:
        raise InvalidInput("the encoding of this request is not known.", argument="request")
    return replace(plan, encoding=encoding)


def _plan_from_request(request: Request) -> Plan:
    """Rebuild a plan from its request; ignore the encoding."""
    if request.get("format") != FORMAT or request.get("version") != VERSION:
        raise InvalidInput(
            f"this is not a request that this version can read (it says {request.get('format')!r}).", argument="request"
        )
    if not all(isinstance(request.get(field), str) for field in ("dataset", "edition", "unit")):
        raise InvalidInput("the names in this request are not texts.", argument="request")
    name = request.get("unit_name")
    protection = Protection(
        request["unit"], request["relation"], request["max_groups"], None if name is None else read_unit_name(name),
        read_max_rows(request["max_rows"]) if "max_rows" in request else None, _read_per(request),
    )  # fmt: skip
    tables = []
    for entry in request["tables"]:
        question = read_question(entry["question"], unit=protection.unit)
        if question.text != entry["question"]:
            raise InvalidInput(
                "a question of this request is not written in its normal form; it was changed.", argument="request"
            )
        question = with_bound_joins(
            question, entry.get("lookups", {}), entry.get("joined", {}), protection.unit, protection.per
        )
        refuse_looked_up_unit(question, protection.unit)
        groups = Groups.from_json(entry["groups"])
        tables.append(table_from_json(entry, question, groups, protection))
        if tables[-1].stands_alone and question.tables:
            raise InvalidInput("groups are not discovered in joined tables.", argument="request")
    if len({table.stands_alone for table in tables}) > 1:
        raise InvalidInput("groups are discovered by all questions of a release or by none.", argument="request")
    if sum(table.share for table in tables) != 1:
        raise InvalidInput("the shares of the tables of this request do not add up to one.", argument="request")
    epsilon, delta = as_fraction(request["epsilon"]), as_fraction(request["delta"])
    cost = tables[0].price(tables, protection, epsilon, delta)
    plan = Plan(request["dataset"], protection, tuple(tables), cost, read_level(request["level"]), request["edition"])
    if "quantiles" in request:
        plan = replace(plan, quantiles=_read_quantiles(request["quantiles"], plan))
    if cost.delta != delta:
        plan = replace(plan, cost=replace(cost, delta=delta))
    return plan


def _read_per(request: Request) -> Per | None:
    """Read the period of the unit in a request; refuse one that is not in its normal form."""
    if "per" not in request:
        return None
    per = Per.read(request["per"])
    if per.text != request["per"]:
        raise InvalidInput("the period of this request is not in its normal form.", argument="request")
    return per


def _read_quantiles(
    entries: Sequence[Sequence[tuple[str, str]]], plan: Plan
) -> tuple[tuple[QuantileRequest, ...], ...]:
    """Read the quantiles of the tables of a request; refuse columns that have none."""
    quantiles = tuple(tuple((column, read_share(share)) for column, share in table) for table in entries)
    if len(quantiles) != len(plan.tables) or not any(quantiles):
        raise InvalidInput("the quantiles of this request are not those of its tables.", argument="request")
    for table, requests in zip(plan.tables, quantiles, strict=True):
        numeric = {name for name, kind in zip(table.groups.columns, table.groups.kinds, strict=True) if kind != "text"}
        complete = not table.stands_alone and table.suppress_below is None
        complete = complete and plan.protection.max_rows is None
        if any(column not in numeric for column, _ in requests) or (requests and not complete):
            raise InvalidInput("this request has a quantile of a column without one.", argument="request")
    return quantiles
