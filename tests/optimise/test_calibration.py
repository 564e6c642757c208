"""Calibration: the epsilon found meets the target, and the next one misses it."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported, WrongType
from discreet.optimise.improve.calibration import calibrate
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

COUNTS = ["geometric", "explicit_fair", "randomized_response", "rounded_laplace"]
CLOSE = Fraction(1, 2**20)


def loss(mechanism, name, prior=None):
    """The expected loss written out from the probabilities, in Fractions: worst truth, or average."""
    size = mechanism.inputs.size
    far = {"distance": abs, "truth": bool, "within": lambda d: abs(d) > 2}[name]
    rows = [sum(mechanism.probability(x, y) * int(far(x - y)) for y in range(size)) for x in range(size)]
    return max(rows) if prior is None else sum(p * r for p, r in zip(prior, rows, strict=True))


# ------------------------------------------------------------------------------------------------ the promise


@every_case("family", COUNTS)
@every_case(
    ("target", "measure", "most"),
    [
        ({"truth": "0.6"}, "truth", Fraction(2, 5)),
        ({"mean_error": 1}, "distance", 1),
        ({"within": (2, "0.9")}, "within", Fraction(1, 10)),
    ],
)
def test_the_smallest_epsilon_meets_the_target_and_the_next_smaller_misses_it(family, target, measure, most):
    found = calibrate(family, 12, **target)
    assert isinstance(found.epsilon, Fraction)
    assert found.exact and found.monotone and found.next_larger is None
    assert loss(found.mechanism, measure) <= most
    reached = found.achieved if measure == "distance" else 1 - found.achieved
    assert loss(found.mechanism, measure) == reached
    smaller = found.epsilon * (1 - CLOSE)
    assert found.next_smaller.epsilon == smaller
    assert loss(getattr(dc, family)(12, epsilon=smaller), measure) > most
    assert found.mechanism.certificate.epsilon <= found.epsilon * (1 + Fraction(1, 2**50))


@every_case("family", COUNTS)
def test_expected_distance_averages_over_a_prior_that_is_uniform_unless_given(family):
    size = getattr(dc, family)(9, epsilon=1).inputs.size
    even, skew = [Fraction(1, size)] * size, [Fraction(2 * k + 1, size * size) for k in range(size)]
    for prior, used in ((None, even), ("uniform", even), (skew, skew), ([str(p) for p in skew], skew)):
        found = calibrate(family, 9, distance="3/2", prior=prior)
        assert loss(found.mechanism, "distance", used) == found.achieved <= Fraction(3, 2) < found.next_smaller.value
    for prior in (None, "uniform"):
        worst = calibrate(family, 9, mean_error="3/2", prior=prior).epsilon
        assert (worst > calibrate(family, 9, distance="3/2").epsilon) == (prior is None)


def test_float_priors_need_not_add_up_to_exactly_one():
    prior = np.array([math.comb(20, k) * 0.3**k * 0.7 ** (20 - k) for k in range(21)])
    found = calibrate(dc.geometric, 20, distance=1, prior=prior)
    assert found.exact
    assert dc.cost(found.mechanism, "L1", prior=prior) == pytest.approx(1, abs=1e-5)


@examples(20)
@given(st.sampled_from(COUNTS), st.integers(2, 20), st.fractions("0.51", "0.99", max_denominator=1000))
def test_any_probability_of_truth_can_be_had(family, n, p):
    found = calibrate(family, n, truth=p)
    assert found.next_smaller.value < p <= found.achieved == min(dc.probability_of_truth(found.mechanism, exact=True))


# ------------------------------------------------------------------------------------------------ closed forms


def near(epsilon, expected):
    return expected * (1 - 1e-12) <= epsilon <= expected * (1 + 2.0**-20)


def test_epsilons_agree_with_closed_forms():
    p = 0.7
    assert near(calibrate("geometric", 100, truth=p).epsilon, math.log((1 + p) / (1 - p)))
    assert near(calibrate("explicit_fair", 151, truth=p).epsilon, math.log((1 + p) / (1 - p)))
    assert near(calibrate("randomized_response", 101, truth=p).epsilon, math.log(100 * p / (1 - p)))
    assert near(calibrate("rounded_laplace", 100, truth=p).epsilon, -2 * math.log(1 - p))
    a = (
        math.sqrt(5) - 1
    ) / 2  # 2a/(1 - a^2) = 2: the mean error of the unbounded geometric, as in the middle of 0..400
    assert near(calibrate("geometric", 400, mean_error=2).epsilon, -math.log(a))
    # k-RR on 0..100, uniform: a share 1 - 1/(1 + 100 e^-eps) lies, at the mean distance 102/3 of two different counts
    share = 2 / 34
    assert near(calibrate("randomized_response", 101, distance=2).epsilon, math.log(100 * (1 - share) / share))


def test_the_likelihood_ratio_of_fernandes_lefki_and_palamidessi():
    """[F] section 4: ratio 2 within 10 is epsilon = ln(2)/10 for the geometric, ln(2) for randomised response."""
    for family, space, expected in (
        ("geometric", 100, math.log(2) / 10),
        ("rounded_laplace", 100, math.log(2) / 10),
        ("explicit_fair", 100, math.log(2) / 10),
        ("randomized_response", 101, math.log(2)),
    ):
        found = calibrate(family, space, likelihood_ratio=2, within=10)
        assert expected * (1 - 2.0**-20) <= found.epsilon <= expected * (1 + 1e-9)
        assert found.next_smaller is None and found.achieved <= 2 < found.next_larger.value
        assert found.next_larger.epsilon == found.epsilon * (1 + CLOSE)
    anywhere = calibrate("geometric", 100, likelihood_ratio=2)
    assert float(anywhere.epsilon) == pytest.approx(math.log(2) / 100, rel=2e-6)


@every_case("family", [*COUNTS, "planar_geometric"])
def test_likelihood_ratios_are_the_largest_over_all_pairs_within_the_radius(family):
    space = dc.Grid(3, 4, cell=2.0) if family == "planar_geometric" else 7
    options = {"border": "normalise"} if family == "planar_geometric" else {}
    found = calibrate(family, space, likelihood_ratio="5/2", within=3, **options)
    m, size = found.mechanism, found.mechanism.inputs.size
    ratios = [
        m.probability(x, y) / m.probability(z, y)
        for x in range(size)
        for z in range(size)
        for y in range(size)
        if m.inputs.distance(x, z) <= 3
    ]
    assert max(ratios) == found.achieved <= Fraction(5, 2) < found.next_larger.value


def test_reports_impossible_under_one_truth_only_have_an_infinite_ratio():
    def clipped(n, *, epsilon):
        rows = dc.geometric(n, epsilon=epsilon).matrix.copy()
        rows[0, 1] += rows[0, n]
        rows[0, n] = 0
        return dc.from_matrix(rows)

    with refused(InvalidInput, "between"):
        calibrate(clipped, 4, likelihood_ratio=2)


# ------------------------------------------------------------------------------------------------ maps


def test_gowalla_at_450_metres(outside_data):
    """ALGORITHMS 6 and 7: calibrated to 450 m, k-RR 8.144 and the geometric (border "normalise") .004128 per metre."""
    with (outside_data / "gowalla_paris_grid.csv").open() as file:
        rows = list(csv.DictReader(file))
    prior = np.zeros(900)
    for row in rows:
        prior[int(row["row"]) * 30 + int(row["col"])] = int(row["checkins"])
    assert prior.sum() == 7566
    prior /= 7566
    grid = dc.Grid(30, 30, cell=150.0)
    printed = {
        ("randomized_response", None): "8.144",
        ("planar_geometric", "normalise"): "0.004128",
        ("planar_geometric", "remap"): "0.004200",
        ("planar_laplace", "normalise"): "0.004210",
        ("planar_laplace", "remap"): "0.004278",
    }
    for (family, border), digits in printed.items():
        options = {} if border is None else {"border": border}
        found = calibrate(family, grid, distance=450, prior=prior, **options)
        assert f"{float(found.epsilon):.{len(digits) - 2}f}" == digits
        assert not found.exact
        assert dc.cost(found.mechanism, "L1", prior=prior) == pytest.approx(found.achieved, rel=1e-12)
        assert found.achieved <= 450 < found.next_smaller.value
    # [A]'s own epsilons, from a sample that is lost, do not give 450 m on the whole square.
    flat = dc.randomized_response(grid, epsilon=8.24797)
    fallen = dc.planar_geometric(grid, epsilon=0.00398441, border="normalise")
    assert round(dc.cost(flat, "L1", prior=prior)) == 414
    assert round(dc.cost(fallen, "L1", prior=prior)) == 466


def test_a_radius_on_a_map_reaches_the_furthest_centre_within_it():
    grid = dc.Grid(6, 6, cell=100.0)
    found = calibrate(dc.planar_geometric, grid, likelihood_ratio=2, within=290)
    reach = 100 * math.sqrt(8)  # two rows and two columns away
    assert float(found.epsilon) == pytest.approx(math.log(2) / reach, rel=1e-5)


def test_irrational_laws_are_decided_in_floats():
    def gaussian(n, *, epsilon):
        return dc.discrete_gaussian(sigma2=1 / epsilon).on(dc.Counts(n))

    found = calibrate(gaussian, 20, mean_error=1)
    assert not found.exact and "in floats" in str(found)
    assert found.achieved <= 1 < found.next_smaller.value
    with refused(InvalidInput, "between"):  # its ratio there is e^20 and more
        calibrate(gaussian, 20, likelihood_ratio=2, between=(1, 2))
    ratio = calibrate(gaussian, 5, likelihood_ratio=2)
    assert not ratio.exact and ratio.achieved <= 2 < ratio.next_larger.value


def test_labels_are_all_one_apart():
    found = calibrate(dc.randomized_response, ["a", "b", "c"], likelihood_ratio=3)
    assert float(found.epsilon) == pytest.approx(math.log(3), rel=2e-6)
    assert near(calibrate("randomized_response", dc.Labels(["a", "b", "c"]), truth=0.5).epsilon, math.log(2))


# ------------------------------------------------------------------------------------------------ rough families


def test_a_family_that_is_not_monotone_is_noticed():
    def odd(n, *, epsilon):
        return dc.geometric(n, epsilon=3 if Fraction(1, 100) <= epsilon <= Fraction(1, 50) else epsilon)

    found = calibrate(odd, 10, truth=0.5)
    assert not found.monotone
    assert "not monotone" in str(found)
    assert float(found.epsilon) == pytest.approx(0.01, rel=2.0**-20)
    assert found.achieved >= Fraction(1, 2) > found.next_smaller.value


def test_tiny_epsilons_find_a_neighbour_a_little_further_off():
    found = calibrate("geometric", 10, likelihood_ratio="1.0000001", within=1)
    assert found.achieved <= Fraction("1.0000001") < found.next_larger.value
    assert found.next_larger.epsilon < found.epsilon * Fraction(1001, 1000)


def test_a_range_can_be_given():
    whole = calibrate("geometric", 10, truth=0.5)
    assert float(calibrate("geometric", 10, truth=0.5, between=(1, 2)).epsilon) == pytest.approx(
        float(whole.epsilon), 2e-6
    )
    with refused(InvalidInput, token="every epsilon"):
        calibrate("geometric", 10, truth=0.5, between=(2, 3))
    far = calibrate("geometric", 3, truth=1 - Fraction(1, 10**40), between=(1, 500))
    assert float(far.epsilon) == pytest.approx(40 * math.log(10) + math.log(2), rel=1e-5)
    with refused(InvalidInput, "between"):
        calibrate("geometric", 10, truth=0.5, between=(3, 2))


# ------------------------------------------------------------------------------------------------ errors and words


@every_case("family", COUNTS)
@every_case("target", [{"truth": 1}, {"distance": 0}, {"mean_error": 0}, {"within": (1, 1)}])
def test_impossible_targets_say_what_comes_closest(family, target):
    with refused(InvalidInput, "between"):
        calibrate(family, 5, **target)


def test_targets_that_ask_for_nothing_are_refused():
    with refused(InvalidInput, token="every epsilon"):
        calibrate("explicit_fair", 9, truth=0.05)
    with refused(InvalidInput, token="every epsilon"):
        calibrate("randomized_response", 5, likelihood_ratio=10**40)


@every_case(
    ("arguments", "message"),
    [
        ({}, Parts(argument="distance", token="exactly one target ... got none")),
        ({"truth": 0.5, "distance": 1}, Parts(argument="distance", token="got distance, truth")),
        ({"truth": 0.5, "within": (1, 0.5)}, Parts(argument="distance", token="got truth, within")),
        ({"truth": 1.5}, Parts(argument="truth", given=1.5)),
        ({"distance": -1}, Parts(given=-1, token="0 or more")),
        ({"within": 3}, Parts(argument="within", given=3)),
        ({"within": (-1, 0.5)}, Parts(given=-1, token="0 or more")),
        ({"likelihood_ratio": 1}, Parts(argument="likelihood_ratio", given=1)),
        ({"likelihood_ratio": 2, "within": (1, 0.5)}, Parts(argument="within", given=(1, 0.5))),
        ({"likelihood_ratio": 2, "within": 0.5}, Parts(argument="within", token="no two truths ... nearest")),
        ({"likelihood_ratio": 2, "prior": "uniform"}, Parts(argument="prior", token="no prior")),
        ({"truth": 0.5, "prior": [0.5, 0.5]}, Parts(given="shape (2,)", token="number")),
        ({"truth": 0.5, "prior": [float("nan")] * 11}, Parts(token="finite")),
        ({"truth": float("nan")}, Parts(token="finite")),
        ({"truth": True}, Parts(argument="truth", given="the boolean True")),
    ],
)
def test_bad_requests_are_explained(arguments, message):
    with refused(InvalidInput, **message):
        calibrate("geometric", 10, **arguments)


def test_bad_families_are_explained():
    with refused(InvalidInput, "family", given="gaussian"):
        calibrate("gaussian", 10, truth=0.5)
    with refused(WrongType, "family", given="int"):
        calibrate(3, 10, truth=0.5)
    with refused(InvalidInput, "grid", given=10):
        calibrate("planar_geometric", 10, truth=0.5)
    with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
        calibrate(lambda n, epsilon: dc.two_sided_geometric(epsilon=epsilon), 10, truth=0.5)


def test_unbounded_families_can_be_calibrated_on_a_range():
    def clamped(n, *, epsilon):
        return dc.two_sided_geometric(epsilon=epsilon).on(dc.Counts(n))

    assert calibrate(clamped, 30, truth=0.5).epsilon == calibrate(dc.geometric, 30, truth=0.5).epsilon


def test_the_finding_can_be_read_and_stored():
    found = calibrate("explicit_fair", 10, truth=0.5)
    text = str(found)
    assert "probability at least 0.5" in text
    assert "with 0.49999" in text and "decided in rational numbers" in text
    stored = json.loads(json.dumps(found.to_json()))
    assert stored["exact"] is True and Fraction(stored["exact_epsilon"]) == found.epsilon
    assert stored["missed_with"] < 0.5 <= stored["achieved"]
    assert "at most 2 between" in str(calibrate("randomized_response", 3, likelihood_ratio=2))


def test_the_finding_is_a_page_with_the_epsilon_first():
    found = calibrate("explicit_fair", 10, truth=0.5)
    report = found.report()
    assert report.title.startswith("explicit_fair: epsilon = 1.0958") and report.facts[0].value == "1.1"
    page = report.page()
    assert "just below" in page and "just above" not in page and "Notes" not in page
    assert str(found) == found.describe() and found.describe().splitlines()[0] == report.title
    assert "just above" in calibrate("randomized_response", 3, likelihood_ratio=2).describe()


def test_a_missed_ratio_that_is_infinite_is_still_json():
    found = calibrate("geometric", 4, likelihood_ratio=2)
    endless = replace(found, next_larger=replace(found.next_larger, value=math.inf))
    assert json.loads(json.dumps(endless.to_json(), allow_nan=False))["missed_with"] == "infinity"


@pytest.mark.parametrize("family", ["projective_response", "randomized_response"])
def test_the_variance_of_a_share_is_calibrated_exactly(family: str) -> None:
    found = dc.calibrate(family, 500, share_variance=4)
    assert found.exact and found.achieved == dc.share_variance(found.mechanism) <= 4 < found.next_smaller.value
    assert found.next_smaller.epsilon < found.epsilon
    assert (float(found.epsilon) < 1) == (family == "projective_response")


def test_reports_that_are_points_are_calibrated_to_what_they_have() -> None:
    found = dc.calibrate("projective_response", ["a", "b", "c"], likelihood_ratio=3)
    assert found.achieved <= 3 and float(found.epsilon) == pytest.approx(math.log(3), rel=1e-5)
    for target in ({"truth": 0.5}, {"distance": 1}, {"mean_error": 1}, {"within": (1, 0.5)}):
        with refused(Unsupported, "share_variance"):
            dc.calibrate("projective_response", 9, **target)
    with refused(Unsupported, "mechanism"):
        dc.calibrate("geometric", 9, share_variance=2)
    for wrong in ({"share_variance": 0}, {"share_variance": 2, "prior": "uniform"}):
        with pytest.raises(InvalidInput):
            dc.calibrate("projective_response", 9, **wrong)


def test_options_that_the_family_does_not_have_are_named():
    """Python's own "geometric() got an unexpected keyword argument" named neither the target nor the options."""
    with refused(WrongType, "mean_eror", token="mean_error"):
        dc.calibrate("geometric", 4, mean_eror=1)
    with refused(WrongType, "alpha"):
        dc.calibrate("geometric", 4, truth="1/2", alpha="1/2")
    with refused(WrongType, "boarder", token="border"):
        dc.calibrate("planar_geometric", dc.Grid(2, 2, cell=10.0), distance=10, boarder="remap")
    mine = dc.calibrate(lambda n, **options: dc.geometric(n, epsilon=options["epsilon"]), 4, truth="1/2", colour="red")
    assert mine.epsilon == dc.calibrate("geometric", 4, truth="1/2").epsilon
