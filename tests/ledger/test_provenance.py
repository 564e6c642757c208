"""Who asked, why, and where the bundle went: in the ledger, and nowhere else."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidInput, UnreadableFile
from discreet.ledger import provenance
from discreet.ledger.books import VERSION
from discreet.ledger.budget import Cost
from discreet.ledger.ledger import Ledger
from discreet.ledger.provenance import Provenance
from support.command_line import run
from support.grids import every_case
from support.published import PUBLISHED
from support.refusals import refused

REASON = "asked for by the ministry"
USER = "curator-of-the-day"


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user name that stands nowhere else."""
    monkeypatch.setattr(provenance, "system_user", lambda: USER)


def released(ledger: Ledger, out: Path | None = None, **fields: Any) -> dc.Release:
    asked: dict[str, Any] = {"dataset": ledger.terms.dataset, "unit": "row", "epsilon": 1, **fields}
    frame = pd.DataFrame({"site": [1, 2]})
    return dc.release_counts("SELECT COUNT(*) FROM visits", data=frame, ledger=ledger, out=out, **asked)


@pytest.fixture
def rows(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "rows.ledger", dataset="visits", unit="row", epsilon=5)


def test_an_entry_says_who_asked_why_and_where_the_bundle_is(rows: Ledger, tmp_path: Path) -> None:
    release = released(rows, tmp_path / "out", because=REASON)
    (entry,) = rows.entries()
    assert entry.provenance == Provenance(None, USER, REASON, str((tmp_path / "out").absolute()))
    assert entry.committed is not None and entry.committed.hash == release.ledger["head"]  # and the bundle leads back
    assert rows.version == VERSION and rows.verify().holds
    statement = rows.statement()
    (line,) = statement.to_json()["entries"]  # type: ignore[misc]
    assert (line["user"], line["because"], line["role"]) == (USER, REASON, None)  # type: ignore[call-overload, index]
    assert statement.to_json()["ledger_version"] == VERSION
    assert REASON in str(statement) and f"user {USER}" in str(statement)


def test_nothing_of_it_is_published(rows: Ledger, tmp_path: Path) -> None:
    release = released(rows, tmp_path / "out", because=REASON)
    files = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    texts = [file.read_text(encoding="utf-8") for file in files]
    texts += [json.dumps(release.to_json()), release.describe(), release.report().page(), *release.guarantee]
    assert len(files) > 5 and not any(REASON in text or USER in text for text in texts)
    assert REASON in str(rows.statement())  # and it would be noticed


def test_the_reason_changes_neither_the_key_nor_the_counts(rows: Ledger) -> None:
    first, again = released(rows, because=REASON), released(rows, because="another")
    assert not again.fresh and first.rows() == again.rows() and len(rows.entries()) == 1
    assert rows.entries()[0].provenance.because == REASON


def test_a_dataset_and_a_cross_table_keep_the_reason(tmp_path: Path, rows: Ledger) -> None:
    data = dc.Dataset(name="visits", data=pd.DataFrame({"site": [1]}), unit="row", ledger=rows)
    data.plan(epsilon=1).release(because="one")
    frame = pd.DataFrame({"site": [1]})
    dc.crosstab(frame, "site", domain={"site": [1, 2]}, unit="row", epsilon=1, ledger=rows, because="two")
    assert [entry.provenance.because for entry in rows.entries()] == ["one", "two"]


@every_case("reason", ["", "  ", "x" * 501, "two\nlines", 7])
def test_a_reason_is_printable_and_short_and_refused_before_anything_is_spent(reason: Any, rows: Ledger) -> None:
    with refused(InvalidInput, "because", given=reason):
        released(rows, because=reason)
    assert rows.left().epsilon == 5 and not rows.entries()


@every_case("folder", ["format_1", "format_2"])
def test_older_ledgers_hold_and_pay_and_say_nothing_about_it(folder: str, tmp_path: Path) -> None:
    old = Ledger.open(shutil.copy(PUBLISHED / folder / "ledger.sqlite", tmp_path / f"{folder}.ledger"))
    _older(old)


def test_a_ledger_of_the_version_before_does_so_too(tmp_path: Path) -> None:
    old = Ledger.open(shutil.copy(PUBLISHED / "version_0_2" / "row.ledger.sqlite", tmp_path / "old.ledger"))
    assert old.version == 3
    _older(old)


def _older(old: Ledger) -> None:
    left = old.left().epsilon
    with refused(InvalidInput, "because", token=f"version {old.version}"):
        old.reserve("reasoned", {}, Cost(Fraction(1, 1000)), because=REASON)
    assert old.left().epsilon == left
    assert old.answer("new", {}, Cost(Fraction(1, 1000)), lambda: b"x", bundle="out").fresh
    assert old.verify().holds and {entry.provenance for entry in old.entries()} == {Provenance()}
    assert not any("provenance" in event.content for event in old.events())  # what older programs wrote too
    assert old.statement().to_json()["ledger_version"] == old.version < VERSION and USER not in str(old.statement())


def test_a_program_of_the_version_before_refuses_a_new_ledger(rows: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could verify the chain, and would show an entry without what it states."""
    monkeypatch.setattr("discreet.ledger.books.EXTENDED_VERSION", 3)
    with refused(UnreadableFile, token="version 4"):
        Ledger.open(rows.name)


def test_names_that_no_terminal_can_show_are_recorded_without_their_marks(
    rows: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "system_user", lambda: "ann\x1b[31m\n")
    released(rows)
    assert rows.entries()[0].provenance.user == "ann?[31m?" and rows.verify().holds


def test_a_copied_ledger_keeps_it(rows: Ledger, tmp_path: Path) -> None:
    released(rows, because=REASON)
    copy = rows.copy_to(tmp_path / "copy.ledger")
    assert copy.entries()[0].provenance.because == REASON and copy.verify().holds


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("site\n1\n", encoding="utf-8")
    Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="row", epsilon=5)
    options = ["--data", "visits.csv", "--unit", "row", "--epsilon", "1", "--ledger", "visits.ledger"]
    run("release", "SELECT COUNT(*) FROM visits", *options, "-o", "out", "--because", REASON, cwd=tmp_path)
    shown = run("ledger", "show", "visits.ledger", "--json", cwd=tmp_path)
    (entry,) = json.loads(shown.stdout)["entries"]
    assert entry["because"] == REASON and entry["bundle"] == str(tmp_path / "out") and entry["user"]
