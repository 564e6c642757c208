"""Claims: four verdicts, what each rests on, and the published list of all of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import discreet as dc
from discreet_studies.claims import Basis, Verdict, judge
from discreet_studies.registry import STUDIES
from discreet_studies.running import StudyResult, published
from support.paths import DOCS

SCHEMAS = files("discreet_studies") / "schemas"


@pytest.fixture(scope="module")
def found() -> StudyResult:
    return dc.study("bounded", "numbers", quick=True)


def test_a_degree_without_a_number_has_no_verdict_unless_its_direction_is_wrong() -> None:
    assert judge(True, vague=True) is Verdict.UNDECIDABLE and judge(False, vague=True) is Verdict.FAILS
    assert judge(True, vague=False) is Verdict.HOLDS and judge(True, corrected=True) is Verdict.CORRECTED
    assert Verdict.UNDECIDABLE.value == "undecidable as worded"


def test_only_our_results_are_self_tested_and_a_doi_that_nobody_confirmed_is_left_out() -> None:
    confirmed = {"S": "10.48550/arXiv.2007.09374", "C": "10.48550/arXiv.1710.00608"}
    for study in STUDIES:
        assert study.self_tested == (study.letter == "R")
        assert study.doi == confirmed.get(study.letter, "")


def test_what_a_study_writes_is_as_its_schemas_say(found: StudyResult, tmp_path: Path) -> None:
    folder = found.save(tmp_path, ["json"]).parent
    for name in ("study", "claims"):
        schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
        written = json.loads((folder / f"{name}.json").read_text("utf-8"))
        jsonschema.validate(written, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(written | {"more": 1}, schema)


def test_a_published_claim_has_its_equation_verdict_code_and_doi(found: StudyResult) -> None:
    claims = published([found.to_json()])["claims"]
    assert isinstance(claims, list) and len(claims) == len(found.claims)
    for one, claim in zip(claims, found.claims, strict=True):
        assert isinstance(one, dict)
        assert (one["claim"], one["equation"], one["verdict"]) == (claim.statement, claim.place, claim.verdict.value)
        assert (one["doi"], one["run"], one["basis"]) == ("10.48550/arXiv.2007.09374", "quick", "no data")
        assert one["command"] == "discreet study bounded --figure numbers"


def functions() -> Iterator[tuple[str, str]]:
    for study in STUDIES:
        for exhibit in study.exhibits:
            yield study.name, exhibit.code


@pytest.mark.parametrize(("study", "code"), list(functions()))
def test_the_code_of_every_exhibit_is_a_function_that_can_be_found(study: str, code: str) -> None:
    module, _, name = code.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name)), (study, code)


def test_the_published_list_has_every_study_and_no_two_claims_alike() -> None:
    published_list = json.loads((DOCS / "claims.json").read_text("utf-8"))
    jsonschema.validate(published_list, json.loads((SCHEMAS / "claims.json").read_text("utf-8")))
    claims = published_list["claims"]
    assert {claim["study"] for claim in claims} == {study.name for study in STUDIES}
    assert len({(claim["study"], claim["command"], claim["key"]) for claim in claims}) == len(claims)
    assert {claim["verdict"] for claim in claims} == {verdict.value for verdict in Verdict}
    assert {claim["basis"] for claim in claims} == {basis.value for basis in Basis}
    keys = {study.name: {exhibit.key for exhibit in study.exhibits} for study in STUDIES}
    assert all(claim["command"].split(" --figure ")[1] in keys[claim["study"]] for claim in claims)


def test_every_item_that_the_papers_number_is_on_the_list() -> None:
    places = " | ".join(c["equation"] for c in json.loads((DOCS / "claims.json").read_text("utf-8"))["claims"])
    wanted = {
        "[F]": ("proposition 1", "proposition 2", "proposition 3", "theorem 1", "conjecture"),
        "[S]": (
            "proposition 1", "proposition 2", "proposition 3", "proposition 4", "(3)", "(7), (8)", "(16)", "(45)",
            "lemma 1", "lemma 2", "lemma 3", "lemma 4", "theorem 1", "theorem 2", "theorem 3", "example 1", "remark 1",
            "remark 2", "footnote 1", "footnote 2", "section V",
        ),
        "[A]": ("section V", "footnote 2", "section III, (2)", "on energy", "on age", "figure 1", "figure 2"),
        "[C]": ("section VI", "on [17]", "lemma 1", "lemma 2", "lemma 3", "lemma 4", "theorem 4", "example 1"),
    }  # fmt: skip
    for paper, items in wanted.items():
        mine = [place for place in places.split(" | ") if place.startswith(paper)]
        assert [item for item in items if not any(item in place for place in mine)] == [], paper
