"""What ``bounded_noise`` claims to be the least, against a linear program of another make, over random settings."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from support.grids import every_case
from support.noise_oracle import NoiseModel
from support.oracles import NotSolved
from support.refusals import refused


def settings_of(seed: int, most_reach: int) -> tuple[Fraction, int, dict]:
    """Epsilon, reach and what is asked of the noise, with two decimals each."""
    r = random.Random(seed)
    epsilon, reach = Fraction(r.randint(1, r.choice([60, 200, 450])), 100), r.randint(1, most_reach)
    asked = {"js": r.randint(0, min(reach - 1, 3)) if r.random() < 0.35 else 0}
    which = r.choice(["stay", "stay", "variance", "both"])
    if which != "variance":
        asked["stay"] = Fraction(r.randint(2, 95), 100)
    if which != "stay":
        asked["variance"] = Fraction(r.randint(10, 100 * reach), 100)
    return epsilon, reach, asked


def agrees(epsilon: Fraction, reach: int, asked: dict) -> bool:
    """Whether the least delta is the oracle's, and stated between a bound and a certificate that meet; or refused."""
    limits = {name: float(x) for name, x in asked.items() if name != "js"}
    free = "stay" not in asked  # each count then has its own
    try:
        least = NoiseModel(float(epsilon), reach, **limits, at_least=free, js=asked["js"]).least_delta()
    except NotSolved:  # which says nothing about the product; how many settings were solved is asserted
        return False
    if least is None:
        with refused(InvalidInput, token="no unbiased noise"):
            dc.bounded_noise(epsilon, reach=reach, **asked)
        return False
    m = dc.bounded_noise(epsilon, reach=reach, **asked)
    stated, bound = m.certificate.delta, m.certificate.details["lower_bound"]
    assert stated <= least * (1 + 1e-7) + 1e-9
    # the certificate is exact; the oracle is in floats, where an optimum of 1e-9 can be missed from above
    assert stated >= least * (1 - 1e-7) - 1e-8
    assert bound <= stated <= bound * (1 + 1e-6) + 1e-12
    return True


def test_no_noise_that_is_allowed_has_a_smaller_delta():
    """60 settings: the asymmetric laws are searched too, and every program is solved."""
    solved = [agrees(*settings_of(k, 4)) for k in range(60)]
    assert sum(solved) > 45


@pytest.mark.full
@pytest.mark.parametrize("part", range(20))
def test_no_noise_that_is_allowed_has_a_smaller_delta_over_many_settings(part):
    solved = [agrees(*settings_of(10**6 + 1000 * part + k, 6)) for k in range(100)]
    assert sum(solved) > 75


def test_a_symmetric_law_is_no_silent_condition():
    m = dc.bounded_noise("0.18", "0.26", 3)
    assert m.certificate.delta < 0.197998 and m.certificate.details["lower_bound"] > 0.197997
    assert NoiseModel(0.18, 3, 0.26).least_delta() == pytest.approx(m.certificate.delta, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "stay", "least"), [("72/25", "1/5", 4 / 15), ("339/100", "3/25", 22 / 75)])
def test_laws_of_two_errors_are_balanced_on_any_total(epsilon, stay, least):
    """The error is -1 or 2, and 3 does not divide the total: one unit at another error makes it right."""
    m = dc.bounded_noise(epsilon, stay, 2, js=1)
    assert m.certificate.delta == pytest.approx(least, rel=1e-12)


def test_sharing_noise_later_costs_no_delta_and_is_a_choice_with_its_own_bound():
    early, late = (dc.bounded_noise("0.357", "0.261", 3, shared_from=count) for count in (6, 12))
    assert early.certificate.delta == dc.bounded_noise("0.357", "0.261", 3).certificate.delta
    assert late.certificate.delta < early.certificate.details["lower_bound"]
    for m, shared in ((early, 6), (late, 12)):
        least = NoiseModel(0.357, 3, 0.261, shared=shared).least_delta()
        assert m.certificate.delta == pytest.approx(least, rel=1e-8)
    with refused(InvalidInput, "shared_from", given=2):
        dc.bounded_noise(1, "1/2", 3, shared_from=2)
    with refused(InvalidInput, "shared_from"):
        dc.bounded_noise(1, "1/2", 3, kind="optimal", shared_from=6)


@every_case("seed", range(12))
def test_the_largest_stay_for_a_delta_is_the_largest_of_all_laws(seed):
    r = random.Random(seed)
    epsilon, reach = Fraction(r.randint(10, 200), 100), r.randint(1, 4)
    least = NoiseModel(float(epsilon), reach).least_delta()
    delta = Fraction(least + (1 - least) * r.uniform(0.02, 0.5)).limit_denominator(1000)
    if float(delta) <= least * 1.001:
        return
    m = dc.bounded_noise(epsilon, reach=reach, delta=delta)
    best = NoiseModel(float(epsilon), reach, delta=float(delta)).largest_stay()
    assert m.certificate.details["stay"] == pytest.approx(best, rel=1e-6)
    assert m.certificate.delta <= float(delta)


def test_the_bound_holds_for_the_variance_as_it_was_asked_for():
    """The program keeps a little below the limit on the variance; its bound does not rely on that."""
    m = dc.bounded_noise(1, "1/2", 1, variance="1/2")  # the only noise with this stay has just this variance
    assert m.certificate.details["lower_bound"] <= m.certificate.delta
    assert m.certificate.delta == pytest.approx(NoiseModel(1.0, 1, 0.5).least_delta(), rel=1e-9)
