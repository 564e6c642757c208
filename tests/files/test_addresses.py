"""Addresses: one string for data and for ledgers, read in one place; no password is ever shown."""

from __future__ import annotations

import ast
import os
import sys
import traceback
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.addresses import ENDINGS, SCHEMES, Address, no_engine, read_address, without_passwords
from discreet.engines.base import Counting
from discreet.engines.sources import OPENERS, open_source
from discreet.errors import InvalidInput, MissingExtra, Unsupported, WrongType
from discreet.questions.groups import TOTAL
from discreet.questions.question import read_question
from discreet.sources import files
from support.command_line import run
from support.refusals import refused

ROOT = Path(dc.__file__).parent


# ------------------------------------------------------------------------------------------------ what is a scheme


@pytest.mark.parametrize(
    "path",
    [
        "visits.csv", "data/visits.csv", "./a:b.csv", "../x:1/y.csv", "/data/a:b.csv", "C:\\data\\visits.csv",
        "c:visits.csv",
        "C:/visits.csv", "visits_*.parquet", "2024:visits.csv", "visits 2024: final.csv", "a::b.csv", "", ".",
        ":memory:",
    ],
)  # fmt: skip
def test_paths_are_files_whatever_signs_they_hold(path: str) -> None:
    assert read_address(path) == Address("file", path) and str(read_address(path)) == path


@pytest.mark.parametrize("name", ["visits:2024.csv", "duckdb:x.csv", "postgresql:x"])
def test_a_file_that_exists_under_the_very_name_is_meant_before_a_scheme(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("person,site\nann,1\n")
    address = read_address(name)
    assert address.scheme == "file" and address.is_file and address.path == Path(name)


@pytest.mark.parametrize(
    ("text", "scheme", "dataset"),
    [
        ("duckdb:data/study.db", "duckdb", "study"),
        ("DuckDB:/data/study", "duckdb", "study"),
        ("postgresql://ann@host:5432/study?sslmode=require", "postgresql", "study"),
        ("postgres://host/study", "postgresql", "study"),
        ("postgresql://ann:secret@host", "postgresql", "host"),
        ("spark://host:7077?table=study.visits", "spark", "study.visits"),
        ("spark:local[*]?parquet=/data/visits.parquet", "spark", "visits"),
        ("Spark:local[2]?orc=hdfs://name/data/visits/", "spark", "visits"),
    ],
)
def test_addresses_of_data_name_their_scheme_and_data_set(text: str, scheme: str, dataset: str) -> None:
    address = read_address(text)
    assert (address.scheme, address.dataset) == (scheme, dataset)
    assert read_address(address) is address


def test_an_unknown_scheme_is_refused_with_those_there_are() -> None:
    with refused(InvalidInput, token="mysql: is not") as refusal:
        read_address("mysql://ann:secret@host/study")
    for scheme in ("duckdb:study.db", "postgresql://", "spark://", "visits.csv", "./ before its name"):
        assert scheme in str(refusal.value)
    assert "sqlite" not in str(refusal.value) and "secret" not in str(refusal.value)
    with refused(InvalidInput, token="mean postgresql:?"):
        read_address("postgressql://host/study")
    with refused(InvalidInput, token="sqlite:study.ledger"):
        read_address("mysql://host/study", "ledger")


def test_a_ledger_is_no_data_and_data_is_no_ledger() -> None:
    with refused(InvalidInput, token="sqlite: names ... visits.csv, duckdb:study.db"):
        read_address("sqlite:study.ledger")
    for address in ("duckdb:study.db", read_address("spark://host:7077?table=visits")):
        with refused(InvalidInput, token="names data ... visits.csv, sqlite:study.ledger"):
            read_address(address, "ledger")


@pytest.mark.parametrize("text", ["duckdb:", "postgresql://", "spark:"])
def test_a_scheme_alone_names_nothing(text: str) -> None:
    with refused(InvalidInput, token="names nothing"):
        read_address(text)


@pytest.mark.parametrize("given_", [3, None, ["a.csv"], b"a.csv"])
def test_what_is_no_text_is_no_address(given_: object) -> None:
    with refused(WrongType, allowed="a text or a path"):
        read_address(given_)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ opening


def test_an_engine_that_is_not_installed_names_the_extra_that_brings_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    text, ask = "spark://host:7077?table=study", {"unit": "row", "epsilon": 1}
    for act in (
        lambda: open_source(text),
        lambda: dc.plan_release("SELECT COUNT(*) FROM study", data=text, **ask),
        lambda: dc.release_counts("SELECT COUNT(*) FROM study", data=text, ledger=tmp_path / "x.ledger", **ask),
    ):
        with refused(MissingExtra, token="discreet[spark]"):
            act()
    with refused(Unsupported, token="discreet[spark]"):
        files.open_files(text, skip_unreadable=True)


@pytest.mark.parametrize(
    "text", ["spark://host:7077/visits", "spark:local[*]", "spark:nowhere?table=x", "spark:local?x=y"]
)
def test_an_address_of_spark_says_which_cluster_and_which_data(text: str) -> None:
    with refused(InvalidInput, "data"):
        open_source(text)


def test_an_address_of_spark_with_a_password_is_refused_and_never_shown() -> None:
    with refused(InvalidInput, "data") as refusal:
        open_source("spark://ann:hush@host:7077?table=visits")
    assert "hush" not in "".join(traceback.format_exception_only(refusal.value))


def test_a_ledger_elsewhere_names_the_extra_and_one_in_sqlite_may_say_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with refused(MissingExtra, token="discreet[postgres]"):
        dc.Ledger.open("postgresql://host/books")
    with refused(MissingExtra, token="discreet[postgres]"):
        dc.Ledger.create("postgresql://host/books", dataset="x", unit="row", epsilon=1)
    made = dc.Ledger.create(f"sqlite:{tmp_path}/x.ledger", dataset="x", unit="row", epsilon=1)
    assert (tmp_path / "x.ledger").is_file()
    assert (
        dc.Ledger.open(f"sqlite:{tmp_path}/x.ledger").terms == dc.Ledger.open(tmp_path / "x.ledger").terms == made.terms
    )


def test_a_duckdb_file_of_any_name_is_opened_by_its_scheme(tmp_path) -> None:
    with duckdb.connect(str(tmp_path / "study.data")) as base:
        base.execute("CREATE TABLE visits AS SELECT 1 AS site FROM range(3)")
    source = open_source(f"duckdb:{tmp_path}/study.data")
    assert source.dataset == "study.data" and source.tables() == ["visits"]
    counting = Counting(read_question("SELECT COUNT(*) FROM visits", unit="row"), TOTAL, "row", 1, b"")
    assert source.count([counting])[0].tolist() == [[3]]


def test_every_scheme_of_data_has_an_engine_and_every_ending_a_format() -> None:
    assert {name for name, scheme in SCHEMES.items() if "data" in scheme.uses} == set(OPENERS)
    assert set(ENDINGS) == set(files._FORMATS)
    assert all(scheme.extra is not None for name, scheme in SCHEMES.items() if not scheme.in_files)


def test_files_have_no_schemas_and_say_so(tmp_path) -> None:
    (tmp_path / "visits.csv").write_text("person,site\nann,1\n")
    with refused(InvalidInput, token="alone: visits."):
        dc.plan_release("SELECT COUNT(*) FROM main.visits", data=tmp_path / "visits.csv", unit="row", epsilon=1)


def test_a_folder_a_pattern_and_what_is_missing_are_told_apart(tmp_path) -> None:
    (tmp_path / "v_1.parquet").touch()
    (tmp_path / "p[1].csv").touch()
    folder, pattern = read_address(tmp_path), read_address(tmp_path / "v_*.parquet")
    named, missing = read_address(tmp_path / "p[1].csv"), read_address(tmp_path / "none.csv")
    assert [one.is_folder for one in (folder, pattern, named, missing)] == [True, False, False, False]
    assert [one.is_pattern for one in (folder, pattern, named, missing)] == [False, True, False, False]
    assert [one.may_be_opened for one in (folder, pattern, named, missing)] == [True, True, True, False]
    assert [one.is_selection for one in (pattern, read_address("v_[12]_*.parquet"))] == [False, True]


# ------------------------------------------------------------------------------------------------ passwords

WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=12).map(
    lambda word: f"Q{word}Q"
)
ODD = st.text(st.sampled_from("abc:/@?#%&= "), max_size=4)


@given(WORDS, ODD, ODD, st.sampled_from(["postgresql", "postgres", "spark", "mysql", "oracle+x"]))
def test_no_password_is_shown_whatever_it_contains(word: str, before: str, after: str, scheme: str) -> None:
    password = f"{before}{word}{after}"
    for text in (f"{scheme}://ann:{password}@host/study", f"{scheme}://host/study?user=ann&password={word}&x=1"):
        assert word not in without_passwords(text)
        if scheme in ("mysql", "oracle+x"):
            with pytest.raises(InvalidInput) as refusal:
                read_address(text)
            assert word not in str(refusal.value)
        else:
            address = read_address(text)
            assert word in address.rest
            assert word not in "".join([str(address), repr(address), address.dataset, str(no_engine(address))])


def test_the_command_line_shows_no_password(tmp_path) -> None:
    data = "postgresql://ann:hush@host/study"
    asked = ["release", "SELECT COUNT(*) FROM t", "--data", data, "--unit", "row", "--epsilon", "1"]
    for more in (["--ledger", tmp_path / "x", "--json"], [], ["--plan"]):
        told = run(*asked, *more, code=2)
        assert "postgresql://ann:***@host/study" in told.stderr and "hush" not in told.stdout + told.stderr


# ------------------------------------------------------------------------------------------------ one place

ASKS = {"exists", "is_dir", "is_file", "has_magic"}


@pytest.mark.parametrize("room", ["questions", "engines", "release/plan", "release/counts.py", "cli/release.py"])
def test_nothing_else_asks_the_file_system_about_data(room: str) -> None:
    place = ROOT / room
    modules = [place] if place.suffix else sorted(place.rglob("*.py"))
    assert modules
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in ASKS, f"{os.fspath(module)}:{node.lineno}"
