"""How many cells one change can move: worked out, and checked against every small table by brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import discreet as dc
from discreet.privacy.relations import RELATIONS, Relation
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from discreet.release.protection import Protection

SITES = groups_from({"site": [1, 2, 3]}, ("site",))


def question(aggregates: str, unit: str = "person", grouped: bool = True):
    by = "site, " if grouped else ""
    return read_question(f"SELECT {by}{aggregates} FROM t" + (" GROUP BY site" if grouped else ""), unit=unit)


@pytest.mark.parametrize(
    ("aggregates", "relation", "max_groups", "cells"),
    [
        ("COUNT(*)", "add-remove", 1, 1),
        ("COUNT(*)", "add-remove", 2, 2),
        ("COUNT(*)", "add-remove", 9, 3),
        ("COUNT(*)", "substitution", 1, 2),
        ("COUNT(*)", "substitution", 2, 3),
        ("COUNT(*), COUNT_IF(h = 'poor')", "add-remove", 1, 2),
        ("COUNT(*), COUNT_IF(h = 'poor')", "substitution", 1, 4),
        ("COUNT_IF(h = 'good'), COUNT_IF(h = 'poor')", "add-remove", 1, 1),
        ("COUNT_IF(h = 'good'), COUNT_IF(h = 'poor')", "substitution", 1, 2),
        ("COUNT_IF(h = 'good'), COUNT_IF(h = 'poor')", "add-remove", 2, 2),
    ],
)
def test_cells_that_one_person_moves(aggregates, relation, max_groups, cells):
    assert Protection("person", relation, max_groups).change(question(aggregates), SITES).l1 == cells


def test_a_total_moves_by_one_even_when_a_person_is_replaced():
    asked = question("COUNT(*)", grouped=False)
    assert Protection("person", "substitution", 1).change(asked, TOTAL).l1 == 1


def test_structural_zeros_are_not_moved():
    from discreet.questions.groups import with_zeros

    zeros = with_zeros(SITES, [{"site": 1}, {"site": 2}])
    assert Protection("person", "add-remove", 3).change(question("COUNT(*)"), zeros).l1 == 1


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("max_groups", [1, 2, 3])
def test_the_bound_is_reached_and_never_exceeded(relation, max_groups):
    """All sets of at most k groups that a person may count in, before and after."""
    places = [set(c) for c in product([1, 2, 3], repeat=max_groups)]
    pairs = product(places, places) if relation == "substitution" else ((set(), p) for p in places)
    most = max(len(before ^ after) for before, after in pairs)
    assert Protection("person", relation, max_groups).change(question("COUNT(*)"), SITES).l1 == most


@pytest.mark.parametrize(
    ("unit", "relation", "max_groups"),
    [("", "add-remove", 1), ("person", "swap", 1), ("person", "add-remove", 0), ("row", "add-remove", 2)],
)
def test_what_cannot_be_a_protection_is_refused(unit, relation, max_groups):
    with pytest.raises(dc.errors.InvalidInput):
        Protection(unit, relation, max_groups)


# ------------------------------------------------------------------------------------------------ odds


TWO_GROUPS = "SELECT site, COUNT(*) FROM visits GROUP BY site"
TOTAL_ONLY = "SELECT COUNT(*) FROM visits"


def guarantee(question: str, **asked: Any) -> str:
    options = {"unit": "person", "max_groups": 1, "epsilon": 1, **asked}
    if "GROUP BY" in question:
        options["domain"] = ["site=1..2"]
    return " ".join(dc.plan_release(question, data="visits", **options).guarantee)


def test_the_odds_between_two_groups_change_by_twice_epsilon_and_the_guarantee_says_so() -> None:
    """Who moves from one group to another moves two counts. Presence alone moves one."""
    noise = dc.two_sided_geometric(epsilon=1)
    here, there = ((11, 10), (10, 11))

    def likelihood(truth: tuple[int, int]) -> Fraction:
        return noise.probability(truth[0], here[0]) * noise.probability(truth[1], here[1])

    ratio = float(likelihood(here) / likelihood(there))
    assert ratio == pytest.approx(math.e**2, rel=1e-9)
    said = guarantee(TWO_GROUPS)
    assert "in the table change at most 2.72-fold" in said
    assert "change at most 7.39-fold" in said
    assert "73.2% (in the table) or 88.1%" in said


def test_in_one_count_and_where_people_are_replaced_epsilon_bounds_every_statement() -> None:
    for said in (guarantee(TOTAL_ONLY), guarantee(TWO_GROUPS, relation="substitution")):
        assert "the odds of any statement about this `person` change at most 2.72-fold" in said
        assert "becomes at most 73.2%." in said and "7.39" not in said


def test_with_a_delta_outcomes_are_bounded_and_values_by_two_steps() -> None:
    said = guarantee(TWO_GROUPS, mechanism="gaussian", delta="1e-6")
    assert "a factor of 2.72 plus" in said
    # delta (1 + e^eps) over two steps
    assert "factor of 7.39 plus 3.7" in said


def test_a_guarantee_claims_no_more_than_holds_at_any_epsilon() -> None:
    said = guarantee(TWO_GROUPS, epsilon=20)
    assert "cannot tell" not in said


def test_a_neighbour_relation_is_one_entry(tmp_path, monkeypatch):
    monkeypatch.setitem(RELATIONS, "removal", Relation("removed", moves=1, hides_presence=True))
    (tmp_path / "visits.csv").write_text("person,site\nann,1\nbob,2\n", encoding="utf-8")
    book = dc.Ledger.create(tmp_path / "l", dataset="visits", unit="person", epsilon=2, relation="removal")
    asked = {"unit": "person", "domain": {"site": range(1, 4)}, "max_groups": 1, "epsilon": 1, "relation": "Removal"}
    sql = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    released = dc.release_counts(sql, data=tmp_path / "visits.csv", ledger=book, out=tmp_path / "out", **asked)
    assert "neighbouring tables differ by one `person` removed." in " ".join(released.guarantee)
    assert "(all rows with the same person), removed" in book.statement().describe()
    assert released.plan.tables[0].sensitivity == 1 and dc.verify_bundle(tmp_path / "out", book).holds
