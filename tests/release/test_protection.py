"""How many cells one change can move: worked out, and checked against every small table by brute force."""

from __future__ import annotations

from itertools import product

import pytest

import discreet as dc
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from discreet.release.plan.protection import Protection

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
    assert Protection("person", relation, max_groups).sensitivity(question(aggregates), SITES) == cells


def test_a_total_moves_by_one_even_when_a_person_is_replaced():
    asked = question("COUNT(*)", grouped=False)
    assert Protection("person", "substitution", 1).sensitivity(asked, TOTAL) == 1


def test_structural_zeros_are_not_moved():
    from discreet.questions.groups import with_zeros

    zeros = with_zeros(SITES, [{"site": 1}, {"site": 2}])
    assert Protection("person", "add-remove", 3).sensitivity(question("COUNT(*)"), zeros) == 1


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("max_groups", [1, 2, 3])
def test_the_bound_is_reached_and_never_exceeded(relation, max_groups):
    """All sets of at most k groups that a person may count in, before and after."""
    places = [set(c) for c in product([1, 2, 3], repeat=max_groups)]
    pairs = product(places, places) if relation == "substitution" else ((set(), p) for p in places)
    most = max(len(before ^ after) for before, after in pairs)
    assert Protection("person", relation, max_groups).sensitivity(question("COUNT(*)"), SITES) == most


@pytest.mark.parametrize(
    ("unit", "relation", "max_groups"),
    [("", "add-remove", 1), ("person", "swap", 1), ("person", "add-remove", 0), ("row", "add-remove", 2)],
)
def test_what_cannot_be_a_protection_is_refused(unit, relation, max_groups):
    with pytest.raises(dc.errors.InvalidInput):
        Protection(unit, relation, max_groups)
