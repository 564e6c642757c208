"""The parser of SQL says nothing of its own: what is refused is said once, in an error."""

from __future__ import annotations

import logging

import pytest
import sqlglot

from discreet.engines.postgres.views import view_sql
from discreet.errors import InvalidInput
from discreet.questions.question import read_question
from discreet.questions.resolve.views import read_view
from support.refusals import refused

#: Texts that the parser remarks on while it reads, or while it writes them in DuckDB's words.
REMARKED = [
    "VACUUM people",
    "CALL everything()",
    "EXPLAIN SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people FOR UPDATE",
    "SELECT COUNT(*) FROM people WHERE (SELECT 1 FROM others FOR SHARE) = 1",
    "SELECT COUNT(*) FROM people WHERE notes -> '$.a[' = 'x'",
]


@pytest.mark.parametrize("sql", REMARKED)
def test_a_question_or_view_that_is_refused_prints_and_logs_nothing(
    sql: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(InvalidInput):
        read_question(sql, unit="row")
    with pytest.raises(InvalidInput):
        read_view(f"CREATE VIEW v AS {sql}")
    assert [record.getMessage() for record in caplog.records] == []
    assert "".join(capfd.readouterr()) == ""


def test_the_parser_does_remark_and_still_does_for_others(caplog: pytest.LogCaptureFixture) -> None:
    """The negative control; another program in the same process that uses the parser keeps its warnings."""
    sqlglot.parse_one("VACUUM people", read="duckdb")
    sqlglot.parse_one("SELECT 1 FROM people FOR UPDATE", read="postgres").sql("duckdb")
    assert len(caplog.records) == 2


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR UPDATE OF people", "FOR SHARE", "FOR KEY SHARE SKIP LOCKED"])
def test_a_postgresql_view_that_locks_rows_is_refused_without_a_word_of_the_parser(
    lock: str, caplog: pytest.LogCaptureFixture
) -> None:
    with refused(InvalidInput, token="public.v ... locks"):
        view_sql("public.v", f"SELECT id FROM public.people {lock}")
    assert caplog.records == []


@pytest.mark.parametrize(
    "definition",
    [
        "SELECT id FROM public.people TABLESAMPLE bernoulli (10)",
        "SELECT id FROM public.people WHERE (notes ->> 'a'::text) = 'x'::text",
        "SELECT id FROM public.people WHERE notes IS JSON",
        "SELECT id, (SELECT 1 FROM public.others FOR UPDATE) AS n FROM public.people",
    ],
)
def test_no_postgresql_view_makes_the_parser_speak(definition: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidInput):
        read_view(view_sql("public.v", definition))
    assert caplog.records == []
