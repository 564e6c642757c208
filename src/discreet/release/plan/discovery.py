"""Groups not known in advance: what a request for them may say, their noise, their price, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from ...engines.base import ROW, DiscoveredGroups, Discovering
from ...engines.sources import Source
from ...errors import InvalidInput, arg
from ...exact.arrays import Array, IntArray
from ...exact.bits import Bits
from ...exact.rationals import bound_up, claimed, read_alpha, text_up
from ...ledger.budget import RELATIONS, Cost
from ...privacy.compose import compose
from ...privacy.partition_selection import lost_by_any
from ...questions.domains import has_rest
from ...questions.groups import TOTAL, Groups, Value, domain_column
from ...questions.question import Question, find_column
from ...report import Json
from ...unit import Unit
from ...wording import listed
from ..noise.discovered import DiscoveredNoise, discovered_noise
from .declaring import declared_groups
from .protection import Protection
from .request import ReleaseRequest

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
        fits = fits and len(made.places) == len(made.columns) == len(made.kinds) and type(made.one_row_each) is bool
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


def declared_part(request: ReleaseRequest, asked: Question, discovery: Discovery) -> Groups:
    """The groups of the columns that are declared; one total if none is."""
    given = request.domain
    names = [] if given is None else list(given) if isinstance(given, Mapping) else [domain_column(t) for t in given]
    both = [name for name in names if any(str(name).casefold() == one.casefold() for one in discovery.columns)]
    if both:
        raise InvalidInput(
            f"{both[0]!r} is declared and to be discovered.",
            f"Leave it out of {arg('domain')}, or out of {arg('discover')}.",
        )
    rest = tuple(column for place, column in enumerate(asked.by) if place not in discovery.places)
    if not rest and not names:
        return TOTAL
    if rest and given is None:
        raise InvalidInput(
            f"declare the values of {listed(rest)}, or discover them too: {arg('domain', [f'{rest[0]}=a,b,c'])}."
        )
    (groups,) = declared_groups([replace(asked, by=rest)], given, None, None, [{}], [{}])
    starred = next((one for one, values in zip(rest, groups.values, strict=True) if has_rest(values)), None)
    if starred is not None:
        raise InvalidInput(
            "a domain with a rest (*) cannot stand beside columns that are discovered.",
            f"Leave the * of {starred!r} out of {arg('domain')}, and ask for the rest in a question of its own.",
        )
    return groups


# ------------------------------------------------------------------------------------------------ noise and price


def sensitivity(question: Question, protection: Protection) -> int:
    """The most counts that one change can move, however many groups are found."""
    return naming_draws(protection) * question.most_at_once


def naming_draws(protection: Protection) -> int:
    """How many draws that may name a group one change concerns: k, twice where one unit is exchanged for another."""
    return RELATIONS[protection.relation].moves * protection.max_groups


def noise_for(question: Question, protection: Protection, epsilon: Fraction, delta: Fraction) -> DiscoveredNoise:
    """The noise of a question: each count that a unit can move has an equal part of epsilon."""
    each = epsilon / sensitivity(question, protection)
    return discovered_noise(each, delta, naming_draws(protection), len(question.aggregates))


def price_discovery(
    question: Question, protection: Protection, noise: DiscoveredNoise, epsilon: Fraction, delta: Fraction
) -> Cost:
    """What it costs: all of epsilon, and ``1 - (1 - delta_1)^m`` for the m draws that may name a group.

    The judge composes the draws; it knows nothing of how the threshold was found.
    """
    moved, draws = sensitivity(question, protection), naming_draws(protection)
    each = epsilon / moved
    alphas = [Fraction(str(mechanism.parameters["alpha"])) for mechanism in noise.mechanisms]
    if noise.measures != len(question.aggregates) or any(alpha != read_alpha(None, each) for alpha in alphas):
        raise InvalidInput("this noise is not that of the epsilon that is stated for it.", argument="epsilon")
    needed = min(delta, claimed(bound_up(lost_by_any(noise.delta, draws))))
    together = compose(noise.charges(moved, draws, each))
    if not together.holds(epsilon, needed):
        raise InvalidInput(
            f"a threshold of {noise.reach} does not give delta = {float(delta):g} with epsilon = {float(epsilon):g}.",
            "Ask for a larger delta.",
            argument="delta",
        )
    return Cost(epsilon, needed, None)


# ------------------------------------------------------------------------------------------------ in words


def shape_in_words(discovery: Discovery, groups: Groups, measures: int) -> str:
    """What is known of the cells beforehand."""
    found = f"the values of {listed(discovery.columns)} are found in the data"
    within = f", in each of {groups.size:,} declared groups of {listed(groups.columns)}" if groups.columns else ""
    return f"not known beforehand: {found}{within}{f'; {measures} measures' if measures > 1 else ''}"


def _cells_of_a_value(discovery: Discovery, protection: Protection, groups: Groups) -> int:
    """In how many cells a value may stand that one unit alone has: one for each of its groups that differ otherwise."""
    if len(discovery.columns) > 1:
        return protection.max_groups
    return min(protection.max_groups, groups.size)


def sentences(
    discovery: Discovery, protection: Protection, groups: Groups, noise: DiscoveredNoise, question: Question
) -> tuple[str, ...]:
    """Whom the release protects, how groups come to be named, and what a named count is."""
    who, several = protection.who.one, protection.who.several
    if protection.unit == ROW:
        general: tuple[str, ...] = (protection.sentences(1)[0],)
    else:
        general = protection.sentences(protection.max_groups + 1)[:-1]
    without = [] if protection.unit == ROW else [protection.unit]
    outside = "outside WHERE" + (" or the declared groups" if groups.columns else "")
    by = f" by {question.aggregates[0].name}" if len(question.aggregates) > 1 else ""
    reach, draws, cells = noise.reach, naming_draws(protection), _cells_of_a_value(discovery, protection, groups)
    one, together = (text_up(lost_by_any(noise.delta, many), 3) for many in (cells, draws))
    of_all = "" if draws == cells else f" ({together} for the {draws} draws of one {who})"
    said = [
        f"The values of {listed(discovery.columns)} come from the data. A group is named{by} only if its noisy count "
        f"is above {reach:,}. How many groups are withheld is not published.",
        f"A value that only one {who} has is printed as it stands with probability at most {one}{of_all}. A group of "
        f"{2 * reach + 1:,} {several} or more is always named.",
        f"Only large enough noisy counts are published, so the counts of small groups are too high on average, by up "
        f"to {reach:,}. Intervals take this into account.",
        f"Rows without a value of {' or '.join([*without, *discovery.columns])}, and rows {outside}, are not counted. "
        "We cannot say how many: that number is itself private.",
    ]
    if protection.unit == ROW:
        said.append(
            f"This rests on nobody having more than one row. Somebody with {2 * reach + 1:,} rows in one group would "
            "be named for certain."
        )
    return (*general, *said)
