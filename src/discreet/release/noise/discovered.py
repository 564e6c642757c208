"""Noise for groups that are not known in advance: a group is named if its noisy count exceeds the threshold D.

The first measure of a table names its groups (:mod:`discreet.privacy.partition_selection` has the law and the proof).
Further measures have ordinary geometric noise and are drawn for named groups alone.

Published counts are selected by their size, so every statement about them is conditional: for any true count, given
that the group was named, the interval has at least the stated coverage. One interval always contains the true count n
of a report y: noise never exceeds D and an empty group is never named, so ``max(1, y - D) <= n <= y + D``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import FloatArray, IntArray
from ...exact.bits import Bits
from ...exact.laws import Finite
from ...exact.rationals import as_fraction, read_alpha
from ...mechanism import Mechanism
from ...mechanisms.geometric import bounded_geometric, two_sided_geometric
from ...privacy.certificate import Privacy
from ...privacy.partition_selection import least_reach, naming_delta_up
from ...report import Json
from ...wording import percent
from .accuracy import NO_END, Accuracy, Expected, read_level
from .cells import CellNoise
from .worst_cases import widest_interval

#: The family of the noise that names groups.
NAMING_FAMILY = "bounded_geometric"


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
        D, the largest noise and the largest bias of the count that names a group.
    half_width_when_unbiased
        The half-width for groups of 2D + 1 or more, whose counts are unbiased.
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
    """The noise of the cells of discovered groups. Made by :func:`discovered_noise`.

    Attributes
    ----------
    measures
        Number of counts of each group; the first names it, the others have the second mechanism.
    """

    measures: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        unbounded = (self.output, self.low, self.which, self.high, self.known) == ("clamped", 0, None, None, False)
        families = [mechanism.family for mechanism in self.mechanisms]
        if not unbounded or families != [NAMING_FAMILY, "two_sided_geometric"][: min(self.measures, 2)]:
            raise InvalidInput(
                "this is not the noise of groups that are discovered: bounded geometric noise for the first measure, "
                "geometric noise for the others.",
                argument="mechanisms",
            )

    @property
    def naming(self) -> Mechanism:
        """The mechanism of the first count of a group, which decides whether the group is named."""
        return self.mechanisms[0]

    @cached_property
    def law(self) -> Finite:
        noise = self.naming.kernel.noise
        assert noise is not None and isinstance(noise.law, Finite)
        return noise.law

    @property
    def reach(self) -> int:
        """D, the threshold: only noisy counts above it are published."""
        return self.law.high

    @property
    def alpha(self) -> Fraction:
        return as_fraction(self.naming.parameters["alpha"])

    @property
    def delta(self) -> Fraction:
        """The probability that a group of one person is named, rounded up."""
        return naming_delta_up(self.alpha, self.reach)

    @cached_property
    def further(self) -> CellNoise | None:
        """The noise of the further measures; None without any."""
        return CellNoise(self.mechanisms[1:], None, "clamped", 0) if self.measures > 1 else None

    def charges(self, sensitivity: int, draws: int, epsilon: Fraction) -> list[tuple[Privacy, int]]:
        """Return the losses of one unit: its draws that may name a group, and the other counts that it can move.

        ``epsilon`` is the part of each draw, an upper bound of the epsilon of its noise: ``e^-epsilon <= alpha``.
        """
        naming = [(Privacy(epsilon=epsilon, delta=self.delta), draws)]
        return [*naming, (Privacy(epsilon=epsilon), sensitivity - draws)] if sensitivity > draws else naming

    # ---------------------------------------------------------------- drawing

    def name_groups(self, counts: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Return the indices of the named groups and their noisy counts; true counts are not kept.

        Parameters
        ----------
        counts
            The true counts, a row for each group and a column for each measure.
        bits
            The source of randomness.
        """
        first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
        named = np.flatnonzero(first > self.reach)
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
        certain_low[first] = np.maximum(1, reports[first] - self.reach)
        certain_high[first] = reports[first] + self.reach
        return SelectedAccuracy(coverage, low, high, *self.figures(reports.size), certain_low, certain_high)

    def intervals(self, reported: object, coverage: Fraction) -> tuple[IntArray, IntArray]:
        """Return intervals with this coverage for the true counts of named groups, given that they were named."""
        reports = self._flat(reported).reshape(-1, self.measures)
        low, high = np.zeros(reports.shape, np.int64), np.zeros(reports.shape, np.int64)
        least, most = conditional_intervals(self.law, coverage)
        first, last = self.reach + 1, 3 * self.reach + 1  # from the last on, intervals are shifted
        listed = np.clip(reports[:, 0], first, last)
        low[:, 0] = least[listed - first] + reports[:, 0] - listed
        high[:, 0] = most[listed - first] + reports[:, 0] - listed
        if self.further is not None:
            others = self.further.intervals(np.ascontiguousarray(reports[:, 1:]), coverage)
            low[:, 1:], high[:, 1:] = (one.reshape(-1, self.measures - 1) for one in others)
        return low.reshape(-1), high.reshape(-1)

    def figures(self, size: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return for each cell the largest sd, least and largest bias and least probability of the truth.

        Given that it is named, a group of one person has the count D + 1, which is D too high. A group of 2D + 1 or
        more is always named, and its count is unbiased. The noise is log-concave, so truncation reduces its variance.
        """
        figures = np.zeros((4, size // self.measures, self.measures))
        sd, _, _, _ = CellNoise((self.naming,)).figures(1)
        figures[0, :, 0], figures[2, :, 0] = sd[0], self.reach
        if self.further is not None:
            figures[:, :, 1:] = np.stack(self.further.figures(1))[:, :, None]
        return tuple(figures.reshape(4, -1))  # type: ignore[return-value]

    def expected(self, level: object = Fraction(19, 20)) -> ExpectedSelected:
        """Return the worst case over the true counts of named groups, given that they are named.

        It is a group of one person: given that it is named, its count is D + 1, which is D too high. Groups of 2D + 1
        or more are always named, and their counts have the noise without selection.
        """
        coverage, unselected = read_level(level), CellNoise(self.mechanisms[:1]).expected(level)
        sd, bias_low, bias_high, exact = self.figures(self.measures)
        other = None if self.further is None else self.further.expected(level).half_width
        return ExpectedSelected(
            coverage, max(self.reach, other or 0), float(sd.max()), float(bias_low.min()), float(bias_high.max()),
            float(exact.min()), self.reach, unselected.half_width, other,
        )  # fmt: skip

    def widest_interval(self, coverage: Fraction) -> int:
        """Return the largest width (high - low) of an interval of a named group."""
        least, most = conditional_intervals(self.law, coverage)
        others = None if self.further is None else widest_interval(self.further, coverage)
        return max(int((most - least).max()), others or 0)

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "measures": self.measures}

    @classmethod
    def from_json(cls, description: Mapping[str, object]) -> DiscoveredNoise:
        noise = CellNoise.from_json(description)
        measures = description.get("measures")
        if type(measures) is not int or measures < 1:
            raise InvalidInput("the noise of discovered groups says for how many measures it is.", argument="measures")
        if noise.which is not None or len(noise.mechanisms) != min(measures, 2):
            raise InvalidInput("discovered groups have one noise, and further measures another.", argument="mechanisms")
        return cls(noise.mechanisms, noise.which, noise.output, noise.low, noise.high, noise.known, measures)


def discovered_noise(epsilon: Fraction, delta: Fraction, draws: int, measures: int) -> DiscoveredNoise:
    """Make the noise with which each draw has this epsilon and all draws of one unit together have this delta.

    >>> discovered_noise(Fraction(1, 5), Fraction(1, 10**8), draws=5, measures=1).reach
    89
    """
    alpha = read_alpha(None, epsilon)
    mechanisms = [bounded_geometric(least_reach(alpha, delta, draws), alpha=alpha)]
    if measures > 1:
        mechanisms.append(two_sided_geometric(alpha=alpha))
    return DiscoveredNoise(tuple(mechanisms), None, "clamped", 0, None, False, measures)


def conditional_intervals(law: Finite, coverage: Fraction) -> tuple[IntArray, IntArray]:
    """Return the intervals of the reports y = D+1..3D+1, given that the group is named.

    The report Y of a true count n has the law of n + Z, given that it is above D. The interval of y contains n if both
    P(Y >= y) and P(Y <= y) exceed (1 - coverage)/2. The noise is log-concave, so the first grows with n, the second
    falls, and these n form a range. The decision is exact, in integers.
    """
    reach, share = law.high, (1 - coverage) / 2
    tails = [0]
    for weight in law.weights:  # the law is symmetric, so sums from below are sums from above
        tails.append(tails[-1] + weight)

    def at_least(z: int) -> int:
        """Return the weight of Z >= z."""
        return tails[min(max(reach - z + 1, 0), 2 * reach + 1)]

    def exceeds_share(part: int, n: int) -> bool:
        return part * share.denominator > at_least(reach + 1 - n) * share.numerator

    low, high = [], []
    least = most = 1
    for y in range(reach + 1, 3 * reach + 2):
        while not exceeds_share(at_least(y - least), least):
            least += 1
        while exceeds_share(at_least(reach - most) - at_least(y - most), most + 1):
            most += 1
        low.append(least)
        high.append(most)
    return np.array(low, np.int64), np.array(high, np.int64)
