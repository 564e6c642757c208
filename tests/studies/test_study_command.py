"""``discreet study`` and what a study writes: files, a page, JSON; refusals before any work."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import InvalidInput, MissingExtra
from discreet_studies.registry import STUDIES
from discreet_studies.running import FORMATS, find_study
from discreet_studies.study import Setting
from support.refusals import refused


def test_each_paper_has_one_study_and_unique_keys() -> None:
    assert sorted(study.letter for study in STUDIES) == ["A", "C", "F", "R", "S"]
    for study in STUDIES:
        keys = [exhibit.key for exhibit in study.exhibits]
        assert len(set(keys)) == len(keys) and find_study(study.letter.lower()) is study


def test_a_folder_has_charts_data_claims_and_a_page(tmp_path: Path) -> None:
    found = dc.study("bounded", "1", quick=True)
    page = found.save(tmp_path / "new" / "folder")
    names = {file.name for file in page.parent.iterdir()}
    assert {f"figure_1.{ending}" for ending in FORMATS} <= names and {"claims.csv", "study.json", "index.html"} <= names
    assert (page.parent / "figure_1.pdf").read_bytes().startswith(b"%PDF-")
    tables = found.results["1"].tables
    for name, rows in tables.items():
        file = page.parent / f"figure_1{'_' if name else ''}{name}.csv"
        with file.open(encoding="utf-8", newline="") as text:
            assert len(list(csv.DictReader(text))) == len(rows)
    written = page.read_text(encoding="utf-8")
    assert all(verdict in written for verdict in {claim.verdict.value for claim in found.claims})
    assert json.loads((page.parent / "study.json").read_text("utf-8")) == json.loads(json.dumps(found.to_json()))


def test_the_results_of_exhibits_have_their_former_name_for_one_version() -> None:
    found = dc.study("bounded", "1", quick=True)
    with pytest.warns(DeprecationWarning, match="results"):
        assert found.drawn is found.results


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_run() -> None:
    alone, again = (dc.study("constrained", "12", quick=True, seed=5).results["12"].tables for _ in range(2))
    assert alone == again != dc.study("constrained", "12", quick=True, seed=6).results["12"].tables
    one, other = Setting(seed=1).generator("a", 1), Setting(seed=1).generator("a", 2)
    assert one.integers(2**60) == Setting(seed=1).generator("a", 1).integers(2**60) != other.integers(2**60)


def test_the_command_writes_where_it_says(tmp_path: Path) -> None:
    said = CliRunner().invoke(
        app, ["study", "S", "--figure", "numbers", "--quick", "--out", str(tmp_path), "--formats", "json"]
    )
    assert said.exit_code == 0, said.output
    assert "Study: bounded" in said.output and str(tmp_path / "bounded" / "index.html") in said.output
    assert (tmp_path / "bounded" / "claims.csv").is_file()


def test_a_figure_is_found_by_its_number_too() -> None:
    assert list(dc.study("bounded", figure=1, quick=True).results) == ["1"]


def test_maps_are_refused_without_their_extra_before_any_work(monkeypatch, outside_data) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    with refused(MissingExtra, token="transport"):
        dc.study("places", "2", quick=True, data=outside_data)
    assert dc.study("places", "1", quick=True, data=outside_data).results


def test_the_list_draws_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["study", "all", "--list", "--json"])
    rows = json.loads(said.output)["exhibits"]
    assert len(rows) == sum(len(study.exhibits) for study in STUDIES) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "one of"),
        (["bounded", "--figure", "99"], "one of"),
        (["all", "--figure", "1"], "one paper"),
        (["bounded", "--formats", "gif"], "png"),
        (["constrained", "--download"], "--data FOLDER"),
        (["bounded", "--out", __file__], "is a file"),
        (["bounded", "--out", f"{__file__}/deeper/still"], "is a file"),
    ],
)
def test_mistakes_are_refused_before_any_work(arguments: list[str], words: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["study", *arguments])
    assert isinstance(result.exception, InvalidInput) and words in str(result.exception)
    assert not list(tmp_path.iterdir())
