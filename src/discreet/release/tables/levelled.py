"""Tables with totals: levels are measured independently and combined into counts that add up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput, InWords, Unsupported, arg
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.laws import Gaussian, GeometricTails
from ...exact.rationals import as_fraction, text_up
from ...mechanism import Mechanism
from ...questions.groups import Groups
from ...questions.levels import with_totals
from ...questions.orders import places_in
from ...questions.question import Question, find_column
from ...report import Json
from ...wording import listed, percent
from ..levels.combining import MAX_ROUNDING_ERROR, LevelCombination
from ..levels.shape import SPLITS_IN_WORDS, Shape
from ..levels.splitting import best_split, convex_split
from ..noise.accuracy import Expected
from ..noise.cells import CellNoise, takes_sigma2
from ..protection import Change, Protection
from .columns import IMPOSSIBLE, NORMAL
from .csv_lines import Refuted, read_lines
from .csv_text import rounded_file
from .draft import CellRequest
from .levelled_counts import LevelledTable
from .plain import PlainDraft, PlainTablePlan
from .released import ReleasedTable
from .table import Entry, noise_in_words

if TYPE_CHECKING:
    from ..plan.request import ReleaseRequest


@dataclass(frozen=True)
class LevelDraft:
    """A level before its noise is chosen: its share of the table's budget, and the change by one unit."""

    share: Fraction
    change: Change


@dataclass(frozen=True)
class LevelPlan:
    """A level of a table with totals: its noise, its share of the table's budget, and the change by one unit."""

    noise: CellNoise
    share: Fraction
    change: Change


@dataclass(frozen=True)
class LevelledTablePlan(PlainTablePlan):
    """A table with totals.

    Attributes
    ----------
    levels
        The levels, finest first; the noise of the first is that of the table.
    """

    levels: tuple[LevelPlan, ...] = field(kw_only=True)

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        return bool(question.levels) or "levels" in entry

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> PlainTablePlan:
        finest = cls._read(entry, question, groups, protection)
        changes = protection.level_changes(question, Shape(groups, question.levels))
        levels = _levels_from_json(entry.get("levels"), finest.noise, changes, finest.suppress_below)
        table = _with_levels(finest, levels)
        if any(one.unused for one, _ in table.changes):
            raise InvalidInput("the noise of this request has a mechanism that no cell has.", argument="request")
        return table

    # ---------------------------------------------------------------- size and noise

    @cached_property
    def combination(self) -> LevelCombination:
        """The combination of the measurements of all levels."""
        laws = [level.noise.shift_law for level in self.levels]
        return LevelCombination(Shape(self.groups, self.question.levels), tuple(law for law in laws if law is not None))

    @property
    def noisy_groups(self) -> Sequence[Groups]:
        return self.combination.shape.nodes

    @property
    def measured_levels(self) -> int:
        return len(self.levels)

    @property
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        return tuple((level.noise, level.change) for level in self.levels)

    def expected(self, coverage: Fraction) -> Expected:
        width = max(float(one.max()) for one in self.combination.half_widths(coverage))
        sd = max(float(one.max()) for one in self.combination.standard_errors)
        return ExpectedLevels(coverage, math.ceil(width), sd, 0.0, 0.0, 0.0)

    def widest_interval(self, coverage: Fraction) -> int | None:
        """Return an upper bound of the width: whole numbers between two ends, each rounded outwards by a unit."""
        width = max(float(one.max()) for one in self.combination.half_widths(coverage))
        unit = 0.1**self.combination.digits
        return math.floor(2 * (width + float(MAX_ROUNDING_ERROR) + unit))

    def false_zeros(self, least: int) -> Fraction:
        raise _unknown_risk("false_zeros")

    def spurious_counts(self, least: int) -> Fraction:
        raise _unknown_risk("spurious_counts")

    # ---------------------------------------------------------------- drawing, recording

    def draw(self, counts: IntArray, bits: Bits) -> IntArray:
        """Draw the noisy sums of all levels, one level after the other, from the true counts of the groups."""
        sums = self.combination.shape.sums(counts.reshape(self.groups.size, -1))
        return np.concatenate(
            [level.noise.draw(counts.reshape(-1), bits) for level, counts in zip(self.levels, sums, strict=True)]
        )

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        shape, order = self.combination.shape, Shape(Groups.from_json(request["groups"]), self.question.levels)
        counts = np.array(record["counts"], dtype=np.int64).reshape(-1, len(self.question.aggregates))
        if len(counts) != sum(order.sizes):
            raise InvalidInput(
                "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
            )
        parts = np.split(counts, np.cumsum(order.sizes)[:-1].tolist())
        levels = [part[places_in(*pair)] for part, *pair in zip(parts, shape.nodes, order.nodes, strict=True)]
        return LevelledTable(self, np.concatenate(levels), self.flags, coverage, edition)

    @property
    def flags(self) -> NDArray[np.str_]:
        """The flag of each count: a structural zero or a noisy count."""
        live = np.concatenate(self.combination.shape.live_nodes)
        flags = np.where(live, NORMAL, IMPOSSIBLE).astype("U1")
        return np.repeat(flags[:, None], len(self.question.aggregates), axis=1)

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        """Return the table as JSON in a request; the noise of the first level is that of the table."""
        levels: dict[str, Json] = {
            "shares": [str(level.share) for level in self.levels],
            "noises": [level.noise.to_json() for level in self.levels[1:]],
        }
        return {**super().to_json(), "levels": levels}

    def file_names(self, name: str) -> list[str]:
        return [name, rounded_file(name)]

    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        """Read the measurements of the levels; an audit computes all else and compares it."""
        flags = self.flags
        empty = LevelledTable(self, np.zeros(flags.shape, np.int64), flags, coverage, edition, layout)
        lines = read_lines(text, name, empty.headings, empty.cell_names())
        texts = [line.rpartition(",")[2] for line in lines]
        numbers = list(map(int, texts))
        if list(map(str, numbers)) != texts:
            raise Refuted(f"{name} has a count that is not written as a plain whole number.")
        values = np.empty(flags.size, dtype=np.int64)
        values[empty.order] = numbers
        if values.reshape(flags.shape)[flags == IMPOSSIBLE].any():
            raise Refuted(f"{name}: a cell that cannot exist has a count.")
        return replace(empty, counts=values.reshape(flags.shape))

    # ---------------------------------------------------------------- words

    @property
    def noise_lines(self) -> list[tuple[str, str]]:
        """The budget share and the noise of each level."""
        lines = []
        names = self.groups.columns
        for columns, level in zip(self.question.levels, self.levels, strict=True):
            which = f"by {listed([names[k] for k in columns])}" if columns else "the total"
            noise = noise_in_words(level.noise, self.counted)
            lines.append(("level", f"{which}: {percent(level.share, 4)} of the budget; {noise}"))
        return lines

    @property
    def by_in_words(self) -> str:
        return ", with totals"

    def total_sentences(self, protection: Protection) -> Sequence[str]:
        return totals_in_words(protection)


def _unknown_risk(criterion: str) -> Unsupported:
    """Return the error of a criterion on probabilities that have no closed form."""
    return Unsupported(
        f"{criterion} cannot be stated for a table with totals: its counts are combined from several measurements.",
        f"Leave {criterion} out of the criteria, or leave the totals out.",
        argument="accept",
    )


def _with_levels(table: PlainTablePlan, levels: tuple[LevelPlan, ...]) -> LevelledTablePlan:
    """Add levels to the table of the finest level."""
    return LevelledTablePlan(
        table.question, table.groups, table.noise, table.share, sum(level.change.l1 for level in levels),
        table.suppress_below, table.max_rows, levels=levels,
    )  # fmt: skip


@dataclass
class LevelledDraft(PlainDraft):
    """A table with totals before its noise is chosen.

    Attributes
    ----------
    levels
        The share of each level, and the change by one unit.
    """

    levels: tuple[LevelDraft, ...] = ()

    has_levels: ClassVar[bool] = True

    def add_totals(self) -> None:
        self.question = self.base = question_with_totals(self.question, self.request.totals)

    def refuse_misfits(self) -> None:
        refuse_with_totals(self.request)

    def measure(self, protection: Protection, sizes: IntArray | None) -> None:
        shape = Shape(self.groups, self.base.levels)
        changes = protection.level_changes(self.base, shape)
        self.levels, self.split_note = level_drafts(self.request, self.base, shape, changes, self.share, sizes)
        self.change = Change(sum(change.l1 for change in changes), sum(change.squared_l2 for change in changes))
        self.max_rows = protection.max_rows

    def pure(self, noise: CellRequest, epsilon: Fraction) -> PlainTablePlan:
        return self._levelled(
            [noise.signed(epsilon=epsilon * self.share * one.share / one.change.l1) for one in self.levels]
        )

    def gaussian(self, noise: CellRequest, rho: Fraction) -> PlainTablePlan:
        return self._levelled(
            [noise.signed(sigma2=one.change.squared_l2 / (2 * rho * self.share * one.share)) for one in self.levels]
        )

    def _levelled(self, noises: Sequence[CellNoise]) -> LevelledTablePlan:
        """Return the table with this noise for each of its levels."""
        for noise in noises:
            refuse_unsuited(noise)
        levels = tuple(LevelPlan(n, one.share, one.change) for n, one in zip(noises, self.levels, strict=True))
        return _with_levels(self.table(noises[0]), levels)


def question_with_totals(question: Question, totals: Sequence[str] | None) -> Question:
    """Return the question with the totals that a request adds to it."""
    if totals is None:
        return question
    if question.levels:
        raise InvalidInput(
            "the question asks for totals by ROLLUP, CUBE or GROUPING SETS already.", f"Leave {arg('totals')} out."
        )
    if not question.by:
        raise InvalidInput("without GROUP BY the count is the total.", f"Leave {arg('totals')} out.")
    named = question.by if [name.casefold() for name in totals] == ["all"] else totals
    levels = with_totals(question.by, named, lambda name: find_column(name, question.by))
    return replace(question, levels=levels)


def refuse_with_totals(request: ReleaseRequest) -> None:
    """Refuse options that do not go with totals."""
    if request.suppress_below is not None:
        raise InvalidInput(
            "counts that add up would undo what is withheld.", f"Leave {arg('suppress_below')} or the totals out."
        )
    if request.counts not in (None, "signed"):
        raise InvalidInput(
            "totals are combined from unbiased counts, which may be negative.",
            f"Leave {arg('counts', request.counts)} out; the file of rounded counts has none below zero.",
        )
    if request.discover:
        raise InvalidInput(
            f"totals need groups that are declared, and {arg('discover')} finds them in the data.",
            f"Give {arg('domain')} or {arg('groups')} instead of it, or leave the totals out.",
        )
    if isinstance(request.mechanism, Mechanism) or request.designed or request.error is not None:
        raise InvalidInput(
            "with totals the noise of each level follows from its part of epsilon.",
            f"Give {arg('epsilon')}, with {arg('mechanism', 'geometric')} or {arg('mechanism', 'discrete-gaussian')}.",
        )
    if request.bound is not None:
        raise InvalidInput("counts with totals have no bound.", f"Leave {arg('bound')} out.")


def level_drafts(
    request: ReleaseRequest, question: Question, shape: Shape, changes: Sequence[Change], share: Fraction,
    sizes: IntArray | None,
) -> tuple[tuple[LevelDraft, ...], str]:  # fmt: skip
    """Return the levels with their shares, and a note on a split that the request names.

    The shares are those of the request, or shares with what it wants to be small: by default the largest error.
    """
    count = len(question.levels)
    if request.level_split:
        if len(request.level_split) != count:
            raise InvalidInput.must_be(
                "split",
                f"as many positive numbers as there are levels, {count}",
                InWords(", ".join(map(str, request.level_split))),
            )
        return _drafts(request.level_split, changes), ""
    gaussian, objective = takes_sigma2(request.mechanism), request.split_objective
    if gaussian and sizes is None and objective and (shape.regular or not shape.is_tree):
        split = convex_split(shape, [change.squared_l2 for change in changes], objective)
        return _drafts(split.shares, changes), (
            f"the split of the levels makes {SPLITS_IN_WORDS[objective]} small; no split has one that is smaller by "
            f"more than {text_up(100 * (split.gap or 0.0), 2)}%."
        )
    epsilon = float(request.epsilon or 1) * float(share)

    def variance(level: int, level_share: float) -> float:
        if gaussian:
            return changes[level].squared_l2 / level_share
        half = epsilon * level_share / changes[level].l1 / 2
        return 1 / (2 * math.sinh(min(half, 300.0)) ** 2)

    relative_to = None if sizes is None else sizes[:: len(question.aggregates)]
    shares = best_split(shape, variance, relative_to, objective or "largest")
    if not objective:
        return _drafts(shares, changes), ""
    small = SPLITS_IN_WORDS[objective]
    return _drafts(shares, changes), f"the split of the levels makes {small} small; a better split may exist."


def _drafts(shares: Sequence[Fraction], changes: Sequence[Change]) -> tuple[LevelDraft, ...]:
    return tuple(LevelDraft(*pair) for pair in zip(shares, changes, strict=True))


def _levels_from_json(
    content: Entry | None, first: CellNoise, changes: Sequence[Change], threshold: int | None
) -> tuple[LevelPlan, ...]:
    """Rebuild the levels that a request describes, checking them again."""
    problem = "the levels of this request do not fit its question."
    if not isinstance(content, Mapping) or len(changes) < 2 or set(content) != {"shares", "noises"}:
        raise InvalidInput(problem, argument="request")
    shares = [as_fraction(share) for share in content["shares"]]
    noises = [first, *(CellNoise.from_json(noise) for noise in content["noises"])]
    if not len(shares) == len(noises) == len(changes) or min(shares) <= 0 or sum(shares) != 1 or threshold is not None:
        raise InvalidInput(problem, argument="request")
    levels = tuple(LevelPlan(*level) for level in zip(noises, shares, changes, strict=True))
    for level in levels:
        refuse_unsuited(level.noise)
    return levels


def refuse_unsuited(noise: CellNoise) -> None:
    """Refuse noise that is not signed, unbounded and of one symmetric law, from which totals cannot be combined."""
    law = noise.shift_law
    if noise.output != "signed" or noise.high is not None or not isinstance(law, GeometricTails | Gaussian):
        raise InvalidInput(
            "totals need noise that is signed, unbounded and symmetric.", "Use geometric or discrete-gaussian."
        )


class ExpectedLevels(Expected):
    """The worst case over all combined counts."""

    def __str__(self) -> str:
        return (
            f"combined counts ± {self.half_width:,} or less, {percent(self.level, 6)} of the time, standard deviation "
            f"at most {text_up(self.sd, 3)}, unbiased"
        )


def totals_in_words(protection: Protection) -> tuple[str, ...]:
    """Return sentences on the meaning of totals."""
    meaning = "A total is the sum of the counts of its declared groups. Rows outside these are in no total."
    if protection.max_groups == 1:
        return (meaning,)
    who = protection.who
    if protection.max_rows is not None:
        most = protection.max_groups * protection.max_rows
        return (meaning, f"A total has up to {most:,} rows of one {who.one}, from all its groups together.")
    they = "they are" if who.is_person else "it is"
    return (
        meaning,
        f"A total counts {who.a} once for each group {they} counted in: it counts {who.several} times groups, not "
        f"{who.several}.",
    )
