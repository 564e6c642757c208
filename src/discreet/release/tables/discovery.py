"""Discovered columns, whose values are found in the data, and the groups that are named."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...engines.base import ROW, DiscoveredGroups, Discovering
from ...errors import InvalidInput, arg
from ...exact.arrays import Array, IntArray
from ...exact.bits import Bits
from ...questions.domains import INTEGER
from ...questions.groups import Groups, Value
from ...questions.orders import canonical
from ...questions.question import Question, find_column
from ...report import Json
from ...unit import Unit
from ...wording import listed
from ..noise.discovered import DiscoveredNoise
from ..protection import Protection
from .csv_lines import Refuted

if TYPE_CHECKING:
    from ...engines.sources import Source
    from ..plan.request import ReleaseRequest

_Label = TypeVar("_Label", int, str)

#: Kind of a column that can be discovered -> kind of its labels. Other kinds have no text that all engines share, or an
#: equality under which an engine would publish the spelling of one row.
_LABEL_KINDS = {"integer": "integer", "text": "text", "boolean": "text", "date": "text", "timestamp": "text"}


@dataclass(frozen=True)
class Discovery:
    """The discovered columns of a question: GROUP BY columns whose values are found in the data.

    Attributes
    ----------
    places
        Their indices among the GROUP BY columns.
    columns
        Their names in the published table.
    kinds
        ``"integer"`` or ``"text"`` for each.
    one_row_each
        True if the request states that each row is a different person, on which a release by rows rests.
    """

    places: tuple[int, ...]
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    one_row_each: bool = False

    def source_columns(self, question: Question) -> tuple[str, ...]:
        """Return the columns of the source behind them."""
        return tuple(question.by[place] for place in self.places)

    def to_json(self) -> dict[str, Json]:
        """Return the discovered columns as JSON in a request."""
        return {
            "places": list(self.places), "columns": list(self.columns), "kinds": list(self.kinds),
            "one_row_each": self.one_row_each,
        }  # fmt: skip

    @staticmethod
    def from_json(content: Mapping[str, Any], question: Question) -> Discovery:
        """Read what :meth:`to_json` wrote, and check it against its question."""
        discovery = Discovery(
            tuple(content["places"]), tuple(content["columns"]), tuple(content["kinds"]), content["one_row_each"]
        )
        ordered = sorted(set(discovery.places)) == list(discovery.places) and set(map(type, discovery.places)) == {int}
        fits = ordered and discovery.places[0] >= 0 and discovery.places[-1] < len(question.by)
        fits = (
            fits
            and not question.levels
            and len(discovery.places) == len(discovery.columns) == len(discovery.kinds)
            and type(discovery.one_row_each) is bool
        )
        if not fits or not set(discovery.kinds) <= {"integer", "text"} or set(map(type, discovery.columns)) != {str}:
            raise InvalidInput(
                "the columns that this request discovers are not described as they are.", argument="request"
            )
        return discovery

    def counting(self, question: Question, groups: Groups, protection: Protection, key: bytes) -> Discovering:
        """Return the groups and counts to ask of the source."""
        return Discovering(
            question, groups, protection.unit, protection.max_groups, key, self.source_columns(question), self.kinds,
            max_rows=protection.max_rows,
            per=protection.per,
        )  # fmt: skip

    def published_groups(
        self, question: Question, groups: Groups, labels: Sequence[Array], declared: IntArray
    ) -> Groups:
        """Return the published groups, from their discovered labels and the indices of their declared parts."""
        values: list[tuple[Value, ...]] = []
        cells = np.empty((declared.size, len(question.by)), np.int64)
        columns, kinds = [], []
        of_declared, of_discovered = iter(range(len(groups.columns))), iter(range(len(self.columns)))
        parts = groups.codes()[declared] if groups.columns else np.empty((declared.size, 0), np.int64)
        for place in range(len(question.by)):
            if place in self.places:
                number = next(of_discovered)
                columns.append(self.columns[number])
                kinds.append(self.kinds[number])
                distinct, codes = _ascending(labels[number].tolist())
            else:
                number = next(of_declared)
                columns.append(groups.columns[number])
                kinds.append(groups.kinds[number])
                used, which = np.unique(parts[:, number], return_inverse=True)
                known = list(groups.values[number])
                distinct, codes = tuple(known[code] for code in used.tolist()), which.reshape(-1)
            values.append(distinct)
            cells[:, place] = codes
        return Groups(tuple(columns), tuple(kinds), tuple(values), cells)


def _ascending(labels: list[_Label]) -> tuple[tuple[Value, ...], IntArray]:
    """Return the distinct values in ascending order (texts by code points), and the index of each label's value."""
    distinct = sorted(set(labels))
    order = {value: code for code, value in enumerate(distinct)}
    return tuple(distinct), np.fromiter(map(order.__getitem__, labels), np.int64, len(labels))


def name_groups(
    discovery: Discovery, question: Question, groups: Groups, noise: DiscoveredNoise, data: DiscoveredGroups, bits: Bits
) -> tuple[Groups, list[int]]:
    """Draw the counts; return the named groups in canonical order and their noisy counts, and keep nothing else."""
    rows, reports = noise.name_groups(data.counts, bits)
    labels = [label[rows] for label in data.labels]
    unordered = discovery.published_groups(question, groups, labels, data.declared[rows])
    assert unordered.cells is not None
    order = np.lexsort(unordered.cells.T[::-1])
    return replace(unordered, cells=unordered.cells[order]), reports[order].reshape(-1).tolist()


def read_groups(
    text: str, name: str, discovery: Discovery, question: Question, declared: Groups, has_edition: bool
) -> Groups:
    """Read the groups of a CSV file: each once, in canonical order, in a declared part if there are declared columns.

    Only labels are read here. The caller compares every line with the one that follows from the groups and counts.
    """
    by, measures = len(question.by), len(question.aggregates)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1::measures]
    except csv.Error as problem:
        raise Refuted(f"{name} is not a CSV file: {problem}.") from None
    first = int(has_edition)
    labels = [line[first : first + by] for line in lines]
    discovered = dict(zip(discovery.places, zip(discovery.columns, discovery.kinds, strict=True), strict=True))
    of_declared = iter(range(len(declared.columns)))
    columns, kinds, values, codes = [], [], [], []
    for place in range(by):
        texts = [label[place] for label in labels]
        if place in discovered:
            column, kind = discovered[place]
            column_values = [_value(text, kind, name) for text in texts]
        else:
            number = next(of_declared)
            column, kind = declared.columns[number], declared.kinds[number]
            column_values = [_declared_value(text, declared.values[number], kind, name) for text in texts]
        known = set(column_values)
        distinct = [*sorted(value for value in known if value is not None), *([None] if None in known else [])]
        order = {value: code for code, value in enumerate(distinct)}
        columns.append(column)
        kinds.append(kind)
        values.append(tuple(distinct))
        codes.append([order[value] for value in column_values])
    cells = np.array(codes, np.int64).reshape(by, len(labels)).T
    groups = Groups(tuple(columns), tuple(kinds), tuple(values), cells)
    if not groups.is_empty and canonical(groups).to_json() != groups.to_json():
        raise Refuted(f"{name} does not list its groups in their order.")
    return groups


def _value(text: str, kind: str, name: str) -> Value:
    """Read a label from its CSV field; a text may be marked by an apostrophe."""
    if kind == "text":
        return text.removeprefix("'")
    if not INTEGER.fullmatch(text):
        raise Refuted(f"{name} has {text[:40]!r} where a whole number was found.")
    return int(text)


def _declared_value(text: str, known: Sequence[Value], kind: str, name: str) -> Value:
    """Read a label of a declared column; refuse one that is not declared."""
    value = None if text == "NULL" else _value(text, kind, name)
    if value not in known:
        raise Refuted(f"{name} has the value {text[:40]!r}, which was not declared.")
    return value


# ------------------------------------------------------------------------------------------------ reading a request


def refuse_misfits(request: ReleaseRequest) -> None:
    """Refuse options that do not go with discovered groups."""
    if not request.discover:
        if request.one_row_each:
            raise InvalidInput(
                f"{arg('one_row_each')} is for groups that are found in the data.",
                f"Leave it out, or add {arg('discover', 'COLUMN')}.",
            )
        return
    reasons = {
        "groups": "lists the groups, which are to be found", "zeros": "names groups, which are to be found",
        "sizes": "gives the sizes of groups that are not known", "bound": "is for mechanisms that are tables",
        "error": "has no epsilon, which the threshold follows from",
        "suppress_below": "withholds counts, as the threshold does already",
        "properties": "asks for a design", "loss": "asks for a design",
        "bands": "cuts numbers into declared bands", "totals": "adds up groups, of which some are withheld",
    }  # fmt: skip
    for name, reason in reasons.items():
        if getattr(request, name, None):
            raise InvalidInput(f"{arg(name)} {reason}.", f"Leave it out with {arg('discover')}.", argument=name)
    if request.suppress_below is not None:
        raise InvalidInput(f"{arg('suppress_below')} withholds counts, as the threshold does already.", "Leave it out.")
    if len(request.questions) > 1 and len(set(request.split)) > 1:
        raise InvalidInput(
            "questions that discover groups have equal shares of epsilon.",
            f"Leave {arg('split')} out.",
            argument="split",
        )
    if request.mechanism != "geometric":
        raise InvalidInput(
            "the noise of discovered groups is chosen by its threshold.",
            f"Leave {arg('mechanism')} out.",
            argument="mechanism",
        )
    if request.counts not in (None, "clamped"):
        raise InvalidInput("counts of discovered groups are never negative.", f"Leave {arg('counts')} out.")
    if request.epsilon is None:
        raise InvalidInput(f"say how much privacy the whole release has: {arg('epsilon', 1)}.")
    if not request.delta:
        raise InvalidInput(
            "groups that are found in the data need a delta, the probability that somebody's value is printed although "
            "only they have it.",
            f"Give one far below one over the number of people, such as {arg('delta', '1e-8')}.",
            argument="delta",
        )
    _refuse_unbounded_people(request)


def _refuse_unbounded_people(request: ReleaseRequest) -> None:
    """Refuse a request in which one person could have any number of counts."""
    who = Unit(request.unit, request.unit_name, request.per)
    if who.is_row and not (request.one_row_each or request.unit_name):
        raise InvalidInput(
            "a person with many rows in one group would be named for certain, because each row counts as a person of "
            "its own.",
            f"Name the column of the person: {arg('unit', 'COLUMN')}. If each person has one row, say so: "
            f"{arg('one_row_each', True)}.",
            argument="unit",
        )
    if request.unit != ROW and request.one_row_each:
        raise InvalidInput(f"{arg('one_row_each')} goes with {arg('unit', ROW)}.", "Leave it out.")
    if request.unit != ROW and request.max_groups is None:
        raise InvalidInput(
            f"say in how many groups one {who.one} is counted: the groups are not known, and {who.a} can have rows in "
            "several.",
            f"{arg('max_groups', 1)} counts each {who.one} in one group only and names the most groups.",
            argument="max_groups",
        )


def read_discovery(request: ReleaseRequest, question: Question, base: Question, source: Source | None) -> Discovery:
    """Return the columns to discover and the kind of their labels."""
    if not question.by:
        raise InvalidInput(
            "the question has no GROUP BY, so it has no groups to discover.", f"Leave {arg('discover')} out."
        )
    places = []
    for name in request.discover:
        if not any(name.casefold() == column.casefold() for column in question.by):
            raise InvalidInput(
                f"{name!r} is to be discovered, and the question groups by {listed(question.by)}.",
                "Name one of its GROUP BY columns.",
                argument="discover",
            )
        places.append(question.by.index(find_column(name, question.by)))
    if len(set(places)) < len(places):
        raise InvalidInput("a column is to be discovered twice.", "Name it once.", argument="discover")
    places.sort()
    if request.unit != ROW and any(question.by[place] == request.unit for place in places):
        raise InvalidInput(
            f"{request.unit!r} is the unit: each of its values has a group of its own, and none could be named.",
            "Group by another column.",
            argument="discover",
        )
    kinds = tuple(_label_kind(base, place, source) for place in places)
    return Discovery(tuple(places), tuple(question.by[place] for place in places), kinds, request.unit == ROW)


def _label_kind(question: Question, place: int, source: Source | None) -> str:
    """Return the kind of the labels of a GROUP BY column; refuse one that cannot be discovered."""
    if source is None:
        return "text"
    column = question.by[place]
    stored = {**source.table(question.table), **question.looked_up}[column]
    if stored not in _LABEL_KINDS:
        what = "numbers with decimals" if stored == "number" else "values without one text that all engines share"
        raise InvalidInput(
            f"the values of {column!r} cannot be discovered: it holds {what}.",
            "Store it as text or whole numbers, or declare its values by a domain.",
            argument="discover",
        )
    return _LABEL_KINDS[stored]
