"""``discreet ledger init|show|verify``: what people and programs see, and the exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InvalidInput, UnreadableFile
from discreet.ledger.ledger import Cost, Ledger, RecordedAnswer, Reservation
from support import command_line
from support.command_line import invoke
from support.refusals import refused


def run(*arguments: object, code: int = 0) -> str:
    """Return what a verb of the ledger prints; its errors are raised."""
    return invoke("ledger", *arguments, code=code).stdout


def run_json(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "study.ledger"
    run("init", file, "--data", "data/doctor_visits.csv.gz", "--unit", "person", "--epsilon", 3)
    return file


def commit(ledger: Ledger, question: str, cost: Cost) -> RecordedAnswer:
    paid = ledger.reserve(question, {"tables": [{"question": question}]}, cost)
    assert isinstance(paid, Reservation)
    ledger.mark_opened(paid)
    return ledger.commit(paid, b"7")


@pytest.fixture
def used(path: Path) -> Ledger:
    ledger = Ledger.open(path)
    commit(ledger, "SELECT COUNT(*) FROM doctor_visits", Cost(Fraction(1, 3)))
    ledger.reserve("abandoned", {}, Cost(Fraction(1)))
    return ledger


def bundle(folder: Path, head: object) -> Path:
    folder.mkdir()
    (folder / "release.json").write_text(json.dumps({"ledger": {"head": head}}), encoding="utf-8")
    return folder


# ------------------------------------------------------------------------------------------------ init


def test_init_binds_the_data_set_by_the_name_of_its_file(path: Path) -> None:
    terms = Ledger.open(path).terms
    assert (terms.dataset, terms.unit, terms.relation, terms.epsilon) == ("doctor_visits", "person", "add-remove", 3)


def test_init_takes_the_whole_budget(tmp_path: Path) -> None:
    options = ["--data", "visits", "--unit", "row", "--epsilon", "1/3", "--delta", "1e-6"]
    said = run_json("init", tmp_path / "x", *options, "--relation", "substitution", "--filter", "zcdp")
    terms = Ledger.open(tmp_path / "x").terms
    assert said == {"file": str(tmp_path / "x"), **terms.to_json()}
    assert (terms.epsilon, terms.delta, terms.relation) == (Fraction(1, 3), Fraction(1, 10**6), "substitution")
    assert terms.rho is not None and said["rho"] == str(terms.rho)
    assert terms.key.hex() not in json.dumps(said)


def test_init_says_what_was_made(tmp_path: Path) -> None:
    out = run("init", tmp_path / "x", "--data", "visits", "--unit", "row", "--epsilon", 1)
    assert "one row of the table, added" in out and "epsilon = 1" in out


def test_init_never_overwrites(used: Ledger) -> None:
    before = Path(used.name).read_bytes()
    with refused(InvalidInput, token="exists"):
        run("init", used.name, "--data", "doctor_visits", "--unit", "person", "--epsilon", 100)
    assert Path(used.name).read_bytes() == before


@pytest.mark.parametrize("missing", ["--data", "--unit", "--epsilon"])
def test_init_needs_all_that_is_bound(tmp_path: Path, missing: str) -> None:
    options = {"--data": "visits", "--unit": "person", "--epsilon": "3"}
    options.pop(missing)
    words = [word for pair in options.items() for word in pair]
    assert missing in invoke("ledger", "init", tmp_path / "x", *words, code=2).stderr
    assert not (tmp_path / "x").exists()


def test_the_line_a_missing_ledger_asks_for_works(tmp_path: Path) -> None:
    path = tmp_path / "my study.ledger"
    with pytest.raises(UnreadableFile) as problem:
        Ledger.open(path, hint={"data": "visits", "unit": "person", "epsilon": 2, "relation": "substitution"})
    program, group, *words = shlex.split(str(problem.value).splitlines()[-1])
    assert (program, group) == ("discreet", "ledger")
    run(*words)
    Ledger.open(path).check_terms("visits", "person", "substitution")


# ------------------------------------------------------------------------------------------------ show


def test_show_tells_the_budget_the_entries_and_the_orphans(used: Ledger) -> None:
    out = run("show", used.name)
    assert "epsilon 3 1.33334 1.66666" in " ".join(out.split())  # budget, spent, left
    assert (out.count("█"), out.count("░")) == (12, 16)  # 4/3 of 3 on a bar of 28
    assert "SELECT COUNT(*)" in out and "answered" in out
    assert "reserved: 5." in out
    assert f"discreet ledger release {used.name} 5 --because" in out


def test_show_tells_programs_exact_fractions(used: Ledger) -> None:
    said = run_json("show", used.name)
    assert said["spent"] == {"epsilon": "4/3", "delta": "0", "rho": None} and said["left"]["epsilon"] == "5/3"
    first, second = said["entries"]
    assert first["cost"]["epsilon"] == "1/3" and first["question"] == ["SELECT COUNT(*) FROM doctor_visits"]
    assert used.contains(first["committed"]["head"])
    assert second["committed"] is None and said["orphans"] == [second["number"]]
    assert used.terms.key.hex() not in json.dumps(said) and used.terms.ledger == said["ledger"]


def test_show_is_the_statement_of_the_ledger(used: Ledger) -> None:
    """The terminal, programs and pages have one source, with every entry however many there are."""
    for k in range(44):
        used.reserve(f"question {k}", {"tables": [{"question": f"question {k}"}]}, Cost(Fraction(1, 1000)))
    commit(used, "question 44", Cost(Fraction(1, 1000)))
    statement = used.statement()
    assert run("show", used.name) == statement.describe() + "\n" and "question 44" in statement.describe()
    assert run_json("show", used.name) == json.loads(json.dumps(statement.to_json()))
    assert statement.to_json()["format"] == "discreet ledger-statement"
    assert statement.spent == used.spent() and statement.left == used.left()
    assert statement.to_json()["orphans"] == [orphan.number for orphan in used.orphans()]
    assert "question 44" in statement.report().page()


def test_show_of_a_new_and_of_a_spent_ledger(path: Path) -> None:
    out = run("show", path)
    assert "no entries yet" in out and "epsilon 3 0 3" in " ".join(out.split()) and "█" not in out
    commit(Ledger.open(path), "all", Cost(Fraction(3)))
    out = run("show", path)
    assert "epsilon 3 3 0" in " ".join(out.split()) and "░" not in out


def test_show_tells_delta_and_rho_where_they_add_up(tmp_path: Path) -> None:
    for name, options in {"sum": [], "zcdp": ["--filter", "zcdp"]}.items():
        budget = ["--epsilon", 3, "--delta", "1e-6", *options]
        run("init", tmp_path / name, "--data", "d", "--unit", "row", *budget)
        ledger = Ledger.open(tmp_path / name)
        commit(ledger, "q", Cost(Fraction(1), Fraction(1, 10**7), Fraction(1, 100)))
    out = run("show", tmp_path / "sum")
    assert "delta 1e-06 1e-07 9e-07" in " ".join(out.split())
    out = run("show", tmp_path / "zcdp")
    assert " 0.01 " in out and "So far epsilon" in out and "a pure epsilon of" in out


def test_show_keeps_hostile_text_off_the_terminal(path: Path) -> None:
    commit(Ledger.open(path), "question", Cost(Fraction(1)))
    paid = Ledger.open(path).reserve("k", {"question": "[red]\x1b[2J\u202eevil\n" + "x" * 500}, Cost(Fraction(1)))
    assert isinstance(paid, Reservation)
    out = run("show", path)
    assert "\x1b" not in out and "\u202e" not in out and "[red]" in out and "x" * 100 not in out


def test_show_of_no_ledger_says_how_to_make_one(tmp_path: Path) -> None:
    with refused(UnreadableFile, token="discreet ledger init"):
        run("show", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ verify


def test_verify_holds_of_an_untouched_ledger(used: Ledger) -> None:
    out = run("verify", used.name)
    assert ": holds" in out and "5 events" in out and "--bundle" in out
    said = run_json("verify", used.name)
    assert said["holds"] and said["problems"] == [] and said["head"] == used.events()[-1].hash
    assert said["spent"]["epsilon"] == "4/3" and said["orphans"] == [5]


def test_verify_of_an_altered_ledger_leaves_with_1(used: Ledger) -> None:
    connection = sqlite3.connect(used.name)
    connection.execute("DROP TRIGGER no_delete_of_events")
    connection.execute("DELETE FROM events WHERE number = 4")
    connection.commit()
    connection.close()
    assert "DOES NOT HOLD" in run("verify", used.name, code=1)
    assert run_json("verify", used.name, code=1)["holds"] is False


def test_verify_of_a_file_that_is_none_leaves_with_1(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("site,count\n" * 200, encoding="utf-8")
    assert "is not a ledger" in run("verify", tmp_path / "x", code=1)
    assert run_json("verify", tmp_path / "x", code=1)["head"] is None


def test_verify_finds_an_old_copy_by_a_bundle(tmp_path: Path, used: Ledger) -> None:
    shutil.copy(used.name, tmp_path / "backup")
    first = bundle(tmp_path / "first", used.events()[2].hash)
    second = bundle(tmp_path / "second", commit(used, "later", Cost(Fraction(1))).head)
    assert "2 known" in run("verify", used.name, "--bundle", first, "--bundle", second)
    shutil.copy(tmp_path / "backup", used.name)
    run("verify", used.name, "--bundle", first)
    out = run("verify", used.name, "--bundle", first, "--bundle", second, code=1)
    assert "an older copy was restored" in out
    assert run_json("verify", used.name, "--bundle", second, code=1)["problems"]


def test_verify_refuses_what_is_not_a_bundle(tmp_path: Path, used: Ledger) -> None:
    with refused(UnreadableFile, token="release.json: No such"):
        run("verify", used.name, "--bundle", tmp_path / "none")
    for k, head in enumerate(["short", None, 7, "\x1b" * 64]):
        with refused(UnreadableFile, token="ledger.head"):
            run("verify", used.name, "--bundle", bundle(tmp_path / f"b{k}", head))
    with refused(UnreadableFile, token="no ledger"):
        run("verify", tmp_path / "missing")


# ------------------------------------------------------------------------------------------------ the program


def test_the_program_has_these_verbs(tmp_path: Path) -> None:
    discreet = partial(command_line.run, "ledger")
    init = ("init", tmp_path / "x.ledger", "--data", "visits", "--unit", "person", "--epsilon", "3")
    discreet(*init)
    discreet("verify", tmp_path / "x.ledger")
    assert "exists already" in discreet(*init, code=2).stderr
    for verb in ("init", "show", "release", "verify", "copy"):
        out = discreet(verb, "--help").stdout
        assert "Example" in out and f"discreet ledger {verb}" in " ".join(out.split())


def test_a_ledger_spells_its_unit_as_the_file_does(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("Person,site\nann,1\n")
    run("init", tmp_path / "v.ledger", "--data", tmp_path / "visits.csv", "--unit", "PERSON", "--epsilon", "3")
    assert Ledger.open(tmp_path / "v.ledger").terms.unit == "Person"


def test_a_ledger_is_not_made_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is for good, and so would be a name that was mistyped. A name alone is fine: the data may be elsewhere."""
    with refused(InvalidInput, "data"):
        run("init", tmp_path / "x.ledger", "--data", "data/vists.csv", "--unit", "row", "--epsilon", 1)
    assert not (tmp_path / "x.ledger").exists()


def test_init_warns_of_another_ledger_of_the_same_data_in_the_folder(tmp_path: Path) -> None:
    terms = ("--unit", "row", "--epsilon", 1)
    (tmp_path / "broken.ledger").write_text("no ledger")
    for name, data in (("a.ledger", "visits"), ("b.ledger", "births")):
        assert "warning" not in invoke("ledger", "init", tmp_path / name, "--data", data, *terms).stderr
    warned = invoke("ledger", "init", tmp_path / "c.ledger", "--data", "visits", *terms)
    assert "a.ledger" in warned.stderr and "b.ledger" not in warned.stderr
    assert Ledger.open(tmp_path / "c.ledger").terms.dataset == "visits"
