"""A declaration is read strictly, written whole or not at all, and means the same wherever it is read from."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from discreet.datasets.columns import DeclaredColumn
from discreet.datasets.declaration import Declaration, DeclaredTable
from discreet.errors import DiscreetError, InvalidInput, UnreadableFile
from support.refusals import Parts, refused

HEAD = 'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\n'
TABLE = '[tables.visits]\ndata = "data/visits.csv"\n'
TEXT = f"""{HEAD}ledger = "visits.ledger"
{TABLE}
[columns]
site = "1..6"
health = ["good", "poor", "*"]
age = {{ bands = [18, 30, 65] }}
month = {{ bands = "month:2024-01..2024-12" }}
county = {{ from = "counties.txt" }}
"""


def declared(folder: Path, text: str = TEXT) -> Declaration:
    file = folder / "visits.toml"
    file.write_text(text, encoding="utf-8")
    return Declaration.open(file)


def test_every_form_of_public_values_is_read(tmp_path: Path) -> None:
    (tmp_path / "counties.txt").write_text("Kent\nEssex\n")
    columns = declared(tmp_path).columns
    assert columns["site"].domain(tmp_path) == range(1, 7)
    assert columns["health"].domain(tmp_path) == ["good", "poor", ...]
    assert columns["county"].domain(tmp_path) == ("Kent", "Essex")
    assert columns["age"].edges.bands.edges == (18, 30, 65)
    assert columns["month"].edges.bands.edges[0] == date(2024, 1, 1)


def test_places_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = declared(tmp_path)
    monkeypatch.chdir("/")
    assert found.data_of("visits") == str(tmp_path / "data/visits.csv")
    assert found.ledger_address == str(tmp_path / "visits.ledger")
    assert found.find_table("VISITS") == "visits" and found.find_table("people") is None


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    found = declared(tmp_path)
    again = Declaration.open(found.save(tmp_path / "copy.toml", undeclared=("year", "marital status")))
    assert again.to_json() == found.to_json()
    assert '# "marital status" = ' in (tmp_path / "copy.toml").read_text()
    moved = Declaration.open(found.save(tmp_path / "elsewhere" / "visits.toml"))
    assert Path(moved.data_of("visits")).resolve() == Path(found.data_of("visits")).resolve()
    (tmp_path / "counties.txt").write_text("Kent\n")
    assert moved.columns["county"].domain(moved.folder) == ("Kent",)


def test_a_file_that_exists_is_never_overwritten_and_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    found = declared(tmp_path)
    with refused(InvalidInput, "path", token="visits.toml"):
        found.save(tmp_path / "visits.toml")
    os.symlink(tmp_path / "nowhere", tmp_path / "link.toml")
    with refused(InvalidInput, "path", token="link.toml"):
        found.save(tmp_path / "link.toml")
    with refused(InvalidInput, "path", given="visits.json"):
        found.save(tmp_path / "visits.json")
    with refused(InvalidInput, "path"):
        found.save(tmp_path / "no" / "visits.toml")
    assert sorted(os.listdir(tmp_path)) == ["link.toml", "visits.toml"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("format = x", Parts(token="not TOML")),
        (TEXT.replace("discreet dataset", "discreet request"), Parts(token="format")),
        (f"version = 2\n{TEXT}", Parts(argument="version", given=2)),
        (HEAD.replace("unit", "units") + TABLE, Parts(token="mean unit?")),
        (HEAD, Parts(argument="tables", token="missing")),
        (HEAD.replace('unit = "person"', "") + TABLE, Parts(argument="unit", token="missing")),
        (HEAD.replace('"person"', "3") + TABLE, Parts(argument="unit", given="a int")),
        (HEAD + '[tables.visits]\ndta = "x.csv"', Parts(token="mean data?")),
        (HEAD + "[tables.visits]", Parts(argument="data", token="missing")),
        (HEAD + 'unit_name = "user_month"\n' + TABLE, Parts(argument="unit_name", given="user_month")),
        (HEAD + TABLE + 'encoding = "latin-7000"', Parts(argument="encoding", token="mean latin-1?")),
        (HEAD + TABLE + "encoding = 16", Parts(argument="encoding", given="a int")),
        (HEAD + '[tables.v]\ndata = "postgresql://a:secret@h/s"', Parts(argument="data", token="password")),
        (HEAD + TABLE + '[tables.Visits]\ndata = "x.csv"', Parts(argument="tables", token="case")),
        (HEAD + TABLE + "[columns]\nsite = 3", Parts(argument="columns", token="site")),
        (HEAD + TABLE + "[columns]\nsite = []", Parts(argument="columns", token="site")),
        (HEAD + TABLE + '[columns]\nsite = "1-6"', Parts(argument="domain", token="range")),
        (HEAD + TABLE + '[columns]\nsite = "@sites.txt"', Parts(argument="columns", token="from =")),
        (HEAD + TABLE + '[columns]\nsite = [1, "a"]', Parts(token="site")),
        (HEAD + TABLE + "[columns]\nage = { bands = [30, 18] }", Parts(token="ascend")),
        (HEAD + TABLE + "[columns]\nage = { band = [30] }", Parts(token="mean bands?")),
        (HEAD + TABLE + '[columns]\nage = "1..3"\nAge = "1..3"', Parts(argument="columns", token="case")),
    ],
)
def test_what_cannot_be_used_is_refused(text: str, parts: Parts, tmp_path: Path) -> None:
    with refused(UnreadableFile, **parts) as refusal:
        declared(tmp_path, text)
    assert "secret" not in str(refusal.value) and "visits.toml" in str(refusal.value)


def test_values_of_python_and_of_a_command_line_are_the_same_values(tmp_path: Path) -> None:
    for value, domain in (
        (range(1, 7), range(1, 7)),
        (["good", "poor"], ["good", "poor"]),
        (["good", None, ...], ("good", None, ...)),
        ([1, 2, ...], (1, 2, ...)),
        ("1..3,*", (1, 2, 3, ...)),
        (["a", "*"], ("a", "*")),
    ):
        column = DeclaredColumn.from_python("x", value)
        assert column.domain(tmp_path) == domain
        assert DeclaredColumn.from_toml("x", column.to_toml()).domain(tmp_path) == domain
    for text, domain in (
        ("site=1..6", range(1, 7)),
        ("health=good, poor", ["good", "poor"]),
        ("health=good,poor,*", ["good", "poor", ...]),
        ("site=1,2,3", (1, 2, 3)),
        ("zip=007,010", ("007", "010")),
        ("health=good,NULL", ("good", None)),
        ("name='a,b',c", ("a,b", "c")),
    ):
        column = DeclaredColumn.parse_domain(text, tmp_path)
        assert column.domain(tmp_path) == domain
        assert DeclaredColumn.from_toml(column.name, column.to_toml()).domain(tmp_path) == domain
    with refused(DiscreetError, "columns"):
        DeclaredColumn.from_python("x", 3)


def test_a_declaration_of_a_program_has_no_file() -> None:
    found = Declaration("visits", "row", {"visits": DeclaredTable("visits.csv", "id")})
    assert found.unit_of("visits") == "id" and found.ledger_address is None and found.name == "the dataset"
    assert "visits.csv" in found.describe()
