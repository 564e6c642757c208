"""Inversion: every lookup cell, every threshold, every tie, against exact cumulative probabilities.

A chi-square test at ten million draws misses eight wrong cells of 65,536. These tests miss none.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact.bits import ReplayBits, SeededBits
from discreet.exact.inversion import UNDECIDED, Inversion, draw_independent, is_below
from discreet.exact.laws import Finite, Gaussian, GeometricTails, Law, scaled
from discreet.exact.sampling import NoiseSampler
from support.grids import every_case
from support.tiers import examples

F = Fraction

LAWS: dict[str, Law] = {
    "two-sided 10/11": GeometricTails.two_sided(F(10, 11)),
    "two-sided 1/2, dyadic thresholds": GeometricTails.two_sided(F(1, 2)),
    "two-sided 3/4, dyadic thresholds": GeometricTails.two_sided(F(3, 4)),
    "atom 1/2 ratio 1/2, all dyadic": GeometricTails(F(1, 2), F(1, 2)),
    "no atom": GeometricTails(F(0), F(2, 3)),
    "nearly no noise": GeometricTails.two_sided(F(1, 10**25)),
    "rounded Laplace": GeometricTails.laplace(F(4, 5)),
    "Gaussian": Gaussian(F(3)),
    "narrow Gaussian": Gaussian(F(1, 20)),
    "thirds": Finite(-1, [1, 1, 1]),
    "quarters": Finite(-2, [1, 0, 2, 0, 0, 1]),
    "sixteenths, zeros inside": Finite(5, [1, 0, 0, 7, 0, 8]),
    "a rare end": Finite(-3, [10**30, 5, 0, 1]),
    "a rare middle": Finite(0, [2**80, 1, 1, 2**80]),
    "one value": Finite(7, [3]),
    "below 64 bits": Finite(0, [2**70 - 3, 1, 1, 1]),
}
names = every_case("name", LAWS)


def noise_in_order(law: Law, k: int) -> int:
    """The k-th outcome: 0, -1, 1, -2, ... of an unbounded law, else from the least on."""
    low = law.support[0]
    if low is not None:
        return low + k
    return k // 2 if k % 2 == 0 else -(k + 1) // 2


@cache
def cumulative(name: str) -> list[Fraction]:
    """P(outcome <= k) exactly (for the Gaussian to 500 bits), until less than 2^-330 is left, summed term by term."""
    law, sums, last = LAWS[name], [F(0)], LAWS[name].support[1]
    while last is None or noise_in_order(law, len(sums) - 1) <= last:
        z = noise_in_order(law, len(sums) - 1)
        p = law.probability(z) if law.rational else F(sum(law.mass(z, 500)), 2**501)
        sums.append(sums[-1] + p)
        if last is None and 1 - sums[-1] < F(1, 2**330):
            break
    return sums[1:]


@cache
def thresholds(name: str) -> tuple[Fraction, ...]:
    """All thresholds below one, up to the first that leaves less than 2^-64."""
    sums = cumulative(name)
    if LAWS[name].support[1] is not None:
        return tuple(sums[:-1])
    return tuple(sums[: 1 + next(k for k, p in enumerate(sums) if 1 - p <= F(1, 2**64))])


def outcome_of(name: str, value: int, known: int) -> int | None:
    """The outcome of every number in [value, value + 1) / 2^known, or None if they do not all agree."""
    sums = cumulative(name)
    k = bisect_right(sums, F(value, 2**known))
    if k == len(sums) or F(value + 1, 2**known) > sums[k]:
        return None
    return noise_in_order(LAWS[name], k)


def replay(value: int, known: int) -> ReplayBits:
    """Bits that spell this number: 16 main, 64 extra, the rest deep."""
    words = [(value >> (known - 80 - 64 * k)) & (2**64 - 1) for k in range(1, (known - 80) // 64 + 1)]
    return ReplayBits(
        (value >> (known - 16)).to_bytes(2, "little"),
        ((value >> (known - 80)) & (2**64 - 1)).to_bytes(8, "little"),
        b"".join(word.to_bytes(8, "little") for word in words),
    )


# ------------------------------------------------------------------------------------------------ tables


@names
def test_thresholds_are_floors_of_the_exact_ones(name):
    inversion = NoiseSampler(LAWS[name])._inversion
    expected = [min(math.floor(t * 2**64), 2**64 - 1) for t in thresholds(name)]
    assert inversion.thresholds.tolist() == expected


def wrong_cells(name: str, values: list[int]) -> list[int]:
    """The words whose entry in a lookup is not what exact rationals say: all 65,536, one by one."""
    cuts = thresholds(name)
    inside = {min(math.floor(t * 2**16), 2**16 - 1) for t in cuts}
    k, wrong = 0, []
    for word, value in enumerate(values):
        while k < len(cuts) and cuts[k] * 2**16 <= word:
            k += 1
        if value == UNDECIDED:
            right = word in inside
        else:  # all numbers that begin with this word lie between two neighbouring thresholds
            right = (k == len(cuts) or cuts[k] * 2**16 >= word + 1) and value == noise_in_order(LAWS[name], k)
        if not right:
            wrong.append(word)
    return wrong


@names
def test_lookup_over_all_cells_is_what_exact_rationals_say(name):
    assert wrong_cells(name, NoiseSampler(LAWS[name]).values.tolist()) == []


def test_one_wrong_cell_of_the_lookup_is_found():
    values = NoiseSampler(LAWS["Gaussian"]).values.tolist()
    open_ = values.index(UNDECIDED)
    values[30_000] += 1
    values[open_] = values[open_ - 1]
    values[12] = UNDECIDED
    assert wrong_cells("Gaussian", values) == sorted([12, open_, 30_000])


@names
def test_no_word_is_given_to_a_value_more_often_than_its_probability(name):
    law, values = LAWS[name], NoiseSampler(LAWS[name]).values
    found, times = np.unique(values[values != UNDECIDED], return_counts=True)
    for z, count in zip(found.tolist(), times.tolist(), strict=True):
        assert F(count, 2**16) <= F(law.mass(z, 200)[1], 2**200)


# ------------------------------------------------------------------------------------------------ replayed bits


@names
def test_replayed_bits_at_every_threshold_and_next_to_it(name):
    """64 bits at each threshold, one below and one above; ties with the last 16 of the 80 on either side."""
    sampler = NoiseSampler(LAWS[name])
    checked = 0
    for cut in thresholds(name):
        floor = math.floor(cut * 2**80)
        near = {floor + d for d in (-1, 0, 1)} | {floor + d * 2**16 for d in (-2, -1, 1, 2)}
        for value in near | {floor >> 16 << 16, floor >> 16 << 16 | 0xFFFF}:
            expected = outcome_of(name, value, 80) if 0 <= value < 2**80 else None
            if expected is None:
                continue
            assert sampler.draw(1, replay(value, 80)).tolist() == [expected]
            assert sampler.draw_one(replay(value, 80)) == expected
            checked += 1
    assert checked >= 2 * len(thresholds(name))


@names
@every_case("deep", [1, 2])
def test_ties_of_eighty_bits_are_decided_by_the_next_ones_either_way(name, deep):
    """All bits agree with the expansion of the exact threshold; the last 64 lie just below, or just above it."""
    sampler, known, checked = NoiseSampler(LAWS[name]), 80 + 64 * deep, 0
    for cut in thresholds(name):
        floor = math.floor(cut * 2**known)
        for value in (floor - 1, floor + 1, floor - 2**30, floor + 2**30):
            expected = outcome_of(name, value, known) if 0 <= value < 2**known else None
            if expected is None or outcome_of(name, value >> 64, known - 64) is not None:
                continue  # decided before: the next bits are not even read
            for draw in (lambda bits: int(sampler.draw(1, bits)[0]), sampler.draw_one):
                bits = replay(value, known)
                assert draw(bits) == expected
                assert bits.left == {"main": 0, "extra": 0, "deep": 0}
            checked += 1
    if name in ("two-sided 10/11", "thirds", "Gaussian", "rounded Laplace"):  # thresholds with endless expansions
        assert checked >= 2 * min(len(thresholds(name)), 20)


@every_case("name", ["two-sided 1/2, dyadic thresholds", "two-sided 10/11", "Gaussian", "no atom"])
def test_tails_beyond_64_bits_are_drawn_not_clipped(name):
    sampler, sums = NoiseSampler(LAWS[name]), cumulative(name)
    first = len(thresholds(name))
    for k in (first + 1, first + 2, first + 9):
        value = math.ceil(sums[k - 1] * 2**336)
        assert outcome_of(name, value, 336) == noise_in_order(LAWS[name], k)
        assert value >> 272 == 2**64 - 1
        assert int(sampler.draw(1, replay(value, 336))[0]) == noise_in_order(LAWS[name], k)


def test_noise_wider_than_16_bits_is_not_wrapped():
    law = Finite(40_000, [1, 1])
    assert set(NoiseSampler(law).draw(100, SeededBits(1)).tolist()) == {40_000, 40_001}
    for low in (-32_769, -32_768, -32_767, 32_766, 32_767, 32_768, -(2**40), 2**40):
        law = Finite(low, [1, 2, 1])
        drawn = NoiseSampler(law).draw(500, SeededBits(1))
        assert set(drawn.tolist()) == {low, low + 1, low + 2}
    wide = NoiseSampler(Finite(-40_000, [1] * 80_001))
    drawn = wide.draw(50_000, SeededBits(2))
    assert drawn.min() < -39_000 and drawn.max() > 39_000 and abs(drawn.mean()) < 1000


@examples(60)
@given(st.lists(st.integers(0, 2**20), min_size=2, max_size=9).filter(any), st.integers(0, 2**32))
def test_outcomes_of_weight_zero_are_never_drawn(weights, seed):
    law = Finite(0, weights)
    sampler = NoiseSampler(law)
    assert all(weights[z] > 0 for z in sampler.draw(300, SeededBits(seed)).tolist())
    for k in range(1, len(weights)):
        cut = F(sum(weights[:k]), sum(weights))
        for value in (math.floor(cut * 2**80), math.floor(cut * 2**80) - 1):
            if 0 <= value < 2**80:
                drawn = int(sampler.draw(1, ReplayBits(*_padded(value)))[0])
                assert weights[drawn] > 0


def _padded(value: int) -> tuple[bytes, bytes, bytes]:
    return (value >> 64).to_bytes(2, "little"), (value & (2**64 - 1)).to_bytes(8, "little"), bytes(64)


# ------------------------------------------------------------------------------------------------ parts


NEARLY = F(1, 2) + F(1, 3 * 2**200)  # its next 200 bits are those of one half


@every_case("exact", [F(1, 3), F(1, 2), F(0), F(1), F(2**40 - 1, 2**40), F(5, 7), NEARLY, 1 - NEARLY])
def test_is_below_compares_with_the_exact_threshold(exact):
    for known in (8, 20):
        for value in range(2**8) if known == 8 else (0, 2**19, 2**20 - 1, math.floor(exact * 2**20) % 2**20):
            for deep in (bytes(8), b"\xff" * 8):
                bits = ReplayBits(deep=deep * 5)
                below, found, length = is_below(value, known, lambda b: scaled(exact, b), bits)
                assert found >> (length - known) == value
                assert (F(found + 1, 2**length) <= exact) if below else (F(found, 2**length) >= exact)


def test_independent_columns_are_settled_row_by_row_with_ties():
    """Three thirds at once: extra and deep words go to the open places in order of row, then column."""
    parts = [Inversion(lambda k, b: scaled(F(k + 1, 3), b), 3) for _ in range(2)]
    fives, tens = 0x5555, 0xAAAA
    main = np.array([[fives, 7], [tens, fives]], "<u2").tobytes()
    tie, tie2 = 0x5555555555555555, 0xAAAAAAAAAAAAAAAA
    extra = np.array([tie, tie2, tie - (1 << 20)], "<u8").tobytes()
    deep = np.array([tie + 1, tie2 - 1], "<u8").tobytes()
    bits = ReplayBits(main, extra, deep)
    assert draw_independent(parts, 2, bits).tolist() == [[1, 0], [1, 0]]
    assert bits.left == {"main": 0, "extra": 0, "deep": 0}
