"""Releases from PostgreSQL, against a real server: one state, what a role needs, what never shows."""

from __future__ import annotations

import logging
import re
import shlex
import sys
import traceback
from typing import Any

import psycopg
import pytest

import discreet as dc
from discreet.addresses import read_address
from discreet.engines.postgres import connection as sessions
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, MissingExtra, SourceFailed
from support.command_line import run
from support.countings import KEY, counting
from support.paths import DOCS
from support.postgres_questions import CITIES, VISITS, one
from support.postgres_server import Server
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ the whole path


def test_a_release_from_postgres_is_verified_and_recorded_like_any_other(study: str, tmp_path) -> None:
    dataset = open_source(study).dataset
    book = dc.Ledger.create(tmp_path / "l", dataset=dataset, unit="person", epsilon=100)
    ask: dict[str, Any] = {"data": study, "unit": "person", "max_groups": 3, "domain": {"city": CITIES}, "epsilon": 90}
    question = "SELECT city, COUNT(*) FROM public.visits GROUP BY city"
    released = dc.release_counts(question, ledger=book, out=tmp_path / "out", **ask)
    assert [row["count"] for row in released.rows()] == [50, 50, 50]
    assert released.plan.tables[0].question.text == question
    again = dc.release_counts("select City, count(*) from PUBLIC.visits group by City", ledger=book, **ask)
    assert not again.fresh and again.rows() == released.rows()
    assert dc.verify_bundle(tmp_path / "out", ledger=tmp_path / "l").holds


def test_the_command_line_goes_from_init_to_verify(study: str, tmp_path) -> None:
    book, out = tmp_path / "study.ledger", tmp_path / "by_city"
    run("ledger", "init", book, "--data", study, "--unit", "PERSON", "--epsilon", "3")
    told = run(
        "release", "SELECT city, COUNT(*) FROM public.visits GROUP BY city", "--data", study, "--unit", "person",
        "--max-groups", "1", "--domain", "city=Rome,Oslo,Bonn", "--epsilon", "1", "--ledger", book, "-o", out,
    )  # fmt: skip
    assert "spent epsilon 1" in told.stdout
    run("verify", out, "--ledger", book)


def test_what_the_page_about_engines_says_happens(pg: Server, tmp_path, monkeypatch) -> None:
    """Its SQL is executed by the owner, its commands by the curator, with this server in the place of the example's."""
    page = (DOCS / "howto_engines.md").read_text(encoding="utf-8")
    (grants,) = re.findall(r"^```sql\n(.*?)^```$", page, re.S | re.M)
    commands, *_ = re.findall(r"^```sh\n(.*?)^```$", page, re.S | re.M)  # those of the ledger follow
    name = pg.database(*VISITS, "DROP ROLE IF EXISTS curator", grants)
    monkeypatch.chdir(tmp_path)
    lines = [line.removeprefix("$ discreet ") for line in commands.splitlines()]
    assert len(lines) == 4
    for line in lines:
        run(*shlex.split(line.replace("postgresql://curator@db.example.org/study", pg.address(name, "curator"))))
    assert (tmp_path / "by_city" / "index.html").is_file()


def test_rows_written_meanwhile_are_not_counted_and_the_snapshot_holds(pg: Server) -> None:
    name = pg.database(*VISITS)
    source = open_source(pg.address(name))
    asked = counting("SELECT COUNT(*) FROM public.visits")
    source.rehearse([asked])
    with source.snapshot() as snapshot, pg.connect(name) as other:
        before = snapshot.count(asked).item()
        other.execute("INSERT INTO visits SELECT * FROM visits")
        assert snapshot.count(asked).item() == before == 600 and snapshot.unchanged()
        other.execute("SET lock_timeout = '50ms'")
        for statement in ("TRUNCATE visits", "ALTER TABLE visits ADD COLUMN x integer"):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(statement.encode())
    assert source.count([asked])[0].item() == 1200


def test_nothing_is_reserved_before_the_rehearsal_succeeded(pg: Server, tmp_path) -> None:
    """No permission, no server, and a table that was altered: the ledger has no event beyond its first."""
    name = pg.database(*VISITS, name="locked")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS stranger")
        base.execute("CREATE ROLE stranger LOGIN")
    book = dc.Ledger.create(tmp_path / "l", dataset=name, unit="row", epsilon=5)
    ask: dict[str, Any] = {"unit": "row", "epsilon": 1, "ledger": book}
    question = "SELECT COUNT(*) FROM public.visits"
    with refused(SourceFailed, token="GRANT SELECT ON ... public.visits TO stranger;"):
        dc.release_counts(question, data=pg.address(name, "stranger"), **ask)
    with refused(SourceFailed, token="postgresql://owner@/nowhere"):
        dc.release_counts(question, data=pg.address("nowhere"), **ask)
    source = open_source(pg.address(name))
    source.table("public.visits")
    with pg.connect(name) as base:
        base.execute("ALTER TABLE visits ALTER COLUMN age TYPE bigint")
    with refused(SourceFailed, token="public.visits was altered"):
        dc.release_counts(question, data=source, **ask)
    assert book.left().epsilon == 5 and len(list(book.events())) == 1


def test_a_role_that_can_only_select_suffices(pg: Server, tmp_path) -> None:
    name = pg.database(*VISITS, name="shared")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS reader")
        base.execute("CREATE ROLE reader LOGIN")
        base.execute("GRANT USAGE ON SCHEMA public TO reader")
        base.execute("GRANT SELECT ON public.visits TO reader")
    assert one(pg.address(name, "reader"), "age > 17", "public.visits") > 0
    with pg.connect(name, "reader") as base, pytest.raises(psycopg.errors.InsufficientPrivilege):
        base.execute("DELETE FROM public.visits")


# ------------------------------------------------------------------------------------------------ passwords and words


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hush@host/study", "postgresql://ann@host/study?password=hush", "postgres://ann:hush@/study",
        "postgresql://host/study?user=ann&password=hush", "postgresql://ann:hush%40x@host:5432/study?sslmode=require",
        "postgresql://ann@host/study?sslpassword=hush", "postgresql://ann:a/hush@host/study",
    ],
)  # fmt: skip
def test_a_password_in_the_address_is_refused_and_never_shown(address: str, tmp_path) -> None:
    asked = ["release", "SELECT COUNT(*) FROM public.t", "--data", address, "--unit", "row", "--epsilon", "1"]
    for more in (["--plan"], ["--ledger", tmp_path / "l", "--json"]):
        told = run(*asked, *more, code=2)
        assert "hush" not in told.stdout + told.stderr and "postgres" in told.stderr
    with pytest.raises(InvalidInput) as refusal:
        open_source(address)
    stack = traceback.TracebackException.from_exception(refusal.value, capture_locals=True).stack
    inside = [str(frame.locals) for frame in stack if "discreet/engines" in frame.filename]
    assert inside and not any("hush" in shown for shown in [*inside[1:], str(refusal.value)])
    assert refusal.value.__context__ is None
    assert "PGPASSFILE" in str(refusal.value) and ".pgpass" in str(refusal.value)


def test_a_password_from_a_file_opens_and_leaves_no_trace(pg: Server, tmp_path, monkeypatch, caplog) -> None:
    name = pg.database(*VISITS, name="secret")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS locked")
        base.execute("CREATE ROLE locked LOGIN PASSWORD 'Q4711hushQ'")
        base.execute("GRANT SELECT ON public.visits TO locked")
        hba = pg.folder / "data" / "pg_hba.conf"
        kept = hba.read_text(encoding="utf-8")
        hba.write_text(f"local all locked scram-sha-256\n{kept}", encoding="utf-8")
        base.execute("SELECT pg_reload_conf()")
    caplog.set_level(logging.DEBUG)
    data = pg.address(name, "locked")
    with refused(SourceFailed, token="password") as refusal:
        open_source(data).tables()
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:{name}:locked:Q4711hushQ\n", encoding="utf-8")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    book = dc.Ledger.create(tmp_path / "l", dataset=name, unit="row", epsilon=5)
    question = "SELECT COUNT(*) FROM public.visits"
    released = dc.release_counts(question, data=data, unit="row", epsilon=1, ledger=book, out=tmp_path / "out")
    written = b"".join(file.read_bytes() for file in [*(tmp_path / "out").rglob("*"), tmp_path / "l"] if file.is_file())
    for shown in (str(refusal.value), repr(open_source(data)), str(released.to_json()), caplog.text, str(written)):
        assert "Q4711hushQ" not in shown
    assert str(pg.folder).encode() not in written  # where the data was is nobody's business


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://ann@host", "names no database"),
        ("postgresql://ann@host/study?options=-csearch_path%3Devil", "options"),
        ("postgresql://ann@host/study?nonsense=1", "cannot be read"),
        ("postgresql://ann@host/study?dbname=other", "names two databases"),
    ],
)
def test_an_address_says_where_the_data_is_and_nothing_else(address: str, words: str) -> None:
    with refused(InvalidInput, token=words):
        open_source(address)


def test_a_database_is_named_as_it_is_called_whatever_the_address_must_write(pg: Server, tmp_path) -> None:
    name = pg.database(*VISITS, name="my study")
    data = pg.address(name.replace(" ", "%20"))
    assert open_source(data).dataset == read_address(data).dataset == name
    assert one(data, "age >= 0", "public.visits") == 600


def test_what_the_catalogue_cannot_give_is_an_error_and_no_traceback(study: str, monkeypatch) -> None:
    monkeypatch.setitem(sessions._SETTINGS, "work_mem", "nonsense")
    with refused(SourceFailed, token="catalogue ... InvalidParameterValue"):
        open_source(study).tables()


def test_without_the_driver_the_error_is_the_install_command(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with refused(MissingExtra, token="discreet[postgres]"):
        open_source("postgresql://ann@host/study")


def test_the_servers_words_about_a_row_are_withheld(pg: Server, monkeypatch, caplog, capfd) -> None:
    """A reading without its guard fails on the server, with the person's text in the message."""
    name = pg.database("CREATE TABLE t (x text)", "INSERT INTO t VALUES ('4711 of ann')")
    monkeypatch.setattr(PostgresDialect, "safe_cast", lambda self, x, kind, type_: f"CAST({x} AS float8)")
    source = open_source(pg.address(name))
    asked = counting("SELECT COUNT(*) FROM public.t WHERE x > 5")
    source.rehearse([asked])
    with refused(SourceFailed, token="withheld") as failure:
        source.count([asked])
    assert "4711 of ann" in pg.log and failure.value.__context__ is None
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert "4711" not in report + caplog.text + "".join(capfd.readouterr())


def test_the_key_of_the_bounding_hash_is_a_parameter(pg: Server, study: str) -> None:
    asked = counting("SELECT city, COUNT(*) FROM public.visits GROUP BY city", "person", 1, city=CITIES)
    source = open_source(study)
    source.rehearse([asked])
    log = len(pg.log)
    source.count([asked])
    statements = [line for line in pg.log[log:].splitlines() if "DETAIL" not in line]
    assert any("md5(" in line for line in statements)
    assert not any(KEY.hex() in line or "Rome" in line for line in statements)


def test_a_session_depends_on_no_setting_of_role_database_or_environment(pg: Server, monkeypatch) -> None:
    name = pg.database("CREATE TABLE t (d date, m timestamptz, x text)", "CREATE SCHEMA evil", name="odd")
    with pg.connect(name) as base:
        base.execute("INSERT INTO t VALUES ('2020-01-31', '2020-01-31 23:30:00+00', 'a')")
        base.execute("CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'ffff'::text $$")
        for setting in (
            "DateStyle = 'German'", "TimeZone = 'Asia/Tokyo'", "search_path = evil, pg_catalog", "row_security = on",
            "standard_conforming_strings = off", "transform_null_equals = on",
            "default_transaction_isolation = 'read committed'", "enable_seqscan = off", "client_encoding = 'LATIN1'",
        ):  # fmt: skip
            base.execute(f'ALTER DATABASE "{name}" SET {setting}'.encode())
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    monkeypatch.setenv("PGOPTIONS", "-c extra_float_digits=-10 -c search_path=evil")
    data = pg.address(name)
    assert one(data, "m >= TIMESTAMP '2020-01-31 23:30:00' AND m = DATE '2020-01-31'") == 1
    assert one(data, "TRY_CAST(d AS VARCHAR) = '2020-01-31' AND x <> 'it''s'") == 1
    with open_source(data)._session() as session:  # type: ignore[attr-defined]
        for name_, value in sessions._SETTINGS.items():
            shown = session.execute(f"SHOW {name_}".encode()).fetchone()
            assert shown is not None and shown[0] == value, name_
        for name_, value in (("transaction_isolation", "repeatable read"), ("transaction_read_only", "on")):
            assert session.execute(f"SHOW {name_}".encode()).fetchone() == (value,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session.execute(b"CREATE TABLE public.u (x integer)")
