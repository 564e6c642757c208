"""[C]: the questions it leaves open and what it says in passing."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet_studies.claims import Claim
from discreet_studies.constrained import asides, questions
from discreet_studies.constrained.asides import staircase
from discreet_studies.constrained.exhibits import IN_PASSING
from discreet_studies.constrained.questions import along_columns, counted, interval_loss
from discreet_studies.study import ExhibitResult, Setting
from support.exhibit_checks import check

#: One process draws the exhibits, and all tests look at them.
pytestmark = pytest.mark.xdist_group("questions of constrained")

VERDICTS = {
    "staircase: fair": "holds with correction",
    "staircase: randomised response": "holds with correction",
    "section V: sub-second": "holds with correction",
    "section VI: extremes": "holds",
    "section VI: above 0.7": "undecidable as worded",
    "section VI: EM and WM": "undecidable as worded",
    "section VI: L1 and L2": "holds with correction",
    "section VI: columns": "holds with correction",
    "section VI: range queries": "holds with correction",
    "section VI: sums over a range of groups": "holds",
}

#: A claim about seconds, which a busy machine can overturn.
CLOCKED = {"section V: sub-second"}


@pytest.fixture(scope="module")
def drawn() -> dict[str, ExhibitResult]:
    return {exhibit.key: exhibit.draw(Setting(quick=True)) for exhibit in IN_PASSING}


@pytest.fixture(scope="module")
def claims(drawn: dict[str, ExhibitResult]) -> dict[str, Claim]:
    return {claim.key: claim for one in drawn.values() for claim in one.claims}


def test_every_question_has_its_verdict(claims: dict[str, Claim]) -> None:
    found = {key: claim.verdict.value for key, claim in claims.items()}
    assert {k: v for k, v in found.items() if k not in CLOCKED} == {
        k: v for k, v in VERDICTS.items() if k not in CLOCKED
    }


def test_tables_and_claims_are_whole(drawn: dict[str, ExhibitResult], capfd: pytest.CaptureFixture[str]) -> None:
    check(drawn, capfd)


def test_at_n_6_there_are_10_costs_under_l1_and_9_under_l2(drawn: dict[str, ExhibitResult]) -> None:
    rows = drawn["l1-l2"].tables[""]
    number = {loss: len({row["cost"] for row in rows if row["loss"] == loss}) for loss in ("L0", "L1", "L2")}
    assert number == {"L0": 4, "L1": 10, "L2": 9} and len(rows) == 3 * 128


def test_privacy_along_columns_is_the_privacy_of_the_transpose() -> None:
    alpha = Fraction(2, 3)
    for made, holds in ((dc.explicit_fair(5, alpha=alpha), True), (dc.geometric(5, alpha=alpha), False)):
        rows = [[Fraction(made.probability(x, y)) for y in range(6)] for x in range(6)]
        ratios = [max(row[y] / row[y + 1], row[y + 1] / row[y]) for row in rows for y in range(5)]
        assert (max(ratios) <= 1 / alpha) is holds is bool(dc.check(made, [along_columns(alpha)])["CP"])


def test_a_design_that_asks_for_it_has_it_and_costs_no_more_than_fairness() -> None:
    alpha = Fraction(9, 10)
    made = dc.design(5, alpha=alpha, properties=[along_columns(alpha)])
    assert dc.check(made, [along_columns(alpha)])["CP"] and dc.verify(made).ratio <= 1 / alpha
    assert dc.cost(dc.geometric(5, alpha=alpha)) < dc.cost(made) < dc.cost(dc.explicit_fair(5, alpha=alpha))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_ranges_are_counted_by_a_formula(n: int) -> None:
    intervals = [(a, b) for a in range(n + 1) for b in range(a, n + 1)]
    assert interval_loss(n) == counted(n, intervals) != counted(n, intervals[:-1])


def test_biased_reports_lose_to_unbiased_ones_when_many_groups_are_added(drawn: dict[str, ExhibitResult]) -> None:
    rows = {(row["groups"], row["mechanism"]): float(str(row["rmse"])) for row in drawn["range-queries"].tables["sums"]}
    for name in ("GM", "WM", "EM", "UM"):
        assert rows[1, name] < rows[1, "two-sided geometric"] < rows[256, "two-sided geometric"] < rows[256, name]


@pytest.mark.parametrize(("sensitivity", "width"), [(1, 1), (2, 1), (3, 2), (4, 4)])
def test_the_staircase_is_a_distribution_with_its_epsilon(sensitivity: int, width: int) -> None:
    alpha = Fraction(1, 2)
    far = 40 * sensitivity
    law = {z: staircase(z, sensitivity, width, alpha) for z in range(-far, far + 1)}
    assert abs(sum(law.values()) - 1) < Fraction(1, 2**35)
    shifts = [law[z] / law[z + d] for d in range(1, sensitivity + 1) for z in range(-far, far + 1 - d)]
    assert max(max(ratio, 1 / ratio) for ratio in shifts) == 1 / alpha


def test_what_is_open_in_the_paper_is_not_said_to_hold_as_it_stands() -> None:
    for draw in (questions.draw_l1_l2, questions.draw_column_privacy, asides.draw_staircase):
        assert all(claim.why for claim in draw(Setting(quick=True)).claims)
