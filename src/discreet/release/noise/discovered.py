"""Noise for groups that are not known in advance: a group is named if its noisy count exceeds the threshold D.

The first measure of a table names its groups. Further measures are drawn for named groups alone. There are two kinds of
noise, of which a plan takes the one with the lower threshold: truncated geometric noise
(:mod:`discreet.privacy.partition_selection`), and the discrete Gaussian (:mod:`discreet.privacy.gaussian_thresholds`).

Published counts are selected by their size, so every statement about them is conditional: for any true count, given
that the group was named, the interval has at least the stated coverage.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import FloatArray, IntArray
from ...exact.bits import Bits
from ...mechanism import Mechanism
from ...report import Json
from ...wording import percent
from .accuracy import NO_END, Accuracy, Expected, read_level
from .cells import CellNoise
from .worst_cases import widest_interval

#: Intervals of the reports from the least that is published on; those after the last are shifted by the difference.
Intervals = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class PersonDraws:
    """What one person can change in tables of discovered groups.

    Attributes
    ----------
    counts
        For each group of one person, the number of its counts that they change; the first of them names the group.
    replaced
        True if one person is replaced by another, whose groups come on top.
    step
        The largest change of a count: 1, or ``max_rows``.
    """

    counts: tuple[int, ...]
    replaced: bool = False
    step: int = 1

    @property
    def draws(self) -> int:
        """The number of draws that may name a group."""
        return len(self.counts) * (2 if self.replaced else 1)

    @property
    def moved(self) -> int:
        """The number of counts that change."""
        return sum(self.counts) * (2 if self.replaced else 1)


@dataclass(frozen=True, eq=False)
class SelectedAccuracy(Accuracy):
    """The accuracy of selected counts, with a second interval that always contains the true count.

    Attributes
    ----------
    certain_low, certain_high
        The ends of that interval; ``certain_high`` is ``NO_END`` for a measure with unbounded noise.
    """

    certain_low: IntArray
    certain_high: IntArray


@dataclass(frozen=True)
class ExpectedSelected(Expected):
    """The accuracy of the counts of named groups that is known before the data is read.

    Attributes
    ----------
    reach
        D, the threshold.
    half_width_when_unbiased
        The half-width for large groups, whose counts are unbiased.
    half_width_of_others
        The half-width for the further measures of a table; None without further measures.
    """

    reach: int
    half_width_when_unbiased: int
    half_width_of_others: int | None

    @property
    def how_often(self) -> str:
        if self.half_width_of_others is not None:  # their noise is unbounded
            return super().how_often
        return (
            f"at most; ± {self.half_width_when_unbiased:,}, {percent(self.level, 6)} of the time, in groups of "
            f"{2 * self.reach + 1:,} or more"
        )

    def __str__(self) -> str:
        often = f"{percent(self.level, 6)} of the time"
        sentence = (
            f"the noise of a published count never exceeds ± {self.reach:,}; in groups of fewer than "
            f"{2 * self.reach + 1:,} counts are too high on average, by at most {self.reach:,}; in larger ones they "
            f"are unbiased, noise ± {self.half_width_when_unbiased:,}, {often}"
        )
        if self.half_width_of_others is None:
            return sentence
        return f"{sentence}; further measures: noise ± {self.half_width_of_others:,}, {often}"


@dataclass(frozen=True, eq=False, repr=False)
class DiscoveredNoise(CellNoise):
    """The noise of the cells of discovered groups. Made by :func:`.naming.chosen_noise`.

    Attributes
    ----------
    measures
        Number of counts of each group; the first names it.
    """

    measures: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        unbounded = (self.output, self.low, self.which, self.high, self.known) == ("clamped", 0, None, None, False)
        if not unbounded or not self._fits:
            raise InvalidInput(
                "this is not the noise of groups that are discovered: bounded geometric noise for the first measure "
                "and geometric noise for the others, or discrete Gaussian noise for all.",
                argument="mechanisms",
            )

    @property
    @abstractmethod
    def _fits(self) -> bool:
        """True if the mechanisms are those of this kind of noise."""

    @property
    def naming(self) -> Mechanism:
        """The mechanism of the first count of a group, which decides whether the group is named."""
        return self.mechanisms[0]

    @property
    @abstractmethod
    def reach(self) -> int:
        """D, the threshold: only noisy counts above it are published."""

    @property
    @abstractmethod
    def further(self) -> CellNoise | None:
        """The noise of the further measures; None without any."""

    # ---------------------------------------------------------------- privacy

    @abstractmethod
    def proved_delta(self, epsilon: Fraction, delta: Fraction, person: PersonDraws) -> Fraction:
        """Return the delta to charge, which is at most ``delta``; refuse noise that (epsilon, delta) is not proved for.

        The proof is of all tables of a release together, which have this noise.
        """

    @abstractmethod
    def named_alone(self, draws: int, step: int) -> Fraction:
        """Return an upper bound of the probability that any of so many groups of one person is named."""

    # ---------------------------------------------------------------- drawing

    def name_groups(self, counts: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Return the indices of the named groups and their noisy counts; true counts are not kept.

        Parameters
        ----------
        counts
            The true counts, a row for each group and a column for each measure. A group whose first count is 0 is not
            named, since other tables do not have it.
        bits
            The source of randomness.
        """
        first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
        named = np.flatnonzero((first > self.reach) & (counts[:, 0] > 0))
        reports = np.empty((named.size, self.measures), np.int64)
        reports[:, 0] = first[named]
        if self.further is not None:
            reports[:, 1:] = self.further.draw(np.ascontiguousarray(counts[named, 1:]), bits)
        return named, reports

    # ---------------------------------------------------------------- accuracy

    def accuracy(self, reported: object, level: object = Fraction(19, 20)) -> SelectedAccuracy:
        coverage, reports = read_level(level), self._flat(reported)
        low, high = self.intervals(reports, coverage)
        certain_low, certain_high = np.zeros(reports.size, np.int64), np.full(reports.size, NO_END)
        first = slice(None, None, self.measures)
        certain_low[first], certain_high[first] = self._certain(reports[first])
        return SelectedAccuracy(coverage, low, high, *self.figures(reports.size), certain_low, certain_high)

    @abstractmethod
    def _certain(self, reports: IntArray) -> Intervals:
        """Return the intervals that always contain the true counts of named groups."""

    @abstractmethod
    def _selected(self, coverage: Fraction) -> Intervals:
        """Return the intervals of the reports D + 1, D + 2, ..., given that the group is named."""

    def intervals(self, reported: object, coverage: Fraction) -> tuple[IntArray, IntArray]:
        """Return intervals with this coverage for the true counts of named groups, given that they were named."""
        reports = self._flat(reported).reshape(-1, self.measures)
        low, high = np.zeros(reports.shape, np.int64), np.zeros(reports.shape, np.int64)
        least, most = self._selected(coverage)
        first = self.reach + 1
        listed = np.clip(reports[:, 0], first, first + least.size - 1)  # from the last on, intervals are shifted
        low[:, 0] = least[listed - first] + reports[:, 0] - listed
        high[:, 0] = most[listed - first] + reports[:, 0] - listed
        if self.further is not None:
            others = self.further.intervals(np.ascontiguousarray(reports[:, 1:]), coverage)
            low[:, 1:], high[:, 1:] = (one.reshape(-1, self.measures - 1) for one in others)
        return low.reshape(-1), high.reshape(-1)

    @cached_property
    @abstractmethod
    def _bias(self) -> float:
        """The mean of report minus truth for a group of one, given that it is named: the largest of all groups."""

    def figures(self, size: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return for each cell the largest sd, least and largest bias and least probability of the truth.

        A group of one is named with a report above D, which is not its count. The noise is log-concave, so truncation
        reduces its variance, and the mean of what is left falls as groups grow.
        """
        figures = np.zeros((4, size // self.measures, self.measures))
        sd, _, _, _ = CellNoise((self.naming,)).figures(1)
        figures[0, :, 0], figures[2, :, 0] = sd[0], self._bias
        if self.further is not None:
            figures[:, :, 1:] = np.stack(self.further.figures(1))[:, :, None]
        return tuple(figures.reshape(4, -1))  # type: ignore[return-value]

    @abstractmethod
    def expected(self, level: object = Fraction(19, 20)) -> ExpectedSelected:
        """Return the worst case over the true counts of named groups, given that they are named."""

    def _expected(self, kind: type[ExpectedSelected], coverage: Fraction, widest: int) -> ExpectedSelected:
        """Return the worst case, of which a count that names its group is at most ``widest`` off."""
        unselected = CellNoise(self.mechanisms[:1]).expected(coverage)
        sd, bias_low, bias_high, exact = self.figures(self.measures)
        other = None if self.further is None else self.further.expected(coverage).half_width
        return kind(
            coverage, max(widest, other or 0), float(sd.max()), float(bias_low.min()), float(bias_high.max()),
            float(exact.min()), self.reach, unselected.half_width, other,
        )  # fmt: skip

    def widest_interval(self, coverage: Fraction) -> int:
        """Return the largest width (high - low) of an interval of a named group."""
        least, most = self._selected(coverage)
        others = None if self.further is None else widest_interval(self.further, coverage)
        return max(int((most - least).max()), others or 0)

    # ---------------------------------------------------------------- words

    @abstractmethod
    def large_group_in_words(self, several: str) -> str:
        """Return from which size on a group is named, as a sentence."""

    @property
    @abstractmethod
    def bias_in_words(self) -> str:
        """Return how far small counts are too high on average, as a clause."""

    @abstractmethod
    def error_in_words(self, level: Fraction) -> str:
        """Return sentences on the noise of published counts and on their bias."""

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "measures": self.measures}


def read_measures(description: Mapping[str, object]) -> int:
    """Return the number of measures in a description."""
    measures = description.get("measures")
    if type(measures) is not int or measures < 1:
        raise InvalidInput("the noise of discovered groups says for how many measures it is.", argument="measures")
    return measures
