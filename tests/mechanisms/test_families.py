"""The closed forms against their definitions in the papers, and the epsilon asked for against the one proved."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, NotPrivate, WrongType
from discreet.exact.rationals import exp_bounds
from support.golden import golden_rows
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

alphas = st.fractions(Fraction(1, 30), Fraction(29, 30), max_denominator=30)


def rows(m) -> list[list[Fraction]]:
    values = range(m.inputs.size), range(m.outputs.size)
    return [[m.probability(m.inputs.value(x), m.outputs.value(y)) for y in values[1]] for x in values[0]]


# ------------------------------------------------------------------------------------------------ formulas


@given(a=alphas, n=st.integers(1, 12))
def test_truncated_geometric_is_equation_6(a, n):
    expected = [[a ** abs(i - j) / (1 + a) * (1 if j in (0, n) else 1 - a) for j in range(n + 1)] for i in range(n + 1)]
    m = dc.geometric(n, alpha=a)
    assert rows(m) == expected
    assert m.certificate.ratio == 1 / a


@given(a=alphas, truth=st.integers(-50, 50), report=st.integers(-50, 50))
def test_two_sided_geometric_is_its_formula(a, truth, report):
    m = dc.two_sided_geometric(alpha=a)
    assert m.probability(truth, report) == (1 - a) / (1 + a) * a ** abs(truth - report)
    assert m.certificate.ratio == 1 / a


@given(a=alphas, n=st.integers(1, 12), clamp=st.booleans())
def test_a_range_chosen_later_is_the_same_noise(a, n, clamp):
    m = dc.two_sided_geometric(alpha=a).on(dc.Counts(n), clamp=clamp)
    if clamp:
        assert rows(m) == rows(dc.geometric(n, alpha=a))
    else:
        assert m.probability(0, -3) == (1 - a) / (1 + a) * a**3
    assert m.certificate.ratio == 1 / a


@given(a=alphas, k=st.integers(2, 12))
def test_randomised_response_is_equation_3(a, k):
    e = 1 / a
    expected = [[(e if i == j else 1) / (k - 1 + e) for j in range(k)] for i in range(k)]
    for space in (k, dc.Counts(k - 1), dc.Labels([f"{i}" for i in range(k)]), [f"{i}" for i in range(k)]):
        m = dc.randomized_response(space, alpha=a)
        assert rows(m) == expected
        assert m.certificate.ratio == e and m.certificate.notion == "local"


@given(a=alphas, n=st.integers(1, 25))
def test_explicit_fair_is_equation_16_with_the_normaliser_for_even_and_odd_n(a, n):
    odd = (1 - a) / ((1 + a) * (1 - a ** ((n + 1) // 2)))
    y = odd if n % 2 else (1 - a) / (1 + a - 2 * a ** (n // 2 + 1))

    def entry(truth: int, report: int) -> Fraction:
        d, m = abs(truth - report), min(truth, n - truth)
        return y * a ** (d if d <= m else math.ceil(Fraction(d + m, 2)))

    m = dc.explicit_fair(n, alpha=a)
    assert rows(m) == [[entry(i, j) for j in range(n + 1)] for i in range(n + 1)]
    assert m.certificate.ratio == 1 / a


@pytest.mark.parametrize("n", [1, 2, 9])
def test_uniform_tells_nothing(n):
    m = dc.uniform(n)
    assert rows(m) == [[Fraction(1, n + 1)] * (n + 1)] * (n + 1)
    assert m.certificate.ratio == 1 and m.certificate.epsilon == 0


@every_case("epsilon", [0.1, 0.5, 1.0, 2.5])
@every_case("n", [1, 2, 5])
def test_rounded_laplace_is_the_integral_of_the_density(epsilon, n):
    """The density (eps/2) e^(-eps|t|), integrated numerically over each rounding cell; the ends take the tails."""
    t, dt = np.linspace(-60 / epsilon, 60 / epsilon, 400_001, retstep=True)
    density = epsilon / 2 * np.exp(-epsilon * np.abs(t))
    m = dc.rounded_laplace(n, epsilon=epsilon)
    for truth in range(n + 1):
        place = truth + t
        for report in range(n + 1):
            low = -math.inf if report == 0 else report - 0.5
            high = math.inf if report == n else report + 0.5
            integral = density[(place > low) & (place < high)].sum() * dt
            assert float(m.probability(truth, report)) == pytest.approx(integral, abs=2 * epsilon * dt)


@pytest.mark.parametrize("sigma2", ["1/3", 1, 7.5])
def test_discrete_gaussian_is_its_formula(sigma2):
    m = dc.discrete_gaussian(sigma2=sigma2)
    value = float(Fraction(sigma2))
    whole = math.fsum(math.exp(-z * z / (2 * value)) for z in range(-200, 201))
    for z in range(-6, 7):
        assert m.probability(10, 10 + z) == pytest.approx(math.exp(-z * z / (2 * value)) / whole, rel=1e-12)
    assert m.certificate.details["zcdp_rho"] == str(1 / (2 * Fraction(sigma2)))
    assert m.certificate.epsilon == math.inf


@given(
    scores=st.lists(st.lists(st.integers(-8, 8), min_size=3, max_size=3), min_size=2, max_size=5),
    epsilon=st.sampled_from([0.1, 1.0, 4.0]),
    extra=st.integers(0, 3),
)
@examples(60)
def test_exponential_has_the_factor_two(scores, epsilon, extra):
    array = np.array(scores)
    needed = int(np.abs(np.diff(array, axis=0)).max())
    sensitivity = needed + extra
    if sensitivity == 0:
        with refused(InvalidInput, "scores"):
            dc.exponential(array, epsilon=epsilon)
        return
    m = dc.exponential(array, epsilon=epsilon, sensitivity=sensitivity)
    weights = np.exp(epsilon * array / (2 * sensitivity))
    assert np.allclose(m.matrix, weights / weights.sum(axis=1, keepdims=True), rtol=0, atol=1e-6)
    assert m.certificate.epsilon <= epsilon
    if needed:
        smaller = needed - Fraction(1, 1000)
        with refused(InvalidInput, "sensitivity", given=smaller, token=f"at least {needed}"):
            dc.exponential(array, epsilon=epsilon, sensitivity=smaller)


def test_the_factor_two_is_needed():
    """Without it the same scores give away more than epsilon: the judge refuses."""
    scores = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    once = np.exp(1.0 * scores)
    with pytest.raises(NotPrivate):
        dc.from_matrix(once / once.sum(axis=1, keepdims=True), privacy=1.0)
    assert dc.exponential(scores, epsilon=1.0).certificate.epsilon <= 1


def test_a_sensitivity_in_decimals_is_not_refused_for_the_sake_of_rounding():
    x = np.arange(8)
    scores = -0.1 * np.abs(x[:, None] - x[None, :])
    m = dc.exponential(scores, epsilon=1, sensitivity=0.1)
    assert m.certificate.epsilon <= 1


def test_the_sensitivity_of_labels_is_between_any_two():
    scores = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]])
    m = dc.exponential(scores, epsilon=1, inputs=dc.Labels(["a", "b", "c"]))
    assert m.certificate.notion == "local" and m.certificate.epsilon <= 1
    with refused(InvalidInput, "sensitivity", given=2):
        dc.exponential(scores, epsilon=1, sensitivity=2, inputs=dc.Labels(["a", "b", "c"]))


@every_case(
    ("scores", "error", "words"),
    [
        ([[1.0, math.nan], [0.0, 1.0]], InvalidInput, Parts(argument="scores", token="1 is nan")),
        ([[1.0, 2.0]], InvalidInput, Parts(argument="scores", given="shape (1, 2)")),
        ([[1.0], [2.0]], InvalidInput, Parts(argument="scores", given="shape (2, 1)")),
        ([[1.0, 2.0], [1.0]], InvalidInput, Parts(argument="scores", token="same number")),
        ([["a", "b"], ["c", "d"]], InvalidInput, Parts(given="a", token="column 0")),
        ([[True, False], [False, True]], WrongType, Parts(argument="scores", given="list of bool values")),
        (
            np.ma.masked_array([[1.0, 2.0], [2.0, 3.0]], mask=[[0, 1], [0, 0]]),
            WrongType,
            Parts(argument="scores", given="MaskedArray of float64 values"),
        ),
    ],
)
def test_scores_that_are_none_are_refused(scores, error, words):
    with refused(error, **words):
        dc.exponential(scores, epsilon=1)


# ------------------------------------------------------------------------------------------------ the epsilon asked for

EPSILONS = ["1e-6", 1e-3, 0.01, 0.1, 0.5, 1, 2.18, 5, 10, 50]
FAMILIES = {
    "geometric": lambda n, e: dc.geometric(n, epsilon=e),
    "two_sided_geometric": lambda n, e: dc.two_sided_geometric(epsilon=e),
    "randomized_response": lambda n, e: dc.randomized_response(n + 1, epsilon=e),
    "explicit_fair": lambda n, e: dc.explicit_fair(n, epsilon=e),
    "rounded_laplace": lambda n, e: dc.rounded_laplace(n, epsilon=e),
    "exponential": lambda n, e: dc.exponential(-np.abs(np.subtract.outer(range(n + 1), range(n + 1))), epsilon=e),
}


@every_case("family", FAMILIES)
@every_case("n", [1, 2, 3, 10, 31, 100])
def test_the_epsilon_asked_for_is_never_exceeded(family, n):
    """Compared with a rational lower bound of e^epsilon, from what is sampled and not from the certificate."""
    for epsilon in EPSILONS:
        m = FAMILIES[family](n, epsilon)
        bound = exp_bounds(Fraction(str(epsilon)), 200)[0]
        ratio = dc.verify(m).ratio
        assert ratio <= bound
        assert m.certificate.epsilon <= float(epsilon)
        if family in ("geometric", "two_sided_geometric", "randomized_response", "explicit_fair"):
            assert ratio >= bound * (1 - Fraction(1, 2**39))  # and not given away either


def test_by_hand_the_same_for_every_adjacent_pair_and_report():
    for family, make in FAMILIES.items():
        for epsilon in ("1e-3", 1, 20):
            m = make(7, epsilon)
            bound = exp_bounds(Fraction(str(epsilon)), 200)[0]
            reports = range(-12, 20) if m.outputs.size is None else range(m.outputs.size)
            for x in range(7):
                for y in reports:
                    p, q = m.probability(x, y), m.probability(x + 1, y)
                    assert p <= bound * q and q <= bound * p, (family, epsilon, x, y)


@every_case("alpha", [0.9, 10 / 11, "10/11", Fraction(10, 11)])
def test_alpha_is_taken_exactly(alpha):
    expected = Fraction(9, 10) if alpha == 0.9 else Fraction(10, 11)
    for m in (dc.geometric(5, alpha=alpha), dc.explicit_fair(5, alpha=alpha), dc.two_sided_geometric(alpha=alpha)):
        assert m.certificate.ratio == 1 / expected


def test_golden_figures_eight_and_nine_from_the_public_constructors():
    for row in golden_rows("fig8_9.csv"):
        n, alpha = int(row["n"]), row["alpha"]
        for column, m in (
            ("GM", dc.geometric(n, alpha=alpha)),
            ("EM", dc.explicit_fair(n, alpha=alpha)),
            ("UM", dc.uniform(n)),
        ):
            rescaled = dc.cost(m, "L0") * (n + 1) / n  # [C]'s L0
            assert rescaled == pytest.approx(float(row[column]), abs=1e-9)


def test_scores_may_be_fractions_or_text():
    third = Fraction(1, 3)
    numbers = dc.exponential([[0, -1 / 3], [-1 / 3, 0]], epsilon="1/2")
    for scores in ([[Fraction(0), -third], [-third, 0]], [["0", "-1/3"], ["-1/3", "0"]]):
        assert dc.exponential(scores, epsilon=Fraction(1, 2), sensitivity=third) == numbers
