"""What is said about the error of a cell holds whatever the truth is: checked in exact numbers, truth by truth."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite, Gaussian, GeometricTails
from discreet.exact.rationals import alpha_from_epsilon
from discreet.mechanism import finish
from discreet.release.noise import worst_cases
from discreet.release.noise.accuracy import (
    NO_END,
    UNCLAMPED_HIGH,
    Behaviour,
    ReportRow,
    SideMoments,
    Windows,
    exceeds_at_most,
    noise_window,
    quantile,
    read_level,
    row_window,
)
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.spaces import Counts, Integers
from support.grids import every_case
from support.refusals import refused

LEVELS = [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20), Fraction(99, 100)]
ALPHAS = ["3/4", "1/3", "1/20"]  # few digits: exact sums stay short


def own_laws(low_clamp: bool, high: int | None = None) -> dc.Mechanism:
    """Noise with laws of its own for the counts 0 and 1, as bounded noise has: 0 never becomes negative."""
    truths = (0, high)
    space = Integers(0) if high is None else Counts(high)
    outputs = space if low_clamp else Integers()
    clamp = (0, high) if low_clamp else (None, None)
    own = (Finite(0, [5, 2, 1]), Finite(-1, [2, 5, 3, 1]))
    kernel = Noise(Finite(-2, [1, 2, 5, 3, 1]), truths, clamp, own)
    return finish("own_laws", space, outputs, kernel, {})


def lopsided() -> dc.Mechanism:
    return finish("lopsided", Integers(), Integers(), Noise(Finite(-1, [3, 7, 2, 2, 1])), {})


def some_matrix() -> dc.Mechanism:
    rows = np.array([[5, 1, 1, 3], [1, 5, 3, 1], [2, 2, 4, 2], [0, 1, 1, 8]]) / 10
    return dc.from_matrix(rows)


def cases() -> dict[str, CellNoise]:
    found: dict[str, CellNoise] = {}
    for alpha in ALPHAS:
        geometric = dc.two_sided_geometric(alpha=alpha)
        found[f"signed {alpha}"] = cell_noise(geometric)
        found[f"clamped {alpha}"] = cell_noise(geometric, output="clamped")
        for n in (1, 2, 3, 6):
            found[f"in range {n} {alpha}"] = cell_noise(geometric, bound=n)
            found[f"signed, bound {n} {alpha}"] = cell_noise(geometric, bound=n, output="signed")
            found[f"clamped, bound {n} {alpha}"] = cell_noise(geometric, bound=n, output="clamped")
            found[f"fair {n} {alpha}"] = cell_noise(dc.explicit_fair(n, alpha=alpha))
            found[f"response {n} {alpha}"] = cell_noise(dc.randomized_response(Counts(n), alpha=alpha))
            found[f"size {n} {alpha}"] = cell_noise(geometric, sizes=np.array([n]))
    found["by name"] = cell_noise("geometric", epsilon=2)
    found["laplace"] = cell_noise("rounded-laplace", epsilon=2, output="clamped")
    found["fair by name"] = cell_noise("explicit-fair", epsilon=1, bound=5)
    found["saved"] = cell_noise(dc.geometric(5, alpha="1/2"))
    found["saved, narrower"] = cell_noise(dc.geometric(5, alpha="1/2"), bound=3)
    found["saved, larger size"] = cell_noise(dc.geometric(5, alpha="1/2"), sizes=np.array([9]))
    found["matrix"] = cell_noise(some_matrix())
    found["lopsided"] = cell_noise(lopsided())
    found["lopsided, in range"] = cell_noise(lopsided(), bound=4)
    found["lopsided, clamped"] = cell_noise(lopsided(), output="clamped")
    found["own laws"] = cell_noise(own_laws(False))
    found["own laws, clamped"] = cell_noise(own_laws(True))
    found["own laws, in range"] = cell_noise(own_laws(True, 6))
    found["own laws, tiny range"] = cell_noise(own_laws(True, 1))
    found["own laws, narrower"] = cell_noise(own_laws(True, 6), sizes=np.array([3]))
    return found


CASES = cases()


def largest(noise: CellNoise) -> int | None:
    """The largest truth the cell takes, worked out again from the fields."""
    ends = [] if noise.high is None else [int(np.asarray(noise.high).reshape(-1)[0])]
    kernel, space = noise.mechanisms[0].kernel, noise.mechanisms[0].inputs
    if isinstance(kernel, Noise) and kernel.truths[1] is not None:
        ends.append(kernel.truths[1])
    if isinstance(space, Counts):
        ends.append(space.n)
    return min(ends) if ends else None


def reports(noise: CellNoise, truth: int, reach: int = 100) -> dict[int, Fraction]:
    """P(report | truth) exactly, from the kernel and the fields alone; reports far out may be missing."""
    kernel, top = noise.mechanisms[0].kernel, largest(noise)
    taken = truth if top is None else min(truth, top)
    if isinstance(kernel, Noise):
        law = kernel.law_at(taken)
        low, high = law.support
        steps = range(-reach if low is None else low, (reach if high is None else high) + 1)
        raw = {taken + z: law.probability(z) for z in steps}
        ends = kernel.clamp
        raw = _clamped(raw, *ends)
    else:
        raw = {y: kernel.probability(taken, y) for y in range(noise.mechanisms[0].outputs.size)}
    if noise.output != "signed":
        raw = _clamped(raw, 0, top if noise.output == "in-range" else None)
    return raw


def _clamped(raw: dict[int, Fraction], low: int | None, high: int | None) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for report, p in raw.items():
        if low is not None:
            report = max(report, low)
        if high is not None:
            report = min(report, high)
        found[report] = found.get(report, Fraction(0)) + p
    return found


FIRST, LAST = -140, 140


def intervals(noise: CellNoise, level: Fraction) -> tuple[list[int], list[int]]:
    """The intervals of the reports FIRST..LAST of one cell."""
    count = LAST - FIRST + 1
    many = noise if noise.size is None else replace(noise, high=np.full(count, noise.high[0]))
    found = many.accuracy(np.arange(FIRST, LAST + 1), level)
    return found.low.tolist(), found.high.tolist()


def covered(ends: tuple[list[int], list[int]], noise: CellNoise, truth: int) -> Fraction:
    """How often the interval covers this truth, at least (exactly, but for reports that are not listed)."""
    low, high = ends
    listed = reports(noise, truth)
    return sum((p for r, p in listed.items() if low[r - FIRST] <= truth <= high[r - FIRST]), Fraction(0))


@every_case("name", CASES)
def test_intervals_cover_every_truth(name):
    noise = CASES[name]
    top = largest(noise)
    beyond = 3 if top is not None and not noise.known else 0  # a public size is never exceeded
    if noise.known:
        top = min(top, int(noise.high[0]))
    ends = {level: intervals(noise, level) for level in LEVELS}
    for truth in range((top if top is not None else 5) + beyond + 1):
        for level in LEVELS:
            assert covered(ends[level], noise, truth) >= level, (truth, level)


def test_a_window_one_shorter_would_not_cover():
    """The test above can fail, and the intervals of noise are no wider than they must be."""
    noise = cell_noise("geometric", epsilon=1)
    for level in LEVELS:
        _, half = noise_window(noise.behaviours[0].law, level)
        noise.behaviours[0]._windows[level] = Windows(
            np.empty(0, np.int64), np.empty(0, np.int64), (1 - half, half - 1)
        )
        if half:
            assert covered(intervals(noise, level), noise, 20) < level


@every_case("sigma2", [Fraction(1, 5), Fraction(2), Fraction(50)])
@every_case("output", ["signed", "clamped"])
def test_gaussian_intervals_cover_by_proved_bounds(sigma2, output):
    noise = cell_noise("discrete-gaussian", sigma2=sigma2, output=output)
    law = Gaussian(sigma2)
    for level in LEVELS:
        for truth in (0, 1, 4, 60):
            z = np.arange(-100, 101)
            low, high = noise.intervals(truth + z if output == "signed" else np.maximum(0, truth + z), level)
            hits = sum(law.mass(k, 200)[0] for k in z[(low <= truth) & (truth <= high)].tolist())
            assert Fraction(hits, 2**200) >= level


@given(
    weights=st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any), min_size=2, max_size=6),
    level=st.sampled_from(LEVELS),
)
def test_windows_of_any_row_hold_their_share_exactly(weights, level):
    for truth, row in enumerate(weights):
        exact = [Fraction(w, sum(row)) for w in row]
        low, high = row_window(ReportRow(0, np.array([float(p) for p in exact])), truth, level)
        assert sum(exact[low : high + 1]) >= level
        shorter = [sum(exact[k : k + high - low]) for k in range(5 - (high - low))]
        assert high == low or max(shorter) < level + Fraction(1, 10**9)


@given(weights=st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any), level=st.sampled_from(LEVELS))
def test_windows_of_any_finite_law_are_shortest(weights, level):
    law = Finite(-2, weights)
    low, high = noise_window(law, level)
    shares = {z: law.probability(z) for z in range(law.low - 8, law.high + 9)}
    assert sum(p for z, p in shares.items() if low <= z <= high) >= level
    if not law.symmetric and high > low:
        starts = range(law.low - 1, law.high + 2)
        assert all(sum(shares.get(z, 0) for z in range(s, s + high - low)) < level for s in starts)


# ------------------------------------------------------------------------------------------------ quantiles


@every_case("alpha", ["1/2", "1/3", "9/10", "99/100"])
@every_case("share", [Fraction(1, 40), Fraction(1, 6), Fraction(1, 12), Fraction(1, 1000)])
def test_quantiles_are_the_least(alpha, share):
    law = GeometricTails.two_sided(Fraction(alpha))
    z = quantile(law, share)
    assert law.upper(z + 1) <= share
    assert z == 0 or law.upper(z) > share


def test_ties_are_decided_exactly():
    law = GeometricTails.two_sided(Fraction(1, 2))
    assert law.upper(2) == Fraction(1, 6)  # not dyadic: no bits decide it
    assert exceeds_at_most(law, 1, Fraction(1, 6))
    assert not exceeds_at_most(law, 1, Fraction(1, 6) - Fraction(1, 10**30))


def test_very_wide_noise_has_quantiles_too():
    law = GeometricTails.two_sided(alpha_from_epsilon(Fraction(1, 10**9)))
    z = quantile(law, Fraction(1, 40))
    assert z == pytest.approx(math.log(20) * 1e9, rel=1e-6)


# ------------------------------------------------------------------------------------------------ figures


def figures(noise: CellNoise) -> tuple[float, ...]:
    found = noise.accuracy(np.array([0]), Fraction(4, 5))
    return found.sd[0], found.bias_low[0], found.bias_high[0], found.exact[0]


def by_hand(noise: CellNoise, truths: list[int]) -> tuple[float, ...]:
    """The worst case over these truths, from the exact probabilities."""
    sds, biases, exact = [], [], []
    for truth in truths:
        listed = reports(noise, truth, reach=100)
        mean = sum(p * (report - truth) for report, p in listed.items())
        square = sum(p * (report - truth) ** 2 for report, p in listed.items())
        sds.append(math.sqrt(float(square - mean * mean)))
        biases.append(float(mean))
        exact.append(float(listed.get(truth, 0)))
    return max(sds), min(biases), max(biases), min(exact)


@every_case("name", CASES)
def test_figures_are_the_worst_case_over_truths(name):
    noise = CASES[name]
    top = largest(noise)
    truths = [*range(8), 95] if top is None else list(range(top + 1))
    assert figures(noise) == pytest.approx(by_hand(noise, truths), abs=1e-7)


def test_figures_of_ranges_agree_with_those_of_the_truncated_mechanism():
    for n in (1, 2, 5, 40):
        m = dc.geometric(n, alpha="4/5")
        sd, bias_low, bias_high, exact = figures(cell_noise(dc.two_sided_geometric(alpha="4/5"), bound=n))
        assert sd == pytest.approx(math.sqrt(max(dc.utility.variance(m, exact=True))))
        assert [bias_low, bias_high] == pytest.approx([min(dc.utility.bias(m)), max(dc.utility.bias(m))])
        assert exact == pytest.approx(min(dc.utility.probability_of_truth(m)))


def test_wide_ranges_have_a_bound_of_the_standard_deviation():
    """Beyond the truths that are gone through one by one it is at most that of the noise, and half the range."""
    for epsilon, n in ((Fraction(1, 1000), 2000), (Fraction(1, 10), 2000)):
        m = dc.geometric(n, epsilon=epsilon)
        found = figures(cell_noise("geometric", epsilon=epsilon, bound=n))[0]
        exact = math.sqrt(float(dc.utility.variance(m).max()))
        assert exact <= found * (1 + 1e-9) and found <= 1.6 * exact


@pytest.mark.parametrize(
    "law", [GeometricTails.two_sided(Fraction(3, 4)), Gaussian(Fraction(5)), Finite(-2, [1, 2, 5, 3, 1])]
)
def test_sums_over_one_side(law):
    tails = [law.float_tail(k) for k in range(1, 400)]
    for m in (0, 1, 2, 7, 300, UNCLAMPED_HIGH):
        assert SideMoments(law).mean(np.array([m]))[0] == pytest.approx(math.fsum(tails[:m]))
        squares = [(2 * k - 1) * tail for k, tail in enumerate(tails[:m], 1)]
        assert SideMoments(law).square(np.array([m]))[0] == pytest.approx(math.fsum(squares))


@every_case("name", CASES)
def test_what_is_expected_holds_for_every_truth(name):
    noise, level = CASES[name], Fraction(9, 10)
    expected, top = noise.expected(level), largest(noise)
    for truth in range(5 if top is None else top + 1):
        listed = reports(noise, truth)
        assert sum(p for report, p in listed.items() if abs(report - truth) <= expected.half_width) >= level
    found = figures(noise)
    assert (expected.sd, expected.bias_low, expected.bias_high, expected.exact) == found


def test_expected_reads_as_a_sentence():
    assert str(cell_noise("geometric", epsilon=1).expected()) == (
        "noise ± 3, 95% of the time, standard deviation at most 1.36, unbiased, zero at least 46.2% of the time"
    )
    assert "bias at most 0.43" in str(cell_noise("geometric", epsilon=1, output="clamped").expected())


# ------------------------------------------------------------------------------------------------ worst cases of a plan

#: Probability beyond the reports that are listed: alpha = 3/4, at 100.
REST = Fraction(1, 10**11)


def possible(noise: CellNoise) -> range:
    """True counts that a cell may have: all up to a public size, or up to far above a bound."""
    return range(int(np.asarray(noise.high).reshape(-1)[0]) + 1 if noise.known else 30)


@every_case("name", CASES)
def test_risks_are_those_of_the_law(name):
    """A count of m or more becomes 0 or less, and 0 becomes k or more, as often as the listed law says."""
    noise = CASES[name]
    zeros = [sum(p for report, p in reports(noise, truth).items() if report <= 0) for truth in possible(noise)]
    empty = reports(noise, 0)
    for least in (1, 2, 3, 5, 12):
        assert 0 <= worst_cases.false_zeros(noise, least) - max(zeros[least:], default=Fraction(0)) <= REST
        often = sum((p for report, p in empty.items() if report >= least), Fraction(0))
        assert 0 <= worst_cases.spurious_counts(noise, least) - often <= REST


@every_case("name", CASES)
def test_the_widest_interval_is_that_of_some_report(name):
    noise, level = CASES[name], Fraction(9, 10)
    low, high = intervals(noise, level)
    ends = list(zip(low, high, strict=True))
    widest = worst_cases.widest_interval(noise, level)
    if any(other == NO_END for _, other in ends):
        assert widest is None
    else:
        assert widest == max(other - one for one, other in ends)


def test_worst_cases_are_those_of_the_worst_cell():
    """Sizes 0 (never noisy), 2 and 9: a small group hardly has false zeros of 5, a large one does."""
    sizes = np.array([0, 2, 9])
    noise = cell_noise("explicit-fair", epsilon=1, sizes=sizes)
    single = [cell_noise("explicit-fair", epsilon=1, sizes=sizes[k : k + 1]) for k in (1, 2)]
    for least in (1, 2, 5):
        assert worst_cases.false_zeros(noise, least) == max(worst_cases.false_zeros(one, least) for one in single)
        assert worst_cases.spurious_counts(noise, least) == max(
            worst_cases.spurious_counts(one, least) for one in single
        )
    assert worst_cases.false_zeros(single[0], 5) == 0 < worst_cases.false_zeros(noise, 5)
    level = Fraction(19, 20)
    assert worst_cases.widest_interval(noise, level) == max(worst_cases.widest_interval(one, level) for one in single)


def test_gaussian_risks_are_proved_bounds():
    law, noise = Gaussian(Fraction(4)), cell_noise("discrete-gaussian", sigma2=4)
    for least in (1, 4, 9):
        both = worst_cases.false_zeros(noise, least), worst_cases.spurious_counts(noise, least)
        assert both[0] == both[1] and float(both[0]) == pytest.approx(float(law.floats(least, 80).sum()), rel=1e-12)
        assert both[0] >= Fraction(law.tail(least, 200)[0], 1 << 200)


# ------------------------------------------------------------------------------------------------ shapes and ends


def test_an_interval_that_reaches_a_chosen_bound_has_no_upper_end():
    noise = cell_noise("geometric", epsilon=2, bound=100)
    found = noise.accuracy(np.array([50, 99, 100]))
    assert found.open.tolist() == [False, True, True]
    sized = cell_noise("geometric", epsilon=2, sizes=np.array([100, 100, 100])).accuracy(np.array([50, 99, 100]))
    assert not sized.open.any() and sized.high.tolist()[1:] == [100, 100]


def test_a_report_unlikely_for_every_truth_still_has_an_interval():
    found = cell_noise("geometric", epsilon=1).accuracy(np.array([-50]))
    assert (found.low[0], found.high[0]) == (0, 0)


def test_many_cells_are_the_same_as_one_at_a_time():
    sizes = np.array([0, 1, 2, 3, 3, 7, 2000, 5000])
    for name in ("geometric", "rounded-laplace"):
        noise = cell_noise(name, epsilon=1, sizes=sizes)
        reported = np.array([0, 1, 1, 0, 3, 4, 1990, 0])
        together = noise.accuracy(reported)
        for k, (size, report) in enumerate(zip(sizes, reported, strict=True)):
            alone = cell_noise(name, epsilon=1, sizes=np.array([size])).accuracy(np.array([report]))
            for column in ("low", "high", "sd", "bias_low", "bias_high", "exact"):
                assert getattr(together, column)[k] == getattr(alone, column)[0], (column, size)


@every_case("level", [0, 0.4, 1, "1.5", -1])
def test_levels_that_make_no_sense_are_refused(level):
    with refused(InvalidInput, "level"):
        read_level(level)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.randomized_response(["a", "b"], epsilon=1),
        dc.suppression(9),
        dc.planar_geometric(dc.Grid(2, 2), epsilon=1),
    ],
)
def test_mechanisms_that_are_not_for_counts_are_refused(mechanism):
    with refused(Unsupported, token="released cells"):
        Behaviour.of(mechanism)


def test_mechanisms_that_do_not_begin_at_zero_are_refused():
    with refused(Unsupported, token="count of 5"):
        cell_noise(dc.two_sided_geometric(epsilon=1).on(Integers(5)))
