"""A request in a file says what the options say: the same plan, the same key; nothing secret, nothing by accident."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.errors import InvalidInput, UnreadableFile, WrongType
from discreet.release.plan.request_file import as_line, request_text
from discreet.release.plan.toml_text import toml_text
from support.command_line import invoke, run
from support.refusals import Parts, refused
from support.tiers import examples

SCHEMA = json.loads((files("discreet.schemas") / "request-file.json").read_text(encoding="utf-8"))
SQL = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
ASKED = {"unit": "person", "max_groups": 1, "epsilon": "0.5", "domain": ["site=1..6", "health=good,poor"]}


def key(request, data="visits.csv"):
    return dc.plan_release(request, data=data).key


# ------------------------------------------------------------------------------------------------ there and back

labels = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), min_size=1, max_size=12
).filter(lambda text: text.strip() == text)
values = st.one_of(
    st.lists(labels, min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=4, unique=True),
    st.tuples(st.integers(-50, 50), st.integers(1, 9)).map(lambda pair: range(pair[0], pair[0] + pair[1])),
    st.lists(labels, min_size=1, max_size=3, unique=True).map(lambda texts: [*texts, None]),
    st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True).map(lambda numbers: [*numbers, None]),
    st.lists(labels.filter(lambda text: not set(text) & set(",;|")), min_size=1, max_size=3, unique=True).map(
        lambda texts: [*texts, ...]
    ),
)
requests = st.fixed_dictionaries(
    {"unit": st.just("person"), "max_groups": st.integers(1, 3), "domain": st.fixed_dictionaries(
        {"site": values, "marital status": values})},
    optional={
        "epsilon": st.sampled_from(["0.1", "1", "1/3", ".5", "2e-1", 0.25, 2, "0.30000000000000004"]),
        "delta": st.sampled_from(["0", "1e-9"]),
        "level": st.sampled_from(["0.9", "19/20", 0.99]),
        "counts": st.sampled_from(["signed", "clamped"]),
        "suppress_below": st.integers(0, 20),
        "relation": st.sampled_from(["add-remove", "substitution"]),
        "edition": labels.filter(str.isprintable),
    },
)  # fmt: skip


@examples(30)
@given(fields=requests)
def test_a_request_that_was_written_is_the_same_request(fields, tmp_path_factory):
    fields = {"epsilon": 1} | fields
    by = 'site, "marital status"'
    sql = f"SELECT {by}, COUNT(*) FROM visits WHERE site <> 'a  FROM  b' AND person <> 'x' GROUP BY {by}"
    file = tmp_path_factory.mktemp("request") / "request.toml"
    dc.write_request(file, sql, data="visits.csv", **fields)
    found = dc.open_request(file)
    asked = dc.plan_release(sql, data="visits.csv", **fields)
    again = dc.plan_release(found.request, data="visits.csv")
    assert again.key == asked.key and again.request == asked.request
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(found.to_json())))


@examples(200)
@given(
    text=st.text(st.characters(blacklist_categories=("Cs",)), max_size=300),
    words=st.lists(
        st.sampled_from(["FROM", "WHERE", "a\\", '"""', "\n", "  ", "GROUP BY", "x" * 50, "\\ "]), max_size=30
    ),
)
def test_long_texts_are_folded_without_being_changed(text, words):
    long = f"{text} {' '.join(words)}"
    read = tomllib.loads(toml_text({"questions": long, "domain": {"a b": [long, 1]}}, ["x"]))
    assert read == {"questions": long.replace("\r\n", "\r\n"), "domain": {"a b": [long, 1]}}


@pytest.mark.parametrize(
    "fields",
    [
        {"domain": ["site=1,2,*", "health=good,poor,NULL"]},
        {"domain": {"site": [1, 2, ...], "health": ["good", None, ...]}},
        {"domain": ["site=1,2"], "bands": ["health=18,30,65"]},
        {"domain": ["site=1,2"], "bands": {"health": [18, 30, 65]}},
        {"domain": ["site=1,2", "health=good,poor"], "totals": "all"},
        {"domain": ["site=1,2"], "discover": ["health"], "delta": "1e-8"},
        {"domain": ["site=1,2"], "discover": "health", "delta": "1e-8", "unit": "row", "one_row_each": True},
    ],
)
def test_every_way_to_declare_groups_comes_back(fields, tmp_path):
    fields = {"unit": "person", "max_groups": 1, "epsilon": 1} | fields
    file = dc.write_request(tmp_path / "request.toml", SQL, data="visits.csv", **fields)
    assert key(dc.open_request(file).request) == dc.plan_release(SQL, data="visits.csv", **fields).key


def test_a_file_reads_well(tmp_path):
    sql = (
        "SELECT education, income, COUNT(*) AS people FROM adult WHERE age BETWEEN 25 AND 64 AND hours_per_week > 20 "
        "GROUP BY education, income"
    )
    file = dc.write_request(tmp_path / "request.toml", sql, data=tmp_path / "adult.csv", **ASKED)
    text = file.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) < 110
    assert '[domain]\nsite = "1..6"\nhealth = "good,poor"\n' in text and "epsilon = 0.5\n" in text
    assert "FROM adult WHERE" not in text and "WHERE age BETWEEN" in text  # each clause on a line of its own
    assert tomllib.loads(text)["questions"] == sql


def test_numbers_are_what_was_typed(tmp_path):
    text = request_text(tmp_path / "x.toml", "q", {"epsilon": "0.10", "delta": "1e-9", "level": "19/20", "bound": 7})
    assert "epsilon = 0.10\ndelta = 1e-9\n" in text and 'level = "19/20"' in text and "bound = 7" in text
    (tmp_path / "y.toml").write_text('questions = "SELECT COUNT(*) FROM t"\nunit = "row"\nepsilon = 0.1\n')
    assert (
        dc.open_request(tmp_path / "y.toml").request.epsilon
        == dc.ReleaseRequest(questions=("q",), unit="row", epsilon="1/10").epsilon
    )


# ------------------------------------------------------------------------------------------------ places


def test_files_are_found_from_the_request(tmp_path, monkeypatch):
    (tmp_path / "requests").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "visits.csv").write_text("person,site\nann,1\nbob,2\n")
    (tmp_path / "data" / "sites.txt").write_text("1\n2\n")
    dc.geometric(9, epsilon=1).save(tmp_path / "data" / "m.json")
    monkeypatch.chdir(tmp_path)
    dc.write_request(
        "requests/by_site.toml", "SELECT site, COUNT(*) FROM visits GROUP BY site", data="data/visits.csv",
        ledger="visits.ledger", out="out/by_site", unit="person", max_groups=1, mechanism="data/m.json", bound=9,
        domain=["site=@data/sites.txt"],
    )  # fmt: skip
    said = tomllib.loads(Path("requests/by_site.toml").read_text())
    assert (said["data"], said["ledger"], said["out"]) == ("../data/visits.csv", "../visits.ledger", "../out/by_site")
    assert said["domain"] == {"site": "@../data/sites.txt"} and said["mechanism"] == "../data/m.json"
    monkeypatch.chdir("/")
    found = dc.open_request(tmp_path / "requests" / "by_site.toml")
    plan = dc.plan_release(found.request, data=found.data)
    assert plan.cells == 2 and Path(found.out).resolve() == tmp_path / "out" / "by_site"
    assert set(found.locations) == {"data", "ledger", "out"}
    with pytest.warns(DeprecationWarning, match="places is now locations"):
        assert found.places == found.locations


def test_addresses_keep_their_scheme_and_passwords_are_refused(tmp_path):
    file = tmp_path / "request.toml"
    for address in (
        "postgresql://ann:secret@host/study",
        "postgresql://host/study?user=ann&password=x",
        "postgresql:host=h password=x",
    ):
        for name in ("data", "ledger"):
            with refused(InvalidInput, name, token="password"):
                dc.write_request(file, "SELECT COUNT(*) FROM t", unit="row", epsilon=1, **{name: address})
            file.write_text(f'questions = "SELECT COUNT(*) FROM t"\nunit = "row"\nepsilon = 1\n{name} = "{address}"\n')
            with refused(UnreadableFile, name, token="password") as refusal:
                dc.open_request(file)
            assert "secret" not in str(refusal.value)
            file.unlink()
    dc.write_request(file, "SELECT COUNT(*) FROM t", data="postgresql://ann@host/study", unit="row", epsilon=1)
    assert dc.open_request(file).data == "postgresql://ann@host/study"
    file.write_text('questions = "SELECT COUNT(*) FROM t"\nunit = "row"\nepsilon = 1\ndata = "duckdb:study.db"\n')
    assert dc.open_request(file).data == f"duckdb:{tmp_path / 'study.db'}"


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("questions = SELECT", Parts(token="is not TOML")),
        ('unit = "row"', Parts(token="question is missing")),
        ('questions = 3\nunit = "row"', Parts(token="question is missing")),
        ('questions = "SELECT COUNT(*) FROM t"\nunit = "row"\nepsilom = 1', Parts(token="mean epsilon")),
        ('questions = "SELECT COUNT(*) FROM t"\nepsilon = 1', Parts(argument="unit", token="whose data")),
        ('questions = "q"\nunit = "row"\nversion = 2', Parts(argument="version", given=2)),
        ('questions = "q"\nunit = "row"\nepsilon = "much"', Parts(argument="epsilon", token="finite number")),
        ('questions = "q"\nunit = "row"\nepsilon = true', Parts(argument="epsilon", given="the boolean True")),
        ('questions = "q"\nunit = "row"\nepsilon = inf', Parts(argument="epsilon", token="finite number")),
        ('questions = "q"\nunit = "row"\ndata = 3', Parts(argument="data", given="a int")),
        ('questions = "q"\nunit = "row"\nsuppress_below = "3"', Parts(argument="suppress_below", given="3")),
        ('questions = "q"\nunit = "row"\ndomain = [3]', Parts(argument="domain", given="int")),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, text, said):
    file = tmp_path / "request.toml"
    file.write_text(text)
    with refused(UnreadableFile, **said):
        dc.open_request(file)


def test_no_file_and_no_place(tmp_path):
    with refused(UnreadableFile, token="absent.toml: No such"):
        dc.open_request(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b'unit = "\xe9"')
    with refused(UnreadableFile, token="UTF-8"):
        dc.open_request(tmp_path / "latin.toml")
    with refused(InvalidInput, "path", given="request.json"):
        dc.write_request(tmp_path / "request.json", SQL, unit="row")
    with refused(InvalidInput, "path"):
        dc.write_request(tmp_path / "no" / "request.toml", SQL, unit="row")
    dc.write_request(tmp_path / "request.toml", SQL, unit="row")
    with refused(InvalidInput, "path"):
        dc.write_request(tmp_path / "request.toml", SQL, unit="row")


def test_objects_of_a_program_are_in_no_file(tmp_path):
    with refused(InvalidInput, "domain"):
        dc.write_request(tmp_path / "a.toml", SQL, unit="row", domain={"site": ["a,b", ...]})
    with refused(WrongType, "mechanism"):
        dc.write_request(tmp_path / "a.toml", SQL, unit="row", mechanism=dc.geometric(3, epsilon=1))
    dc.write_request(tmp_path / "b.toml", SQL, unit="row", epsilon=np.float64(0.5), bound=np.int64(3), split=[1])
    assert tomllib.loads((tmp_path / "b.toml").read_text())["bound"] == 3


def test_lines_for_messages():
    assert as_line("level", "0.9") == "level = 0.9" and as_line("counts", "signed") == 'counts = "signed"'


# ------------------------------------------------------------------------------------------------ the command line


def test_options_become_a_file_and_the_file_is_released(tmp_path):
    table, book = tmp_path / "visits.csv", tmp_path / "visits.ledger"
    table.write_text("person,site\nann,1\nbob,2\n")
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    sql, file = "SELECT site, COUNT(*) FROM visits GROUP BY site", tmp_path / "by_site.toml"
    options = ("--unit", "person", "--domain", "site=1..2", "--epsilon", "0.5", "--max-groups", "1")
    places = ("--data", table, "--ledger", book, "-o", tmp_path / "out")
    planned = json.loads(invoke("release", sql, *options, *places, "--plan", "--write", file, "--json").stdout)
    found = dc.open_request(file)
    assert dc.plan_release(found.request, data=found.data).key == planned["key"]
    with refused(InvalidInput, token="--epsilon"):
        invoke("release", file, "--epsilon", "1")
    with refused(InvalidInput, "write"):
        invoke("release", file, "--write", tmp_path / "other.toml")
    with refused(InvalidInput, "write"):
        invoke("release", file, "--plan", "--write", tmp_path / "other.toml")
    with refused(InvalidInput, "data"):
        invoke("release", sql, *options)
    assert "written to" in invoke("release", file).stdout
    assert dc.open_bundle(tmp_path / "out", book).request == planned["request"]
    again = json.loads(invoke("release", file, "-o", tmp_path / "next", "--edition", "2", "--json").stdout)
    assert again["edition"] == "2" and not again["recorded"] and (tmp_path / "next").is_dir()
    text = file.read_text().replace("max_groups = 1\n", "")
    (tmp_path / "bad.toml").write_text(text)
    assert "max_groups = 2" in run("release", tmp_path / "bad.toml", "--plan", code=2).stderr
