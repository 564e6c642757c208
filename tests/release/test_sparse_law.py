"""Sparse noise has the law of dense noise, exactly: enumerated in fractions, with faults that must be found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.exact.arrays import IntArray
from discreet.exact.bits import SeededBits
from discreet.exact.laws import Finite, Gaussian, GeometricTails, Law
from discreet.exact.sampling import TailSampler, WaitingTimes
from discreet.release.noise import sparse
from discreet.release.noise.cells import cell_noise
from discreet.release.noise.sparse import SparseNoise

NOISE = cell_noise("geometric", epsilon=1)
OCCUPIED, IMPOSSIBLE = np.array([1, 4]), np.array([2])
#: The probability of an empty cell to be published is a free number of the enumeration.
P = Fraction(1, 3)


class Replayed:
    """Waiting times that a test chose; after them the walk is over."""

    def __init__(self, steps: list[int], shift: int = 0) -> None:
        self.steps, self.shift = steps, shift

    def draw(self, size: int, bits: object) -> IntArray:
        now, self.steps = self.steps[:size], self.steps[size:]
        return np.array(now + [10**6] * (size - len(now))) + self.shift


def walks(size: int) -> Iterator[tuple[list[int], Fraction]]:
    """Yield all ways to walk over the cells, with their probabilities."""
    for stops in range(size + 1):
        for cells in combinations(range(size), stops):
            steps = np.diff([-1, *cells]) - 1
            passed = size - stops
            yield steps.tolist(), P**stops * (1 - P) ** passed


def published(size: int, shift: int = 0, impossible: IntArray = IMPOSSIBLE) -> dict[tuple[int, ...], Fraction]:
    """Return the law of the published empty cells, by the code that releases run."""
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for steps, probability in walks(size):
        noise = SparseNoise(NOISE, 3, size)
        noise.__dict__["_waiting_times"] = Replayed(steps, shift)
        law[tuple(noise._empty(OCCUPIED, impossible, SeededBits(0)).tolist())] += probability
    return dict(law)


def dense(size: int) -> dict[tuple[int, ...], Fraction]:
    """Return the law if every cell is drawn for itself."""
    empty = [cell for cell in range(size) if cell not in {1, 4, 2}]
    return {
        cells: P ** len(cells) * (1 - P) ** (len(empty) - len(cells))
        for many in range(len(empty) + 1)
        for cells in combinations(empty, many)
    }


def test_the_published_empty_cells_have_the_law_of_drawing_every_cell() -> None:
    assert published(9) == dense(9)


def test_a_skip_that_is_off_by_one_is_found() -> None:
    assert published(7, shift=1) != dense(7) != published(7, shift=-1)


def test_a_hit_on_a_cell_that_holds_somebody_or_cannot_exist_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert published(7, impossible=np.zeros(0, np.int64)) != dense(7)
    monkeypatch.setattr(sparse, "_is_among", lambda cells, others: np.zeros(cells.size, bool))
    assert published(7) != dense(7)


@pytest.mark.parametrize("last", [-1, 0, 499, 998])
def test_the_next_stop_among_a_thousand_cells_is_at_its_place(last: int) -> None:
    """The walk depends on its last stop alone: after any of them, each next stop is one waiting time."""
    for cell in range(last + 1, 1000):
        noise = SparseNoise(NOISE, 3, 1000)
        noise.__dict__["_waiting_times"] = Replayed(([last] if last >= 0 else []) + [cell - last - 1])
        assert noise._hits(SeededBits(0)).tolist() == [*([last] if last >= 0 else []), cell]


def test_the_walk_goes_on_after_a_batch() -> None:
    """Each batch ends at a stop, from which the next one goes on."""
    noise = SparseNoise(NOISE, 3, 1000)

    class Always:
        def draw(self, size: int, bits: object) -> IntArray:
            return np.zeros(size, np.int64)

    noise.__dict__["_waiting_times"] = Always()
    assert noise._hits(SeededBits(0)).tolist() == list(range(1000))


# ------------------------------------------------------------------------------------------------ the two samplers

LAWS = [
    (GeometricTails.two_sided(Fraction(9, 10)), 30),
    (GeometricTails.laplace(Fraction(1, 2)), 1),
    (Gaussian(Fraction(1000, 3)), 90),
    (Gaussian(Fraction(1)), 1),
    (Finite(-3, [1, 2, 3, 4, 3, 2, 1]), 2),
]


def bounds(law: Law, z: int) -> tuple[Fraction, Fraction]:
    low, high = law.tail(z, 700)
    return Fraction(low, 1 << 700), Fraction(high, 1 << 700)


def ratio_of(law: Law, least: int) -> Callable[[int], tuple[int, int]]:
    return SparseNoise(NOISE, 1, 1).__class__._not_published.__get__(_Stub(law, least))


class _Stub:
    def __init__(self, law: Law, least: int) -> None:
        self._law, self.least = law, least


@pytest.mark.parametrize(("law", "least"), LAWS)
@pytest.mark.parametrize("end", [5, 10**9])
def test_a_waiting_time_is_geometric(law: Law, least: int, end: int) -> None:
    """Its digits are independent; the product of their exact probabilities is that of the number."""
    times = WaitingTimes(ratio_of(law, least), law.float_tail(least), end)
    low_p, _ = bounds(law, least)
    for number in (0, 1, 3, 255, 256, 70_000, 5_000_000):
        if number >= end or float(low_p) * number > 200:
            continue
        digits, rest = [], number
        exponent = times._exponent
        above, rest = divmod(rest, exponent)
        while exponent > 1:
            exponent //= times.BASE
            digit, rest = divmod(rest, exponent)
            digits.append(digit)
        low = high = Fraction(1)
        inversions = [times._above, *(times._digits if digits else [])]
        for inversion, digit in zip(inversions, [above, *digits], strict=True):
            upper, lower = (
                inversion._cumulative(digit, 500),
                (0, 0) if not digit else inversion._cumulative(digit - 1, 500),
            )
            low *= max(Fraction(upper[0] - lower[1], 1 << 500), Fraction(0))
            high *= Fraction(upper[1] - lower[0], 1 << 500)
        with localcontext(prec=150):
            exact = _decimal(low_p) * (1 - _decimal(low_p)) ** number
            for end_of_bounds in (low, high):
                assert abs(_decimal(end_of_bounds) / exact - 1) < Decimal("1e-90")


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize(("law", "least"), LAWS)
def test_the_tail_is_the_law_from_the_threshold_on(law: Law, least: int) -> None:
    def misses(sampler: TailSampler, from_: int) -> int:
        excess, missed = sampler._excess, 0
        inversion = excess._above if isinstance(excess, WaitingTimes) else excess
        for k in range(min(20, 1 << 30 if law.support[1] is None else law.support[1] - least)):
            low, high = (Fraction(end, 1 << 300) for end in inversion._cumulative(k, 300))
            below, above = bounds(law, from_ + k + 1)
            whole_low, whole_high = bounds(law, from_)
            missed += not (low <= 1 - below / whole_high and 1 - above / whole_low <= high and high - low < 2**-250)
        return missed

    assert misses(TailSampler(law, least), least) == 0
    if not isinstance(law, GeometricTails):  # a geometric tail forgets its threshold; the value itself shows it, below
        assert misses(TailSampler(law, least), least + 1) > 0
    values = TailSampler(law, least).draw(2000, SeededBits(3))
    assert values.min() == least


@pytest.mark.parametrize(("law", "least"), [*LAWS, (Gaussian(Fraction(4)), 10**6), (Finite(-2, [1, 1, 1, 1, 1]), 2)])
def test_bits_decide_as_the_law_says(law: Law, least: int) -> None:
    """Seeded draws against the law, within five standard deviations; the law from the next threshold is not."""
    p, end = law.float_tail(least), 1000
    times = WaitingTimes(ratio_of(law, least), p, end).draw(20_000, SeededBits(4))
    expected = (1 - p) * -np.expm1(end * np.log1p(-p)) / p if p > 0 else end
    spread = max(float(times.std()), 1e-9) / np.sqrt(times.size)
    assert abs(times.mean() - expected) <= 5 * spread + 1e-6
    assert times.min() >= 0
    assert times.max() <= end


# ------------------------------------------------------------------------------------------------ all together


def test_a_thousand_cells_are_published_as_if_each_were_drawn() -> None:
    """The number and the sum of published counts agree with dense draws, and do not with another threshold."""
    occupied, counts = np.arange(0, 1000, 10), np.tile([1, 2, 3, 9], 25)
    impossible, truths = np.array([5, 995]), np.zeros(1000, np.int64)
    truths[occupied] = counts

    def figures(least: int, is_sparse: bool, seed: int) -> np.ndarray:
        found, bits, noise = [], SeededBits(seed), SparseNoise(NOISE, least, 1000)
        for _ in range(150):
            if is_sparse:
                cells, values = noise.draw(occupied, counts, impossible, bits)
                assert (np.diff(cells) > 0).all()
                assert values.min() >= least
                assert not np.isin(impossible, cells).any()
            else:
                noisy = NOISE.draw(truths, bits)
                noisy[impossible] = 0
                values = noisy[noisy >= least]
            found.append((len(values), values.sum()))
        return np.array(found, float)

    def distance(one: np.ndarray, other: np.ndarray) -> float:
        scale = np.sqrt((one.var(axis=0) + other.var(axis=0)) / len(one))
        return float(np.abs((one.mean(axis=0) - other.mean(axis=0)) / scale).max())

    assert distance(figures(2, True, 1), figures(2, False, 2)) < 4.5
    assert distance(figures(3, True, 1), figures(2, False, 2)) > 10
