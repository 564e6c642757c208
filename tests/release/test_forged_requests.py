"""A request is checked wherever it comes from: what no plan would write is refused, NumPy's numbers are numbers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.release.plan.plan import plan_from_request
from support.proposals import proposed
from support.refusals import refused


def forged(change: dict[str, Any], table: dict[str, Any], **options: Any) -> dict[str, Any]:
    request = copy.deepcopy(proposed(**options).request)
    request.update(change)
    request["tables"][0].update(table)
    return request


def test_groups_that_are_not_those_of_the_question_are_refused() -> None:
    """One group instead of many would make a substitution move one cell instead of two."""
    from discreet.questions.groups import TOTAL

    assert proposed(relation="substitution").tables[0].sensitivity == 2
    with refused(InvalidInput, "request"):
        plan_from_request(forged({}, {"groups": TOTAL.to_json()}, relation="substitution"))


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ({"level": "7"}, {}),
        ({"epsilon": "1e999999999"}, {}),
        ({"delta": "1e-999999999"}, {}),
        ({}, {"share": "1e999999999"}),
        ({}, {"suppress_below": "3"}),
    ],
)
def test_damaged_numbers_in_a_request_are_refused_at_once(change: dict[str, Any], table: dict[str, Any]) -> None:
    """A number with a huge exponent kept whoever checked the bundle busy for ever."""
    with pytest.raises(InvalidInput):
        plan_from_request(forged(change, table))


def test_noise_for_another_number_of_cells_is_refused() -> None:
    sizes = [{"site": site, "size": 9} for site in range(3)]
    other = [{"site": site, "size": 9} for site in range(4)]
    noise = proposed(sizes=other, domain={"site": range(4)}).request["tables"][0]["noise"]
    with refused(InvalidInput, "request"):
        plan_from_request(forged({}, {"noise": noise}, sizes=sizes))


# ------------------------------------------------------------------------------------------------ the request in Python


def test_numbers_of_numpy_make_the_same_request() -> None:
    """They could not be written as JSON, which showed as a TypeError."""
    assert (
        proposed(max_groups=np.int64(2), suppress_below=np.int64(3)).key == proposed(max_groups=2, suppress_below=3).key
    )


@pytest.mark.parametrize("edition", ["\udc80", "2026\n11", "\x1b[31m"])
def test_an_edition_is_printable(edition: str) -> None:
    with refused(InvalidInput, "edition"):
        proposed(edition=edition)


def test_groups_under_the_names_of_other_columns_are_refused() -> None:
    """The headings of the table would name columns that the question does not have."""
    groups = proposed().request["tables"][0]["groups"]
    with refused(InvalidInput, "request"):
        plan_from_request(forged({}, {"groups": {**groups, "columns": ["region" for _ in groups["columns"]]}}))


def test_a_mechanism_that_no_cell_has_is_refused() -> None:
    noise = proposed().request["tables"][0]["noise"]
    with refused(InvalidInput, "request"):
        plan_from_request(forged({}, {"noise": {**noise, "mechanisms": noise["mechanisms"] * 2}}))


def test_a_range_that_begins_at_a_decimal_is_refused() -> None:
    noise = proposed().request["tables"][0]["noise"]
    assert noise["low"] == 0
    with refused(InvalidInput, "description"):
        plan_from_request(forged({}, {"noise": {**noise, "low": 0.0}}))


def test_sizes_of_zero_need_no_mechanism() -> None:
    plan = proposed(sizes=[{"site": site, "size": 9 * site} for site in range(3)], domain={"site": range(3)})
    assert plan_from_request(plan.request).key == plan.key
