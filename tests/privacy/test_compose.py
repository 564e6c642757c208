"""A composition answers for epsilon and delta, says what it promises and for whom, and refuses the rest."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, Unsupported, WrongType
from discreet.privacy.compose import METHODS, Composition, compose
from support.grids import every_case
from support.refusals import Parts, refused
from support.tiers import examples

F = Fraction

# ------------------------------------------------------------------------------------------------ the object


@given(
    epsilon=st.sampled_from(["0.05", "0.3", "1"]),
    k=st.integers(1, 60),
    delta=st.sampled_from([0, "1e-12", 1e-6, 0.01, "1/3"]),
    method=st.sampled_from(METHODS),
)
@examples(30)
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
        with refused(Unsupported, "method"):
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
    described = plan.to_json()
    assert described["releases"] == 50 and set(described["slack"]) == {"epsilon", "delta", "relative"}
    with pytest.raises(AttributeError):
        plan.method = "basic"  # type: ignore[misc]
    assert isinstance(plan, Composition)


# ------------------------------------------------------------------------------------------------ refusals

GEOMETRIC = dc.geometric(5, epsilon=1)
GAUSSIAN = dc.discrete_gaussian(sigma2=4)


@every_case(
    ("releases", "options", "error", "says"),
    [
        ([], {}, InvalidInput, Parts(argument="releases", token="empty")),
        (GEOMETRIC, {}, WrongType, Parts(argument="releases", token="list of mechanisms")),
        (GEOMETRIC.certificate, {}, WrongType, Parts(argument="releases", token="list of mechanisms")),
        ("geometric", {}, WrongType, Parts(argument="releases", token="list of mechanisms")),
        ([0.5], {}, WrongType, Parts(argument="releases", token="Privacy")),
        ([[[0.5, 0.5], [0.4, 0.6]]], {}, WrongType, Parts(argument="releases", token="dc.verify")),
        ([(GEOMETRIC, 0)], {}, InvalidInput, Parts(argument="releases", token="from 1")),
        ([(GEOMETRIC, 2.0)], {}, InvalidInput, Parts(argument="releases", token="whole number")),
        ([(GEOMETRIC, True)], {}, InvalidInput, Parts(argument="releases", token="whole number")),
        ([(GEOMETRIC, -1)], {}, InvalidInput, Parts(argument="releases", token="from 1")),
        ([GEOMETRIC], {"method": "renyi"}, InvalidInput, Parts(argument="method", given="renyi")),
        ([GEOMETRIC], {"notion": "global"}, InvalidInput, Parts(argument="notion", given="global")),
        (
            [GEOMETRIC, dc.randomized_response(["a", "b"], epsilon=1)],
            {},
            InvalidInput,
            Parts(argument="notion", token="one notion only"),
        ),
        (
            [GEOMETRIC.certificate],
            {"notion": "local"},
            InvalidInput,
            Parts(argument="notion", token="mechanisms themselves"),
        ),
        (
            [dc.verify(GEOMETRIC), dc.Privacy(1, 0, "local")],
            {},
            InvalidInput,
            Parts(argument="notion", token="one notion only"),
        ),
        ([GAUSSIAN], {"method": "basic"}, Unsupported, Parts(token="'numerical' or 'zcdp'")),
        ([GAUSSIAN], {"method": "optimal"}, Unsupported, Parts(token="'numerical' or 'zcdp'")),
        ([GAUSSIAN], {"notion": "local"}, Unsupported, Parts(argument="notion", token="central")),
        ([GAUSSIAN.certificate], {}, Unsupported, Parts(token="mechanism itself")),
        ([dc.suppression(9, below=3)], {"method": "zcdp"}, Unsupported, Parts(token="'numerical'")),
    ],
)
def test_what_cannot_be_composed_is_refused_with_advice(releases, options, error, says):
    with refused(error, **says) as problem:
        compose(releases, **options)
    assert isinstance(problem.value, DiscreetError)


@every_case(("question", "value"), [("delta", -1), ("delta", "x"), ("epsilon", 2), ("epsilon", -0.1)])
def test_impossible_epsilons_and_deltas_are_refused(question, value):
    with pytest.raises(InvalidInput):
        getattr(compose([dc.Privacy(1)]), question)(value)
