"""Samplers: alias tables, response, digits and noise draw from exactly their laws, whatever the chunks."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet.mechanism
from discreet.exact import sampling as module
from discreet.exact.bits import ReplayBits, SeededBits
from discreet.exact.kernels import Noise, Response
from discreet.exact.laws import Finite, Gaussian, GeometricTails
from discreet.exact.sampling import AliasSampler, NoiseSampler, ResponseSampler, Sampler, _digit, _GeometricDigits
from discreet.exact.tables import Table
from discreet.mechanism import Mechanism
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric, two_sided_geometric
from discreet.mechanisms.response import randomized_response
from support.grids import every_case
from support.tiers import examples

F = Fraction


def random_table(rows: int, columns: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_array(rng.integers(0, 1000, (rows, columns)) ** 2 + 1)


KERNELS = {
    "lookup noise": Noise(GeometricTails.two_sided(F(9, 10)), (0, 100), (0, 100)),
    "unbounded noise": Noise(GeometricTails.two_sided(F(1, 2))),
    "digits": Noise(GeometricTails.two_sided(F(99_999, 100_000))),
    "many digits": Noise(GeometricTails.two_sided(1 - F(1, 10**9)), (0, 100), (0, 100)),
    "Gaussian": Noise(Gaussian(F(50))),
    "wide Gaussian": Noise(Gaussian(F(10**6))),
    "finite": Noise(Finite(-3, [1, 2, 0, 4, 5, 60_000]), (0, 100), (0, 100)),
    "own laws": Noise(Finite(-2, [1, 2, 5, 2, 1]), (0, 100), (0, 100), (Finite(0, [3, 1]), Finite(-1, [1, 1, 1]))),
    "own laws beside digits": Noise(
        GeometricTails.two_sided(F(9999, 10_000)), (0, 100), (0, 100), (Finite(0, [3, 1]),)
    ),
    "alias, 32 bits": random_table(101, 37),
    "alias, 64 bits": random_table(101, 4100),
    "alias, one column": random_table(101, 1),
    "response": Response(101, 7, 2),
    "response, large": Response(2**31, 2**31, 1),
}
kinds = every_case("kind", KERNELS)


@cache
def sampler_of(kind: str) -> Sampler:
    """Return the sampler of a kind; it has no state."""
    return KERNELS[kind].sampler()


TRUTHS = np.random.default_rng(5).integers(0, 101, 4000)


class CountingBits(SeededBits):
    """Seeded bits that count what is read."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.used = {"main": 0, "extra": 0, "deep": 0}

    def main(self, size, dtype):
        self.used["main"] += size * np.dtype(dtype).itemsize
        return super().main(size, dtype)

    def extra(self, size):
        self.used["extra"] += 8 * size
        return super().extra(size)

    def deep(self):
        self.used["deep"] += 8
        return super().deep()


class TyingBits(CountingBits):
    """Many words are 0101...: they tie with a threshold of one third again and again, down to the deep stream."""

    def main(self, size, dtype):
        words = super().main(size, dtype)
        return np.where(words & dtype(3) == 1, dtype(0x5555555555555555 & (256**words.itemsize - 1)), words)

    def extra(self, size):
        words = super().extra(size)
        return np.where(words & np.uint64(1), np.uint64(0x5555555555555555), words)


def in_pieces(sampler, truths, bits, sizes) -> list[int]:
    cuts = np.cumsum([0, *sizes])
    assert cuts[-1] == len(truths)
    return [int(r) for a, b in pairwise(cuts) for r in sampler.draw(truths[a:b], bits)]


# ------------------------------------------------------------------------------------------------ all kinds


@kinds
def test_results_do_not_depend_on_how_the_work_is_cut(kind):
    sampler = sampler_of(kind)
    whole = sampler.draw(TRUTHS, SeededBits(11)).tolist()
    for sizes in ([1] * 20 + [3980], [7, 993, 3000], [2000, 2000]):
        assert in_pieces(sampler, TRUTHS, SeededBits(11), sizes) == whole


@every_case(
    "kernel",
    [
        Noise(Finite(0, [1, 2]), (0, 9), (0, 9)),
        Noise(Finite(0, [1, 1, 1]), (0, 9), (0, 9), (Finite(0, [2, 1]), Finite(0, [2, 2, 3]))),
        Noise(GeometricTails(F(1, 3), F(99_999, 100_000))),
        Table.from_rows([[1, 2], [2, 1], [1, 2]]),
        Response(3, 5, 2),
    ],
    ids=["noise", "own laws", "digits", "alias", "response"],
)
def test_ties_are_settled_in_the_same_order_however_the_work_is_cut(kernel):
    sampler, truths = kernel.sampler(), np.arange(3000) % 3
    bits = TyingBits(3)
    whole = sampler.draw(truths, bits).tolist()
    assert bits.used["deep"] > 8 * 50
    for sizes in ([1234, 1, 765, 1000], [1] * 3000):
        again = TyingBits(3)
        assert in_pieces(sampler, truths, again, sizes) == whole
        assert again.used == bits.used
    one = TyingBits(3)
    assert [sampler.draw_one(x, one) for x in truths.tolist()] == whole


@kinds
def test_one_report_at_a_time_is_the_same_as_many(kind):
    """draw_one reads the same streams in the same order: a scalar is not a different experiment."""
    sampler = sampler_of(kind)
    many, one = CountingBits(17), CountingBits(17)
    reports = sampler.draw(TRUTHS[:1500], many).tolist()
    assert [sampler.draw_one(int(x), one) for x in TRUTHS[:1500]] == reports
    assert one.used == many.used


@pytest.mark.parametrize("maker", [lambda: geometric(50, epsilon=1), lambda: explicit_fair(50, epsilon=1)])
def test_simulating_one_value_is_simulating_a_list_of_one(maker):
    m = maker()
    for seed in range(300):
        assert m.simulate(20, seed=seed) == m.simulate([20], seed=seed)[0]


@pytest.mark.parametrize(
    "mechanism",
    [geometric(100, epsilon=0.5), explicit_fair(100, epsilon=0.5), randomized_response(101, epsilon=2)],
    ids=["geometric", "explicit_fair", "response"],
)
def test_simulations_do_not_depend_on_the_chunk(mechanism: Mechanism, monkeypatch):
    truths = np.tile(TRUTHS, 10)
    expected = mechanism.simulate(truths, seed=9)
    for chunk in (1 << 12, 999, 100_000):
        monkeypatch.setattr(discreet.mechanism, "DRAWS_PER_CHUNK", chunk)
        assert np.array_equal(mechanism.simulate(truths, seed=9), expected)


PINNED: dict[str, list[int]] = {
    "lookup noise": [55, 28, 78, 42, 41, 58, 52, 56],
    "unbounded noise": [42, 38, 34, 40, 40, 37, 38, 42],
    "digits": [129375, -173739, 8143, 158953, -59733, -97851, -6791, -90695],
    "many digits": [100, 100, 0, 100, 0, 0, 0, 100],
    "Gaussian": [49, 47, 23, 38, 41, 50, 32, 49],
    "wide Gaussian": [-1241, 1096, 2402, 309, -123, 1489, -1044, -1304],
    "finite": [42, 42, 42, 42, 42, 42, 42, 42],
    "own laws": [41, 40, 42, 39, 39, 41, 40, 41],
    "own laws beside digits": [100, 0, 100, 0, 100, 100, 100, 100],
    "alias, 32 bits": [20, 13, 27, 26, 0, 13, 20, 23],
    "alias, 64 bits": [341, 2950, 1812, 2522, 3984, 3169, 2010, 724],
    "alias, one column": [0, 0, 0, 0, 0, 0, 0, 0],
    "response": [71, 86, 0, 74, 4, 71, 47, 53],
    "response, large": [40, 1831112842, 11953649, 1575906222, 40, 40, 1012306443, 40],
}


@every_case("kind", PINNED)
def test_seeded_reports_are_pinned_on_every_platform(kind):
    assert sampler_of(kind).draw(np.full(8, 40), SeededBits(1)).tolist() == PINNED[kind]


@kinds
@every_case(
    "as_given",
    [
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.uint8),
        lambda x: x.astype(np.uint64),
        lambda x: x.astype(">i8"),
        lambda x: x.astype(">u2"),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.stack([x, x], axis=1)[:, 0],
    ],
    ids=["int8", "uint8", "uint64", "big-endian", "big-endian u2", "strided", "column"],
)
def test_reports_do_not_depend_on_how_the_truths_are_stored(kind, as_given):
    sampler = sampler_of(kind)
    reports = sampler.draw(as_given(TRUTHS[:600]), SeededBits(4))
    assert reports.dtype.kind in "iu"
    assert np.array_equal(reports, sampler.draw(TRUTHS[:600], SeededBits(4)))


@every_case("kind", [k for k in KERNELS if k != "own laws beside digits"])  # two samplers by truth
def test_every_draw_reads_the_same_number_of_bits_whatever_comes_out(kind):
    """The work does not grow with the noise: each draw has the same share of the main stream, and few extra words."""
    sampler = sampler_of(kind)
    bits = CountingBits(23)
    used = []
    for x in TRUTHS[:1000].tolist():
        before = bits.used["main"]
        sampler.draw_one(x, bits)
        used.append(bits.used["main"] - before)
    assert len(set(used)) == 1
    places = used[0] // 2 if "digits" in kind else 1
    assert bits.used["extra"] <= 8 * 1000 * places


@kinds
def test_reports_stay_where_they_belong(kind):
    kernel = KERNELS[kind]
    reports = sampler_of(kind).draw(TRUTHS, SeededBits(31))
    if isinstance(kernel, Noise):
        low, high = kernel.clamp
        assert low is None or (reports.min() >= low and reports.max() <= high)
        for x, y in zip(TRUTHS[:200].tolist(), reports[:200].tolist(), strict=True):
            if not kernel.rational or abs(x - y) > 50:
                continue
            assert kernel.probability(x, y) > 0
    else:
        size = kernel.size if isinstance(kernel, Response) else kernel.shape[1]
        assert reports.min() >= 0 and reports.max() < size


def test_truths_near_the_largest_integer_do_not_overflow():
    sampler = two_sided_geometric(epsilon=1e-9).kernel.sampler()
    for truth in (2**62, -(2**62)):
        noise = [int(r) - truth for r in sampler.draw(np.full(2000, truth), SeededBits(8))]
        assert 10**8 < max(map(abs, noise)) < 10**11
        assert min(noise) < 0 < max(noise)


# ------------------------------------------------------------------------------------------------ alias


def share(own: list[int], alias: list[int], height: int, columns: int) -> list[Fraction]:
    """The exact probability of each report of an alias table."""
    shares = [F(0)] * columns
    for k, part in enumerate(own):
        for report, mass in ((k, part), (alias[k], height - part)):
            if mass:
                shares[report] += F(mass, height * len(own))
    return shares


weights = st.one_of(st.integers(0, 5), st.integers(0, 2**62), st.just(0), st.integers(0, 10**60))
rows = st.integers(1, 130).flatmap(lambda n: st.lists(weights, min_size=n, max_size=n)).filter(any)


@examples(150)
@given(rows)
def test_alias_columns_add_up_to_exactly_the_table(row):
    sampler = AliasSampler(Table.from_rows([row]))
    own, alias, height = sampler.split(0)
    assert all(0 <= part <= height for part in own)
    assert share(own, alias, height, len(row)) == [F(w, sum(row)) for w in row]


@examples(60)
@given(rows, st.booleans())
def test_stored_thresholds_are_floors_of_the_exact_ones(row, wide):
    sampler = AliasSampler(Table.from_rows([row]))
    if wide:
        sampler._word, sampler._width = np.uint64, 64
        sampler._thresholds = sampler._thresholds.astype(np.uint64)
        sampler._build(0)
    own, alias, height = sampler.split(0)
    free = sampler._width - sampler._shift
    assert sampler._aliases[0].tolist() == alias
    for k, stored in enumerate(sampler._thresholds[0].tolist()):
        if alias[k] == k:
            assert stored == 0 and own[k] == height
        else:
            assert stored == math.floor(F(own[k], height) * 2**free) << sampler._shift


@every_case("columns", [1, 2, 3, 7, 64, 4096, 4097])
def test_alias_words_at_every_threshold_and_next_to_it(columns):
    """Words of both widths; ties are decided exactly by the deep stream, either way."""
    table = random_table(2, columns)
    sampler = AliasSampler(table)
    assert sampler._width == (32 if columns <= 4096 else 64)
    own, alias, height = sampler.split(1)
    free = sampler._width - sampler._shift
    ties = 0
    for column in range(0, len(own), max(1, len(own) // 40)):
        exact = F(own[column], height)
        floor = math.floor(exact * 2**free)
        step = math.floor(exact * 2 ** (free + 64))
        for low in {0, floor - 1, floor, floor + 1, 2**free - 1}:
            for deep in {0, 2**64 - 1, step - 1 & (2**64 - 1), step + 1 & (2**64 - 1)}:
                value = low << 64 | deep
                if not 0 <= low < 2**free:
                    continue
                if F(value + 1, 2 ** (free + 64)) <= exact:
                    expected = column
                elif F(value, 2 ** (free + 64)) >= exact:
                    expected = alias[column]
                else:
                    continue
                word = (column << free | low).to_bytes(sampler._width // 8, "little")
                for draw in (lambda b: int(sampler.draw(np.array([1]), b)[0]), lambda b: sampler.draw_one(1, b)):
                    bits = ReplayBits(word, b"", deep.to_bytes(8, "little"))
                    assert draw(bits) == expected
                ties += bits.left["deep"] == 0
    assert ties > 0 or columns <= 2


def test_rows_are_built_when_first_needed_and_are_the_same(monkeypatch):
    table = random_table(300, 20)
    eager = AliasSampler(table).draw(np.arange(300), SeededBits(1))
    monkeypatch.setattr(module, "MAX_EAGER_ENTRIES", 0)
    lazy = AliasSampler(table)
    assert not lazy._built.any()
    assert np.array_equal(lazy.draw(np.arange(300), SeededBits(1)), eager)
    other = AliasSampler(table)
    one = SeededBits(1)
    assert [other.draw_one(k, one) for k in range(300)] == eager.tolist()


# ------------------------------------------------------------------------------------------------ response


@every_case("size", [2, 3, 7, 101, 2**16, 10**6 + 3, 2**31])
@every_case("keep", [F(0), F(1, 3), F(1, 2), F(2**33 - 1, 2**33), F(1)])
def test_response_at_every_boundary(size, keep):
    sampler = ResponseSampler(size, keep)
    truth = size - 1
    cut = math.floor(keep * 2**32)
    uppers = [u for u in {0, cut - 1, cut, cut + 1, 2**32 - 1} if 0 <= u < 2**32]
    edges = {j * 2**32 // size for j in {0, 1, 2, size // 2, size - 1}}
    lowers = [v for e in edges for v in (e - 1, e, e + 1) if 0 <= v < 2**32]
    for upper in uppers:
        for lower in lowers:
            for d1, d2 in ((0, 0), (2**64 - 1, 2**64 - 1), (2**63, 5), (0, 2**64 - 1)):
                deep = [d1, d2, 0, 0]
                bits = ReplayBits(
                    (upper << 32 | lower).to_bytes(8, "little"), b"", b"".join(d.to_bytes(8, "little") for d in deep)
                )
                expected = respond(size, keep, truth, upper, lower, deep)
                assert int(sampler.draw(np.array([truth]), bits)[0]) == expected


def respond(size: int, keep: Fraction, truth: int, upper: int, lower: int, deep: list[int]) -> int:
    """By intervals of rationals: first whether to keep, then which value, each with as many words as it needs."""
    words = iter(deep)
    value, known = upper, 32
    while F(value, 2**known) < keep < F(value + 1, 2**known):
        value, known = value << 64 | next(words), known + 64
    if F(value + 1, 2**known) <= keep:
        return truth
    value, known = lower, 32
    while True:
        first = math.floor(F(value * size, 2**known))
        if F((value + 1) * size, 2**known) <= first + 1:
            return first
        value, known = value << 64 | next(words), known + 64


# ------------------------------------------------------------------------------------------------ digits


def masses(cumulative: Callable[[int, int], tuple[int, int]], count: int, bits: int) -> list[tuple[Fraction, Fraction]]:
    """Bounds of P(outcome = k)."""
    bounds = [(0, 0)] + [cumulative(k, bits) for k in range(count)]
    return [(F(low - before[1], 2**bits), F(high - before[0], 2**bits)) for before, (low, high) in pairwise(bounds)]


@every_case("ratio", [F(1, 2), F(9, 10), F(99, 100)])
@every_case("exponent", [1, 16])
def test_digit_laws_are_the_formula(ratio, exponent):
    s = ratio**exponent
    for d, (low, high) in enumerate(masses(_digit(ratio, exponent, 16), 16, 300)):
        true = (1 - s) * s**d / (1 - s**16)
        assert low <= true <= high and high - low <= F(8, 2**300)
    for d, (low, high) in enumerate(masses(_digit(ratio, exponent, None), 20, 300)):
        assert low <= (1 - s) * s**d <= high and high - low <= F(8, 2**300)


@pytest.mark.parametrize("ratio", [F(1, 2), F(9, 10), F(97, 100)])
def test_digit_laws_multiply_to_the_geometric_law(ratio, monkeypatch):
    monkeypatch.setattr(module, "MAX_DIRECT_OUTCOMES", 8)
    monkeypatch.setattr(_GeometricDigits, "BASE", 4)
    sampler = NoiseSampler(GeometricTails.two_sided(ratio))
    assert sampler._digits is not None
    _, top, *places = sampler._digits._parts
    assert len(places) >= 2
    laws = [masses(top._cumulative, 3, 256)] + [masses(p._cumulative, 4, 256) for p in places]
    for number in range(3 * 4 ** len(places)):
        low = high = F(1)
        rest = number
        for law in reversed(laws[1:]):
            rest, digit = divmod(rest, 4)
            low, high = low * law[digit][0], high * law[digit][1]
        low, high = low * laws[0][rest][0], high * laws[0][rest][1]
        assert low <= (1 - ratio) * ratio**number <= high
        assert high - low < F(1, 2**240)


@pytest.mark.parametrize("ratio", [F(1, 2), F(9, 10)])
def test_digits_and_inversion_draw_the_same_law(ratio, monkeypatch):
    law = GeometricTails.two_sided(ratio)
    monkeypatch.setattr(module, "MAX_DIRECT_OUTCOMES", 8)
    monkeypatch.setattr(_GeometricDigits, "BASE", 4)
    drawn = NoiseSampler(law).draw(200_000, SeededBits(6))
    for z in range(-6, 7):
        p = float(law.probability(z))
        assert abs((drawn == z).mean() - p) < 5 * math.sqrt(p / 200_000)


def test_the_sign_of_digits_is_exact():
    law = GeometricTails(F(1, 7), F(9999, 10_000))
    sign = _GeometricDigits(law)._parts[0]
    assert [sign._cumulative(k, 0) for k in (2,)] == [(1, 1)]
    low, high = sign._cumulative(0, 200)
    assert low <= F(1, 7) * 2**200 <= high
    low, high = sign._cumulative(1, 200)
    assert low <= F(4, 7) * 2**200 <= high
