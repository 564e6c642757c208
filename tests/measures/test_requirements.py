"""Requirements with a number: the same kind of object as the seven, read back from how they are written."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import properties, requirements
from discreet.errors import InvalidInput, WrongType
from discreet.properties import Property
from support.grids import every_case
from support.refusals import refused


@every_case(
    "code", ["bias<=0", "bias<=1/2", "mse<=4", "support<=3", "truth>=1/5", "truth=1/5", "steps>=1/2", "zeros[0-4 4-0]"]
)
def test_every_requirement_is_a_property_and_its_code_reads_back(code):
    (prop,) = requirements.resolve(code)
    assert isinstance(prop, Property) and prop.code == code and prop.sentence.endswith(".")
    assert len(prop.rows(4)) > 0
    assert dc.check(dc.uniform(4), prop)[code].sentence == prop.sentence


def test_checks_agree_with_plain_sums():
    m = dc.geometric(5, alpha="1/3")
    bias, mse = dc.bias(m, exact=True), dc.expected_loss(m, "L2", exact=True)
    worst = max(map(abs, bias))
    assert dc.check(m, requirements.bias(worst))[f"bias<={worst}"].holds
    assert not dc.check(m, requirements.bias(worst - Fraction(1, 10**9)))[f"bias<={worst - Fraction(1, 10**9)}"].holds
    assert dc.check(m, requirements.mean_squared_error(max(mse)))[f"mse<={max(mse)}"].holds
    least = min(dc.probability_of_truth(m, exact=True))
    assert dc.check(m, requirements.truth(least))[f"truth>={least}"].holds
    below = dc.check(m, requirements.truth(exactly=least))[f"truth={least}"]
    assert not below.holds and below.violation > 0


def test_steps_run_along_the_reports():
    table = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    assert dc.check(table, requirements.steps("1/2"))["steps>=1/2"].holds
    assert not dc.check(table, requirements.steps("2/3"))["steps>=2/3"].holds


@every_case("wrong", ["bias<=-1", "truth>=2", "support<=1.5", "steps>=0", "noise<=1", "bias>=1", "zeros[]"])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidInput):
        requirements.resolve(wrong)


def test_zeros_outside_the_range_are_refused():
    with refused(InvalidInput, "places"):
        requirements.zeros([(0, 9)]).rows(4)
    with pytest.raises(InvalidInput):
        requirements.zeros([])
    with pytest.raises(InvalidInput):
        requirements.truth()


def test_nothing_asked_is_nothing():
    assert requirements.resolve("") == requirements.resolve(None) == requirements.resolve([]) == ()
    assert np.array_equal(requirements.support(1).rows(2).places, [[2], [6]])


def test_requirements_cite_the_properties_of_the_paper_by_their_names():
    """[S] numbers its equations and names its properties of the noise P1 (support), P2 (truth) and P3 (zero bias)."""
    cited = {
        requirements.support(2): "P1",
        requirements.truth("1/5"): "P2",
        requirements.bias(0): "P3",
        requirements.mean_squared_error(4): "section IV",
    }
    for requirement, place in cited.items():
        assert requirement.reference.endswith(f"[S] {place}")


@every_case(
    "prop",
    [
        dc.requirements.bias(2),
        dc.requirements.mean_squared_error(4),
        dc.requirements.support(3),
        dc.requirements.truth("1/5"),
        dc.requirements.truth(exactly="1/5"),
        dc.requirements.steps("1/2"),
        dc.requirements.zeros([(0, 4), (4, 0)]),
        *dc.properties.PROPERTIES.values(),
    ],
)
def test_a_requirement_can_be_sent_to_another_process_and_is_the_same_there(prop):
    """Their rows were made by functions inside of functions, which cannot be pickled."""
    again = pickle.loads(pickle.dumps(prop))
    rows, rows_again = prop.rows(4), again.rows(4)
    assert again == prop and np.array_equal(rows.places, rows_again.places) and rows.right == rows_again.right
    assert properties.is_of_the_seven(again) == properties.is_of_the_seven(prop)
    design = dc.design(4, alpha="9/10", properties=[again])
    assert design == dc.design(4, alpha="9/10", properties=[prop])


def test_a_structural_zero_is_a_pair_of_counts():
    for wrong in ([(0, 1, 2)], ["01"], [5], [(0, 1.5)], [(True, 1)]):
        with refused(WrongType, "places"):
            requirements.zeros(wrong)
