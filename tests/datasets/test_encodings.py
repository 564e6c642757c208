"""The encoding of a table in its dataset file: it is counted so, enters the key, and cannot be replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc
from discreet.datasets.declaration import Declaration
from discreet.errors import InvalidInput, UnreadableFile
from discreet.release.bundle.report import NEAR_ZERO
from discreet.release.counts import release_plan
from discreet.release.plan.plan import plan_from_request
from support.command_line import run
from support.refusals import refused

REGION = "Île-de-France"
SQL = "SELECT region, COUNT(*) FROM homes GROUP BY region"
ASK = ("release", SQL, "--max-groups", 1, "--epsilon", 1)
TEXT = f"""format = "discreet dataset"
dataset = "homes"
unit = "person"
ledger = "homes.ledger"

[tables.homes]
data = "homes.csv"
ENCODING
[columns]
region = ["{REGION}", "Bretagne"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with 300 people in a file of Latin-1, 200 of them in Île-de-France."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{k},{REGION if k % 3 else 'Corse'}\n" for k in range(300))
    (tmp_path / "homes.csv").write_bytes(f"person,region\n{rows}".encode("latin-1"))
    dc.Ledger.create(tmp_path / "homes.ledger", dataset="homes", unit="person", epsilon=10)
    declare("latin-1")
    return tmp_path


def declare(encoding: str | None, text: str = TEXT) -> None:
    line = "" if encoding is None else f'encoding = "{encoding}"\n'
    Path("homes.toml").write_text(text.replace("ENCODING\n", line), encoding="utf-8")


def test_two_hundred_people_are_counted_and_the_bundle_is_verified(here: Path) -> None:
    run("dataset", "check", "homes.toml")
    assert "encoding latin-1" in run("dataset", "show", "homes.toml").stdout
    done = run(*ASK, "-o", "out")
    assert "within noise of zero" not in done.stdout
    released = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1).release()
    assert not released.fresh and abs(released.rows()[0]["count"] - 200) < 40
    assert released.request["encoding"] == "latin-1"
    run("verify", "out", "--ledger", "homes.ledger")


def test_without_the_declaration_terminal_and_page_say_that_all_counts_are_near_zero(here: Path) -> None:
    declare(None)
    done = run(*ASK, "-o", "out")
    assert " ".join(NEAR_ZERO.split()[:6]) in " ".join(done.stdout.split())
    assert NEAR_ZERO in Path("out/index.html").read_text(encoding="utf-8")
    run("verify", "out", "--ledger", "homes.ledger")


def test_the_encoding_is_part_of_the_key_unless_it_is_the_default(here: Path) -> None:
    keys, requests = {}, {}
    for encoding in (None, "utf-8", "latin-1", "ISO-8859-1", "windows-1252"):
        declare(encoding)
        plan = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1)
        keys[encoding], requests[encoding] = plan.key, plan.request
    assert keys[None] == keys["utf-8"] and "encoding" not in requests["utf-8"]
    assert keys["latin-1"] == keys["ISO-8859-1"]
    assert len(set(keys.values())) == 3
    # by options, where there is no encoding, the key is the same as ever
    given = ("--data", "homes.csv", "--unit", "person", "--domain", f"region={REGION},Bretagne")
    assert json.loads(run(*ASK, "--plan", "--json", *given).stdout)["key"] == keys[None]


def test_a_plan_for_data_that_is_not_there_has_the_same_key(here: Path) -> None:
    there = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1)
    Path("homes.csv").rename("away.csv")
    absent = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1)
    assert absent.key == there.key and absent.request == there.request
    Path("away.csv").rename("homes.csv")
    assert abs(absent.release().rows()[0]["count"] - 200) < 40


def test_an_auditor_rebuilds_the_plan(here: Path) -> None:
    plan = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1).plan
    rebuilt = plan_from_request(json.loads(json.dumps(plan.request)))
    assert (rebuilt.request, rebuilt.key, rebuilt.encoding) == (plan.request, plan.key, "latin-1")
    for forged in ("utf-8", "ISO-8859-1", "", None, ["latin-1"]):
        with refused(InvalidInput, "request"):
            plan_from_request({**plan.request, "encoding": forged})


def test_a_plan_is_not_counted_in_another_encoding(here: Path) -> None:
    bound = dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1)
    book = bound.dataset_object.ledger
    with refused(InvalidInput, token="latin-1 ... utf-8"):
        release_plan(bound.plan, dc.Dataset.open(_utf8()).plan(SQL, max_groups=1, epsilon=1).source, book)
    with refused(InvalidInput, token="utf-8 ... latin-1"):
        release_plan(replace(bound.plan, encoding="utf-8"), bound.source, book)
    assert str(book.left().epsilon) == "10"


def _utf8() -> str:
    Path("plain.toml").write_text(TEXT.replace("ENCODING\n", ""), encoding="utf-8")
    return "plain.toml"


def test_the_encoding_cannot_be_given(here: Path) -> None:
    with refused(InvalidInput, "encoding", token="homes.toml"):
        dc.Dataset.open("homes.toml").plan(SQL, max_groups=1, epsilon=1, encoding="utf-8")  # type: ignore[call-arg]


def test_other_editions_have_the_encoding_if_they_are_csv(here: Path) -> None:
    declared = dc.Dataset.open("homes.toml")
    Path("later.csv").write_bytes(Path("homes.csv").read_bytes())
    later = declared.with_data("later.csv", edition="2").plan(SQL, max_groups=1, epsilon=1)
    assert later.encoding == "latin-1" and abs(later.release().rows()[0]["count"] - 200) < 40
    pa = pytest.importorskip("pyarrow")
    memory = declared.with_data(pa.table({"person": ["a"], "region": [REGION]}), edition="3")
    assert "encoding" not in memory.plan(SQL, max_groups=1, epsilon=1).request


def test_the_declaration_keeps_its_encoding_when_it_is_written_and_moved(here: Path) -> None:
    (here / "inner").mkdir()
    declared = Declaration.open("homes.toml")
    moved = Declaration.open(declared.save(here / "inner" / "homes.toml"))
    assert moved.tables["homes"].encoding == "latin-1" and moved.tables["homes"].data == "../homes.csv"
    made = dc.Dataset(name="homes", data="homes.csv", unit="person", encoding="latin1", ledger="homes.ledger")
    assert made.declaration.tables["homes"].encoding == "latin-1"
    assert made.plan("SELECT COUNT(*) FROM homes", epsilon=1).encoding == "latin-1"


@pytest.mark.parametrize(
    "data", ["homes.parquet", "homes.db", "duckdb:homes.csv", "postgresql://ann@host/study", "spark:local[*]?csv=homes"]
)
def test_an_encoding_of_what_is_not_a_csv_file_is_refused(here: Path, data: str) -> None:
    declare("latin-1", TEXT.replace("homes.csv", data))
    with refused(UnreadableFile, "encoding", token="CSV"):
        Declaration.open("homes.toml")
    with refused(InvalidInput, "encoding", token="CSV"):
        dc.Dataset(name="homes", data=data, unit="person", encoding="utf-8")
    with refused(InvalidInput, "encoding", token="memory"):
        dc.Dataset(name="homes", data=[], unit="person", encoding="utf-8")  # type: ignore[arg-type]
