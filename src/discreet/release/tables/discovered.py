"""Tables of discovered groups (partition selection): a group is named if its noisy count is large enough.

All tables of a release have the same noise and threshold: the draws of a person in all of them are proved at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...engines.base import ROW, Counting, DiscoveredGroups, Discovering
from ...errors import InvalidInput, arg
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.integers import is_integer
from ...exact.rationals import as_fraction, text_up
from ...ledger.budget import Cost
from ...privacy.relations import RELATIONS
from ...questions.domains import has_rest
from ...questions.groups import Groups, domain_column
from ...questions.question import Question
from ...report import Fact, Json
from ...wording import listed, percent
from ..made_up import MADE_UP_VALUES, USUAL_TOTAL, MadeUpSizes, parts_of, read_total, spread
from ..noise import worst_cases
from ..noise.cells import CellNoise
from ..noise.discovered import DiscoveredNoise, PersonDraws
from ..noise.naming import chosen_noise, naming_from_json
from ..protection import Change, Protection
from .aligned import Aligned, AlignedIntervals
from .columns import CERTAIN_COLUMNS, LAYOUT, NORMAL, ErrorColumn
from .csv_lines import Refuted
from .discovery import Discovery, name_groups, read_discovery, read_groups
from .draft import CellRequest, Draft
from .levelled import refuse_with_totals
from .plain import PlainTablePlan
from .released import ReleasedTable
from .table import Counted, Entry, TablePlan, law_in_words, names_fit

if TYPE_CHECKING:
    from ...engines.sources import Source


@dataclass(frozen=True)
class DiscoveredTablePlan(PlainTablePlan):
    """A table whose groups are found in the data, as those of all tables of its release.

    Attributes
    ----------
    discovery
        The discovered columns. Before the release ``groups`` are those of the declared columns alone, after it the
        named groups.
    """

    noise: DiscoveredNoise
    discovery: Discovery = field(kw_only=True)

    stands_alone: ClassVar[bool] = True
    lines_in_words: ClassVar[str] = "every group is there once, in order, with a noisy count above the threshold."
    public_facts: ClassVar[tuple[str, ...]] = (
        "The question and the declared groups are public. The names of published groups come from the data.",
        "How long the release took may depend on how many groups there are. It is not hidden from who runs it.",
    )
    public_in_words: ClassVar[str] = "the questions and the declared groups"

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        return "discover" in entry

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> PlainTablePlan:
        discovery = Discovery.from_json(entry["discover"], question)
        declared = [column for place, column in enumerate(question.by) if place not in discovery.places]
        if not names_fit(groups, declared) or entry["suppress_below"] is not None:
            raise InvalidInput(
                "the groups of this request do not fit the columns its question groups by.", argument="request"
            )
        if groups.zeros or discovery.one_row_each != (protection.unit == ROW):
            raise InvalidInput("this request discovers groups in a way that no release does.", argument="request")
        return cls(
            question, groups, naming_from_json(entry["noise"]), as_fraction(entry["share"]),
            sensitivity(question, protection), None, protection.max_rows, discovery=discovery,
        )  # fmt: skip

    # ---------------------------------------------------------------- size and noise

    @property
    def _is_named(self) -> bool:
        """True if its groups are those that the release named."""
        return len(self.groups.columns) == len(self.question.by)

    @property
    def known_cells(self) -> int | None:
        return super().known_cells if self._is_named else None

    def widest_interval(self, coverage: Fraction) -> int | None:
        return self.noise.widest_interval(coverage)

    def false_zeros(self, least: int) -> Fraction:
        """Return the probability for the further measures; the count that names a group is never 0."""
        further = self.noise.further
        return Fraction(0) if further is None else worst_cases.false_zeros(further, least)

    def spurious_counts(self, least: int) -> Fraction:
        """Return the probability for the further measures; a group without people is never named."""
        further = self.noise.further
        return Fraction(0) if further is None else worst_cases.spurious_counts(further, least)

    @staticmethod
    def price(tables: Sequence[TablePlan], protection: Protection, epsilon: Fraction | None, delta: Fraction) -> Cost:
        assert epsilon is not None  # a request without epsilon was refused
        if len({table.share for table in tables}) > 1:
            raise InvalidInput("questions that discover groups have equal shares.", argument="split")
        return price_discovery([(table.question, table.noise) for table in tables], protection, epsilon, delta)

    # ---------------------------------------------------------------- counting, drawing, recording

    def counting(self, protection: Protection, key: bytes) -> Discovering:
        return self.discovery.counting(self.question, self.groups, protection, key)

    @staticmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        """Find all groups and their true counts, of all questions in one state of the data.

        Time and memory depend on the number of groups, as they do on the number of rows; neither is hidden.
        """
        return source.discover_all([counting for counting in countings if isinstance(counting, Discovering)])

    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        """Draw the counts; return the named groups and their noisy counts."""
        assert isinstance(counted, DiscoveredGroups)
        groups, counts = name_groups(self.discovery, self.question, self.groups, self.noise, counted, bits)
        return {"groups": groups.to_json(), "counts": list[Json](counts)}

    def simulated_counts(self, sizes: MadeUpSizes | None) -> Counted:
        if sizes is not None and not is_integer(sizes):
            raise InvalidInput(
                "groups that are found in the data have no sizes that could be listed.",
                f"Give the number in all: {arg('sizes', USUAL_TOTAL)}.",
                argument="sizes",
            )
        declared, values = self.groups.size, np.arange(MADE_UP_VALUES)
        labels = tuple(
            np.tile(values + 1 if kind == "integer" else np.array([f"{column} {k + 1}" for k in values]), declared)
            for column, kind in zip(self.discovery.columns, self.discovery.kinds, strict=True)
        )
        parts = np.repeat(np.arange(declared), MADE_UP_VALUES)
        total = USUAL_TOTAL if sizes is None else read_total(sizes)
        return DiscoveredGroups(labels, parts, parts_of(spread(total, parts.size), self.question))

    def rehearse(self, bits: Bits) -> None:
        self.noise.name_groups(np.zeros((1, self.noise.measures), dtype=np.int64), bits)

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        groups = Groups.from_json(record["groups"])
        shape = (groups.size, len(self.question.aggregates))
        counts = np.array(record["counts"], dtype=np.int64).reshape(shape)
        return replace(self, groups=groups).released(counts, np.full(shape, NORMAL), coverage, edition)

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {"discover": self.discovery.to_json(), **super().to_json()}

    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        """Read the table with the groups that the file names."""
        has_edition = bool(edition) and layout > 1
        groups = read_groups(text, name, self.discovery, self.question, self.groups, has_edition)
        table = replace(self, groups=groups)
        named = PlainTablePlan.read(table, text, name, coverage, edition, layout)
        if (named.counts[:, :1] <= self.noise.reach).any():
            raise Refuted(f"{name} names a group whose noisy count is not above {self.noise.reach}.")
        return named

    def released(
        self, counts: IntArray, status: NDArray[np.str_], coverage: Fraction, edition: str, layout: int = LAYOUT
    ) -> ReleasedTable:
        return DiscoveredTable(self, counts, status, coverage, edition, layout)

    # ---------------------------------------------------------------- words

    @property
    def shape_text(self) -> str:
        return (
            super().shape_text
            if self._is_named
            else shape_in_words(self.discovery, self.groups, len(self.question.aggregates))
        )

    @property
    def noise_sentence(self) -> str:
        others = ", geometric noise for further measures" if len(self.noise.mechanisms) > 1 else ""
        return f"{law_in_words(self.noise)}{others}; published only above {self.noise.reach:,}"

    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        if protection.unit == ROW:
            return (protection.sentences(1)[0],)
        return protection.sentences(protection.max_groups + 1)[:-1]

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        return named_in_words(self.discovery, protection, self.groups, self.noise, self.question)

    @staticmethod
    def number_in_words(cells: int) -> str:
        return "counts of groups found in the data"

    @staticmethod
    def audited_in_words(cells: int) -> str:
        return "groups were found"

    def size_fact(self, cells: int) -> Fact:
        return Fact(f"> {self.noise.reach:,}", "noisy count of a group that is named")

    @property
    def naming_in_words(self) -> str:
        return (
            f" The values of {listed(self.discovery.columns)} come from the data: a group is named where its noisy "
            f"count is above {self.noise.reach:,}, and delta bounds the probability that a group of one is."
        )

    @staticmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        noise = tables[0].noise
        assert isinstance(noise, DiscoveredNoise)
        return noise.composition_in_words


@dataclass(frozen=True, eq=False)
class DiscoveredTable(ReleasedTable):
    """A released table of discovered groups, whose counts are selected by their size."""

    plan: DiscoveredTablePlan

    @property
    def _extra_columns(self) -> tuple[ErrorColumn, ...]:
        return CERTAIN_COLUMNS

    @property
    def noisy_cells(self) -> tuple[IntArray, CellNoise, NDArray[np.str_]]:
        raise InvalidInput(
            "counts of discovered groups do not add up to a total: small groups are withheld, and those that are "
            "named are too high on average.",
            "Ask for the total in a question of its own, without the discovered column.",
        )

    def has_counts_of(self, other: ReleasedTable) -> bool:
        return self.groups == other.groups and super().has_counts_of(other)

    def shared_with(self, editions: Sequence[ReleasedTable]) -> ReleasedTable:
        """Return the groups that all these editions name; of others one of the counts is not known."""
        shared = set.intersection(*(set(_labels(one.groups)) for one in editions))
        if not shared:
            raise InvalidInput(
                "no group is named in all editions.", "Declare the groups by a domain to compare them.",
                argument="editions",
            )  # fmt: skip
        kept = np.array([label in shared for label in _labels(self.groups)])
        groups = replace(self.groups, cells=self.groups.codes()[kept])
        return replace(self, plan=replace(self.plan, groups=groups), counts=self.counts[kept], status=self.status[kept])

    def aligned(self, first: ReleasedTable) -> Aligned:
        cells = super().aligned(first)
        return AlignedIntervals(self, cells.counts, cells.status, cells.order)

    @property
    def error_sentence(self) -> str:
        noise = self.plan.noise
        if not self.counts.size:
            return f"No group has a noisy count above {noise.reach:,}, so none is named."
        return (
            f"{noise.error_in_words(self.level)} Each interval contains the true count of a group that is named at "
            f"least {percent(self.level, 6)} of the time."
        )

    @property
    def sums_in_words(self) -> str:
        return (
            "Do not add these counts up: groups with small counts are missing, and small counts that are published are "
            "too high on average. Ask for a total in a question of its own."
        )

    @property
    def post_processing(self) -> str:
        further = " Further measures are raised to 0 where they are below." if len(self.measures) > 1 else ""
        return f"{self.title}: none; that small counts are withheld is part of the mechanism.{further}"


def _labels(groups: Groups) -> list[tuple[object, ...]]:
    """Return the values of each group."""
    return list(zip(*(groups.labels(column) for column in range(len(groups.columns))), strict=True))


@dataclass
class DiscoveredDraft(Draft):
    """A table of discovered groups before its noise is chosen."""

    discovery: Discovery = field(init=False)

    counts_every_group: ClassVar[bool] = False

    def refuse_misfits(self) -> None:
        if self.question.levels:
            refuse_with_totals(self.request)

    def inspect_columns(self, source: Source | None) -> None:
        if any(self.original.bands):
            raise InvalidInput("bands are declared, and cannot be discovered.", "Group by the column itself.")
        if self.question.tables:
            raise InvalidInput(
                "groups are not discovered in joined tables.", f"Declare them, or leave {arg('discover')} out."
            )
        self.discovery = read_discovery(self.request, self.question, self.base, source)

    # ---------------------------------------------------------------- groups

    @property
    def declared_columns(self) -> tuple[str, ...]:
        return tuple(column for place, column in enumerate(self.question.by) if place not in self.discovery.places)

    def refuse_domain(self) -> None:
        given = self.request.domain
        names = (
            [] if given is None else list(given) if isinstance(given, Mapping) else [domain_column(t) for t in given]
        )
        both = [name for name in names if any(str(name).casefold() == one.casefold() for one in self.discovery.columns)]
        if both:
            raise InvalidInput(
                f"{both[0]!r} is declared and to be discovered.",
                f"Leave it out of {arg('domain')}, or out of {arg('discover')}.",
            )
        rest = self.declared_columns
        if rest and given is None:
            raise InvalidInput(
                f"declare the values of {listed(rest)}, or discover them too: {arg('domain', [f'{rest[0]}=a,b,c'])}."
            )

    def refuse_groups(self) -> None:
        named = zip(self.declared_columns, self.groups.values, strict=True)
        starred = next((one for one, values in named if has_rest(values)), None)
        if starred is not None:
            raise InvalidInput(
                "a domain with a rest (*) cannot stand beside columns that are discovered.",
                f"Leave the * of {starred!r} out of {arg('domain')}, and ask for the rest in a question of its own.",
            )

    @property
    def declared_cells(self) -> int:
        return 0

    def counting(self, protection: Protection) -> Counting:
        return self.discovery.counting(self.base, self.groups, protection, b"")

    # ---------------------------------------------------------------- noise

    def measure(self, protection: Protection, sizes: IntArray | None) -> None:
        person = person_draws([self.base], protection)
        self.change, self.max_rows = Change.uniform(person.moved, protection.max_rows), protection.max_rows

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        epsilon, questions = self.request.epsilon, [draft.base for draft in drafts]
        assert epsilon is not None  # a request without epsilon was refused
        measures = [len(question.aggregates) for question in questions]
        noises = chosen_noise(epsilon, self.request.delta, person_draws(questions, protection), measures)
        return [draft.table(one) for draft, one in zip(drafts, noises, strict=True)]

    def table(self, noise: CellNoise) -> DiscoveredTablePlan:
        assert isinstance(noise, DiscoveredNoise)
        return DiscoveredTablePlan(
            self.base, self.groups, noise, self.share, self.change.l1, None, self.max_rows, discovery=self.discovery
        )


# ------------------------------------------------------------------------------------------------ noise and price


def person_draws(questions: Sequence[Question], protection: Protection) -> PersonDraws:
    """Return what one unit can change in the tables of these questions, for any number of groups.

    Where rows are counted, each count of a group has its own, also where a unit is in one of them only.
    """
    counts = [one.most_at_once if protection.max_rows is None else len(one.aggregates) for one in questions]
    replaced = RELATIONS[protection.relation].moves > 1
    return PersonDraws(
        tuple(many for many in counts for _ in range(protection.max_groups)), replaced, protection.max_rows or 1
    )


def sensitivity(question: Question, protection: Protection) -> int:
    """Return the largest change of all counts by one unit, for any number of groups."""
    person = person_draws([question], protection)
    return person.moved * person.step


def price_discovery(
    tables: Sequence[tuple[Question, CellNoise]], protection: Protection, epsilon: Fraction, delta: Fraction
) -> Cost:
    """Return the cost: all of epsilon, and the delta that is proved for all draws of one unit in all tables.

    The judge proves it from the noise, the threshold and the bounds of a unit, without knowing how they were chosen.
    """
    noises = [noise for _, noise in tables if isinstance(noise, DiscoveredNoise)]
    measures = [len(question.aggregates) for question, _ in tables]
    if [noise.measures for noise in noises] != measures or len({_law(noise) for noise in noises}) != 1:
        raise InvalidInput("this noise is not that of the epsilon that is stated for it.", argument="epsilon")
    person = person_draws([question for question, _ in tables], protection)
    widest = max(noises, key=lambda noise: noise.measures)  # it has the noise of further measures, if any table has
    return Cost(epsilon, widest.proved_delta(epsilon, delta, person), None)


def _law(noise: DiscoveredNoise) -> tuple[type, str, int]:
    """Return what tables of one release must share: the kind and the parameters of the noise, and the threshold."""
    return type(noise), str(noise.naming.parameters), noise.reach


# ------------------------------------------------------------------------------------------------ in words


def shape_in_words(discovery: Discovery, groups: Groups, measures: int) -> str:
    """Describe the cells before the release."""
    discovered = f"the values of {listed(discovery.columns)} are found in the data"
    within = f", in each of {groups.size:,} declared groups of {listed(groups.columns)}" if groups.columns else ""
    return f"not known beforehand: {discovered}{within}{f'; {measures} measures' if measures > 1 else ''}"


def _cells_of_a_value(discovery: Discovery, protection: Protection, groups: Groups) -> int:
    """Return the largest number of published cells with a value that only one unit has."""
    if len(discovery.columns) > 1:
        return protection.max_groups
    return min(protection.max_groups, groups.size)


def named_in_words(
    discovery: Discovery, protection: Protection, groups: Groups, noise: DiscoveredNoise, question: Question
) -> list[str]:
    """Return sentences on how groups are named, and on the counts of named groups."""
    who, several = protection.who.one, protection.who.several
    without = [] if protection.unit == ROW else [protection.unit]
    undated = "" if protection.per is None else f" or without a day in {protection.per.column}"
    outside = "outside WHERE" + (" or the declared groups" if groups.columns else "")
    by = f" by {question.aggregates[0].name}" if len(question.aggregates) > 1 else ""
    person, cells = person_draws([question], protection), _cells_of_a_value(discovery, protection, groups)
    reach, draws = noise.reach, person.draws
    one, together = (text_up(noise.named_alone(many, person.step), 3) for many in (cells, draws))
    of_all = "" if draws == cells else f" ({together} for the {draws} draws of one {who})"
    sentences = [
        f"The values of {listed(discovery.columns)} come from the data. A group is named{by} only if its noisy count "
        f"is above {reach:,}. How many groups are withheld is not published.",
        f"A value that only one {who} has is printed as it stands with probability at most {one}{of_all}. "
        f"{noise.large_group_in_words('rows' if protection.max_rows else several)}",
        f"Only large enough noisy counts are published, so the counts of small groups are too high on average, "
        f"{noise.bias_in_words}. Intervals take this into account.",
        f"Rows without a value of {' or '.join([*without, *discovery.columns])}{undated}, and rows {outside}, are not "
        "counted. "
        "We cannot say how many: that number is itself private.",
    ]
    if protection.unit == ROW:
        sentences.append(
            f"This rests on nobody having more than one row. Somebody with {2 * reach + 1:,} rows in one group would "
            "be named for certain."
        )
    return sentences
