"""Composition is never below an exact brute force, and close to closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Unsupported
from discreet.exact.rationals import exp_bounds
from discreet.privacy.bounds import Identical, some_secret_lost
from discreet.privacy.compose import METHODS, compose
from discreet.privacy.dominating_pairs import Pair, curve_points, guarantee_points, pair_of_curve, pair_of_guarantee
from discreet.privacy.loss_sums import LossSum, sum_of_losses
from support.grids import every_case
from support.tiers import examples

F = Fraction
Rows = list[list[Fraction]]

#: Three truths, four reports, three releases at epsilon 2: one pair composed with itself gives .00226, not .00857.
MIXED = [[12, 16, 3, 13], [13, 11, 7, 11], [8, 19, 16, 7]]


def rows_of(weights: list[list[int]]) -> Rows:
    return [[F(w, sum(row)) for w in row] for row in weights]


def directed(size: int, notion: str) -> list[tuple[int, int]]:
    """All ordered pairs of truths that a notion compares."""
    return [(i, j) for i in range(size) for j in range(size) if i != j and (notion == "local" or abs(i - j) == 1)]


def hockey(pairs: list[tuple[list[Fraction], list[Fraction]]], ratio: Fraction) -> Fraction:
    """sum over joint reports of (P - E Q)+, exactly."""
    joint = [(F(1), F(1))]
    for p, q in pairs:
        joint = [(a * s, b * t) for a, b in joint for s, t in zip(p, q, strict=True)]
    return sum((max(a - ratio * b, F(0)) for a, b in joint), F(0))


def brute_force(plan: list[tuple[Rows, int]], notion: str, ratio: Fraction) -> Fraction:
    """The largest divergence over all sequences of compared pairs, one for each release, in exact arithmetic."""
    choices = [
        [
            [(rows[i], rows[j]) for i, j in chosen]
            for chosen in combinations_with_replacement(directed(len(rows), notion), k)
        ]
        for rows, k in plan
    ]
    return max(hockey([pair for part in parts for pair in part], ratio) for parts in product(*choices))


def exact_delta(plan: list[tuple[Rows, int]], notion: str, epsilon: Fraction) -> Fraction:
    """A lower bound of the true delta, within 2^-100 of it."""
    return brute_force(plan, notion, exp_bounds(epsilon)[1])


def response_delta(epsilons: list[tuple[float, int]], epsilon: float) -> float:
    """delta of so many randomized responses of up to two kinds, as a sum over how many go the other way."""
    laws = []
    for eps, k in epsilons:
        logs = [
            math.lgamma(k + 1)
            - math.lgamma(j + 1)
            - math.lgamma(k - j + 1)
            + (k - j) * eps
            - k * math.log1p(math.exp(eps))
            for j in range(k + 1)
        ]
        laws.append([(math.exp(log), (k - 2 * j) * eps) for j, log in enumerate(logs)])
    total = 0.0
    for parts in product(*laws):
        loss = sum(x for _, x in parts)
        if loss > epsilon:
            total += math.prod(p for p, _ in parts) * -math.expm1(epsilon - loss)
    return total


# ------------------------------------------------------------------------------------------------ never below the truth


@pytest.mark.parametrize("notion", ["central", "local"])
def test_pairs_that_differ_between_releases_are_covered(notion):
    """The trap: composing each pair of truths with itself and taking the worst at the end understates delta 3.8x."""
    rows, epsilon = rows_of(MIXED), F(2)
    ratio = exp_bounds(epsilon)[1]
    alone = max(hockey([(rows[i], rows[j])] * 3, ratio) for i, j in directed(3, notion))
    true = brute_force([(rows, 3)], notion, ratio)
    if notion == "central":
        assert float(alone) == pytest.approx(0.00226, rel=0.03) and true > F(37, 10) * alone
    verdict = dc.verify(MIXED_TABLE, notion)
    for method in ("best", "numerical", "optimal", "basic", "zcdp"):
        assert F(compose([(verdict, 3)], method=method).delta(epsilon)) >= true
    assert F(compose([(verdict, 3)]).delta(epsilon)) < F(16, 10) * true


MIXED_TABLE = [[str(p) for p in row] for row in rows_of(MIXED)]


@st.composite
def tables(draw):
    """Small tables of integer weights, zeros included."""
    size, width = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    weight = st.integers(0, 9)
    row = st.lists(weight, min_size=width, max_size=width).filter(any)
    return draw(st.lists(row, min_size=size, max_size=size))


@given(
    first=tables(),
    second=tables(),
    times=st.tuples(st.integers(1, 2), st.integers(0, 1)),
    notion=st.sampled_from(["central", "local"]),
    epsilon=st.fractions(0, 4, max_denominator=7),
)
@examples(60)
def test_never_below_brute_force_over_all_sequences_of_pairs(first, second, times, notion, epsilon):
    plan = [(rows_of(first), times[0]), (rows_of(second), times[1])][: 1 + times[1]]
    verdicts = [(dc.verify([[str(p) for p in row] for row in rows], notion), k) for rows, k in plan]
    true = exact_delta(plan, notion, epsilon)
    for method in METHODS:
        try:
            found = compose(verdicts, method=method).delta(epsilon)
        except Unsupported:
            assert method in ("basic", "optimal", "zcdp")
            continue
        assert F(found) >= true, method
    numerical = compose(verdicts, method="numerical")
    exact = exact_of_pairs([(exact_pair(v), k) for v, k in verdicts], epsilon)
    assert F(numerical.delta(epsilon)) >= exact - F(1, 10**25)
    assert numerical.delta(epsilon) <= float(exact) + 1e-4  # the grid costs a little
    slack = numerical.slack
    before = epsilon - F(slack.epsilon) - F(1, 10**14)  # the rounding of epsilon itself
    if before >= 0:
        bound = (1 + slack.relative) * float(exact_of_pairs([(exact_pair(v), k) for v, k in verdicts], before))
        assert numerical.delta(epsilon) <= bound + slack.delta + 1e-15


def exact_pair(verdict: dc.Verdict) -> tuple[list[Fraction], list[Fraction]]:
    """The dominating pair of the corners of the curve, worked out here again from E < 1 and E > 1 alike."""
    corners = [(exp_bounds(x)[1], h) for x, h in curve_points(verdict.evidence).points]
    below = [(1 / e, 1 - 1 / e + h / e) for e, h in reversed(corners) if e > 1]
    points = [(F(0), F(1)), *below, *corners]
    slopes = [(h2 - h1) / (e2 - e1) for (e1, h1), (e2, h2) in pairwise(points)] + [F(0)]
    q = [max(after - before, F(0)) for before, after in pairwise([F(-1), *slopes])]
    p = [mass * e for mass, (e, _) in zip(q, points, strict=True)]
    return [*p, points[-1][1]], [*q, F(0)]


def exact_of_pairs(pairs: list[tuple[tuple[list[Fraction], list[Fraction]], int]], epsilon: Fraction) -> Fraction:
    return hockey([pair for pair, k in pairs for _ in range(k)], exp_bounds(epsilon)[0])


@given(table=tables(), notion=st.sampled_from(["central", "local"]), epsilon=st.fractions(0, 5, max_denominator=9))
@examples(50)
def test_the_curve_of_the_pair_is_that_of_the_verdict(table, notion, epsilon):
    verdict = dc.verify([[str(p) for p in row] for row in rows_of(table)], notion)
    curve = curve_points(verdict.evidence)
    assert curve.gap == 0  # every corner was found
    assert all(h >= h2 and x < x2 for (x, h), (x2, h2) in pairwise(sorted(curve.points)))
    pair = pair_of_curve(curve)
    assert pair.masses.sum() + pair.mirrored.sum() + pair.centre + pair.infinite == pytest.approx(1, abs=1e-12)
    E = math.exp(epsilon)
    of_pair = pair.infinite + sum(
        p * max(0.0, 1 - E * math.exp(-x)) for p, x in zip(pair.masses.tolist(), pair.losses.tolist(), strict=True)
    )
    assert of_pair == pytest.approx(verdict.delta(epsilon), abs=1e-12)
    one = compose([verdict], method="numerical").delta(epsilon)
    assert verdict.delta(epsilon) <= one + 1e-25 and one <= verdict.delta(epsilon) + 1e-6


def test_a_curve_with_few_looks_is_coarser_never_lower():
    scores = np.random.default_rng(5).random((12, 9))
    evidence = dc.verify(dc.exponential(scores, epsilon=2, sensitivity=1)).evidence
    whole, rough, none = (curve_points(evidence, looks) for looks in (400, 3, 0))
    assert whole.gap == 0 and rough.gap > 0 and len(none.points) == 2
    deltas = [
        [sum_of_losses([(pair_of_curve(curve), 20)]).delta_at(F(e, 2)) for e in range(20)]
        for curve in (whole, rough, none)
    ]
    for fine, coarse, coarsest in zip(*deltas, strict=True):
        assert fine <= coarse * (1 + 1e-9) <= coarsest * (1 + 1e-3)


def test_screened_verdicts_compose_too():
    table = [[str(p) for p in row] for row in rows_of(MIXED)]
    exact = compose([(dc.verify(table), 3)], method="numerical").delta(2)
    screened = compose([(dc.verify(table, exact=False), 3)], method="numerical").delta(2)
    assert exact * (1 - 1e-12) <= screened <= exact * 1.001


# ------------------------------------------------------------------------------------------------ pure releases


@given(
    ratio=st.fractions(F(11, 10), 9, max_denominator=10),
    k=st.integers(1, 6),
    epsilon=st.fractions(0, 8, max_denominator=5),
)
@examples(60)
def test_the_closed_form_is_exact_for_pure_releases(ratio, k, epsilon):
    p = ratio / (1 + ratio)
    rows = [[p, 1 - p], [1 - p, p]]
    optimal = compose([(dc.verify([[str(x) for x in row] for row in rows]), k)], method="optimal")
    low, high = exp_bounds(epsilon)
    assert F(optimal.delta(epsilon)) >= hockey([(rows[0], rows[1])] * k, high)
    assert optimal.delta(epsilon) <= float(hockey([(rows[0], rows[1])] * k, low)) * (1 + 1e-14) + 1e-70


@every_case("k", [1, 2, 10, 1000])
@every_case("epsilon", ["0.01", "0.1", "1"])
def test_numerical_is_within_one_per_cent_of_the_closed_form_and_never_below(k, epsilon):
    privacy = dc.Privacy(epsilon)
    optimal, numerical = (compose([(privacy, k)], method=m) for m in ("optimal", "numerical"))
    spread = float(epsilon) * math.sqrt(k)
    for step in range(8):
        eps = max(0.0, k * float(epsilon) * math.tanh(float(epsilon) / 2) + (step - 2) * spread)
        if eps >= k * float(epsilon):
            continue
        least, found = optimal.delta(eps), numerical.delta(eps)
        assert least == pytest.approx(response_delta([(float(epsilon), k)], eps), rel=1e-9)
        assert least * (1 - 1e-15) <= found <= least * 1.01


def test_a_thousand_releases_can_be_composed():
    plan = compose([dc.geometric(100, epsilon="0.05")] * 1000)
    assert plan.epsilon(1e-6) < 15  # basic composition says 50
    plan = compose([dc.Privacy(F(50 + i, 5000)) for i in range(1000)], method="numerical")
    assert plan.delta(10) < 1


def test_different_epsilons_are_composed_within_the_stated_slack():
    kinds = [(0.1, 50), (0.037, 70)]
    plan = compose([(dc.Privacy(eps), k) for eps, k in kinds], method="optimal")
    assert plan.slack.epsilon > 0  # no closed form: on a grid
    for eps in (0.2, 1.0, 2.0, 3.0, 4.0):
        true = response_delta(kinds, eps)
        assert true * (1 - 1e-12) <= plan.delta(eps) <= true * 1.01
        earlier = response_delta(kinds, eps - plan.slack.epsilon)
        assert plan.delta(eps) <= (1 + plan.slack.relative) * earlier * (1 + 1e-9) + plan.slack.delta


@given(
    epsilons=st.lists(st.fractions(F(1, 50), 1, max_denominator=50), min_size=1, max_size=3),
    delta=st.sampled_from([F(0), F(1, 10**6), F(1, 50)]),
    times=st.integers(1, 30),
    at=st.fractions(0, 1),
)
@examples(50)
def test_basic_is_at_least_optimal_is_at_least_the_best(epsilons, delta, times, at):
    plan = [(dc.Privacy(epsilon, delta), times) for epsilon in epsilons]
    basic, optimal, best = (compose(plan, method=m) for m in ("basic", "optimal", "best"))
    epsilon = at * sum(epsilons) * times
    assert optimal.delta(epsilon) <= basic.delta(epsilon) * (1 + 1e-6) + 1e-12
    assert best.delta(epsilon) <= min(basic.delta(epsilon), optimal.delta(epsilon))
    total = sum(epsilons) * times
    assert basic.delta(total) == pytest.approx(float(min(delta * times * len(epsilons), 1)))
    assert basic.holds(total, min(delta * times * len(epsilons), F(1)))


def test_accidents_of_probability_delta_add_up_as_chances():
    plan = compose([(dc.Privacy("0.2", "1/1000"), 500)], method="optimal")
    lost = 1 - 0.999**500
    assert plan.delta(200) == pytest.approx(lost, rel=1e-12)
    assert plan.delta(1) == pytest.approx(lost + (1 - lost) * response_delta([(0.2, 500)], 1), rel=1e-9)
    assert compose([(dc.Privacy("0.2", "1/1000"), 500)], method="numerical").delta(1) == pytest.approx(
        plan.delta(1), rel=1e-5
    )
    assert some_secret_lost([(F(1, 2), 2), (F(0), 9), (F(1, 3), 1)]) == pytest.approx(F(5, 6))


def test_releases_that_tell_nothing_cost_nothing():
    plan = compose([(dc.uniform(5), 1000)])
    assert plan.epsilon(0) == 0 and plan.delta(0) == 0
    mixed = compose([(dc.uniform(5), 1000), dc.Privacy(1)], method="optimal")
    assert mixed.delta("1/2") == compose([dc.Privacy(1)], method="optimal").delta("1/2")
    assert compose([dc.Privacy(0, "1/10"), dc.Privacy(0, "1/10")], method="optimal").delta(0) == pytest.approx(0.19)


def test_many_releases_beyond_the_closed_form():
    """A hundred thousand: the normal approximation is close, and the bound is a little above the truth."""
    plan = compose([(dc.Privacy("0.001"), 100_000)])
    assert response_delta([(0.001, 9_000)], 0.3) == pytest.approx(Identical(F(1, 1000), 9_000, F(0)).delta_at(F(3, 10)))
    mean, spread = 100_000 * 0.001 * math.tanh(0.0005), 0.001 * math.sqrt(100_000)
    upper = math.erfc((1 - mean) / spread / math.sqrt(2)) / 2
    lower = math.erfc((1 + mean) / spread / math.sqrt(2)) / 2
    assert plan.delta(1) == pytest.approx(upper - math.e * lower, rel=0.01)


def test_extreme_plans_still_get_an_answer():
    tiny = compose([(dc.Privacy("1e-9"), 1000)])
    assert tiny.epsilon(0) == pytest.approx(1e-6) and 0 < tiny.delta("2e-7") < 1e-8
    huge = compose([dc.Privacy(700), (dc.Privacy(1), 5)])
    assert huge.epsilon(0) == pytest.approx(705) and huge.delta("1e300") == 0
    assert compose([dc.Privacy(700), (dc.Privacy(1), 5)], method="zcdp").delta("1e300") < 1e-300
    many = compose([(dc.Privacy("1e-5"), 10**9)], method="numerical")
    assert many.delta(1) == pytest.approx(response_delta([(0.01, 1000)], 1), rel=0.05)
    assert many.delta("1e300") < 1e-9


# ------------------------------------------------------------------------------------------------ the parts


def test_sums_on_the_grid_lose_no_mass_and_cut_off_on_the_safe_side():
    pair = pair_of_guarantee(F(1, 3), F(1, 1000))
    total = sum_of_losses([(pair, 300)])
    assert total.masses.sum() + total.infinite == pytest.approx(1, abs=1e-8)
    assert total.infinite == pytest.approx(1 - 0.999**300, rel=1e-9)
    assert 0 < total.cut < 1e-9 and 0 < total.relative < 1e-8
    # long arrays are convolved in blocks
    rng = np.random.default_rng(0)
    a, b = rng.random(20_000), rng.random(17_000)
    both = LossSum(0.5, 3, a, 0.0) + LossSum(0.5, -7, b, 0.25)
    assert both.start == -4 and both.infinite == pytest.approx(0.25)
    assert both.masses[:100] == pytest.approx(np.convolve(a[:100], b[:100])[:100], rel=1e-11)
    assert both.masses.sum() == pytest.approx(a.sum() * b.sum(), rel=1e-9)


def test_losses_between_grid_points_are_split_on_the_safe_side():
    pair = Pair(np.array([0.7, 1.9]), np.array([0.4, 0.2]), 0.0 * np.ones(2), 0.4, 0.0)
    fine = sum_of_losses([(pair, 1)])
    for eps in (0.0, 0.3, 0.69, 1.0, 1.5, 1.89):
        true = 0.4 * max(0, 1 - math.exp(eps - 0.7)) + 0.2 * max(0, 1 - math.exp(eps - 1.9))
        assert true * (1 - 1e-15) <= fine.delta_at(F(eps)) <= true + 1e-6
    assert fine.delta_at(F(2)) == 0


def test_the_curve_of_a_guarantee_is_that_of_randomized_response():
    curve = guarantee_points(F(1), F(1, 10))
    verdict_like = pair_of_curve(curve)
    direct = pair_of_guarantee(F(1), F(1, 10))
    assert verdict_like.masses == pytest.approx(direct.masses) and verdict_like.mirrored == pytest.approx(
        direct.mirrored
    )
    assert verdict_like.infinite == pytest.approx(direct.infinite) and verdict_like.centre == pytest.approx(
        0, abs=1e-12
    )
    assert pair_of_guarantee(F(10_000), F(0)).infinite == 1
