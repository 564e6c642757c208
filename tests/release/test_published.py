"""What was published stays valid: bundles of earlier versions verify, and the same questions keep their keys."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dc
from support.paths import PUBLISHED, VISITS
from support.postgres_server import server
from support.published import BUNDLES, BY_BOTH, KEPT, KEYS, REQUESTS, planned
from support.spark_session import IN_ONE_PROCESS, address

FROZEN: dict[str, str] = json.loads(KEYS.read_text(encoding="utf-8"))

#: A table with the columns of the file, in types; no row is needed to plan a question.
TYPED = (
    "CREATE TABLE doctor_visits (person bigint, site integer, year integer, plan integer, age integer, sex varchar, "
    "family_size integer, health varchar, doctor_visits integer, therapy_visits integer, hospital_admissions integer)"
)


def ledger_of(name: str) -> Path:
    return BUNDLES / f"{REQUESTS[name][1]['unit']}.ledger.sqlite"


def test_every_request_keeps_its_key() -> None:
    assert {name: planned(name).key for name in REQUESTS} == {name: FROZEN[name] for name in REQUESTS}
    assert len(REQUESTS) == 40
    assert FROZEN["other_level"] == FROZEN["by_site"]  # another level needs no new noise


def test_typed_files_and_frames_keep_their_keys(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        base.execute(TYPED)
        base.execute(f"COPY doctor_visits TO '{tmp_path / 'doctor_visits.parquet'}'")
        frame = base.sql("FROM doctor_visits").to_arrow_table()
    keys = {
        "by_both of Parquet": planned("by_both", tmp_path / "doctor_visits.parquet").key,
        "by_both of DuckDB": planned("by_both", tmp_path / "study.duckdb").key,
        "by_both of a frame": planned("by_both", frame, dataset="doctor_visits").key,
    }
    assert keys == {name: FROZEN[name] for name in keys}


@pytest.mark.xdist_group("postgres")
def test_postgresql_keeps_its_keys() -> None:
    where = server().address(server().database(TYPED, name="frozen"))
    question, fields = BY_BOTH.replace("FROM ", "FROM public."), REQUESTS["by_both"][1]
    plan = dc.plan_release(question, data=where, dataset="study", edition="2026-Q1", **fields)
    assert plan.key == FROZEN["by_both of PostgreSQL"]


@pytest.mark.full
@IN_ONE_PROCESS
def test_spark_keeps_its_keys(tmp_path: Path) -> None:
    with duckdb.connect() as base:
        base.execute(TYPED)
        base.execute(f"COPY doctor_visits TO '{tmp_path / 'doctor_visits.parquet'}'")
    assert planned("by_both", address(tmp_path / "doctor_visits.parquet")).key == FROZEN["by_both of Spark"]


@pytest.mark.parametrize("name", KEPT)
def test_bundles_of_version_0_2_verify(name: str, tmp_path: Path) -> None:
    """Every check holds, or says that the words are of another version."""
    ledger = shutil.copy(ledger_of(name), tmp_path / "ledger.sqlite")
    report = dc.verify_bundle(BUNDLES / name, ledger=ledger)
    assert report.holds, report.describe()
    findings = {check.name: check.holds for check in report.checks}
    assert findings["ledger"] is True
    assert {check for check, holds in findings.items() if holds is None} <= {"words", "page", "pictures"}


@pytest.mark.parametrize("name", KEPT)
def test_a_recorded_answer_stays_free(name: str, tmp_path: Path) -> None:
    ledger = Path(shutil.copy(ledger_of(name), tmp_path / "ledger.sqlite"))
    spent = dc.Ledger.open(ledger).spent()
    questions, fields = REQUESTS[name]
    released: Any = dc.release_counts(questions, data=str(VISITS), ledger=ledger, **fields)
    assert dc.Ledger.open(ledger).spent() == spent
    again = [row["count"] for number in range(len(released.tables)) for row in released.rows(number)]
    kept = dc.open_bundle(BUNDLES / name, ledger)
    assert again == [row["count"] for number in range(len(kept.tables)) for row in kept.rows(number)]


def test_every_published_bundle_is_checked() -> None:
    folders = {file.parent.name for file in BUNDLES.glob("*/release.json")}
    assert folders == set(KEPT)
    formats = {"format_1", "format_2", "format_4"}
    assert {folder.name for folder in PUBLISHED.iterdir() if folder.is_dir()} == {*formats, BUNDLES.name}
