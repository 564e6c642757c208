"""A request file that names a dataset file asks what the options ask, and says nothing of what is declared."""

from __future__ import annotations

import json
import os
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import discreet as dc
from datasets.conftest import SQL, write_people
from discreet.errors import InvalidInput, UnreadableFile
from discreet.release.bound_plan import BoundPlan
from support.command_line import invoke, run
from support.refusals import refused

SCHEMA = Draft202012Validator(json.loads((files("discreet.schemas") / "request-file.json").read_text(encoding="utf-8")))
ASK = ("--max-groups", 1, "--epsilon", 1)
FILE = f'dataset = "visits.toml"\nquestions = "{SQL}"\nmax_groups = 1\nepsilon = 1\n'


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def key(*line: object) -> str:
    return str(json.loads(run("release", *line, "--plan", "--json").stdout)["key"])


def as_advised(file: str) -> BoundPlan:
    """Return the plan of a request file by the Python that its refusal advises."""
    asked = dc.open_request(file)
    with pytest.raises(InvalidInput) as refusal:
        _ = asked.request
    advice = str(refusal.value).split("Ask there: ")[1].removesuffix(".")
    plan = eval(advice, {"dc": dc, "asked": asked})
    assert isinstance(plan, BoundPlan)
    return plan


@pytest.mark.parametrize("dataset", [(), ("--dataset", "visits.toml")])
def test_a_question_to_a_dataset_becomes_a_short_file_and_is_released(dataset: tuple[str, ...], here: Path) -> None:
    (here / "requests").mkdir()
    plan = run("release", SQL, *ASK, *dataset, "-o", "out", "--plan", "--write", "requests/q.toml").stdout
    assert plan.endswith("written to requests/q.toml; to release: discreet release requests/q.toml\n")
    content = tomllib.loads(Path("requests/q.toml").read_text())
    assert content.pop("format") and content.pop("version")
    assert content == {
        "questions": SQL, "dataset": "../visits.toml", "out": "../out", "max_groups": 1, "epsilon": 1
    }  # fmt: skip
    assert key("requests/q.toml") == key(SQL, *ASK)
    os.chdir("requests")  # where nothing is declared
    assert "declared in visits.toml" in run("release", "q.toml", "--plan").stdout
    assert "epsilon 9" in run("release", "q.toml").stdout
    assert dc.verify("../out", ledger="../visits.ledger").holds


def test_what_replaces_the_declaration_is_in_the_file_and_is_named(here: Path) -> None:
    write_people(here / "visits_q2.csv", 60)
    instead = ("--domain", "site=1..2", "--data", "visits_q2.csv", "--edition", "Q2", "--dataset", "visits.toml")
    run("release", SQL, *ASK, *instead, "--plan", "--write", "q.toml")
    assert key("q.toml") == key(SQL, *ASK, *instead)
    plan = run("release", "q.toml", "--plan").stdout
    assert "domain of site" in plan and "data: visits_q2.csv" in plan
    with refused(InvalidInput, "dataset", token=".with_data(asked.data"):
        _ = dc.open_request("q.toml").request
    assert as_advised("q.toml").overrides == ("data: visits_q2.csv", "domain of site")
    assert as_advised("q.toml").key == key("q.toml")


def test_one_file_asks_about_every_edition(here: Path) -> None:
    write_people(here / "visits_q2.csv", 60)
    Path("q.toml").write_text(FILE + 'edition = "Q1"\n')
    run("release", "q.toml", "-o", "Q1")
    with refused(InvalidInput, "edition"):  # Q1 is not the edition of other data
        invoke("release", "q.toml", "--data", "visits_q2.csv", "-o", "Q2")
    assert "--edition 2026-Q2" in run("release", "q.toml", "--data", "visits_q2.csv", "--plan", code=2).stderr
    run("release", "q.toml", "--data", "visits_q2.csv", "--edition", "Q2", "-o", "Q2")
    published = [json.loads((here / name / "release.json").read_text())["edition"] for name in ("Q1", "Q2")]
    assert published == ["Q1", "Q2"] and dc.Dataset.open("visits.toml").budget.left.epsilon == 8


@pytest.mark.parametrize("field", ["unit", "unit_name", "relation", "encoding", "ledger"])
def test_what_the_dataset_fixes_cannot_stand_in_the_file(field: str, here: Path) -> None:
    Path("q.toml").write_text(FILE + f'{field} = "row"\n')
    with refused(UnreadableFile, field, token="visits.toml to change"):
        dc.open_request("q.toml")
    refusal = run("release", "q.toml", "--plan", code=2).stderr
    assert f"q.toml: {field} " in refusal and "--" not in refusal  # as the file has it, and not as an option
    if field != "encoding":
        with refused(InvalidInput, field):
            dc.write_request("other.toml", SQL, dataset=Path("visits.toml"), **{field: "row"})
        assert not SCHEMA.is_valid(tomllib.loads(Path("q.toml").read_text()))


def test_another_ledger_cannot_be_given_beside_the_file(here: Path) -> None:
    Path("q.toml").write_text(FILE)
    assert SCHEMA.is_valid(tomllib.loads(FILE))
    assert not SCHEMA.is_valid(tomllib.loads(FILE.replace("visits.toml", "visits")))  # a name, and no unit
    dc.Ledger.create("other.ledger", dataset="visits", unit="person", epsilon=10)
    with refused(InvalidInput, "ledger", token="visits.toml"):
        invoke("release", "q.toml", "--ledger", "other.ledger", "-o", "out")
    with refused(InvalidInput, token="--dataset"):
        invoke("release", "q.toml", "--dataset", "visits.toml", "--plan")


def test_a_request_file_never_searches_for_a_dataset(here: Path) -> None:
    Path("q.toml").write_text(FILE.replace('dataset = "visits.toml"\n', ""))
    with refused(UnreadableFile, "unit"):
        invoke("release", "q.toml", "--plan")
    Path("q.toml").write_text(FILE.replace("visits.toml", "absent.toml"))
    with refused(UnreadableFile, token="absent.toml"):
        invoke("release", "q.toml", "--plan")


def test_python_is_told_to_ask_the_dataset(here: Path) -> None:
    request = dc.open_request(dc.write_request("q.toml", SQL, dataset="visits.toml", max_groups=1, epsilon=1))
    with refused(InvalidInput, "dataset", token="dc.Dataset.open(asked.dataset)"):
        _ = request.request
    assert as_advised("q.toml").key == key("q.toml")
    assert "visits.toml" in request.describe()


def test_a_mistake_names_the_fields_of_the_file(here: Path) -> None:
    Path("q.toml").write_text(FILE.replace("max_groups = 1\n", ""))
    assert "max_groups = " in run("release", "q.toml", "--plan", code=2).stderr
