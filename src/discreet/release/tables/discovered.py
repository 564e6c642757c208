"""Tables of discovered groups (partition selection): a group is named if its noisy count is large enough."""

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
from ...exact.rationals import bound_up, claimed, read_alpha, text_up
from ...ledger.budget import Cost
from ...privacy.compose import compose
from ...privacy.partition_selection import lost_by_any
from ...privacy.relations import RELATIONS
from ...questions.domains import has_rest
from ...questions.groups import Groups, domain_column
from ...questions.question import Question
from ...report import Fact, Json
from ...wording import listed, percent
from ..made_up import MADE_UP_VALUES, USUAL_TOTAL, MadeUpSizes, parts_of, read_total, spread
from ..noise import worst_cases
from ..noise.cells import CellNoise
from ..noise.discovered import DiscoveredNoise, discovered_noise
from ..protection import Change, Protection
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
    """A table whose groups are found in the data, the only table of its release.

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
        if (
            protection.max_rows is not None
            or groups.zeros
            or entry["share"] != "1"
            or discovery.one_row_each != (protection.unit == ROW)
        ):
            raise InvalidInput("this request discovers groups in a way that no release does.", argument="request")
        noise = DiscoveredNoise.from_json(entry["noise"])
        return cls(question, groups, noise, Fraction(1), sensitivity(question, protection), discovery=discovery)

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
        (table,) = tables
        assert isinstance(table, DiscoveredTablePlan) and epsilon is not None  # a request without epsilon was refused
        return price_discovery(table.question, protection, table.noise, epsilon, delta)

    # ---------------------------------------------------------------- counting, drawing, recording

    def counting(self, protection: Protection, key: bytes) -> Discovering:
        return self.discovery.counting(self.question, self.groups, protection, key)

    @staticmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        """Find all groups and their true counts.

        Time and memory depend on the number of groups, as they do on the number of rows; neither is hidden.
        """
        (counting,) = countings
        assert isinstance(counting, Discovering)
        return [source.discover(counting)]

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
        return (
            "Basic composition of the counts that one unit can change, however many groups are found; delta is for all "
            "draws that may name a group of theirs"
        )


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

    def refuse_comparison(self, edition: str) -> None:
        """Refuse counts that were selected by their size, whose noise is conditional on that."""
        raise InvalidInput(
            f"the groups of {edition} were found in the data, so they differ from edition to edition.",
            "Declare the groups by a domain to compare editions.",
            argument="editions",
        )

    @property
    def error_sentence(self) -> str:
        noise = self.plan.noise
        if not self.counts.size:
            return f"No group has a noisy count above {noise.reach:,}, so none is named."
        expected = noise.expected(self.level)
        return (
            f"The noise of a count has a standard deviation of at most {text_up(expected.sd, 3)} and never exceeds "
            f"{noise.reach:,}. Only counts above {noise.reach:,} are published: those of groups of fewer than "
            f"{2 * noise.reach + 1:,} are too high on average, by up to {noise.reach:,}; all others are unbiased. Each "
            f"interval contains the true count of a group that is named at least {percent(self.level, 6)} of the time."
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
        moved = sensitivity(self.base, protection)
        self.change = Change(moved, moved)

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        epsilon = self.request.epsilon
        assert epsilon is not None  # a request without epsilon was refused
        return [self.table(question_noise(self.base, protection, epsilon, self.request.delta))]

    def table(self, noise: CellNoise) -> DiscoveredTablePlan:
        assert isinstance(noise, DiscoveredNoise)
        return DiscoveredTablePlan(self.base, self.groups, noise, Fraction(1), self.change.l1, discovery=self.discovery)


# ------------------------------------------------------------------------------------------------ noise and price


def sensitivity(question: Question, protection: Protection) -> int:
    """Return the largest number of counts that one unit can move, for any number of groups."""
    return naming_draws(protection) * question.most_at_once


def naming_draws(protection: Protection) -> int:
    """Return the number of naming draws that one unit affects: max_groups, or twice that where units are exchanged."""
    return RELATIONS[protection.relation].moves * protection.max_groups


def question_noise(question: Question, protection: Protection, epsilon: Fraction, delta: Fraction) -> DiscoveredNoise:
    """Return the noise of a question: epsilon is divided equally among the counts that one unit can move."""
    each = epsilon / sensitivity(question, protection)
    return discovered_noise(each, delta, naming_draws(protection), len(question.aggregates))


def price_discovery(
    question: Question, protection: Protection, noise: DiscoveredNoise, epsilon: Fraction, delta: Fraction
) -> Cost:
    """Return the cost: all of epsilon, and delta ``1 - (1 - delta_1)^m`` for the m draws that may name a group.

    The judge composes the draws without knowing how the threshold was chosen.
    """
    moved, draws = sensitivity(question, protection), naming_draws(protection)
    each = epsilon / moved
    alphas = [Fraction(str(mechanism.parameters["alpha"])) for mechanism in noise.mechanisms]
    if noise.measures != len(question.aggregates) or any(alpha != read_alpha(None, each) for alpha in alphas):
        raise InvalidInput("this noise is not that of the epsilon that is stated for it.", argument="epsilon")
    cost_delta = min(delta, claimed(bound_up(lost_by_any(noise.delta, draws))))
    if not compose(noise.charges(moved, draws, each)).holds(epsilon, cost_delta):
        raise InvalidInput(
            f"a threshold of {noise.reach} does not give delta = {float(delta):g} with epsilon = {float(epsilon):g}.",
            "Ask for a larger delta.",
            argument="delta",
        )
    return Cost(epsilon, cost_delta, None)


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
    outside = "outside WHERE" + (" or the declared groups" if groups.columns else "")
    by = f" by {question.aggregates[0].name}" if len(question.aggregates) > 1 else ""
    reach, draws, cells = noise.reach, naming_draws(protection), _cells_of_a_value(discovery, protection, groups)
    one, together = (text_up(lost_by_any(noise.delta, many), 3) for many in (cells, draws))
    of_all = "" if draws == cells else f" ({together} for the {draws} draws of one {who})"
    sentences = [
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
        sentences.append(
            f"This rests on nobody having more than one row. Somebody with {2 * reach + 1:,} rows in one group would "
            "be named for certain."
        )
    return sentences
