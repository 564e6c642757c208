"""Totals, differences and percentages cover the true ones, whatever those are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.exact.laws import Finite, Gaussian, GeometricTails, Law
from discreet.release.noise import margins, sums
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.release.noise.margins import Combined, difference, exact_sum, percentage, total
from discreet.release.noise.sums import SumTerms, moments, sum_quantile
from discreet.spaces import Counts
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

LEVELS = [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20)]


# ------------------------------------------------------------------------------------------------ sums of noise


def convolved(laws: list[tuple[Law, bool]], reach: int = 60) -> dict[int, Fraction]:
    """The exact law of a sum of few terms; what lies beyond ``reach`` of each is missing."""
    whole = {0: Fraction(1)}
    for law, positive in laws:
        low, high = law.support
        steps = range(-reach if low is None else low, (reach if high is None else high) + 1)
        term: dict[int, Fraction] = {}
        for z in steps:
            x = max(z, 0) if positive else z
            term[x] = term.get(x, Fraction(0)) + law.probability(z)
        summed: dict[int, Fraction] = {}
        for (a, p), (b, q) in itertools.product(whole.items(), term.items()):
            summed[a + b] = summed.get(a + b, Fraction(0)) + p * q
        whole = summed
    return whole


HALF = GeometricTails.two_sided(Fraction(1, 2))
QUICK = GeometricTails.laplace(Fraction(1, 4))
SKEW = Finite(-1, [3, 7, 2, 2, 1])


@every_case(
    "parts",
    [
        (SumTerms(HALF, 2),),
        (SumTerms(HALF, 3, True),),
        (SumTerms(QUICK, 3),),
        (SumTerms(SKEW, 5),),
        (SumTerms(SKEW, 3), SumTerms(sums.mirrored(SKEW), 2, True)),
        (SumTerms(HALF, 1), SumTerms(HALF, 2, True)),
    ],
)
@every_case("share", [Fraction(1, 4), Fraction(1, 40), Fraction(1, 10**5)])
def test_quantiles_of_sums_hold_exactly_and_are_the_least(parts, share):
    law = convolved([(part.law, part.positive) for part in parts for _ in range(part.count)])
    q = sum_quantile(parts, share)
    assert sum(p for x, p in law.items() if x <= q) >= 1 - share
    assert sum(p for x, p in law.items() if x <= q - 1) < 1 - share


@given(
    weights=st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(lambda w: w[0] and w[-1]), n=st.integers(2, 4)
)
def test_quantiles_of_sums_of_any_finite_law(weights, n):
    law, share = Finite(-2, weights), Fraction(1, 13)  # no such sum of small weights ties with it
    exact = convolved([(law, False)] * n)
    q = sum_quantile((SumTerms(law, n),), share)
    assert sum(p for x, p in exact.items() if x > q) <= share
    assert sum(p for x, p in exact.items() if x > q - 1) > share - Fraction(1, 10**6)


def test_a_tiny_share_falls_back_on_a_bound_that_holds():
    share = Fraction(1, 10**14)
    exact = convolved([(HALF, False)] * 3)
    q = sum_quantile((SumTerms(HALF, 3),), share)
    least = next(x for x in range(200) if sum(p for y, p in exact.items() if y > x) <= share)
    assert least <= q <= 1.4 * least


@pytest.mark.parametrize("law", [HALF, Gaussian(Fraction(20)), GeometricTails.two_sided(Fraction(999, 1000))])
def test_sums_of_many_terms_are_nearly_normal(law):
    """1.95996 standard deviations for 2.5%: a thousand independent terms are that close."""
    q = sum_quantile((SumTerms(law, 1000),), Fraction(1, 40))
    assert q == pytest.approx(1.95996 * math.sqrt(1000) * moments(law)[2], rel=0.015)


def test_steps_of_several_units_only_widen(monkeypatch):
    law = GeometricTails.two_sided(Fraction(9, 10))
    for parts in ((SumTerms(law, 30),), (SumTerms(law, 30, True),), (SumTerms(law, 10), SumTerms(law, 10, True))):
        fine = sum_quantile.__wrapped__(parts, Fraction(1, 40))
        monkeypatch.setattr(sums, "MAX_TRANSFORM_LENGTH", 512)
        coarse = sum_quantile.__wrapped__(parts, Fraction(1, 40))
        assert fine < coarse < 1.5 * fine
        monkeypatch.setattr(sums, "MAX_OUTCOMES", 100)  # as if it had too many outcomes to list
        monkeypatch.setattr(sums, "MAX_STEPS", 400)
        sums._list_steps.cache_clear()
        listed_by_tails = sum_quantile.__wrapped__(parts, Fraction(1, 40))
        assert fine < listed_by_tails < 1.5 * fine
        monkeypatch.undo()
        sums._list_steps.cache_clear()


def test_sums_of_very_wide_noise_are_found_too():
    """epsilon = 1e-7: a hundred million likely outcomes are never listed."""
    law = cell_noise("geometric", epsilon="1e-7").shift_law
    q = sum_quantile((SumTerms(law, 100),), Fraction(1, 40))
    assert q == pytest.approx(1.96 * 10 * math.sqrt(2) * 1e7, rel=0.05)


# ------------------------------------------------------------------------------------------------ every truth, exactly


def outcomes(noise: CellNoise, truths: tuple[int, ...], reach: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """All reports of these cells with their probabilities; noise beyond ``reach`` is left out."""
    each = []
    for k, truth in enumerate(truths):
        mechanism = noise.mechanisms[0 if noise.which is None else noise.which[k]]
        top = None if noise.high is None else int(np.broadcast_to(noise.high, len(truths))[k])
        taken = truth if top is None else min(truth, top)
        listed: dict[int, Fraction] = {}
        if noise.shift_law is None:
            listed = {y: mechanism.kernel.probability(taken, y) for y in range(mechanism.outputs.size)}
        else:
            for z in range(-reach, reach + 1):
                report = taken + z
                if noise.output != "signed":
                    report = max(0, report)
                if noise.output == "in-range":
                    report = min(top, report)
                listed[report] = listed.get(report, Fraction(0)) + noise.shift_law.probability(z)
        each.append(list(listed.items()))
    for combination in itertools.product(*each):
        p = Fraction(1)
        for _, q in combination:
            p *= q
        yield tuple(report for report, _ in combination), p


def within(value: Fraction | int, found: margins.Combined) -> bool:
    return (found.low is None or Fraction(found.low) <= value) and (found.high is None or value <= Fraction(found.high))


def check(noise: CellNoise, truths: list[tuple[int, ...]], reach: int = 12) -> None:
    """Total, difference and percentage cover with at least the level, for each of these truths."""
    cells = len(truths[0])
    everything = np.full(cells, True)
    one = np.arange(cells) == 0
    answers: dict[tuple[tuple[int, ...], Fraction], tuple[margins.Combined, ...]] = {}
    for truth in truths:
        hits = {(level, k): Fraction(0) for level in LEVELS for k in range(3)}
        figures = [
            Fraction(sum(truth)),
            Fraction(truth[0] - sum(truth[1:])),
            Fraction(100 * truth[0], sum(truth)) if sum(truth) else None,
        ]
        for reports, p in outcomes(noise, truth, reach):
            for level in LEVELS:
                if (reports, level) not in answers:
                    answers[reports, level] = (
                        total(reports, noise, None, everything, level),
                        difference(reports, noise, None, one, ~one, level),
                        percentage(reports, noise, None, one, everything, level),
                    )
                for k, found in enumerate(answers[reports, level]):
                    if figures[k] is None or within(figures[k], found):
                        hits[level, k] += p
        for (level, k), share in hits.items():
            assert share >= level, (truth, level, ("total", "difference", "percentage")[k])


GEOMETRIC = dc.two_sided_geometric(alpha="1/5")


def test_in_range_with_public_sizes():
    sizes = np.array([1, 2, 3])
    check(cell_noise(GEOMETRIC, sizes=sizes), list(itertools.product(*(range(n + 1) for n in sizes))))


def test_in_range_with_a_bound_that_truths_exceed():
    check(cell_noise(GEOMETRIC, bound=2), list(itertools.product(range(5), repeat=2)))


def test_signed_with_a_bound_that_truths_exceed():
    check(cell_noise(GEOMETRIC, bound=2, output="signed"), list(itertools.product(range(5), repeat=2)), reach=5)


def test_signed():
    check(cell_noise(GEOMETRIC), [(0, 0), (0, 3), (3, 1)], reach=5)


def test_clamped():
    check(cell_noise(GEOMETRIC, output="clamped"), [(0, 0), (0, 1), (1, 0), (0, 4), (3, 1), (9, 9)], reach=5)


def test_clamped_with_wider_noise():
    noise = cell_noise(dc.two_sided_geometric(alpha="1/2"), output="clamped")
    check(noise, [(0, 0), (0, 3), (2, 2)], reach=9)


def test_lopsided_noise():
    from discreet.exact.kernels import Noise
    from discreet.mechanism import finish
    from discreet.spaces import Integers

    skew = finish("lopsided", Integers(), Integers(), Noise(SKEW), {})
    for arguments in ({}, {"output": "clamped"}, {"bound": 3}):
        check(cell_noise(skew, **arguments), list(itertools.product(range(4), repeat=2)), reach=4)


@pytest.mark.parametrize("name", ["explicit-fair", "randomized-response"])
def test_tables(name):
    sizes = np.array([2, 3])
    check(cell_noise(name, epsilon=1, sizes=sizes), list(itertools.product(*(range(n + 1) for n in sizes))))


def test_a_saved_table():
    check(cell_noise(dc.explicit_fair(3, alpha="1/3")), list(itertools.product(range(4), repeat=2)))


# ------------------------------------------------------------------------------------------------ many cells, seeded


@pytest.mark.parametrize(("output", "top"), [("signed", None), ("clamped", None), ("in-range", 4)])
def test_totals_of_many_cells_cover_as_often_as_stated(output, top):
    rounds, cells, level = 800, 40, Fraction(9, 10)
    noise = cell_noise("geometric", epsilon=1, output=output, bound=top)
    generator = np.random.default_rng(20)
    for spread in (1, 5):
        truths = generator.integers(0, min(spread, top or spread), cells)
        bits = SeededBits(17)
        missed = 0
        for _ in range(rounds):
            found = total(noise.draw(truths, bits), noise, None, np.full(cells, True), level)
            missed += not within(int(truths.sum()), found)
        # five standard deviations of a binomial above what is allowed
        assert missed <= rounds * 0.1 + 5 * math.sqrt(rounds * 0.09)
        if output == "signed":
            assert missed >= rounds * 0.1 - 5 * math.sqrt(rounds * 0.09)  # and the interval is no wider than need be


def test_ignoring_the_clamp_is_caught():
    """The negative control: clamped reports, judged as if they were not, are far too large."""
    rounds, cells, level = 300, 40, Fraction(9, 10)
    clamped, signed = (cell_noise("geometric", epsilon=1, output=output) for output in ("clamped", "signed"))
    bits, truths = SeededBits(3), np.zeros(cells, np.int64)
    missed = 0
    for _ in range(rounds):
        found = total(clamped.draw(truths, bits), signed, None, np.full(cells, True), level)
        missed += not within(0, found)
    assert missed > rounds * 0.1 + 5 * math.sqrt(rounds * 0.09)


def test_large_clamped_cells_cost_hardly_any_width():
    reported = np.full(1000, 500)
    signed, clamped, ranged = (
        total(reported, cell_noise("geometric", epsilon=1, output=output, bound=bound), None, reported > 0)
        for output, bound in (("signed", None), ("clamped", None), ("in-range", 1000))
    )
    width = signed.high - signed.low
    assert (signed.low, signed.high) == (500_000 - 84, 500_000 + 84)
    assert clamped.high == signed.high and clamped.high - clamped.low <= 1.1 * width
    assert ranged.high - ranged.low <= 1.1 * width


# ------------------------------------------------------------------------------------------------ what is said


def test_a_total_of_one_cell_is_the_cell():
    for output, bound in (("signed", None), ("clamped", None), ("in-range", 9), ("signed", 9)):
        noise = cell_noise("geometric", epsilon=1, output=output, bound=bound)
        for report in (0, 2, 5, 9):
            found = total([report, 4], noise, None, [True, False], "0.9")
            alone = noise.accuracy([report, 4], "0.9")
            assert found.low == alone.low[0]
            assert found.high == (None if alone.open[0] else alone.high[0])
            assert found.sd == alone.sd[0] and found.bias_high == alone.bias_high[0]
            assert found.cells == 1 and "itself" in found.how


def test_structural_zeros_count_nothing_exactly():
    noise = cell_noise("geometric", epsilon=1)
    with_zero = total([10, 0, 20], noise, ["A", "M", "A"], [True, True, True])
    without = total([10, 0, 20], noise, None, [True, False, True])
    assert with_zero == without
    nothing = total([0, 3], noise, ["M", "A"], [True, False])
    assert (nothing.estimate, nothing.low, nothing.high, nothing.cells) == (0, 0, 0, 0)


def test_groups_of_nobody_count_nothing_exactly():
    for name in ("geometric", "explicit-fair"):
        noise = cell_noise(name, epsilon=1, sizes=np.array([0, 5]))
        assert total([0, 3], noise, None, [True, True]) == total([0, 3], noise, None, [False, True])


def test_suppressed_cells_have_no_total():
    noise = cell_noise("geometric", epsilon=1)
    with refused(InvalidInput, "chosen"):
        total([10, 0, 20], noise, ["A", "Q", "A"], [True, True, True])
    assert total([10, 0, 20], noise, ["A", "Q", "A"], [True, False, True]).estimate == 30


def test_what_is_in_both_falls_out_of_a_difference():
    noise = cell_noise("geometric", epsilon=1)
    both = difference([10, 7, 20], noise, None, [True, True, False], [False, True, True])
    assert both == difference([10, 7, 20], noise, None, [True, False, False], [False, False, True])
    nothing = difference([10], noise, None, [True], [True])
    assert (nothing.estimate, nothing.low, nothing.high) == (0, 0, 0)


def test_percentages_of_nothing_and_of_everything():
    noise = cell_noise("geometric", epsilon=1)
    empty = percentage([-2, 1], noise, None, [True, False], [True, True])
    assert (empty.estimate, empty.low, empty.high) == (None, 0.0, 100.0)
    sure = percentage([1000, 0], noise, ["A", "M"], [True, False], [True, True])
    assert (sure.estimate, sure.low, sure.high) == (100.0, 100.0, 100.0)
    none = percentage([0, 1000], noise, ["M", "A"], [True, False], [True, True])
    assert (none.estimate, none.low, none.high) == (0.0, 0.0, 0.0)
    negative = percentage([-3, 1000], noise, None, [True, False], [True, True])
    assert negative.estimate == 0.0 and negative.low == 0.0 and 0 < negative.high < 1


def test_percentages_with_a_count_that_may_lie_beyond_its_bound():
    noise = cell_noise("geometric", epsilon=1, bound=1000)
    part = percentage([1000, 500], noise, None, [True, False], [True, True])
    rest = percentage([500, 1000], noise, None, [True, False], [True, True])
    assert part.high == 100.0 and 60 < part.low < 67
    assert rest.low == 0.0 and 33 < rest.high < 35


def test_bias_of_a_total_of_clamped_cells_is_stated():
    found = total(np.zeros(100, np.int64), cell_noise("geometric", epsilon=1, output="clamped"), None, [True] * 100)
    assert found.bias_high == pytest.approx(100 * 0.425459, rel=1e-4) and found.bias_low == pytest.approx(0)
    assert "clamping" in found.how


def test_totals_beyond_64_bits():
    noise = cell_noise("geometric", epsilon=1)
    found = total(np.full(8, 2**62), noise, None, [True] * 8)
    assert found.estimate == 2**65 and found.low < 2**65 < found.high
    assert exact_sum(np.array([2**62] * 5 + [-3])) == 5 * 2**62 - 3


def test_requests_that_make_no_sense_are_refused():
    noise = cell_noise("geometric", epsilon=1)
    with refused(InvalidInput, "chosen"):
        total([1, 2], noise, None, [0, 1])
    with refused(InvalidInput, "chosen"):
        total([1, 2], noise, None, [True])
    with refused(InvalidInput, "part"):
        percentage([1, 2], noise, None, [True, False], [False, True])
    with refused(InvalidInput, "status"):
        total([1, 2], noise, ["A"], [True, True])
    with refused(InvalidInput, "level", given=2):
        total([1, 2], noise, None, [True, True], 2)


@examples(25)
@given(reports=st.lists(st.integers(-5, 40), min_size=2, max_size=6), level=st.sampled_from(LEVELS))
def test_lower_ends_mirror_upper_ends(reports, level):
    noise = cell_noise("geometric", epsilon=1)
    one = np.arange(len(reports)) == 0
    there = difference(reports, noise, None, one, ~one, level)
    back = difference(reports, noise, None, ~one, one, level)
    assert (there.low, there.high) == (-back.high, -back.low)


def test_higher_levels_never_give_shorter_intervals():
    for noise in (cell_noise("geometric", epsilon=1), cell_noise(dc.randomized_response(Counts(9), epsilon=2))):
        ends = [total([3, 4, 5], noise, None, [True] * 3, level) for level in LEVELS]
        tops = [math.inf if end.high is None else end.high for end in ends]
        assert [end.low for end in ends] == sorted((end.low for end in ends), reverse=True)
        assert tops == sorted(tops)


# ------------------------------------------------------------------------------------------------ in words


def combined(estimate: float | None, low: float | None, high: float | None) -> Combined:
    return Combined(estimate, low, high, Fraction(19, 20), None, None, None, 1, "")


def test_a_percentage_is_printed_with_its_sign() -> None:
    figure = percentage([300, 700], cell_noise("geometric", epsilon=1), None, [True, False], [True, True])
    assert str(figure) == "30.00% (95% interval 29.78% to 30.22%)"


@every_case(
    ("figures", "words"),
    [
        ((32560.123, 32552, 32568), "32,560 (95% interval 32,552 to 32,568)"),
        ((24.08701, 24.0571, 24.1149), "24.087 (95% interval 24.057 to 24.115)"),
        ((-1234.56, -1240, -1232), "-1,234.6 (95% interval -1,240 to -1,232)"),
        ((5, 4, None), "5 (95% interval 4 to unknown)"),
        ((None, 0.0, 100.0), "unknown (95% interval 0 to 100)"),
        ((0.0, 0.0, 0.0), "0 (95% interval 0 to 0)"),
    ],
)
def test_figures_have_as_many_digits_as_their_interval_needs(figures: tuple[float, ...], words: str) -> None:
    assert str(combined(*figures)) == words


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3).map(sorted), st.booleans())
def test_a_written_estimate_lies_in_its_written_interval(figures: list[float], whole: bool) -> None:
    low, estimate, high = figures
    ends = (math.floor(low), math.ceil(high)) if whole else (low, high)
    words = str(combined(estimate, *ends)).replace(",", "")
    shown, first, last = (Fraction(words.replace(")", "").split(" ")[k]) for k in (0, 3, 5))
    assert first <= shown <= last and first <= ends[0] and ends[1] <= last  # no end is moved inwards
    if ends[1] - ends[0] > 1e-4:
        assert first < last and last - first <= Fraction(5, 4) * Fraction(ends[1] - ends[0]) + Fraction(2, 10**6)
