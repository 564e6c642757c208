"""The two kinds of noise that name groups, and the choice of the one with the lower threshold.

With truncated geometric noise one interval always contains the true count n of a report y: noise never exceeds D and a
group of nobody is never named, so ``max(1, y - D) <= n <= y + D``. The discrete Gaussian is unbounded: n is at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...exact.laws import Finite, Gaussian, Interval
from ...exact.rationals import as_fraction, bound_up, claimed, float_up, read_alpha, text_up
from ...mechanisms.gaussian import discrete_gaussian
from ...mechanisms.geometric import bounded_geometric, two_sided_geometric
from ...privacy.certificate import Privacy
from ...privacy.compose import compose
from ...privacy.gaussian_thresholds import LARGEST_THRESHOLD, GaussianThreshold, least_threshold
from ...privacy.partition_selection import least_reach, lost_by_any, naming_delta_up
from ...report import Json
from ...wording import percent
from .accuracy import NO_END, quantile, read_level
from .cells import CellNoise
from .discovered import DiscoveredNoise, ExpectedSelected, Intervals, PersonDraws, read_measures

AnyResult = TypeVar("AnyResult")

#: The family of the truncated noise that names groups.
NAMING_FAMILY = "bounded_geometric"

#: Bits of the tails of the discrete Gaussian.
_BITS = 320

#: Probability of noise that is ignored in the interval of a large count, which is made that much wider.
_FAR_PROBABILITY = Fraction(1, 2**60)

#: Probability with which a group of the size that a plan states is named, with Gaussian noise.
_NEARLY_ALWAYS = Fraction(999, 1000)


def _unproved(noise: DiscoveredNoise, epsilon: Fraction, delta: Fraction) -> InvalidInput:
    return InvalidInput(
        f"a threshold of {noise.reach} does not give delta = {float(delta):g} with epsilon = {float(epsilon):g}.",
        "Ask for a larger delta.",
        argument="delta",
    )


# ------------------------------------------------------------------------------------------------ truncated geometric


@dataclass(frozen=True, eq=False, repr=False)
class BoundedNaming(DiscoveredNoise):
    """Truncated geometric noise on [-D, D] for the count that names a group; geometric noise for further ones."""

    @property
    def _fits(self) -> bool:
        families = [mechanism.family for mechanism in self.mechanisms]
        return families == [NAMING_FAMILY, "two_sided_geometric"][: min(self.measures, 2)]

    @cached_property
    def law(self) -> Finite:
        noise = self.naming.kernel.noise
        assert noise is not None and isinstance(noise.law, Finite)
        return noise.law

    @property
    def reach(self) -> int:
        """D, the threshold and the largest noise."""
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
        return CellNoise(self.mechanisms[1:], None, "clamped", 0) if self.measures > 1 else None

    # ---------------------------------------------------------------- privacy

    def charges(self, sensitivity: int, draws: int, epsilon: Fraction, step: int = 1) -> list[tuple[Privacy, int]]:
        """Return the losses of one unit: its draws that may name a group, and the other counts that it can move.

        ``epsilon`` is the part of each draw for a change by one, an upper bound of the epsilon of its noise:
        ``e^-epsilon <= alpha``.
        """
        each = step * epsilon
        naming = [(Privacy(epsilon=each, delta=naming_delta_up(self.alpha, self.reach, step)), draws)]
        return [*naming, (Privacy(epsilon=each), sensitivity - draws)] if sensitivity > draws else naming

    def proved_delta(self, epsilon: Fraction, delta: Fraction, person: PersonDraws) -> Fraction:
        """Return ``1 - (1 - delta_1)^m`` for the m draws of a person, which the judge composes."""
        each = epsilon / (person.moved * person.step)
        alphas = [Fraction(str(mechanism.parameters["alpha"])) for mechanism in self.mechanisms]
        if any(alpha != read_alpha(None, each) for alpha in alphas):
            raise InvalidInput("this noise is not that of the epsilon that is stated for it.", argument="epsilon")
        if self.reach < person.step:
            raise _unproved(self, epsilon, delta)
        needed = min(delta, claimed(bound_up(self.named_alone(person.draws, person.step))))
        if not compose(self.charges(person.moved, person.draws, each, person.step)).holds(epsilon, needed):
            raise _unproved(self, epsilon, delta)
        return needed

    def named_alone(self, draws: int, step: int) -> Fraction:
        return lost_by_any(naming_delta_up(self.alpha, self.reach, step), draws)

    # ---------------------------------------------------------------- accuracy

    def _certain(self, reports: IntArray) -> Intervals:
        return np.maximum(1, reports - self.reach), reports + self.reach

    def _selected(self, coverage: Fraction) -> Intervals:
        return conditional_intervals(self.law, coverage)

    @cached_property
    def _bias(self) -> float:
        """The count of a group of one is D + 1 if it is named, which is D too high."""
        return self.reach

    def expected(self, level: object = Fraction(19, 20)) -> ExpectedSelected:
        """Return the worst case over the true counts of named groups, given that they are named.

        It is a group of one person: given that it is named, its count is D + 1, which is D too high. Groups of 2D + 1
        or more are always named, and their counts have the noise without selection.
        """
        return self._expected(ExpectedSelected, read_level(level), self.reach)

    # ---------------------------------------------------------------- words

    def large_group_in_words(self, several: str) -> str:
        return f"A group of {2 * self.reach + 1:,} {several} or more is always named."

    @property
    def bias_in_words(self) -> str:
        return f"by up to {self.reach:,}"

    def error_in_words(self, level: Fraction) -> str:
        return (
            f"The noise of a count has a standard deviation of at most {text_up(self.expected(level).sd, 3)} and never "
            f"exceeds {self.reach:,}. Only counts above {self.reach:,} are published: those of groups of fewer than "
            f"{2 * self.reach + 1:,} are too high on average, by up to {self.reach:,}; all others are unbiased."
        )


def discovered_noise(epsilon: Fraction, delta: Fraction, draws: int, measures: int, step: int = 1) -> BoundedNaming:
    """Make the truncated noise with which a draw has this epsilon for each step, and all of one unit this delta.

    >>> discovered_noise(Fraction(1, 5), Fraction(1, 10**8), draws=5, measures=1).reach
    89
    """
    alpha = read_alpha(None, epsilon)
    mechanisms = [bounded_geometric(least_reach(alpha, delta, draws, step), alpha=alpha)]
    if measures > 1:
        mechanisms.append(two_sided_geometric(alpha=alpha))
    return BoundedNaming(tuple(mechanisms), None, "clamped", 0, None, False, measures)


# ------------------------------------------------------------------------------------------------ discrete Gaussian


@dataclass(frozen=True)
class ExpectedUnbounded(ExpectedSelected):
    """The accuracy of the counts of groups that discrete Gaussian noise names."""

    @property
    def how_often(self) -> str:
        return super(ExpectedSelected, self).how_often

    def __str__(self) -> str:
        often = f"{percent(self.level, 6)} of the time"
        return (
            f"noise of a published count ± {self.half_width:,}, {often}; counts of small groups are too high on "
            f"average, by at most {text_up(self.bias_high, 3)}; in large ones noise ± "
            f"{self.half_width_when_unbiased:,}, {often}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNaming(DiscoveredNoise):
    """The same discrete Gaussian noise for all counts of a group.

    Attributes
    ----------
    threshold
        T: a group is named if its first noisy count is at least T.
    """

    threshold: int = 0

    @property
    def _fits(self) -> bool:
        families = [mechanism.family for mechanism in self.mechanisms]
        within = type(self.threshold) is int and 1 < self.threshold <= LARGEST_THRESHOLD
        return within and families == ["discrete_gaussian"] and isinstance(self.shift_law, Gaussian)

    @cached_property
    def law(self) -> Gaussian:
        noise = self.naming.kernel.noise
        assert noise is not None and isinstance(noise.law, Gaussian)
        return noise.law

    @property
    def reach(self) -> int:
        """T - 1, so that counts above it are published, as with the other noise."""
        return self.threshold - 1

    @cached_property
    def further(self) -> CellNoise | None:
        return CellNoise(self.mechanisms, None, "clamped", 0) if self.measures > 1 else None

    # ---------------------------------------------------------------- privacy

    def proved_delta(self, epsilon: Fraction, delta: Fraction, person: PersonDraws) -> Fraction:
        """Return all of ``delta``: the threshold is a whole number, but the variance uses up what is left."""
        judged = GaussianThreshold(self.law.sigma2, self.threshold, person.counts, person.replaced, person.step)
        if not judged.holds(epsilon, delta):
            raise _unproved(self, epsilon, delta)
        return delta

    def named_alone(self, draws: int, step: int) -> Fraction:
        return GaussianThreshold(self.law.sigma2, self.threshold, (1,) * draws, step=step).named_by(draws)

    # ---------------------------------------------------------------- accuracy

    def _certain(self, reports: IntArray) -> Intervals:
        return np.ones(reports.size, np.int64), np.full(reports.size, NO_END)

    def _selected(self, coverage: Fraction) -> Intervals:
        return _gaussian_intervals(self.law, self.threshold, coverage)

    @cached_property
    def _bias(self) -> float:
        """E[Z | Z >= T - 1], rounded up: the sum of P(Z >= z) over z >= T - 1, over its first term, and T - 2."""
        first = self.threshold - 1
        above = quantile(self.law, _FAR_PROBABILITY**2)
        tails = [self.law.tail(z, _BITS)[1] for z in range(first, max(first, above) + 2)]
        low, _ = self.law.tail(first, _BITS)
        return float_up(first - 1 + Fraction(sum(tails), low) + Fraction(1, 2**20))

    def _widest(self, coverage: Fraction) -> int:
        """Return the half-width for a group of one: the least w with P(Z > w) <= (1 - coverage) P(Z >= T - 1)."""
        named = Fraction(self.law.tail(self.threshold - 1, _BITS)[0], 1 << _BITS)
        return quantile(self.law, (1 - coverage) * named)

    def expected(self, level: object = Fraction(19, 20)) -> ExpectedSelected:
        """Return the worst case over the true counts of named groups, given that they are named: a group of one.

        Its noise exceeds T - 2, and P(Z > w | Z >= t) grows with t as the noise is log-concave.
        """
        coverage = read_level(level)
        return self._expected(ExpectedUnbounded, coverage, self._widest(coverage))

    # ---------------------------------------------------------------- words

    def large_group_in_words(self, several: str) -> str:
        size = self.threshold + quantile(self.law, 1 - _NEARLY_ALWAYS)
        return f"A group of {size:,} {several} or more is named at least {percent(_NEARLY_ALWAYS)} of the time."

    @property
    def bias_in_words(self) -> str:
        return f"by up to {text_up(self._bias, 3)}"

    def error_in_words(self, level: Fraction) -> str:
        return (
            f"The noise of a count has a standard deviation of at most {text_up(self.expected(level).sd, 3)}. Only "
            f"counts above {self.reach:,} are published: those of small groups are too high on average, "
            f"{self.bias_in_words}; those of large ones are unbiased."
        )

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "threshold": self.threshold}


# ------------------------------------------------------------------------------------------------ the choice


def chosen_noise(
    epsilon: Fraction, delta: Fraction, person: PersonDraws, measures: Sequence[int]
) -> list[DiscoveredNoise]:
    """Return the noise with the lower threshold, for tables with these numbers of measures.

    The choice depends on public numbers alone. For one count of one group the truncated noise has the lowest threshold
    that there is.
    """
    each = epsilon / (person.moved * person.step)

    def bounded() -> list[DiscoveredNoise]:
        return [discovered_noise(each, delta, person.draws, many, person.step) for many in measures]

    if person.moved == person.step == 1:
        return bounded()
    reach = _or_refusal(lambda: least_reach(read_alpha(None, each), delta, person.draws, person.step))
    least = _or_refusal(lambda: least_threshold(epsilon, delta, person.counts, person.replaced, person.step))
    if isinstance(least, InvalidInput):
        if isinstance(reach, InvalidInput):
            raise reach
        return bounded()
    if not isinstance(reach, InvalidInput) and reach < least.threshold:  # D against T - 1; the truncated noise if equal
        return bounded()
    mechanism = discrete_gaussian(sigma2=least.sigma2)
    return [GaussianNaming((mechanism,), None, "clamped", 0, None, False, many, least.threshold) for many in measures]


def _or_refusal(search: Callable[[], AnyResult]) -> AnyResult | InvalidInput:
    """Return the result of a search, or its refusal where no threshold is small enough."""
    try:
        return search()
    except InvalidInput as refusal:
        return refusal


def naming_from_json(description: Mapping[str, object]) -> DiscoveredNoise:
    """Rebuild the noise that ``to_json`` wrote: the one with a threshold of its own is Gaussian."""
    noise = CellNoise.from_json(description)
    measures = read_measures(description)
    gaussian = "threshold" in description
    if noise.which is not None or len(noise.mechanisms) != (1 if gaussian else min(measures, 2)):
        raise InvalidInput("discovered groups have one noise, and further measures another.", argument="mechanisms")
    fields = (noise.mechanisms, noise.which, noise.output, noise.low, noise.high, noise.known, measures)
    if gaussian:
        threshold = description["threshold"]
        if type(threshold) is not int:
            raise InvalidInput.must_be("threshold", "a whole number", threshold)
        return GaussianNaming(*fields, threshold)
    return BoundedNaming(*fields)


# ------------------------------------------------------------------------------------------------ intervals


def conditional_intervals(law: Finite, coverage: Fraction) -> Intervals:
    """Return the intervals of the reports y = D+1..3D+1, given that the group is named.

    The report Y of a true count n has the law of n + Z, given that it is above D. The interval of y contains n if both
    P(Y >= y) and P(Y <= y) exceed (1 - coverage)/2. The noise is log-concave, so the first grows with n, the second
    falls, and these n form a range. The decision is exact, in integers.
    """
    reach = law.high
    tails = [0]
    for weight in law.weights:  # the law is symmetric, so sums from below are sums from above
        tails.append(tails[-1] + weight)

    def at_least(z: int) -> Interval:
        weight = tails[min(max(reach - z + 1, 0), 2 * reach + 1)]
        return weight, weight

    return _intervals(at_least, reach + 1, 3 * reach + 1, (1 - coverage) / 2)


@lru_cache(maxsize=32)
def _gaussian_intervals(law: Gaussian, threshold: int, coverage: Fraction) -> Intervals:
    """Return the same intervals for the discrete Gaussian, with every error on the wide side.

    The interval of a report y from T + 2R on is its unselected one, which is a little wider: the n in it are at least
    T + R, which are named with probability 1 - 2^-60 at least.
    """
    far = quantile(law, _FAR_PROBABILITY)
    last = threshold + 2 * far + 1
    low, high = _intervals(lambda z: law.tail(z, _BITS), threshold, last - 1, (1 - coverage) / 2)
    width = quantile(law, (1 - coverage) / 2 * (1 - 2 * _FAR_PROBABILITY))
    return np.append(low, last - width), np.append(high, last + width)


def _intervals(tail: Callable[[int], Interval], first: int, last: int, share: Fraction) -> Intervals:
    """Return the intervals of the reports first..last, if those from ``first`` on are published.

    ``tail`` returns bounds of P(Z >= z) times a constant.
    """

    def exceeds_share(part: int, n: int) -> bool:
        return part * share.denominator > tail(first - n)[0] * share.numerator

    low, high = [], []
    least = most = 1
    for y in range(first, last + 1):
        while not exceeds_share(tail(y - least)[1], least):
            least += 1
        while exceeds_share(tail(first - (most + 1))[1] - tail(y - most)[0], most + 1):
            most += 1
        low.append(least)
        high.append(most)
    return np.array(low, np.int64), np.array(high, np.int64)
