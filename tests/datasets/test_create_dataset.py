"""``discreet dataset``: names of columns are read and no row; both files are written, or neither."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer

import discreet as dc
from datasets.conftest import write_people
from discreet.cli import dataset as verbs
from discreet.datasets import create
from discreet.datasets.declaration import Declaration
from discreet.errors import InvalidInput, UnreadableFile
from support.command_line import invoke, run
from support.refusals import refused

NEW = ("dataset", "new", "visits.csv", "--unit", "person", "--budget", 3, "--domain", "site=1..3")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path / "visits.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(place: Path) -> list[str]:
    return sorted(os.listdir(place))


def test_both_files_are_made_and_say_what_is_left(place: Path) -> None:
    done = run(*NEW, "--bands", "age=18,30,65", "--yes")
    assert files(place) == ["visits.csv", "visits.ledger", "visits.toml"]
    assert "epsilon 3" in done.stdout and "visits.toml" in done.stdout
    text = (place / "visits.toml").read_text()
    assert "# health = " in text and "ann" not in text
    declared = Declaration.open(place / "visits.toml")
    assert list(declared.columns) == ["site", "age"]
    assert dc.Ledger.open("visits.ledger").terms.unit == "person"
    for verb in ("show", "check"):
        assert "epsilon 3" in run("dataset", verb, "visits.toml").stdout
        assert json.loads(run("dataset", verb, "visits.toml", "--json").stdout)["left"]["epsilon"] == "3"


def test_nothing_is_overwritten(place: Path) -> None:
    run(*NEW, "--yes")
    before = (place / "visits.toml").read_bytes(), (place / "visits.ledger").read_bytes()
    with refused(InvalidInput, "path", token="visits.toml"):
        invoke(*NEW, "--yes")
    (place / "visits.toml").rename(place / "kept")
    dc.Ledger.open("visits.ledger").answer("k", {"tables": []}, dc.Ledger.open("visits.ledger").left(), lambda: b"")
    with refused(InvalidInput, "ledger", token="visits.ledger"):
        invoke(*NEW, "--yes")
    assert not (place / "visits.toml").exists() and (place / "kept").read_bytes() == before[0]


def test_without_a_terminal_yes_is_required(place: Path) -> None:
    with refused(InvalidInput, "yes", token="--yes"):
        invoke(*NEW)
    assert files(place) == ["visits.csv"]


@pytest.mark.parametrize(("answer", "made"), [(True, 3), (False, 1)])
def test_a_person_is_shown_the_file_and_asked(
    answer: bool, made: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "on_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda _: answer)
    done = invoke(*NEW)
    assert 'site = "1..3"' in done.stdout and len(files(place)) == made


def test_a_failure_leaves_neither_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(create, "write_new_file", fail)
    invoke(*NEW, "--yes", code=130)
    assert files(place) == ["visits.csv"]


def test_the_same_line_goes_on_after_a_kill_between_the_two_files(place: Path) -> None:
    dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=3)
    run(*NEW, "--yes")
    assert "visits.toml" in files(place)
    (place / "visits.toml").unlink()
    run(*NEW, "--yes")
    (place / "visits.toml").unlink()
    with refused(InvalidInput, "ledger"):  # unused, and of another budget
        invoke(*NEW[:6], 4, "--yes")


def test_another_file_than_the_ledger_was_made_for_needs_an_edition(place: Path) -> None:
    """Also before anything is released."""
    run(*NEW, "--yes")
    write_people(place / "later.csv", 30)
    declared = place / "visits.toml"
    declared.write_text(declared.read_text().replace("visits.csv", "later.csv"))
    ask = ("release", "SELECT site, COUNT(*) FROM visits GROUP BY site", "--max-groups", 1, "--epsilon", 1)
    for more in (("--plan",), ("-o", "out")):
        with refused(InvalidInput, token="later.csv"):
            invoke(*ask, *more)
    run(*ask, "--edition", "later", "-o", "out")
    assert (place / "out").is_dir()


def test_a_ledger_that_exists_is_adopted_if_it_fits(place: Path) -> None:
    dc.Ledger.create("study.ledger", dataset="visits", unit="person", epsilon=7)
    dc.Ledger.create("rows.ledger", dataset="visits", unit="row", epsilon=7)
    for book, token in (("rows.ledger", "unit"), ("absent.ledger", "absent.ledger")):
        with refused((InvalidInput, UnreadableFile), token=token):
            invoke(*NEW[:5], "--ledger", book, "--yes")
    with refused(InvalidInput, "budget"):
        invoke(*NEW, "--ledger", "study.ledger", "--yes")
    assert "visits.toml" not in files(place)
    assert "epsilon 7" in run(*NEW[:5], "--ledger", "study.ledger", "--yes").stdout
    assert Declaration.open("visits.toml").ledger == "study.ledger"


@pytest.mark.parametrize("heading", ["17,3,good", "ann,2024-01-31,good", "ann@example.org,3,good", "person,,,site"])
def test_a_row_in_place_of_a_heading_is_noticed_and_not_quoted(heading: str, place: Path) -> None:
    (place / "visits.csv").write_text(f"{heading}\n18,1,poor\n")
    line = ("dataset", "new", "visits.csv", "--unit", "row", "--budget", 3, "--yes")
    done = run(*line, code=2)
    assert "--has-heading" in done.stderr and "example.org" not in done.stderr and files(place) == ["visits.csv"]
    run(*line, "--has-heading")


def test_what_is_wrong_is_refused_before_anything_is_written(place: Path) -> None:
    for change, argument in (
        (("--domain", "healht=good,poor"), "domain"),
        (("--bands", "age=30,18"), None),
        (("--domain", "SITE=1..2"), "domain"),
    ):
        with refused(InvalidInput, **({} if argument is None else {"argument": argument})):
            invoke(*NEW, *change, "--yes")
    with refused(InvalidInput, "unit", given="persn"):
        invoke(*NEW[:4], "persn", *NEW[5:], "--yes")
    with refused(InvalidInput, "epsilon"):
        invoke(*NEW[:6], 0, "--yes")
    with refused(InvalidInput, "data"):
        invoke("dataset", "new", "absent.csv", "--unit", "row", "--budget", 3, "--yes")
    assert files(place) == ["visits.csv"]


def test_check_finds_what_does_not_fit(folder: Path) -> None:
    run("dataset", "check", folder / "visits.toml")
    file = folder / "visits.toml"
    text = file.read_text()
    for old, new, token in (
        ('unit = "person"', 'unit = "persn"', "persn"),
        ("site =", "sites =", "sites"),
        ("data/visits.csv", "data/other.csv", "other.csv"),
        ("visits.ledger", "absent.ledger", "absent.ledger"),
    ):
        file.write_text(text.replace(old, new))
        done = run("dataset", "check", file, "--json", code=1)
        assert token in json.loads(done.stdout)["problems"][0]


def test_a_column_is_added_and_the_rest_stays(folder: Path) -> None:
    file = folder / "visits.toml"
    file.write_text(file.read_text() + "# our own comment\n")
    run("dataset", "add-column", file, "--bands", "Age=18,30,65")
    text = file.read_text()
    assert "# our own comment" in text and "# age = " not in text and '[columns]\nsite = "1..3"' in text
    assert Declaration.open(file).find_column("age") is not None
    for line in (("--domain", "site=1..2"), ("--domain", "agee=1..2"), ()):
        with refused(InvalidInput, "domain"):
            invoke("dataset", "add-column", file, *line)
    assert file.read_text() == text


def test_a_file_in_latin_1_is_declared_with_its_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recensement.csv").write_bytes("personne,région\n1,Île\n2,Île\n".encode("latin-1"))
    line = ("dataset", "new", "recensement.csv", "--unit", "personne", "--budget", 2, "--yes")
    with refused(UnreadableFile, token="latin-1"):
        invoke(*line)
    run(*line, "--encoding", "latin-1", "--domain", "région=Île,Corse")
    declared = Declaration.open("recensement.toml")
    assert declared.tables["recensement"].encoding == "latin-1" and create.check_dataset(declared) == ()


def test_a_second_ledger_for_declared_data_is_refused(place: Path) -> None:
    """A link and another name are the same file; the ledger that is there may pay for another declaration."""
    Path("link.csv").symlink_to("visits.csv")
    run(*NEW, "--yes")
    before = files(place)
    for other in (("visits.csv", "-o", "b.toml"), ("visits.csv", "--name", "again"), ("link.csv",)):
        with refused(InvalidInput, token="visits.toml ... visits.ledger"):
            invoke("dataset", "new", *other, "--unit", "person", "--budget", 2, "--yes")
        assert files(place) == before
    run("dataset", "new", "visits.csv", "-o", "b.toml", "--unit", "person", "--ledger", "visits.ledger", "--yes")
