"""The noise of groups not known in advance: bounded noise that names a group where it lifts its count above D.

The first measure of a table names its groups (:mod:`discreet.privacy.partition_selection` has the law and the proof).
Further measures have ordinary geometric noise and are drawn for named groups alone.

A count that was published has been selected. What is said of it is conditional on that: given that the group was named,
the interval of a report contains the true count at least as often as the level says, whatever the true count is. One
interval always contains it: noise never exceeds D, and a group of nobody is never named, so that
``max(1, y - D) <= n <= y + D``.
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

#: The family of the noise that names groups.
FAMILY = "bounded_geometric"


@dataclass(frozen=True, eq=False)
class SelectedAccuracy(Accuracy):
    """What is known of selected counts: beside the interval at the level, one that always contains the true count.

    Attributes
    ----------
    certain_low, certain_high
        The ends of that interval; ``certain_high`` is ``NO_END`` for a measure whose noise has no end.
    """

    certain_low: IntArray
    certain_high: IntArray


@dataclass(frozen=True)
class ExpectedSelected(Expected):
    """What can be said of published counts before the data is read: those of groups that are named.

    Attributes
    ----------
    reach
        D: what the noise of the count that names a group never exceeds, and its largest bias.
    half_width_when_unbiased
        The same as ``half_width``, for groups of 2D + 1 or more, whose counts are unbiased.
    half_width_of_others
        The same for the further measures of a table; None where there are none.
    """

    reach: int
    half_width_when_unbiased: int
    half_width_of_others: int | None

    @property
    def how_often(self) -> str:
        if self.half_width_of_others is not None:  # their noise has no end
            return super().how_often
        return (
            f"at most; ± {self.half_width_when_unbiased:,}, {percent(self.level, 6)} of the time, in groups of "
            f"{2 * self.reach + 1:,} or more"
        )

    def __str__(self) -> str:
        often = f"{percent(self.level, 6)} of the time"
        said = (
            f"the noise of a published count never exceeds ± {self.reach:,}; in groups of fewer than "
            f"{2 * self.reach + 1:,} counts are too high on average, by at most {self.reach:,}; in larger ones they "
            f"are unbiased, noise ± {self.half_width_when_unbiased:,}, {often}"
        )
        if self.half_width_of_others is None:
            return said
        return f"{said}; further measures: noise ± {self.half_width_of_others:,}, {often}"


@dataclass(frozen=True, eq=False, repr=False)
class DiscoveredNoise(CellNoise):
    """What is done to the cells of groups that are not known. Made by :func:`discovered_noise`.

    Attributes
    ----------
    measures
        How many counts each group has; the first names it. The others have the second mechanism.
    """

    measures: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = (self.output, self.low, self.which, self.high, self.known) == ("clamped", 0, None, None, False)
        families = [mechanism.family for mechanism in self.mechanisms]
        if not plain or families != [FAMILY, "two_sided_geometric"][: min(self.measures, 2)]:
            raise InvalidInput(
                "this is not the noise of groups that are discovered: bounded geometric noise for the first measure, "
                "geometric noise for the others.",
                argument="mechanisms",
            )

    @property
    def naming(self) -> Mechanism:
        """The mechanism that decides whether a group is named, and gives its first count."""
        return self.mechanisms[0]

    @cached_property
    def law(self) -> Finite:
        noise = self.naming.kernel.noise
        assert noise is not None and isinstance(noise.law, Finite)
        return noise.law

    @property
    def reach(self) -> int:
        """D: only noisy counts above it are published."""
        return self.law.high

    @property
    def alpha(self) -> Fraction:
        return as_fraction(self.naming.parameters["alpha"])

    @property
    def delta(self) -> Fraction:
        """The probability that a group of one person is named, rounded up."""
        return naming_delta_up(self.alpha, self.reach)

    @cached_property
    def _further(self) -> CellNoise | None:
        return CellNoise(self.mechanisms[1:], None, "clamped", 0) if self.measures > 1 else None

    def charges(self, sensitivity: int, draws: int, epsilon: Fraction) -> list[tuple[Privacy, int]]:
        """What one unit pays: so many draws that may name a group, and the other counts it can move.

        ``epsilon`` is the part of each draw. Its noise has no more: ``e^-epsilon <= alpha``.
        """
        paid = [(Privacy(epsilon=epsilon, delta=self.delta), draws)]
        return [*paid, (Privacy(epsilon=epsilon), sensitivity - draws)] if sensitivity > draws else paid

    # ---------------------------------------------------------------- drawing

    def name_groups(self, counts: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Which groups are named, and their noisy counts; the true ones are not kept.

        Parameters
        ----------
        counts
            The true counts, a row for each group and a column for each measure.
        bits
            Where randomness comes from.
        """
        first = CellNoise((self.naming,)).draw(counts[:, 0], bits)
        named = np.flatnonzero(first > self.reach)
        reports = np.empty((named.size, self.measures), np.int64)
        reports[:, 0] = first[named]
        if self._further is not None:
            reports[:, 1:] = self._further.draw(np.ascontiguousarray(counts[named, 1:]), bits)
        return named, reports

    # ---------------------------------------------------------------- accuracy

    def accuracy(self, reported: object, level: object = Fraction(19, 20)) -> SelectedAccuracy:
        share, reports = read_level(level), self._flat(reported)
        low, high = self.intervals(reports, share)
        certain_low, certain_high = np.zeros(reports.size, np.int64), np.full(reports.size, NO_END)
        first = slice(None, None, self.measures)
        certain_low[first] = np.maximum(1, reports[first] - self.reach)
        certain_high[first] = reports[first] + self.reach
        return SelectedAccuracy(share, low, high, *self.figures(reports.size), certain_low, certain_high)

    def intervals(self, reported: object, level: Fraction) -> tuple[IntArray, IntArray]:
        """Intervals that contain the true count of a named group at least this often, given that it was named."""
        reports = self._flat(reported).reshape(-1, self.measures)
        low, high = np.zeros(reports.shape, np.int64), np.zeros(reports.shape, np.int64)
        least, most = conditional_intervals(self.law, level)
        first, last = self.reach + 1, 3 * self.reach + 1  # from the last on everything is shifted
        place = np.clip(reports[:, 0], first, last)
        low[:, 0] = least[place - first] + reports[:, 0] - place
        high[:, 0] = most[place - first] + reports[:, 0] - place
        if self._further is not None:
            others = self._further.intervals(np.ascontiguousarray(reports[:, 1:]), level)
            low[:, 1:], high[:, 1:] = (one.reshape(-1, self.measures - 1) for one in others)
        return low.reshape(-1), high.reshape(-1)

    def figures(self, size: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of each cell: the largest sd, the least and the largest bias, the least probability of the truth.

        Given that its group is named, the count of one person is D + 1, so that it is D too high; from 2D + 1 on a
        group is always named, and its count unbiased. The noise has a log-concave law: cutting it off makes its
        variance smaller.
        """
        figures = np.zeros((4, size // self.measures, self.measures))
        sd, _, _, _ = CellNoise((self.naming,)).figures(1)
        figures[0, :, 0], figures[2, :, 0] = sd[0], self.reach
        if self._further is not None:
            figures[:, :, 1:] = np.stack(self._further.figures(1))[:, :, None]
        return tuple(figures.reshape(4, -1))  # type: ignore[return-value]

    def expected(self, level: object = Fraction(19, 20)) -> ExpectedSelected:
        """The worst case over the true counts of groups that are named, given that they are.

        It is a group of one person: given that it is named, its count is D + 1, and so D too high. From 2D + 1 on
        groups are always named, and their counts have the noise as it is.
        """
        share, sizes = read_level(level), CellNoise(self.mechanisms[:1]).expected(level)
        sd, bias_low, bias_high, exact = self.figures(self.measures)
        other = None if self._further is None else self._further.expected(level).half_width
        return ExpectedSelected(
            share, max(self.reach, other or 0), float(sd.max()), float(bias_low.min()), float(bias_high.max()),
            float(exact.min()), self.reach, sizes.half_width, other,
        )  # fmt: skip

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "measures": self.measures}

    @classmethod
    def from_json(cls, description: Mapping[str, object]) -> DiscoveredNoise:
        plain = CellNoise.from_json(description)
        measures = description.get("measures")
        if type(measures) is not int or measures < 1:
            raise InvalidInput("the noise of discovered groups says for how many measures it is.", argument="measures")
        if plain.which is not None or len(plain.mechanisms) != min(measures, 2):
            raise InvalidInput("discovered groups have one noise, and further measures another.", argument="mechanisms")
        return cls(plain.mechanisms, plain.which, plain.output, plain.low, plain.high, plain.known, measures)


def discovered_noise(epsilon: Fraction, delta: Fraction, draws: int, measures: int) -> DiscoveredNoise:
    """The noise with which so many draws of one unit have this delta together, and each of them this epsilon.

    >>> discovered_noise(Fraction(1, 5), Fraction(1, 10**8), draws=5, measures=1).reach
    89
    """
    alpha = read_alpha(None, epsilon)
    mechanisms = [bounded_geometric(least_reach(alpha, delta, draws), alpha=alpha)]
    if measures > 1:
        mechanisms.append(two_sided_geometric(alpha=alpha))
    return DiscoveredNoise(tuple(mechanisms), None, "clamped", 0, None, False, measures)


def conditional_intervals(law: Finite, level: Fraction) -> tuple[IntArray, IntArray]:
    """The intervals of the reports y = D+1..3D+1, given that the group is named; those of larger y are shifted.

    A true count n is reported as Y with the law of n + Z, given that it is above D. It belongs to the interval of y if
    neither P(Y >= y) nor P(Y <= y) is (1 - level)/2 or less. The first grows with n and the second falls, as the noise
    is log-concave, so that these are the numbers from one to another. Decided in whole numbers.
    """
    reach, share = law.high, (1 - level) / 2
    tails = [0]
    for weight in law.weights:  # symmetric: sums from below are sums from above
        tails.append(tails[-1] + weight)

    def at_least(z: int) -> int:
        """The weight of Z >= z."""
        return tails[min(max(reach - z + 1, 0), 2 * reach + 1)]

    def more_than_share(part: int, n: int) -> bool:
        return part * share.denominator > at_least(reach + 1 - n) * share.numerator

    low, high = [], []
    least = most = 1
    for y in range(reach + 1, 3 * reach + 2):
        while not more_than_share(at_least(y - least), least):
            least += 1
        while more_than_share(at_least(reach - most) - at_least(y - most), most + 1):
            most += 1
        low.append(least)
        high.append(most)
    return np.array(low, np.int64), np.array(high, np.int64)
