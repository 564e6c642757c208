"""A plan: the questions, their cells, the noise of each, and what it all costs. No row is read to make one.

Everything public that was asked is one canonical JSON object, ``plan.request``. Its digest is the key under which a
ledger records the answer, and an auditor rebuilds the whole plan from it (:func:`plan_from_request`).
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

import numpy as np

from ...engines.base import ROW
from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.integers import is_integer
from ...exact.rationals import as_fraction
from ...ledger.budget import Cost
from ...mechanism import Mechanism
from ...questions.domains import REST
from ...questions.groups import Groups, Value
from ...questions.orders import canonical, places_in
from ...questions.question import Question, read_question
from ...report import Json, Report, Result, plain, stamped
from ...sources.encodings import ENCODINGS, UTF8
from ...unit import read_unit_name
from ...wording import plural
from ..levels.combining import Combination
from ..levels.shape import Shape
from ..noise.accuracy import Expected, read_level
from ..noise.cells import CellNoise
from ..noise.discovered import DiscoveredNoise
from ..pricing import price
from ..protection import Change, Protection
from .banding import declared_in_words
from .describing import OUTPUT_IN_WORDS, noise_in_words, odds_in_words, plan_report, several_units_in_words
from .discovery import Discovery, price_discovery, sensitivity, sentences, shape_in_words
from .levels import LevelPlan, combination_of, expected_levels, levels_from_json, levels_json, measure, totals_in_words

#: Everything public that was asked, as JSON says it.
Request: TypeAlias = Mapping[str, Any]

#: What a request says it is.
FORMAT, VERSION = "discreet request", 1

#: What a request says that does not change its answer.
_NOT_IN_KEY = ("level", "unit_name")


@dataclass(frozen=True)
class TablePlan:
    """One table of a plan: its question, its cells and their noise.

    Attributes
    ----------
    question, groups
        What is asked, and the public groups it is asked for.
    noise
        What is done to each cell.
    share
        The part of the epsilon that this table gets.
    sensitivity
        The most cells of this table that one unit can move, each by one.
    suppress_below
        Reported counts below this are withheld; None to publish all.
    levels
        With totals: the noise of each level, the finest first, whose noise is that of the table; else none.
    discovery
        Which columns have their values found in the data; None if all are declared. Before the release ``groups`` are
        those of the declared columns alone, after it the ones that are named.
    """

    question: Question
    groups: Groups
    noise: CellNoise
    share: Fraction
    sensitivity: int
    suppress_below: int | None = None
    levels: tuple[LevelPlan, ...] = ()
    discovery: Discovery | None = None

    @property
    def open(self) -> bool:
        """Whether its groups are still to be found in the data."""
        return self.discovery is not None and len(self.groups.columns) < len(self.question.by)

    @property
    def cells(self) -> int:
        """How many cells are published; none is known yet where groups are to be found."""
        if self.open:
            return 0
        groups = sum(self.combination.shape.sizes) if self.levels else self.groups.size
        return groups * len(self.question.aggregates)

    @cached_property
    def combination(self) -> Combination:
        """How the levels of a table with totals become counts that add up."""
        return combination_of(self.groups, self.question.levels, self.levels)

    @property
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        """What one unit can change, with the noise that hides it."""
        if self.levels:
            return tuple((level.noise, level.change) for level in self.levels)
        return ((self.noise, Change(self.sensitivity, self.sensitivity)),)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """All mechanisms that its counts are drawn by."""
        return tuple(one for noise, _ in self.changes for one in noise.mechanisms)

    def draw(self, counts: IntArray, bits: Bits) -> IntArray:
        """Noisy counts for the true ones of the groups: one for each cell, level after level where there are totals."""
        if not self.levels:
            return self.noise.draw(counts.reshape(-1), bits)
        return measure(self.combination.shape, self.levels, counts.reshape(self.groups.size, -1), bits)

    @cached_property
    def canonical(self) -> TablePlan:
        """The same table with its groups in their canonical order, noise and structural zeros along with them."""
        groups = canonical(self.groups)
        if groups is self.groups:
            return self
        measures = len(self.question.aggregates)
        order = places_in(groups, self.groups)[:, None] * measures + np.arange(measures)
        return replace(self, groups=groups, noise=self.noise.rearranged(order.reshape(-1)))

    @property
    def shape_text(self) -> str:
        """How many cells and why, in words."""
        if self.open and self.discovery is not None:
            return shape_in_words(self.discovery, self.groups, len(self.question.aggregates))
        if not self.groups.columns:
            sizes = "one total"
        elif self.groups.cells is None:
            named = zip(self.groups.values, self.groups.columns, self.groups.kinds, strict=True)
            sizes = " x ".join(f"{len(values)} {name}: {_listed(values, kind)}" for values, name, kind in named)
        else:
            sizes = f"{self.groups.size:,} listed groups of {', '.join(self.groups.columns)}"
        measures = f" x {len(self.question.aggregates)} measures" if len(self.question.aggregates) > 1 else ""
        if self.levels:
            sizes = f"{sizes}; {plural(len(self.levels), 'level')}"
        zeros = f", {len(self.groups.zeros):,} of the groups structural zeros" if self.groups.zeros else ""
        return f"{self.cells:,} ({sizes}{measures}{zeros})"

    @property
    def noise_text(self) -> str:
        """The mechanism with its parameters, and what its reports look like."""
        first = self.noise.mechanisms[0]
        more = f" and {len(self.noise.mechanisms) - 1} more for other sizes" if len(self.noise.mechanisms) > 1 else ""
        return f"{first!r}{more}; {OUTPUT_IN_WORDS[self.noise.output]}"

    def noise_json(self) -> dict[str, Json]:
        """The noise for programs: its form, each mechanism by its parameters and its privacy, and all in words."""
        mechanisms = [
            {
                "family": one.family,
                "parameters": dict(one.parameters),
                "epsilon": plain(one.certificate.epsilon),
                "delta": one.certificate.delta,
            }
            for one in self.noise.mechanisms
        ]
        return {"output": self.noise.output, "mechanisms": mechanisms, "sentence": noise_in_words(self)}

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {} if self.discovery is None else {"discover": self.discovery.to_json()}
        return {
            **found,
            "question": self.question.text,
            "groups": self.groups.to_json(),
            "noise": self.noise.to_json(),
            "share": str(self.share),
            "suppress_below": self.suppress_below,
            **({"levels": levels_json(self.levels)} if self.levels else {}),
        }


def _listed(values: Sequence[Value], kind: str) -> str:
    """Some values of a column, so that a slip in a domain is seen: numbers as they are, texts in quotes."""
    texts = [
        "NULL" if value is None else repr(value) if kind == "text" and value is not REST else str(value)
        for value in values[:6]
    ]
    if kind == "integer" and len(values) > 6:
        return f"{texts[0]} to {values[-1]}"
    return ", ".join(texts) + (", ..." if len(values) > 6 else "")


@dataclass(frozen=True)
class Plan(Result):
    """What will be released and what it costs, before any row is read.

    Attributes
    ----------
    dataset, edition
        Which data, by name, and your name for its state; nothing about its content.
    protection
        The unit, the neighbour relation and the bound on contributions.
    tables
        One for each question.
    cost
        Epsilon, delta (and rho) for the whole release, per unit.
    level
        The coverage of the intervals.
    notes
        What to know about how the question reads the table's columns; no part of the request.
    encoding
        The encoding of the CSV file that is counted.

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

    @property
    def cells(self) -> int:
        """How many cells are published."""
        return sum(table.cells for table in self.tables)

    @property
    def open(self) -> bool:
        """Whether some groups are found in the data, so that nobody knows the number of cells."""
        return any(table.open for table in self.tables)

    @cached_property
    def request(self) -> dict[str, Any]:
        """Everything public that was asked, as JSON: enough to rebuild this plan."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": self.dataset,
            "edition": self.edition,
            "unit": self.protection.unit,
            **({} if self.protection.unit_name is None else {"unit_name": self.protection.unit_name}),
            "relation": self.protection.relation,
            "max_groups": self.protection.max_groups,
            "epsilon": str(self.cost.epsilon),
            "delta": str(self.cost.delta),
            "level": str(self.level),
            **({} if self.encoding == UTF8 else {"encoding": self.encoding}),
            "tables": [table.to_json() for table in self.tables],
        }

    @cached_property
    def canonical(self) -> Plan:
        """The same plan with the groups of every table in their canonical order: what is counted, and recorded."""
        tables = tuple(table.canonical for table in self.tables)
        return self if all(map(is_, tables, self.tables)) else replace(self, tables=tables)

    @property
    def key(self) -> str:
        """The digest of the canonical request: the same question asked again has the same key, whatever the data holds.

        Another order of the same groups is the same question, and so are another level, which needs no new noise, and
        another name of the unit.
        """
        return self.canonical.declared_key

    @cached_property
    def declared_key(self) -> str:
        """The digest of the request as it stands: what older programs recorded the answer under."""
        asked = {name: value for name, value in self.request.items() if name not in _NOT_IN_KEY}
        return hashlib.sha256(
            json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        ).hexdigest()

    @cached_property
    def guarantee(self) -> tuple[str, ...]:
        """What is protected and how well, in plain words."""
        odds = (*odds_in_words(self), several_units_in_words(self.cost, self.protection.who))
        first = self.tables[0]
        if first.discovery is not None and isinstance(first.noise, DiscoveredNoise):
            about = sentences(first.discovery, self.protection, first.groups, first.noise, first.question)
            return (*about, self.sensitivity_text, *odds)
        groups = max(table.groups.live for table in self.tables)
        declared = dict.fromkeys(said for table in self.tables for said in declared_in_words(table.groups))
        totals = totals_in_words(self.protection) if any(table.levels for table in self.tables) else ()
        bounded = self.protection.sentences(groups, len(self.tables))
        return (*bounded, *declared, *totals, self.sensitivity_text, *odds)

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The error of each table's counts in the worst case, before any row is read."""
        return tuple(
            expected_levels(table.combination, self.level) if table.levels else table.noise.expected(self.level)
            for table in self.tables
        )

    @property
    def sensitivity_text(self) -> str:
        """How many cells one unit can move, in words."""
        who = self.protection.who.one
        many = " + ".join(str(table.sensitivity) for table in self.tables)
        total = sum(table.sensitivity for table in self.tables)
        if total == 1:
            return f"One {who} changes at most one count, by one."
        if not all(change.by_one for table in self.tables for _, change in table.changes):
            return f"One {who} changes all counts together by at most {total}; epsilon is the total for all of them."
        cells = f"{many} = {total}" if len(self.tables) > 1 else f"{total}"
        return f"One {who} changes at most {cells} counts, each by one; epsilon is the total for all of them."

    def report(self, guarantee: bool = True) -> Report:
        """The plan for people: what is asked, the cells, the noise, the error of each cell, the cost, the guarantee."""
        return plan_report(self, guarantee)

    def describe(self, guarantee: bool = True) -> str:
        """The report as text."""
        return self.report(guarantee).text()

    def __str__(self) -> str:
        return self.describe()

    def to_json(self) -> dict[str, Json]:
        """The plan for programs."""
        content: dict[str, Json] = {
            "dataset": self.dataset,
            "edition": self.edition,
            "request": self.request,
            "key": self.key,
            "cells": None if self.open else self.cells,
            "cost": self.cost.to_json(),
            "tables": [
                {
                    "cells": None if table.open else table.cells,
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
        return stamped("plan", 2, content)


def plan_from_request(request: Request) -> Plan:
    """Rebuild a plan from its request: the question is judged again, the noise proved again, the cost worked out again.

    Raises
    ------
    InvalidInput
        When it is no request, or when the noise does not have the epsilon and delta that it states.
    """
    plan = _plan_from_request(request)
    if "encoding" not in request:
        return plan
    if (encoding := request["encoding"]) not in ENCODINGS or encoding == UTF8:
        raise InvalidInput("the encoding of this request is not known.", argument="request")
    return replace(plan, encoding=encoding)


def _plan_from_request(request: Request) -> Plan:
    """Rebuild a plan from all of its request but the encoding."""
    if request.get("format") != FORMAT or request.get("version") != VERSION:
        raise InvalidInput(
            f"this is not a request that this version can read (it says {request.get('format')!r}).", argument="request"
        )
    name = request.get("unit_name")
    protection = Protection(
        request["unit"], request["relation"], request["max_groups"], None if name is None else read_unit_name(name)
    )
    tables = []
    for entry in request["tables"]:
        question = read_question(entry["question"], unit=protection.unit)
        if question.text != entry["question"]:
            raise InvalidInput(
                "a question of this request is not written in its normal form; it was changed.", argument="request"
            )
        groups = Groups.from_json(entry["groups"])
        if "discover" in entry:
            if len(request["tables"]) > 1:
                raise InvalidInput("groups are discovered by one question at a time.", argument="request")
            return _open_plan(request, protection, question, groups)
        if not _names_fit(groups, question.by):
            raise InvalidInput(
                "the groups of this request do not fit the columns its question groups by.", argument="request"
            )
        noise = CellNoise.from_json(entry["noise"])
        if noise.size not in (None, groups.size * len(question.aggregates)):
            raise InvalidInput(
                "the noise of this request is for another number of cells than its question has.", argument="request"
            )
        withheld = entry["suppress_below"]
        if withheld is not None and not is_integer(withheld):
            raise InvalidInput("suppress_below of this request is not a whole number.", argument="request")
        sensitivity = protection.sensitivity(question, groups)
        share = as_fraction(entry["share"])
        levels: tuple[LevelPlan, ...] = ()
        if question.levels or "levels" in entry:
            shape = Shape(groups, question.levels)
            levels = levels_from_json(entry.get("levels"), noise, protection.level_changes(question, shape), withheld)
            sensitivity = sum(level.change.l1 for level in levels)
        table = TablePlan(question, groups, noise, share, sensitivity, withheld, levels)
        if any(one.unused for one, _ in table.changes):
            raise InvalidInput("the noise of this request has a mechanism that no cell has.", argument="request")
        tables.append(table)
    if sum(table.share for table in tables) != 1:
        raise InvalidInput("the shares of the tables of this request do not add up to one.", argument="request")
    epsilon, delta = as_fraction(request["epsilon"]), as_fraction(request["delta"])
    cost = price(tables, epsilon, delta)
    plan = Plan(request["dataset"], protection, tuple(tables), cost, read_level(request["level"]), request["edition"])
    if cost.delta != delta:
        plan = replace(plan, cost=replace(cost, delta=delta))
    return plan


def _names_fit(groups: Groups, columns: Sequence[str]) -> bool:
    """Whether groups are called by the columns they are of; bands may have a name of their own."""
    if len(groups.columns) != len(columns):
        return False
    bands = groups.bands or (None,) * len(columns)
    named = zip(groups.columns, columns, bands, strict=True)
    return all(own is not None or one.casefold() == other.casefold() for one, other, own in named)


def _open_plan(request: Request, protection: Protection, question: Question, groups: Groups) -> Plan:
    """The plan of a request that finds groups in the data."""
    (entry,) = request["tables"]
    discovery = Discovery.from_json(entry["discover"], question)
    declared = [column for place, column in enumerate(question.by) if place not in discovery.places]
    if not _names_fit(groups, declared) or entry["suppress_below"] is not None:
        raise InvalidInput(
            "the groups of this request do not fit the columns its question groups by.", argument="request"
        )
    if groups.zeros or entry["share"] != "1" or discovery.one_row_each != (protection.unit == ROW):
        raise InvalidInput("this request discovers groups in a way that no release does.", argument="request")
    noise = DiscoveredNoise.from_json(entry["noise"])
    epsilon, delta = as_fraction(request["epsilon"]), as_fraction(request["delta"])
    cost = replace(price_discovery(question, protection, noise, epsilon, delta), delta=delta)
    moved = sensitivity(question, protection)
    table = TablePlan(question, groups, noise, Fraction(1), moved, discovery=discovery)
    return Plan(request["dataset"], protection, (table,), cost, read_level(request["level"]), request["edition"])
