"""Naming groups by bounded noise: the exact law, the judge, the optimum, and what others publish of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.laws import Finite
from discreet.exact.rationals import exp_bounds, log_bounds, read_alpha
from discreet.mechanisms.geometric import bounded_geometric
from discreet.privacy.partition_selection import (
    LARGEST_REACH,
    keep_probabilities,
    least_reach,
    lost_by_any,
    most_that_privacy_allows,
    naming_delta,
    naming_delta_up,
    selection_table,
    truncated_law,
)
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

alphas = st.fractions(Fraction(1, 10), Fraction(19, 20), max_denominator=40)
reaches = st.integers(1, 9)


def reports(alpha: Fraction, reach: int, count: int) -> dict[int | None, Fraction]:
    """What is published of a group of so many: by the definition, and by nothing of the code under test."""
    weights = {z: alpha ** abs(z) for z in range(-reach, reach + 1)}
    shown: dict[int | None, Fraction] = {}
    for z, weight in weights.items():
        key = count + z if count + z > reach else None
        shown[key] = shown.get(key, Fraction(0)) + weight / sum(weights.values())
    return shown


def excess(one: list[dict[int | None, Fraction]], two: list[dict[int | None, Fraction]], factor: Fraction) -> Fraction:
    """The hockey-stick divergence of several groups that are published together."""
    total = Fraction(0)
    for outcome in itertools.product(*one):
        here = math.prod((law[key] for law, key in zip(one, outcome, strict=True)), start=Fraction(1))
        there = math.prod((law.get(key, Fraction(0)) for law, key in zip(two, outcome, strict=True)), start=factor)
        total += max(Fraction(0), here - there)
    return total


# ------------------------------------------------------------------------------------------------ the law


@given(alphas, reaches)
def test_the_law_is_geometric_between_its_ends(alpha: Fraction, reach: int) -> None:
    law = truncated_law(alpha, reach)
    assert law.support == (-reach, reach) and law.symmetric
    assert all(law.probability(z + 1) == alpha * law.probability(z) for z in range(reach))
    assert law.probability(reach) == naming_delta(alpha, reach)


@given(alphas, reaches)
@examples(40)
def test_delta_is_exactly_that_of_all_neighbouring_counts(alpha: Fraction, reach: int) -> None:
    laws = [reports(alpha, reach, n) for n in range(2 * reach + 3)]
    pairs = [pair for n in range(len(laws) - 1) for pair in ((laws[n], laws[n + 1]), (laws[n + 1], laws[n]))]
    assert max(excess([a], [b], 1 / alpha) for a, b in pairs) == naming_delta(alpha, reach)


@given(alphas, reaches)
def test_no_private_rule_names_a_group_more_often(alpha: Fraction, reach: int) -> None:
    kept = keep_probabilities(alpha, reach)
    assert kept == most_that_privacy_allows(alpha, naming_delta(alpha, reach), len(kept))
    assert kept[0] == 0 and kept[1] == naming_delta(alpha, reach) and kept[-1] == 1 > kept[-2]
    assert kept == [1 - reports(alpha, reach, n).get(None, Fraction(0)) for n in range(len(kept))]


@every_case(("alpha", "reach"), [("1/2", 4), ("1/3", 2), ("9/10", 12), ("2/3", 1)])
def test_the_judge_proves_the_table_with_its_withheld_row(alpha: str, reach: int) -> None:
    """The judge knows nothing of the lemma; a table with one weight moved is a control."""
    a = Fraction(alpha)
    epsilon = log_bounds(1 / a)[1]
    table = selection_table(a, reach)
    delta = naming_delta(a, reach)
    verdict = dc.verify(table)
    assert verdict.holds(epsilon, delta) and not verdict.holds(epsilon, delta * Fraction(999, 1000))
    rows = [[table.weight(i, j) for j in range(table.shape[1])] for i in range(table.shape[0])]
    rows[1][0], rows[1][1] = rows[1][0] - rows[1][1], 2 * rows[1][1]  # a group of one is named twice as often
    assert not dc.verify(type(table).from_rows(rows)).holds(epsilon, delta)


@pytest.mark.parametrize(("epsilon", "reach"), [("1/5", 89), ("1", 18), ("0.02", 300)])
def test_the_certificate_of_the_noise_states_the_exact_delta(epsilon: str, reach: int) -> None:
    mechanism = bounded_geometric(reach, epsilon=epsilon)
    exact = naming_delta(Fraction(str(mechanism.parameters["alpha"])), reach)
    assert exact <= Fraction(mechanism.certificate.delta) <= exact * (1 + Fraction(1, 10**9))
    assert mechanism.certificate.epsilon <= float(Fraction(epsilon)) * (1 + 1e-12)
    again = dc.verify(mechanism)
    assert again.holds(Fraction(epsilon), Fraction(mechanism.certificate.delta))


# ------------------------------------------------------------------------------------------------ many draws


@every_case(("alpha", "reach", "draws"), [("1/3", 2, 2), ("1/2", 3, 2), ("1/2", 1, 3), ("2/3", 2, 2)])
def test_draws_of_one_person_have_exactly_the_stated_delta_together(alpha: str, reach: int, draws: int) -> None:
    a = Fraction(alpha)
    laws = [reports(a, reach, n) for n in range(2 * reach + 2)]
    steps = [pair for n in range(len(laws) - 1) for pair in ((laws[n], laws[n + 1]), (laws[n + 1], laws[n]))]
    worst = max(
        excess([one for one, _ in chosen], [other for _, other in chosen], a**-draws)
        for chosen in itertools.combinations_with_replacement(steps, draws)
    )
    stated = 1 - (1 - naming_delta(a, reach)) ** draws
    assert worst == stated <= lost_by_any(naming_delta_up(a, reach), draws) < stated * (1 + Fraction(1, 10**30))


def test_the_threshold_of_the_handbook() -> None:
    """epsilon 1, five groups, delta 1e-8: 89. That delta for each draw, instead of all together, gives 81."""
    alpha = read_alpha(None, Fraction(1, 5))
    delta = Fraction(1, 10**8)
    assert least_reach(alpha, delta, 5) == 89
    assert least_reach(alpha, delta, 1) == 81
    assert lost_by_any(naming_delta(alpha, 81), 5) > 4 * delta


@given(alphas, st.integers(1, 12), st.integers(2, 12))
@examples(60)
def test_the_threshold_is_the_least_that_delta_allows(alpha: Fraction, draws: int, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    reach = least_reach(alpha, delta, draws)
    assert 1 - (1 - naming_delta(alpha, reach)) ** draws <= delta
    assert reach == 1 or 1 - (1 - naming_delta(alpha, reach - 1)) ** draws > delta
    assert naming_delta(alpha, reach) <= naming_delta_up(alpha, reach)


def test_a_threshold_that_cannot_be_reached_is_refused_with_what_to_do() -> None:
    alpha = read_alpha(None, Fraction(1, 1000))
    with refused(InvalidInput, "epsilon"):
        least_reach(alpha, Fraction(1, 10**8), 1)
    with refused(InvalidInput, "epsilon"):
        least_reach(read_alpha(None, Fraction(1, 10**5)), Fraction(1, 10**8), 1)
    with refused(InvalidInput, "reach", given=1001):
        truncated_law(Fraction(1, 2), LARGEST_REACH + 1)


# ------------------------------------------------------------------------------------------------ what others publish

#: The keep-probabilities that google/differential-privacy expects of its own rule (go/dpagg/select_partition_test.go).
GOOGLE = [
    (Fraction(1, 2), "1/10", 1, [0, 0.1, 0.3, 0.7, 0.9, 1, 1]),
    (Fraction(2, 3), "1/10", 1, [0, 0.1, 0.25, 0.475, 0.716666666667, 0.877777777778, 0.985185185185, 1, 1]),
]


@pytest.mark.parametrize(("alpha", "delta", "draws", "expected"), GOOGLE)
def test_keep_probabilities_are_those_that_google_publishes(
    alpha: Fraction, delta: str, draws: int, expected: list[float]
) -> None:
    most = most_that_privacy_allows(alpha, Fraction(delta), len(expected))
    assert [float(p) for p in most] == pytest.approx(expected, rel=1e-9)
    reach = least_reach(alpha, Fraction(delta), draws)
    ours = keep_probabilities(alpha, reach)
    assert all(p <= most[min(n, len(most) - 1)] for n, p in enumerate(ours[: len(most)]))
    if naming_delta(alpha, reach) == Fraction(delta):
        assert ours == most[: len(ours)] and [float(p) for p in ours] == pytest.approx(expected[: len(ours)])
    else:
        assert naming_delta(alpha, reach) < Fraction(delta)


def test_the_first_of_googles_tables_is_reached_exactly() -> None:
    """ln 2 and 0.1: noise 1, 2, 4, 2, 1 of 10 on [-2, 2]."""
    assert truncated_law(Fraction(1, 2), 2) == Finite(-2, (1, 2, 4, 2, 1))
    assert keep_probabilities(Fraction(1, 2), 2) == [0, *(Fraction(p, 10) for p in (1, 3, 7, 9, 10))]


def test_the_recursion_has_googles_digits_at_epsilon_50() -> None:
    alpha = 1 / exp_bounds(Fraction(50), 400)[0]
    most = most_that_privacy_allows(alpha, Fraction(1, 10**200), 12)
    expected = [1e-200, 5.184706e-179, 2.688117e-157, 1.393710e-135, 7.225974e-114, 3.746455e-92, 1.942426e-70]
    assert [float(p) for p in most[1:8]] == pytest.approx(expected, rel=1e-6)
    assert [float(p) for p in most[8:]] == pytest.approx([1.007091e-48, 5.221470e-27, 2.707178e-05, 1], rel=1e-6)


# ------------------------------------------------------------------------------------------------ planted


@pytest.mark.parametrize("threshold", [3, 5, 12])
def test_a_delta_that_leaves_out_the_threshold_itself_is_caught(threshold: int) -> None:
    """The fault of opendp#2922: reports at the threshold are released, and delta is the tail beyond it.

    Integer noise has a mass at the threshold. The exact law of what is released shows it, for their noise and for ours.
    """
    alpha = read_alpha(None, Fraction(1))
    released = alpha ** (threshold - 1) / (1 + alpha)  # P(1 + Z >= T) of two-sided geometric noise
    stated = alpha**threshold / (1 + alpha)  # P(1 + Z > T)
    assert released > 2 * stated
    delta = naming_delta(alpha, threshold)
    table = selection_table(alpha, threshold)
    rows = [[table.weight(i, j) for j in range(table.shape[1])] for i in range(table.shape[0])]
    law = truncated_law(alpha, threshold)
    at_threshold = [int(law.probability(threshold - n) * law.total) for n in range(len(rows))]
    faulty = [[row[0] - shown, shown, *row[1:]] for row, shown in zip(rows, at_threshold, strict=True)]
    faulty[0] = [law.total, *[0] * (len(faulty[0]) - 1)]  # a group of nobody is not there
    assert dc.verify(table).holds(Fraction(1), delta)
    assert not dc.verify(type(table).from_rows(faulty)).holds(Fraction(1), delta)
    assert not dc.verify(type(table).from_rows(faulty)).holds(Fraction(1), 2 * delta)


def test_a_bound_cut_off_one_step_too_early_is_caught() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**3)
    alpha = read_alpha(None, epsilon)
    wrong = least_reach(alpha, delta, 1) - 1
    assert not dc.verify(selection_table(alpha, wrong)).holds(epsilon, delta)
    assert dc.verify(selection_table(alpha, wrong + 1)).holds(epsilon, delta)


# ------------------------------------------------------------------------------------------------ where it is not best


def test_less_than_the_delta_asked_for_may_be_spent():
    """At epsilon 1 and delta 1e-8 the optimum names a group up to 1.42 times as often."""
    alpha, delta = read_alpha(None, 1).limit_denominator(10**6), Fraction(1, 10**8)
    reach = least_reach(alpha, delta, 1)
    ours = keep_probabilities(alpha, reach)
    most = most_that_privacy_allows(alpha, delta, len(ours))
    assert reach == 18 and float(naming_delta(alpha, reach)) == pytest.approx(7.04e-9, rel=1e-3)
    assert max(best / own for best, own in zip(most, ours, strict=True) if own) == delta / naming_delta(alpha, reach)
    assert float(delta / naming_delta(alpha, reach)) == pytest.approx(1.42, abs=0.005)


def gaussian_threshold(groups: int, epsilon: float, delta: float) -> float:
    """A threshold with Gaussian noise for a person in so many groups: half of delta for the counts, half for names."""
    normal = NormalDist()

    def lost(sigma: float) -> float:
        shift = math.sqrt(groups) / sigma
        far = epsilon / shift
        return normal.cdf(shift / 2 - far) - math.exp(epsilon) * normal.cdf(-shift / 2 - far)

    low, high = 0.1, 1000.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) > delta / 2 else (low, middle)
    return 1 - high * normal.inv_cdf(delta / 2 / groups)


@pytest.mark.parametrize(("groups", "lower"), [(1, False), (2, False), (4, True), (20, True)])
def test_with_four_groups_for_each_person_gaussian_noise_has_a_lower_threshold(groups, lower):
    reach = least_reach(read_alpha(None, Fraction(1, groups)), Fraction(1, 10**8), groups)
    assert (gaussian_threshold(groups, 1, 1e-8) < reach + 1) == lower
    if groups == 20:
        assert reach == 355 and gaussian_threshold(groups, 1, 1e-8) == pytest.approx(147, abs=1)
