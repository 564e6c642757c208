"""Which columns have their values found in the data, and the groups that come to be named."""

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
from .reading import Refuted

if TYPE_CHECKING:
    from ...engines.sources import Source
    from ..plan.request import ReleaseRequest

_Label = TypeVar("_Label", int, str)

#: Kinds of columns whose values can be found -> how they are read. Others have no text that all engines agree on, or an
#: equality of their own, under which an engine would publish one row's spelling.
_READ_AS = {"integer": "integer", "text": "text", "boolean": "text", "date": "text", "timestamp": "text"}


@dataclass(frozen=True)
class Discovery:
    """Which GROUP BY columns of a question have their values found in the data.

    Attributes
    ----------
    places
        Their places among the GROUP BY columns.
    columns
        Their names in the published table.
    kinds
        ``"integer"`` or ``"text"`` for each.
    one_row_each
        Whether it was stated that each row is a person of its own, which a release by rows rests on.
    """

    places: tuple[int, ...]
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    one_row_each: bool = False

    def found_in(self, question: Question) -> tuple[str, ...]:
        """The columns of the table behind them."""
        return tuple(question.by[place] for place in self.places)

    def to_json(self) -> dict[str, Json]:
        return {
            "places": list(self.places), "columns": list(self.columns), "kinds": list(self.kinds),
            "one_row_each": self.one_row_each,
        }  # fmt: skip

    @staticmethod
    def from_json(content: Mapping[str, Any], question: Question) -> Discovery:
        """What :meth:`to_json` wrote, checked against its question."""
        made = Discovery(
            tuple(content["places"]), tuple(content["columns"]), tuple(content["kinds"]), content["one_row_each"]
        )
        ordered = sorted(set(made.places)) == list(made.places) and set(map(type, made.places)) == {int}
        fits = ordered and made.places[0] >= 0 and made.places[-1] < len(question.by)
        fits = (
            fits
            and not question.levels
            and len(made.places) == len(made.columns) == len(made.kinds)
            and type(made.one_row_each) is bool
        )
        if not fits or not set(made.kinds) <= {"integer", "text"} or set(map(type, made.columns)) != {str}:
            raise InvalidInput(
                "the columns that this request discovers are not described as they are.", argument="request"
            )
        return made

    def counting(self, question: Question, groups: Groups, protection: Protection, key: bytes) -> Discovering:
        """What the source is asked to find."""
        return Discovering(
            question, groups, protection.unit, protection.max_groups, key, self.found_in(question), self.kinds
        )

    def named(self, question: Question, groups: Groups, labels: Sequence[Array], declared: IntArray) -> Groups:
        """The groups that are published: these values, with these declared parts, each group at its own row."""
        values: list[tuple[Value, ...]] = []
        cells = np.empty((declared.size, len(question.by)), np.int64)
        columns, kinds = [], []
        fixed, found = iter(range(len(groups.columns))), iter(range(len(self.columns)))
        parts = groups.codes()[declared] if groups.columns else np.empty((declared.size, 0), np.int64)
        for place in range(len(question.by)):
            if place in self.places:
                number = next(found)
                columns.append(self.columns[number])
                kinds.append(self.kinds[number])
                distinct, codes = _ascending(labels[number].tolist())
            else:
                number = next(fixed)
                columns.append(groups.columns[number])
                kinds.append(groups.kinds[number])
                used, places = np.unique(parts[:, number], return_inverse=True)
                known = list(groups.values[number])
                distinct, codes = tuple(known[code] for code in used.tolist()), places.reshape(-1)
            values.append(distinct)
            cells[:, place] = codes
        return Groups(tuple(columns), tuple(kinds), tuple(values), cells)


def _ascending(labels: list[_Label]) -> tuple[tuple[Value, ...], IntArray]:
    """The distinct values in ascending order (texts by code points), and the place of each."""
    distinct = sorted(set(labels))
    order = {value: code for code, value in enumerate(distinct)}
    return tuple(distinct), np.fromiter(map(order.__getitem__, labels), np.int64, len(labels))


def name_groups(
    discovery: Discovery, question: Question, groups: Groups, noise: DiscoveredNoise, data: DiscoveredGroups, bits: Bits
) -> tuple[Groups, list[int]]:
    """The groups that are named, in their canonical order, and their noisy counts; nothing of the others is kept."""
    kept, reports = noise.name_groups(data.counts, bits)
    named = discovery.named(question, groups, [label[kept] for label in data.labels], data.declared[kept])
    assert named.cells is not None
    order = np.lexsort(named.cells.T[::-1])
    ordered = replace(named, cells=named.cells[order])
    return ordered, reports[order].reshape(-1).tolist()


def read_groups(
    text: str, name: str, discovery: Discovery, question: Question, declared: Groups, has_edition: bool
) -> Groups:
    """The groups that a CSV file names: each once, in canonical order, in a declared part if any is.

    Only labels are read here; whoever calls compares every line with the one that these groups and their counts have.
    """
    by, measures = len(question.by), len(question.aggregates)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1::measures]
    except csv.Error as problem:
        raise Refuted(f"{name} is not a CSV file: {problem}.") from None
    first = int(has_edition)
    labels = [line[first : first + by] for line in lines]
    found = dict(zip(discovery.places, zip(discovery.columns, discovery.kinds, strict=True), strict=True))
    fixed = iter(range(len(declared.columns)))
    columns, kinds, values, codes = [], [], [], []
    for place in range(by):
        written = [label[place] for label in labels]
        if place in found:
            column, kind = found[place]
            read = [_value(one, kind, name) for one in written]
        else:
            number = next(fixed)
            column, kind = declared.columns[number], declared.kinds[number]
            read = [_declared(one, declared.values[number], kind, name) for one in written]
        known = set(read)
        distinct = [*sorted(value for value in known if value is not None), *([None] if None in known else [])]
        order = {value: code for code, value in enumerate(distinct)}
        columns.append(column)
        kinds.append(kind)
        values.append(tuple(distinct))
        codes.append([order[value] for value in read])
    cells = np.array(codes, np.int64).reshape(by, len(labels)).T
    groups = Groups(tuple(columns), tuple(kinds), tuple(values), cells)
    if not groups.is_empty and canonical(groups).to_json() != groups.to_json():
        raise Refuted(f"{name} does not list its groups in their order.")
    return groups


def _value(written: str, kind: str, name: str) -> Value:
    """A label as it was found, from the way it is written: a text may be marked by an apostrophe."""
    if kind == "text":
        return written.removeprefix("'")
    if not INTEGER.fullmatch(written):
        raise Refuted(f"{name} has {written[:40]!r} where a whole number was found.")
    return int(written)


def _declared(written: str, known: Sequence[Value], kind: str, name: str) -> Value:
    value = None if written == "NULL" else _value(written, kind, name)
    if value not in known:
        raise Refuted(f"{name} has the value {written[:40]!r}, which was not declared.")
    return value


# ------------------------------------------------------------------------------------------------ reading a request


def refuse_misfits(request: ReleaseRequest) -> None:
    """Refuse what has no meaning where groups are found in the data."""
    if not request.discover:
        if request.one_row_each:
            raise InvalidInput(
                f"{arg('one_row_each')} is for groups that are found in the data.",
                f"Leave it out, or add {arg('discover', 'COLUMN')}.",
            )
        return
    if len(request.questions) > 1:
        raise InvalidInput("groups are discovered by one question at a time.", "Release it alone.", argument="discover")
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
    if request.mechanism != "geometric":
        raise InvalidInput(
            "groups are discovered with bounded geometric noise, and with no other noise.",
            f"Leave {arg('mechanism')} out.",
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
    who = Unit(request.unit, request.unit_name)
    if who.is_row and not (request.one_row_each or request.unit_name):
        raise InvalidInput(
            "a person with many rows in one group would be named for certain, because each row counts as a person of "
            "its own.",
            f"Name the column of the person: {arg('unit', 'COLUMN')}. If each person has one row, say so: "
            f"{arg('unit_name', 'person')}.",
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


def read_discovery(request: ReleaseRequest, asked: Question, base: Question, source: Source | None) -> Discovery:
    """The columns that are to be discovered, and how each is read."""
    if not asked.by:
        raise InvalidInput(
            "the question has no GROUP BY, so it has no groups to discover.", f"Leave {arg('discover')} out."
        )
    places = []
    for name in request.discover:
        if not any(name.casefold() == column.casefold() for column in asked.by):
            raise InvalidInput(
                f"{name!r} is to be discovered, and the question groups by {listed(asked.by)}.",
                "Name one of its GROUP BY columns.",
                argument="discover",
            )
        places.append(asked.by.index(find_column(name, asked.by)))
    if len(set(places)) < len(places):
        raise InvalidInput("a column is to be discovered twice.", "Name it once.", argument="discover")
    places.sort()
    if request.unit != ROW and any(asked.by[place] == request.unit for place in places):
        raise InvalidInput(
            f"{request.unit!r} is the unit: each of its values has a group of its own, and none could be named.",
            "Group by another column.",
            argument="discover",
        )
    kinds = tuple(_kind(base, place, source) for place in places)
    return Discovery(tuple(places), tuple(asked.by[place] for place in places), kinds, request.unit == ROW)


def _kind(question: Question, place: int, source: Source | None) -> str:
    if source is None:
        return "text"
    column = question.by[place]
    stored = source.table(question.table)[column]
    if stored not in _READ_AS:
        what = "numbers with decimals" if stored == "number" else "values without one text that all engines share"
        raise InvalidInput(
            f"the values of {column!r} cannot be discovered: it holds {what}.",
            "Store it as text or whole numbers, or declare its values by a domain.",
            argument="discover",
        )
    return _READ_AS[stored]
