"""Bounded noise: the closed forms of [S] and their corrections, against golden values and brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, NotPrivate
from discreet.mechanisms import bounded as formulas
from discreet.mechanisms.bounded import growth, moment, paper_formulas
from discreet.mechanisms.gaussian import law_variance
from discreet.optimise.noise.bounded import KINDS
from discreet.optimise.noise.programs import NoiseRequirements, least_delta
from discreet_studies.papers import mixture_law, two_point_law, two_point_shares
from support.golden import golden_rows
from support.grids import every_case
from support.paths import PUBLISHED
from support.refusals import Parts, refused
from support.tiers import examples


def close(value: object, stated: str, tolerance: float = 1e-8) -> bool:
    return float(value) == pytest.approx(float(stated), rel=tolerance)


FIGURES = golden_rows("golden_002_fig123.csv")
SMALL = golden_rows("golden_002_smallcounts.csv")
#: The smallest reach; the others solve larger programs of the same kind.
SHORT = [row for row in SMALL if row["D"] == "4"]
LONG = [row for row in SMALL if row not in SHORT]
COLUMNS = [
    ("nge1_n0D", 1, 1, False),
    ("nge1_n02D", 1, 2, False),
    ("nge0_n02D", 0, 2, False),
    ("single_nge1", 1, 2, True),
]


def name(row: dict[str, str]) -> str:
    return f"eta {row['eta']} D {row['D']} eps {row['eps']}"


# ------------------------------------------------------------------------------------------------ the paper


@every_case("row", FIGURES, ids=name)
def test_the_papers_figures_and_the_truth_beside_them(row):
    """[S] (23), (32), (34), (37)-(39), Theorem 3 and Remark 2; the exact LP value where Theorem 3 fails."""
    s = paper_formulas(row["eps"], row["eta"], int(row["D"]))
    assert s.k == int(row["k"]) and max(s.deltas) == s.deltas[s.k - 1]
    assert close(s.printed_delta_star, row["delta_star"])
    assert close(s.delta_star, row["delta_star_LP"])
    assert s.theorem3_holds is (row["thm3_holds"] == "True")
    assert close(s.bound, row["bound"]) and close(s.variance, row["variance"])
    assert close(s.side[0], row["p1"]) and (not float(row["p2"]) or close(s.side[1], row["p2"]))
    assert sum(s.alphas) == sum(s.corrected_alphas) == 1 and min(s.alphas) >= 0
    m = dc.bounded_noise(row["eps"], row["eta"], int(row["D"]), kind="sadeghi")
    assert close(m.certificate.delta, row["true_delta"])
    assert m.certificate.details["paper_bound"] >= m.certificate.delta
    if s.theorem3_holds:  # the single-event parameter is what the paper says it is
        assert m.certificate.details["single_event_delta"] == pytest.approx(float(row["delta_star"]), rel=1e-8)


@every_case("row", FIGURES, ids=name)
def test_the_least_true_delta_for_large_counts(row):
    """s max(C - (E-1), (E-1)/(E^D-1)) where p(1) <= E eta, and the exact LP value elsewhere."""
    eps, eta, reach = Fraction(row["eps"]), Fraction(row["eta"]), int(row["D"])
    holds = formulas.closed_form_holds(eps, eta, reach)
    assert holds is (row["opt_closed_form_holds"] == "True")
    assert close(formulas.least_delta(eps, eta, reach), row["opt_true"])
    m = dc.bounded_noise(eps, eta, reach, kind="optimal")
    assert close(m.certificate.delta, row["opt_true_LP"])
    assert m.certificate.details["closed_form"] is holds
    assert m.certificate.delta <= float(row["true_delta"]) * (1 + 1e-11)


def test_the_check_values_of_figure_1():
    s = paper_formulas("2.18", "0.8", 6)
    assert close(s.crossovers[2], "7.886730819", 1e-9) and close(s.crossovers[1], "8.122898117", 1e-9)
    assert close(s.deltas[2], "0.004947821638", 1e-9)


def test_the_printed_delta_star_is_too_small_where_stay_is_small():
    s = paper_formulas("0.5", "0.1", 4)
    assert close(s.printed_delta_star, "0.023854", 1e-4) and close(s.delta_star, "0.028468", 1e-4)


@examples(12)
@given(st.fractions(Fraction(1, 10), 3), st.fractions(Fraction(1, 50), Fraction(49, 50)), st.integers(1, 7))
def test_the_corrected_delta_star_is_reached_and_cannot_be_improved(epsilon, stay, reach):
    """Its alphas satisfy every single-event inequality, also the forgotten one; the LP finds nothing better."""
    s = paper_formulas(epsilon, stay, reach)
    E, delta, p = s.factor, s.delta_star, [stay, *(s.mass * a for a in s.corrected_alphas), Fraction(0)]
    assert sum(s.corrected_alphas) == 1 and min(s.corrected_alphas) >= 0
    for near, far in itertools.pairwise(p):
        assert near <= E * far + delta and far <= E * near + delta
    found = least_delta(NoiseRequirements(epsilon, reach, reach, reach, stay, single_event=True))
    assert float(found.value) == pytest.approx(float(delta), rel=1e-9)
    assert float(found.bound) <= float(delta) * (1 + 1e-9)


def test_example_1_of_the_paper():
    """[S] eq. (4)-(6): N = 3, eta = 1/2, D = 2, with all shares alike."""
    assert two_point_law("1/2", 1, 1).weights == (1, 2, 1)
    shares = {(i, j): "1/4" for i in (-2, -1) for j in (1, 2)}
    law = mixture_law("1/2", shares)
    quarter = Fraction(1, 4)
    near, far = quarter * (Fraction(1, 4) + Fraction(1, 3)), quarter * (Fraction(1, 4) + Fraction(1, 6))
    expected = {-2: far, -1: near, 0: Fraction(1, 2), 1: near, 2: far}
    assert {z: law.probability(z) for z in range(-2, 3)} == expected
    assert moment(law, 1) == 0


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_every_unbiased_law_is_a_mixture_of_two_point_laws(down, up, data):
    pairs = list(itertools.product(range(-down, 0), range(1, up + 1)))
    weights = data.draw(st.lists(st.integers(0, 20), min_size=len(pairs), max_size=len(pairs)).filter(any))
    law = mixture_law("2/5", {p: Fraction(w, sum(weights)) for p, w in zip(pairs, weights, strict=True) if w})
    shares = two_point_shares(law)
    assert mixture_law("2/5", shares) == law and sum(shares.values()) == 1


# ------------------------------------------------------------------------------------------------ small counts


@every_case("row", SHORT, ids=name)
@every_case(("column", "first", "shared", "single"), COLUMNS)
def test_the_programs_for_small_counts(row, column, first, shared, single):
    check_program(row, column, first, shared, single)


@pytest.mark.full
@every_case("row", LONG, ids=name)
@every_case(("column", "first", "shared", "single"), COLUMNS)
def test_the_programs_for_small_counts_of_longer_reach(row, column, first, shared, single):
    check_program(row, column, first, shared, single)


def check_program(row: dict[str, str], column: str, first: int, shared: int, single: bool) -> None:
    eta, reach, eps = Fraction(row["eta"]), int(row["D"]), Fraction(row["eps"])
    symmetric = column == "nge1_n0D"  # these values were computed for a symmetric shared law
    wanted = NoiseRequirements(eps, reach, first, shared * reach, eta, single_event=single, symmetric=symmetric)
    found = least_delta(wanted)
    assert close(found.value, row[column])
    if symmetric:
        assert least_delta(replace(wanted, symmetric=False)).value <= found.value
    assert found.bound <= found.value * (1 + Fraction(1, 10**9))
    assert float(found.bound) == pytest.approx(float(found.value), rel=1e-3)


@every_case("row", SHORT, ids=name)
def test_one_mechanism_for_every_count(row):
    check_mechanism(row)


@pytest.mark.full
@every_case("row", LONG, ids=name)
def test_one_mechanism_for_every_count_of_longer_reach(row):
    check_mechanism(row)


def check_mechanism(row: dict[str, str]) -> None:
    """Zero bias from 1 on, a fixed probability of the truth, bounded reach, nothing negative; delta as certified."""
    eta, reach = Fraction(row["eta"]), int(row["D"])
    m = dc.bounded_noise(row["eps"], eta, reach)
    assert close(m.certificate.delta, row["nge0_n02D"])
    assert len(m.kernel.first_laws) == 2 * reach
    for n in range(2 * reach + 2):
        law = m.kernel.law_at(n)
        assert law.low >= -min(n, reach) and law.high <= reach
        assert law.probability(0) == eta
        assert (moment(law, 1) == 0) is (n > 0)
    assert m.kernel.law.symmetric
    assert dc.verify(m).holds(row["eps"], m.certificate.delta)
    assert not dc.verify(m).holds(row["eps"], m.certificate.delta * 0.999)


def test_a_shared_law_is_symmetric_where_that_costs_no_delta_and_only_there():
    for epsilon in ("0.5", "1.5", "2.5"):
        wanted = NoiseRequirements(Fraction(epsilon), 4, 0, 8, Fraction(1, 2))
        even, free = least_delta(replace(wanted, symmetric=True)), least_delta(wanted)
        assert free.laws[-1].symmetric and float(even.value) == pytest.approx(float(free.value), rel=1e-12)
    for wanted in (
        NoiseRequirements(Fraction("1.5"), 4, 1, 4, Fraction(1, 2)),
        NoiseRequirements(Fraction("0.18"), 3, 0, 6, Fraction("0.26")),
    ):
        even, free = least_delta(replace(wanted, symmetric=True)), least_delta(wanted)
        assert free.value < even.value and not free.laws[-1].symmetric
        assert free.bound <= free.value < even.bound


def test_among_the_best_the_steadiest_is_taken():
    """At epsilon 0.5 many laws have the least delta; the three-point law has the least variance."""
    m = dc.bounded_noise("0.5", "1/2", 4)
    assert all(moment(m.kernel.law_at(n), 2) == Fraction(1, 2) for n in range(1, 10))


@every_case("epsilon", ["0.3", "1", "1.7", "2.5", "4"])
@every_case("stay", ["0.05", "0.3", "0.5", "0.8", "0.95"])
@every_case("reach", [1, 2, 5, 9])
def test_the_optimal_kind_is_never_worse_than_the_papers(epsilon, stay, reach):
    paper = dc.bounded_noise(epsilon, stay, reach, kind="sadeghi")
    best = dc.bounded_noise(epsilon, stay, reach, kind="optimal")
    assert best.certificate.delta <= paper.certificate.delta * (1 + 1e-12)
    s = paper_formulas(epsilon, stay, reach)
    corrected = formulas.symmetric_law(s.stay, [s.mass * alpha for alpha in s.corrected_alphas])
    assert best.certificate.delta <= float(_true_delta(corrected, Fraction(epsilon))) * (1 + 1e-9)


def _true_delta(law, epsilon) -> Fraction:
    E, errors = growth(epsilon), range(law.low, law.high + 1)
    return max(
        sum(max(law.probability(z) - E * law.probability(z + step), Fraction(0)) for z in errors) for step in (-1, 1)
    )


@examples(12)
@given(st.fractions(Fraction(1, 5), 3), st.fractions(Fraction(1, 20), Fraction(19, 20)), st.integers(1, 4), st.data())
def test_no_other_noise_of_the_family_has_a_smaller_delta(epsilon, stay, reach, data):
    """Against mixtures drawn at random: the least delta is a lower bound for all of them."""
    pairs = list(itertools.product(range(-reach, 0), range(1, reach + 1)))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(pairs), max_size=len(pairs)).filter(any))
    other = mixture_law(stay, {p: Fraction(w, sum(weights)) for p, w in zip(pairs, weights, strict=True) if w})
    m = dc.bounded_noise(epsilon, stay, reach, kind="optimal")
    assert m.certificate.delta == pytest.approx(float(_true_delta(m.kernel.law, epsilon)), rel=1e-12)
    assert m.certificate.delta <= float(_true_delta(other, epsilon)) * (1 + 1e-12)


# ------------------------------------------------------------------------------------------------ variants


@every_case("row", golden_rows("golden_002_fixedvar.csv"), ids=lambda row: f"{name(row)} V {row['V']}")
def test_the_variance_instead_of_the_stay_probability(row):
    m = dc.bounded_noise(row["eps"], reach=int(row["D"]), kind="optimal", variance=row["V"])
    assert close(m.certificate.delta, row["opt_fixed_var"])
    assert moment(m.kernel.law, 2) <= Fraction(row["V"])


def test_the_variance_limit_holds_for_every_count():
    m = dc.bounded_noise("2.2", reach=6, variance="0.3")
    assert all(moment(m.kernel.law_at(n), 2) <= Fraction("0.3") for n in range(14))
    with refused(InvalidInput, token="variance = 0.3"):
        dc.bounded_noise(1, "0.5", 3, variance="0.3")


def test_with_a_variance_alone_the_stay_probability_is_free_for_every_count():
    """One stay for all counts, which nobody asked for, had delta .02301 and a lower bound that tables went below."""
    m = dc.bounded_noise("7/10", reach=8, variance="553/25")
    assert float(m.certificate.delta) == pytest.approx(0.0024229725686, rel=1e-9)
    assert m.certificate.details["lower_bound"] == pytest.approx(m.certificate.delta, rel=1e-6)
    laws = [m.kernel.law_at(n) for n in range(18)]
    assert all(moment(law, 2) <= Fraction("553/25") for law in laws) and not any(moment(law, 1) for law in laws[1:])
    assert len({law.probability(0) for law in laws}) > 2


@pytest.mark.parametrize(
    ("epsilon", "reach", "variance", "js"), [("1", 2, "1", 0), ("2", 3, "1", 1), ("1/2", 2, "3", 0)]
)
def test_no_table_on_keys_is_below_the_lower_bound(epsilon, reach, variance, js):
    noise = dc.bounded_noise(epsilon, reach=reach, variance=variance, js=js).certificate
    table = dc.design_ptable(epsilon, reach, variance=variance, js=js, keys=64).about
    assert noise.details["lower_bound"] <= noise.delta <= table["delta"]
    assert noise.delta == pytest.approx(table["delta_unrounded"], rel=1e-9)


def test_noise_that_an_earlier_version_saved_still_loads():
    """It has one stay probability for all counts, and the delta of that."""
    before = dc.load(PUBLISHED / "bounded_noise_variance.json")
    now = dc.bounded_noise(1, reach=2, variance=1)
    assert before.parameters == now.parameters
    assert before.certificate.delta == pytest.approx(0.08506032, rel=1e-8)
    assert now.certificate.delta < 0.083


@pytest.mark.parametrize("js", [1, 2, 3])
def test_no_small_positive_counts_are_published(js):
    m = dc.bounded_noise("2.2", "1/2", 5, js=js)
    for n in range(2 * 5 + js + 3):
        law = m.kernel.law_at(n)
        assert all(law.probability(y - n) == 0 for y in range(1, js + 1))
        assert law.probability(0) == (0 if 1 <= n <= js else Fraction(1, 2))
        assert (moment(law, 1) == 0) is (n > 0)
    assert dc.verify(m).holds("2.2", m.certificate.delta)


@every_case("kind", ["optimal", "all-counts"])
@every_case("delta", ["1e-5", "1e-2"])
def test_the_largest_stay_for_a_delta(kind, delta):
    m = dc.bounded_noise("2.2", reach=6, kind=kind, delta=delta)
    stay = m.kernel.law.probability(0)
    assert m.certificate.delta <= float(delta)
    beyond = dc.bounded_noise("2.2", stay * Fraction(1001, 1000), 6, kind=kind)
    assert beyond.certificate.delta > float(delta)
    if kind == "optimal":
        closed = formulas.largest_stay(Fraction("2.2"), Fraction(delta), 6)
        assert float(stay) == pytest.approx(float(closed), rel=1e-8)


def test_a_delta_that_no_noise_has_is_refused():
    with refused(InvalidInput, token="reach = 2 ... delta"):
        dc.bounded_noise(1, reach=2, delta="1e-9")
    assert formulas.largest_stay(Fraction(1), Fraction(1, 10**9), 2) is None


def test_at_the_knee_delta_is_least():
    eps, reach = Fraction("1.1"), 6
    best = formulas.knee(eps, reach)
    at = [formulas.least_delta(eps, best * Fraction(k, 100), reach) for k in (99, 100, 101)]
    assert at[1] < at[0] < at[2]


# ------------------------------------------------------------------------------------------------ Proposition 2


@every_case("largest", [5, 9])
@every_case("overshoot", [True, False])
def test_the_single_event_program_for_counts_up_to_a_largest_one(largest, overshoot):
    """[S] (9)-(13): P1-P3 for 1 <= n <= N; bounded at N, the largest count is free of the bias rule like 0 is."""
    m = dc.bounded_noise("1.5", "1/2", 4, kind="single-event", largest=largest, overshoot=overshoot)
    assert m.inputs == dc.Counts(largest) and m.outputs == dc.Counts(largest + 4 * overshoot)
    for n in range(1, largest + 1):
        row = [m.probability(n, y) for y in range(m.outputs.size)]
        assert sum(row) == 1 and row[n] == Fraction(1, 2)
        assert all(p == 0 for y, p in enumerate(row) if abs(y - n) > 4)
        mean = sum(y * p for y, p in enumerate(row))
        assert (mean == n) is (overshoot or n < largest)
    assert [m.probability(0, y) for y in range(6)] == [m.probability(1, y) for y in range(6)]
    v = dc.verify(m)
    assert v.single_event_delta("1.5") == m.certificate.details["single_event_delta"]
    assert m.certificate.details["delta_star"] == pytest.approx(v.single_event_delta("1.5"), rel=1e-12)
    if overshoot:
        assert m.certificate.details["delta_star"] == pytest.approx(0.00244246488805, rel=1e-8)
    assert m.certificate.delta <= (2 * 4 + 1) * m.certificate.details["delta_star"]


# ------------------------------------------------------------------------------------------------ the Gaussian


@every_case("row", golden_rows("golden_002_fig4.csv"), ids=name)
def test_the_discrete_gaussian_as_the_paper_matched_it_and_truly_matched(row):
    printed, matched = dc.discrete_gaussian(sigma2=row["variance"]), dc.discrete_gaussian(variance=row["variance"])
    assert close(dc.verify(printed).delta(row["eps"]), row["dG_eq45"])
    assert close(dc.verify(matched).delta(row["eps"]), row["dG_matched_delta"])
    assert close(Fraction(matched.parameters["sigma2"]), row["dG_matched_sigma2"])
    assert law_variance(float(row["dG_matched_sigma2"])) == pytest.approx(float(row["variance"]), rel=1e-10)


def test_the_variance_of_a_wide_gaussian_is_its_parameter():
    assert law_variance(4.0) == pytest.approx(4.0, rel=1e-14)
    assert dc.discrete_gaussian(variance=9).parameters["sigma2"] == "9"
    with refused(InvalidInput, "sigma2"):
        dc.discrete_gaussian()


# ------------------------------------------------------------------------------------------------ promises and refusals


@pytest.mark.parametrize("kind", ["optimal", "sadeghi"])
def test_small_counts_are_raised_to_the_declared_bound(kind):
    m = dc.bounded_noise("1.5", "1/2", 3, kind=kind, least=5)
    for x in range(6):
        assert [m.probability(x, y) for y in range(12)] == [m.probability(5, y) for y in range(12)]
    assert m.probability(6, 9) == m.probability(5, 8)
    assert m.certificate.delta == dc.bounded_noise("1.5", "1/2", 3, kind=kind).certificate.delta
    reports = m.simulate(np.zeros(2000, int), seed=3)
    assert reports.min() >= 2 and reports.mean() == pytest.approx(5, abs=0.1)


def test_zeros_left_untouched_are_refused_with_the_bound():
    with refused(NotPrivate, "keep_zeros"):
        dc.bounded_noise("2.5", "0.8", 6, keep_zeros=True)
    # and it is true of the noise for counts from 1 on with zeros added as they are
    laws = least_delta(NoiseRequirements(Fraction("2.5"), 6, 1, 12, Fraction(4, 5))).laws
    assert 1 - laws[0].probability(-1) >= formulas.zeros_bound(Fraction(4, 5), 6)


def test_certificates_are_ordinary_and_compose():
    m = dc.bounded_noise("1.5", "1/2", 4)
    assert (m.certificate.epsilon, m.certificate.notion) == (1.5, "central") and 0 < m.certificate.delta < 0.003
    plan = dc.compose([(m, 3), dc.geometric(10, epsilon="0.5")])
    assert plan.delta(5) <= 3 * m.certificate.delta * (1 + 1e-9)
    assert plan.holds(5, 0.01)
    assert type(m.release(0)) is int and m.release([0, 1, 2, 1000]).min() >= 0


def test_a_certificate_that_needs_a_delta_is_kept_on_another_range():
    m = dc.bounded_noise("1.5", "1/2", 4)
    moved = m.on(dc.Counts(6))
    assert moved.certificate.epsilon == 1.5 and 0 < moved.certificate.delta <= m.certificate.delta
    assert dc.verify(moved).delta("1.5") == moved.certificate.delta


@every_case(
    ("arguments", "message"),
    [
        ({"stay": 1, "reach": 3}, Parts(token="strictly")),
        ({"stay": "1/2", "reach": 0}, Parts(argument="reach")),
        ({"stay": "1/2", "reach": 101}, Parts(argument="reach", given=101)),
        ({"stay": "1/2"}, Parts(argument="reach")),
        ({"reach": 3}, Parts(argument="stay", token="something must limit")),
        ({"stay": "1/2", "reach": 3, "delta": "1e-3"}, Parts(argument="stay", token="not both")),
        ({"reach": 3, "delta": 0}, Parts(token="strictly")),
        ({"reach": 3, "variance": -1}, Parts(argument="variance", given=-1)),
        ({"stay": "1/2", "reach": 3, "kind": "best"}, Parts(argument="kind", given="best")),
        ({"stay": "1/2", "reach": 3, "kind": "sadeghi", "variance": 1}, Parts(argument="kind", token="determined by")),
        ({"stay": "1/2", "reach": 3, "kind": "optimal", "js": 1}, Parts(argument="js", token="all-counts")),
        ({"stay": "1/2", "reach": 3, "least": 3}, Parts(argument="least", token="serves small counts")),
        ({"stay": "1/2", "reach": 3, "kind": "optimal", "least": 2}, Parts(argument="least", given=2)),
        ({"stay": "1/2", "reach": 3, "kind": "single-event"}, Parts(argument="largest")),
        ({"stay": "1/2", "reach": 3, "largest": 9}, Parts(token="single-event")),
        ({"stay": "1/2", "reach": 3, "overshoot": False}, Parts(token="single-event")),
        ({"stay": "1/2", "reach": 3, "kind": "single-event", "largest": 1}, Parts(argument="largest", given=1)),
        ({"stay": "1/2", "reach": 21}, Parts(argument="kind", token="linear program")),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with refused(InvalidInput, **message):
        dc.bounded_noise(1, **arguments)


def test_the_kinds_are_those_of_the_design():
    assert {"optimal", "sadeghi", "all-counts"} <= set(KINDS)


@pytest.mark.parametrize(("epsilon", "reach", "stay"), [("5.579", 7, "0.181"), ("4", 5, "0.9"), ("1.1", 4, "0.5")])
def test_the_lower_bound_is_below_the_delta(epsilon, reach, stay):
    """Slack variables exceed 1 where e^epsilon is large; a bound that forgets it lies above the truth."""
    m = dc.bounded_noise(epsilon, stay, reach)
    assert 0 <= m.certificate.details["lower_bound"] <= m.certificate.delta * (1 + 1e-12)


def test_a_reach_of_one_with_a_limit_on_the_variance():
    m = dc.bounded_noise("1", reach=1, variance="0.4")
    assert m.kernel.law.probability(0) >= Fraction(3, 5) and all(moment(m.kernel.law_at(n), 1) == 0 for n in (1, 2, 3))
