"""Composition: never below an exact brute force, close to closed forms, in agreement with dp-accounting."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, Unsupported, WrongType
from discreet.exact.rationals import exp_bounds
from discreet.privacy.bounds import Identical, concentrated_delta, pure_rho, some_secret_lost
from discreet.privacy.compose import METHODS, Composition, compose
from discreet.privacy.dominating import Pair, curve_points, guarantee_points, pair_of_curve, pair_of_guarantee
from discreet.privacy.loss_sums import LossSum, sum_of_losses

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
@settings(max_examples=120)
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
@settings(max_examples=100)
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
@settings(max_examples=60)
def test_the_closed_form_is_exact_for_pure_releases(ratio, k, epsilon):
    p = ratio / (1 + ratio)
    rows = [[p, 1 - p], [1 - p, p]]
    optimal = compose([(dc.verify([[str(x) for x in row] for row in rows]), k)], method="optimal")
    low, high = exp_bounds(epsilon)
    assert F(optimal.delta(epsilon)) >= hockey([(rows[0], rows[1])] * k, high)
    assert optimal.delta(epsilon) <= float(hockey([(rows[0], rows[1])] * k, low)) * (1 + 1e-14) + 1e-70


@pytest.mark.parametrize("k", [1, 2, 10, 1000])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
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
@settings(max_examples=50)
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


# ------------------------------------------------------------------------------------------------ the discrete Gaussian


def gaussian_delta(sigma2: float, k: int, epsilon: float) -> float:
    """The loss of k releases depends on the sum of their noise only; summed directly (all terms are positive)."""
    reach = math.ceil(9 * math.sqrt(sigma2)) + 2
    z = np.arange(-reach, reach + 1)
    law = np.exp(-(z**2) / (2 * sigma2))
    law /= law.sum()
    total = law
    for _ in range(k - 1):
        total = np.convolve(total, law)
    sums = np.arange(total.size) - k * reach
    losses = (k - 2 * sums) / (2 * sigma2)
    return float(np.sum(total * np.maximum(0, -np.expm1(np.minimum(epsilon - losses, 0)))))


@pytest.mark.parametrize(("sigma2", "k"), [(F(1, 2), 1), (1, 3), (F(7, 3), 10), (30, 50), (100, 200), (40_000, 8)])
def test_the_discrete_gaussian_is_composed_closely_and_never_below(sigma2, k):
    m = dc.discrete_gaussian(sigma2=sigma2)
    numerical, zcdp = (compose([(m, k)], method=method) for method in ("numerical", "zcdp"))
    mean, spread = k / (2 * float(sigma2)), math.sqrt(k / float(sigma2))
    for eps in (mean * 0.3, mean, mean + spread, mean + 3 * spread):
        true = gaussian_delta(float(sigma2), k, eps)
        assert true * (1 - 1e-9) <= numerical.delta(eps) <= true * 1.005 + 1e-15
        assert zcdp.delta(eps) >= true


def test_a_clamped_gaussian_gives_away_no_more_and_on_short_ranges_less():
    free = dc.discrete_gaussian(sigma2=9)
    for n, less in ((60, False), (2, True)):
        clamped = compose([(free.on(dc.Counts(n)), 20)], method="numerical").delta(1)
        assert clamped <= compose([(free, 20)], method="numerical").delta(1) * (1 + 1e-4)
        assert (clamped < 0.9 * compose([(free, 20)], method="numerical").delta(1)) == less
    verdict = dc.verify(free.on(dc.Counts(3)))
    one = compose([verdict], method="numerical")
    for eps in ("0", "0.1", "0.2", "0.3"):
        assert verdict.delta(eps) <= one.delta(eps) + 1e-20 and one.delta(eps) <= verdict.delta(eps) + 1e-7


def test_very_wide_gaussians_are_left_to_zcdp():
    m = dc.discrete_gaussian(sigma2=10**9)
    assert compose([(m, 10)]).methods == ("zcdp",)
    with pytest.raises(Unsupported, match="zcdp"):
        compose([(m, 10)], method="numerical")


# ------------------------------------------------------------------------------------------------ zCDP


def test_rho_adds_up_and_is_converted_by_the_best_order():
    m = dc.discrete_gaussian(sigma2=50)
    plan = compose([(m, 4), dc.Privacy("0.3")], method="zcdp")
    rho = 4 / 100 + 0.3 * math.tanh(0.15)
    for eps in (0.2, 1.0, 2.0, 3.0):
        alphas = 1 + np.geomspace(1e-3, 1e3, 20_001)
        logs = (alphas - 1) * (alphas * rho - eps + np.log1p(-1 / alphas)) - np.log(alphas)
        assert plan.delta(eps) == pytest.approx(float(np.exp(logs.min())), rel=1e-5)
    assert concentrated_delta(F(0), F(1)) == 0 and concentrated_delta(F(100), F(1)) == 1
    assert concentrated_delta(F(1, 100), F(100)) > 0  # no epsilon is pure
    assert plan.epsilon(0) == math.inf


def test_the_rho_of_a_pure_guarantee_is_that_of_randomized_response():
    for eps in (0.01, 0.5, 1.0, 3.0, 10.0):
        rho = float(pure_rho(F(eps)))
        assert rho == pytest.approx(eps * math.tanh(eps / 2)) and rho <= eps**2 / 2
        for alpha in (1.0001, 1.5, 2.0, 5.0, 50.0):
            p = 1 / (1 + math.exp(-eps))
            moment = p * math.exp((alpha - 1) * eps) + (1 - p) * math.exp(-(alpha - 1) * eps)
            renyi = math.log(moment) / (alpha - 1)
            assert renyi <= alpha * rho * (1 + 1e-9)
        assert math.log(p * math.exp(1e-6 * eps) + (1 - p) * math.exp(-1e-6 * eps)) / 1e-6 == pytest.approx(rho, 1e-3)


def test_zcdp_of_approximate_releases_keeps_their_deltas():
    plan = compose([(dc.Privacy("0.1", "1e-8"), 100)], method="zcdp")
    pure = compose([(dc.Privacy("0.1"), 100)], method="zcdp")
    assert plan.delta(4) == pytest.approx(pure.delta(4) + 1e-6, rel=1e-4)


# ------------------------------------------------------------------------------------------------ dp-accounting


@pytest.fixture(scope="module")
def accounting():
    """Google's accountant, an extra: pip install 'discreet[accounting]'."""
    return importlib.import_module("dp_accounting.pld.privacy_loss_distribution")


@pytest.mark.parametrize(("sigma2", "k", "epsilon"), [(100, 1000, 15.0), (25, 40, 2.0), (400, 100, 1.0), (4, 5, 3.0)])
def test_gaussians_agree_with_dp_accounting(accounting, sigma2, k, epsilon):
    theirs = accounting.from_discrete_gaussian_mechanism(
        math.sqrt(sigma2), value_discretization_interval=1e-4, use_connect_dots=True
    ).self_compose(k)
    ours = compose([(dc.discrete_gaussian(sigma2=sigma2), k)], method="numerical").delta(epsilon)
    assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=0.005)


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 1000), (1.0, 30), (0.5, 2)])
def test_geometric_noise_and_guarantees_agree_with_dp_accounting(accounting, epsilon, k):
    at = k * epsilon * math.tanh(epsilon / 2) + epsilon * math.sqrt(k) / 2
    laplace = accounting.from_discrete_laplace_mechanism(
        epsilon, value_discretization_interval=1e-3, use_connect_dots=True
    ).self_compose(k)
    ours = compose([(dc.two_sided_geometric(epsilon=epsilon), k)], method="numerical").delta(at)
    assert ours == pytest.approx(laplace.get_delta_for_epsilon(at), rel=0.01)


@pytest.mark.parametrize("second", [[0.2, 0.3, 0.5], [0.25, 0.25, 0.5]])
def test_tables_agree_with_dp_accounting_where_both_directions_are_alike(accounting, second):
    """symmetric=False: its default looks one way only. And it composes each direction with itself only."""
    rows = [[0.5, 0.3, 0.2], second]
    logs = [{y: math.log(p) for y, p in enumerate(row)} for row in rows]
    theirs = accounting.from_two_probability_mass_functions(
        *logs, value_discretization_interval=1e-4, symmetric=False
    ).self_compose(10)
    ours = compose([(dc.verify(rows), 10)], method="numerical")
    for eps in (0.5, 2.0, 4.0):
        assert ours.delta(eps) >= theirs.get_delta_for_epsilon(eps) * (1 - 5e-3)
        assert ours.delta(eps) <= theirs.get_delta_for_epsilon(eps) * (1.005 if second[0] == 0.2 else 1.5)


def test_the_conversion_of_zcdp_agrees_with_dp_accounting():
    rdp = importlib.import_module("dp_accounting.rdp.rdp_privacy_accountant")
    orders = [1 + x / 20 for x in range(1, 2000)]
    for rho, eps in ((0.1, 1.5), (0.5, 4.0), (0.01, 0.5)):
        theirs = rdp.compute_delta(orders, [rho * order for order in orders], eps)[0]
        assert concentrated_delta(F(rho), F(eps)) == pytest.approx(theirs, rel=1e-3)


# ------------------------------------------------------------------------------------------------ the object


@given(
    epsilon=st.sampled_from(["0.05", "0.3", "1"]),
    k=st.integers(1, 60),
    delta=st.sampled_from([0, "1e-12", 1e-6, 0.01, "1/3"]),
    method=st.sampled_from(METHODS),
)
@settings(max_examples=60)
def test_epsilon_and_delta_are_inverse_and_fall(epsilon, k, delta, method):
    plan = compose([(dc.rounded_laplace(20, epsilon=epsilon), k)], method=method)
    found = plan.epsilon(delta)
    if math.isfinite(found):
        assert plan.holds(found, delta) and F(plan.delta(found)) <= F(delta) + F(1, 10**15)
        assert found == 0 or not plan.holds(found * (1 - 1e-6), delta)
    else:
        assert delta == 0 and method in ("numerical", "zcdp")
    curve = [plan.delta(F(i, 20) * k * F(epsilon)) for i in range(21)]
    assert all(b <= a for a, b in pairwise(curve)) and curve[0] <= 1
    assert plan.delta("0.5") <= compose([(dc.rounded_laplace(20, epsilon=epsilon), k + 1)], method=method).delta("0.5")


def test_best_is_the_least_of_all_methods():
    m = dc.rounded_laplace(30, epsilon="0.2")
    best = compose([(m, 25)])
    assert set(best.methods) == {"basic", "optimal", "numerical", "zcdp"}
    for eps in (0, 1, 2, 3, 4, 5):
        assert best.delta(eps) == min(compose([(m, 25)], method=method).delta(eps) for method in METHODS[1:])
    assert best.epsilon(0) == pytest.approx(25 * m.certificate.epsilon, rel=1e-12)


def test_releases_may_be_written_in_many_ways():
    m = dc.geometric(20, epsilon="0.3")
    same = [
        [m] * 6,
        [(m, 6)],
        [(m, 2), m, (m, 3)],
        [dc.geometric(20, epsilon="0.3") for _ in range(6)],
        [(dc.verify(m), 6)],
        ((m, 2), (m, 4)),
        (x for x in [m] * 6),
        [(m, np.int64(6))],
    ]
    found = [compose(releases).delta(1) for releases in same]
    assert found == pytest.approx([found[0]] * len(found), rel=1e-9)
    certified = compose([(m.certificate, 6)])
    assert certified.delta(1) == pytest.approx(found[0], rel=1e-6)  # its curve is that of randomized response
    assert compose([(dc.Privacy("0.3"), 6)]).delta(1) == pytest.approx(found[0], rel=1e-6)
    assert compose([(m, 6)]).releases == 6


def test_certified_claims_with_a_delta_are_used_as_they_stand():
    m = dc.from_matrix([[0.7, 0.3, 0.0], [0.6, 0.3, 0.1]], privacy=dc.Privacy(1, "0.15"))
    assert m.certificate.delta > 0
    basic = compose([(m, 2)], method="basic")
    assert basic.holds(2, "0.31") and not basic.holds("1.9", "0.31")
    assert compose([(m, 2)], method="numerical").delta(2) < basic.delta(2)
    assert compose([(m.certificate, 2)], method="basic").delta(2) == pytest.approx(basic.delta(2))


def test_mechanisms_are_judged_under_the_notion_asked_for():
    m = dc.geometric(5, epsilon="0.2")
    central, local = compose([(m, 10)]), compose([(m, 10)], notion="local")
    assert central.notion == "central" and local.notion == "local"
    assert local.delta(1) > central.delta(1)
    assert local.epsilon(0) == pytest.approx(10 * m.local_epsilon)
    both = compose([m, dc.randomized_response(["a", "b"], epsilon=1)], notion="local")
    assert both.epsilon(0) == pytest.approx(m.local_epsilon + 1, rel=1e-9)
    wide = compose([(dc.geometric(2000, epsilon="0.01"), 2)], notion="local")  # too many pairs: by its epsilon
    assert wide.epsilon(0) == pytest.approx(40, rel=1e-6)


def test_metric_epsilons_add_up_per_unit_of_distance():
    m = dc.planar_geometric(dc.Grid(4, 4, cell=100.0), epsilon="0.01")
    plan = compose([(m, 3)])
    assert plan.notion == "metric" and plan.methods == ("basic",)
    assert plan.epsilon(0) == pytest.approx(3 * m.certificate.epsilon)
    assert plan.delta("0.001") == 1
    assert "per unit of distance" in plan.sentence
    for method in ("optimal", "numerical", "zcdp"):
        with pytest.raises(Unsupported, match="basic"):
            compose([m], method=method)


def test_truths_on_a_line_without_end_are_told_apart_in_the_end():
    assert compose([dc.two_sided_geometric(epsilon=1)], notion="local").delta(50) == 1
    assert compose([(dc.verify([[1, 0], ["1/2", "1/2"]]), 3)]).epsilon("0.5") == math.inf
    assert compose([(dc.verify([[1, 0], ["1/2", "1/2"]]), 3)]).delta(30) == pytest.approx(7 / 8)


def test_it_says_what_it_promises_and_for_whom():
    plan = compose([(dc.geometric(10, epsilon="0.1"), 50)])
    text = str(plan)
    assert text == plan.sentence
    for part in (
        "50 releases together have central privacy",
        "epsilon = 5 with delta = 0",
        "1e-06",
        "filter",
        "fixed before",
    ):
        assert part in text
    assert "between any two truths" in str(compose([dc.randomized_response(["a", "b"], epsilon=1)]))
    assert "1 release has" in str(compose([dc.Privacy(1)]))
    assert "no finite epsilon" in str(compose([dc.Privacy(1, "0.1")]))
    assert "Composition of 50 releases" in repr(plan)
    described = plan.describe()
    assert described["releases"] == 50 and set(described["slack"]) == {"epsilon", "delta", "relative"}
    with pytest.raises(AttributeError):
        plan.method = "basic"  # type: ignore[misc]
    assert isinstance(plan, Composition)


# ------------------------------------------------------------------------------------------------ refusals

GEOMETRIC = dc.geometric(5, epsilon=1)
GAUSSIAN = dc.discrete_gaussian(sigma2=4)


@pytest.mark.parametrize(
    ("releases", "options", "error", "says"),
    [
        ([], {}, InvalidInput, "empty"),
        (GEOMETRIC, {}, WrongType, "list of mechanisms"),
        (GEOMETRIC.certificate, {}, WrongType, "list of mechanisms"),
        ("geometric", {}, WrongType, "list of mechanisms"),
        ([0.5], {}, WrongType, "Privacy"),
        ([[[0.5, 0.5], [0.4, 0.6]]], {}, WrongType, "dc.verify"),
        ([(GEOMETRIC, 0)], {}, InvalidInput, "from 1"),
        ([(GEOMETRIC, 2.0)], {}, InvalidInput, "whole number"),
        ([(GEOMETRIC, True)], {}, InvalidInput, "whole number"),
        ([(GEOMETRIC, -1)], {}, InvalidInput, "from 1"),
        ([GEOMETRIC], {"method": "renyi"}, InvalidInput, "basic, optimal, numerical, zcdp"),
        ([GEOMETRIC], {"notion": "global"}, InvalidInput, "central, local, metric"),
        ([GEOMETRIC, dc.randomized_response(["a", "b"], epsilon=1)], {}, InvalidInput, "one notion only"),
        ([GEOMETRIC.certificate], {"notion": "local"}, InvalidInput, "Give the mechanisms themselves"),
        ([dc.verify(GEOMETRIC), dc.Privacy(1, 0, "local")], {}, InvalidInput, "one notion only"),
        ([GAUSSIAN], {"method": "basic"}, Unsupported, "'numerical' or 'zcdp'"),
        ([GAUSSIAN], {"method": "optimal"}, Unsupported, "'numerical' or 'zcdp'"),
        ([GAUSSIAN], {"notion": "local"}, Unsupported, "central"),
        ([GAUSSIAN.certificate], {}, Unsupported, "Give the mechanism itself"),
        ([dc.suppression(9, below=3)], {"method": "zcdp"}, Unsupported, "'numerical'"),
    ],
)
def test_what_cannot_be_composed_is_refused_with_advice(releases, options, error, says):
    with pytest.raises(error, match=says) as problem:
        compose(releases, **options)
    assert isinstance(problem.value, DiscreetError)


@pytest.mark.parametrize(("question", "value"), [("delta", -1), ("delta", "x"), ("epsilon", 2), ("epsilon", -0.1)])
def test_impossible_epsilons_and_deltas_are_refused(question, value):
    with pytest.raises(InvalidInput):
        getattr(compose([dc.Privacy(1)]), question)(value)


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
