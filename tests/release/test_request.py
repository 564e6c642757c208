"""One request, whoever makes it: Python's keywords, the command line, a program."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.release.plan.request import ReleaseRequest, RequestFields, read_request
from support.refusals import Parts, refused

ASKED = "SELECT site, COUNT(*) FROM visits GROUP BY site"
FIELDS = {"unit": "person", "domain": {"site": range(1, 4)}, "max_groups": 1, "epsilon": "0.5"}


def test_keywords_are_the_fields_of_a_request() -> None:
    assert {"questions", *RequestFields.__annotations__} == {field.name for field in dataclasses.fields(ReleaseRequest)}


def test_a_request_and_its_keywords_make_the_same_plan() -> None:
    request = dc.ReleaseRequest(questions=(ASKED,), **FIELDS)  # type: ignore[arg-type]
    by_request, by_keywords = (
        dc.plan_release(request, data="visits"),
        dc.plan_release(ASKED, data="visits", **FIELDS),  # type: ignore[arg-type]
    )
    assert by_request.request == by_keywords.request and by_request.key == by_keywords.key
    assert read_request(request) is request


def test_a_request_is_read_when_it_is_made_and_does_not_change() -> None:
    request = dc.ReleaseRequest(questions=(ASKED, ASKED), unit="row", epsilon=0.1, split=(2, 1))  # type: ignore[arg-type]
    assert request.epsilon == Fraction(1, 10) and request.split == (Fraction(2, 3), Fraction(1, 3))
    assert dataclasses.replace(request) == request
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.epsilon = Fraction(2)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"unit": "row", "epsilom": 1}, Parts(argument="epsilom")),
        ({"epsilon": 1}, Parts(argument="unit", token="protected")),
        ({"unit": "row", "level": 2}, Parts(argument="level", given=2)),
        ({"unit": "row", "relation": "swap"}, Parts(argument="relation", given="swap")),
        ({"unit": "row", "split": [1, 2]}, Parts(argument="split", given="1, 2")),
        ({"unit": "row", "mechanism": "gaussian", "loss": "L1"}, Parts(argument="properties", token="design")),
    ],
)
def test_what_cannot_be_read_is_refused_before_data_is_looked_at(fields: dict, says: Parts, tmp_path: Path) -> None:
    with refused(InvalidInput, **says):
        dc.release_counts(ASKED, data=tmp_path / "not there.csv", ledger=tmp_path / "none", **fields)


def test_a_request_is_complete_and_takes_no_more_keywords() -> None:
    request = dc.ReleaseRequest(questions=(ASKED,), unit="row", epsilon=1)  # type: ignore[arg-type]
    with refused(InvalidInput, "epsilon"):
        dc.plan_release(request, data="visits", epsilon=2)


def test_a_release_that_nothing_pays_for_says_how_a_ledger_is_made(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("person,site\nann,1\n", encoding="utf-8")
    with refused(InvalidInput, "ledger") as caught:
        dc.release_counts(ASKED, data=tmp_path / "visits.csv", **FIELDS)  # type: ignore[arg-type]
    assert caught.value.argument == "ledger"


def test_a_plan_states_its_noise_in_parts_that_a_program_can_read() -> None:
    noise = dc.plan_release(ASKED, data="visits", **FIELDS).to_json()["tables"][0]["noise"]  # type: ignore[arg-type]
    (mechanism,) = noise["mechanisms"]
    assert mechanism["family"] == "two_sided_geometric" and mechanism["epsilon"] == pytest.approx(0.5)
    assert "alpha" in mechanism["parameters"] and noise["output"] == "clamped" and "epsilon 0.5" in noise["sentence"]
