"""Every engine x every promise: the counts of the reference, independence of rows, rehearsals, words withheld.

A new engine is one more entry in ``support/engines.py``.
"""

from __future__ import annotations

import datetime
import random
import tempfile
import traceback
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from pydoc import locate
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.base import Counting, Snapshot, Source
from discreet.engines.case_mapping import map_case
from discreet.engines.dialect import Dialect
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.reference import Row, count_rows, holds, read_value
from discreet.errors import InvalidInput, SourceFailed, Unsupported
from discreet.questions.expressions import KINDS
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from support import awkward, independence
from support.engines import EMBEDDED, ENGINES, KEY, SMALL, Engine, every_engine
from support.refusals import refused
from support.tiers import batches

# ------------------------------------------------------------------------------------------------ the counts


def differences(engine: Engine, seeds: Sequence[int]) -> list[str]:
    """Where random questions of random tables have other counts than the reference, of which most must be compared."""
    found, compared, unanswered = [], 0, 0
    for seed in seeds:
        chance = random.Random(seed)
        table = engine.random_table(chance, SMALL)
        countings = engine.answered(table, awkward.random_countings(chance, engine.questions, KEY))
        rows = engine.plain_rows(table)
        for counting, counts in zip(countings, engine.counts(table, countings), strict=True):
            try:
                same = (counts == count_rows(rows, counting)).all()
            except Unsupported:  # engines may differ here, such as on the text of a float
                unanswered += 1
                continue
            compared += 1
            if not same:
                found.append(f"seed {seed}: {counting.question.text}, {counting.groups.values}, {counting.unit}")
    assert compared > 4 * unanswered
    return found


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=1, long=4))
def test_awkward_tables_have_the_counts_of_the_reference(engine: Engine, batch: int) -> None:
    assert differences(engine, range(8 * batch, 8 * batch + engine.tables)) == []


@pytest.mark.parametrize("hook", ["bounding_hash", "whole_number", "safe_cast", "double"])
def test_the_suite_notices_an_engine_that_reads_or_chooses_otherwise(hook: str, monkeypatch) -> None:
    other: dict[str, Any] = {
        "bounding_hash": lambda self, unit, key: f"CAST(length(CAST({unit} AS VARCHAR)) AS BIGINT)",
        "whole_number": lambda self, column, kind: f"TRY_CAST({self.quoted(column)} AS BIGINT)",
        "safe_cast": lambda self, expression, kind, type_: (
            f"COALESCE(TRY_CAST({expression} AS {type_}), TRY_CAST(0 AS {type_}))"
        ),
        "double": lambda self, digits: f"({digits} + 1e0)",
    }
    monkeypatch.setattr(type(DUCKDB), hook, other[hook])
    assert any(differences(engine, range(12)) for engine in EMBEDDED)


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=1, long=4))
def test_one_unit_more_moves_the_counts_by_its_own_contribution(engine: Engine, batch: int) -> None:
    for seed in range(100 + 3 * batch, 100 + 3 * batch + min(3, engine.tables)):
        chance = random.Random(seed)
        table = engine.random_table(chance)
        countings = engine.answered(table, awkward.random_countings(chance, engine.questions, KEY))
        whole = engine.counts(table, countings)
        assert independence.violations(chance, table, countings, engine.counts, whole) == [], seed


# ------------------------------------------------------------------------------------------------ before and after

VISITS = pa.schema({"person": pa.string(), "site": pa.int32(), "x": pa.float64()})
ROWS = [("ann", 1, 4711.0), ("ann", 2, 0.5), ("bob", 1, None), (None, 3, 1.0)] * 30


def visits(engine: Engine, folder: Path, rows: Sequence[tuple[Any, ...]] = ROWS) -> Source:
    return engine.store(Path(tempfile.mkdtemp(dir=folder)), rows, VISITS)


@every_engine
def test_every_letter_has_one_case_on_every_engine(engine: Engine, tmp_path: Path) -> None:
    """Beside each letter stands what LOWER and UPPER make of it by the common rule. A control: some letters change."""
    letters = [chr(code) for code in range(0x20000) if unicodedata.category(chr(code))[0] == "L"]
    rows = [(letter, map_case(letter, "LOWER"), map_case(letter, "UPPER")) for letter in letters]
    rows = [row for row in rows if len(set(row)) > 1]
    schema = pa.schema(dict.fromkeys(("t", "l", "u"), pa.string()))
    source = engine.store(tmp_path, rows, schema)
    tests = {"a": ("LOWER(t)", "l"), "b": ("UPPER(t)", "u"), "c": ("LOWER(t)", "t")}
    asked = [f"COUNT_IF(TRY_CAST({x} AS VARCHAR) = TRY_CAST({y} AS VARCHAR)) AS {n}" for n, (x, y) in tests.items()]
    question = f"SELECT {', '.join(asked)} FROM t"
    counting = engine.asked(Counting(read_question(question, unit="row"), groups_from({}, ()), "row", 1, KEY))
    (counts,) = source.count([counting])
    assert counts.tolist() == [[len(rows), len(rows), sum(t == lower for t, lower, _ in rows)]]
    assert 0 < counts[0, 2] < len(rows) > 2000


@every_engine
@pytest.mark.parametrize("unit", ["row", "unit"])
def test_columns_may_be_called_as_a_query_calls_its_own(engine: Engine, unit: str, tmp_path: Path) -> None:
    names = ("n", "n0", "k0", "g", "v", "h0", "raw")
    rows = [("a", "b", "c", i % 2, i % 3, i % 4, "r", f"p{i}") for i in range(12)]
    schema = pa.schema({name: pa.int32() if name in "g v h0" else pa.string() for name in (*names, "unit")})
    source = engine.store(tmp_path, rows, schema)
    asked = f"SELECT {', '.join(names)}, COUNT(*), COUNT_IF(g = 1) AS c FROM t GROUP BY {', '.join(names)}"
    question = read_question(asked, unit=unit)
    domains = {"n": ["a", "x"], "n0": ["b"], "k0": ["c"], "g": range(2), "v": range(3), "h0": range(4), "raw": ["r"]}
    counting = engine.asked(Counting(question, groups_from(domains, question.by), unit, 1, KEY))
    (counts,) = source.count([counting])
    assert counts.sum(axis=0).tolist() == [12, 6] and counts.max() == 1


@every_engine
@pytest.mark.parametrize("sites", [("a", "b", "c", "d"), tuple("abcd") + tuple(f"s{i}" for i in range(70))])
@pytest.mark.parametrize("conditions", [0, 1, 2])
def test_people_are_counted_by_texts_with_any_number_of_conditions(
    engine: Engine, sites: tuple[str, ...], conditions: int, tmp_path: Path
) -> None:
    """Few groups fit in a word of bits, many are ranked; k is below the number of groups and equal to it."""
    rows = [(f"p{i % 9}", "abcdz"[i % 5], i % 4) for i in range(40)]
    schema = pa.schema({"person": pa.string(), "site": pa.string(), "x": pa.int32()})
    source = engine.store(tmp_path, rows, schema)
    counted = ", ".join(["COUNT(*)", *(f"COUNT_IF(x > {i}) AS more{i}" for i in range(conditions))])
    question = read_question(f"SELECT site, {counted} FROM t GROUP BY site", unit="person")
    groups = groups_from({"site": sites}, question.by)
    asked = [Counting(question, groups, "person", k, KEY) for k in (1, 2, len(sites))]
    plain = [dict(zip(schema.names, row, strict=True)) for row in rows]
    for counting, counts in zip(asked, source.count(list(map(engine.asked, asked))), strict=True):
        np.testing.assert_array_equal(counts, count_rows(plain, counting))


def countings(engine: Engine) -> list[Counting]:
    asked = []
    for unit in ("row", "person"):
        question = read_question("SELECT site, COUNT(*), COUNT_IF(x > 1) AS n FROM t GROUP BY site", unit=unit)
        asked.append(Counting(question, groups_from({"site": range(1, 4)}, question.by), unit, 1, KEY))
    return list(map(engine.asked, asked))


@every_engine
def test_the_schema_is_known_without_rows(engine: Engine, tmp_path) -> None:
    with_rows, without = visits(engine, tmp_path), visits(engine, tmp_path, [])
    for source in (with_rows, without):
        assert source.tables() == [engine.table] and source.spelled(engine.table.upper()) == engine.table
        assert source.view(engine.table) is None
        columns = source.table(engine.table)
        assert list(columns) == VISITS.names and set(columns.values()) <= set(KINDS)
        with refused(InvalidInput, token="table 'people'"):
            source.spelled("people")
    assert with_rows.table(engine.table) == without.table(engine.table)


@every_engine
def test_a_rehearsal_runs_the_same_code_on_no_rows(engine: Engine, tmp_path, monkeypatch) -> None:
    source, seen = visits(engine, tmp_path), []
    count: Any = locate(engine.counts_by)

    def watched(*given: Any) -> Any:
        seen.append(count(*given))
        return seen[-1]

    monkeypatch.setattr(engine.counts_by, watched)
    source.rehearse(countings(engine))
    assert [counts.shape for counts in seen] == [(3, 2)] * 2 and all((counts == 0).all() for counts in seen)
    assert all(counts.sum() > 0 for counts in source.count(countings(engine)))


@every_engine
def test_what_is_missing_shows_in_a_rehearsal_in_full_words(engine: Engine, tmp_path, monkeypatch) -> None:
    def missing(*_: Any) -> None:
        raise ModuleNotFoundError("No module named 'something'")

    source = visits(engine, tmp_path)
    monkeypatch.setattr(engine.counts_by, missing)
    with refused(SourceFailed, token="nothing was spent ... 'something'"):
        source.rehearse(countings(engine))


@every_engine
def test_words_and_counts_of_the_engine_are_withheld_when_it_stops(engine: Engine, tmp_path, monkeypatch) -> None:
    """The first counting is done when the second fails; a report with local variables shows neither."""
    source, done = visits(engine, tmp_path), []
    count: Any = locate(engine.counts_by)

    def stops(*given: Any) -> Any:
        if done:
            raise RuntimeError("could not convert 4711.0 of ann")
        done.append(True)
        return count(*given) + 815000

    monkeypatch.setattr(engine.counts_by, stops)
    with refused(SourceFailed, token="withheld") as failure:
        source.count(countings(engine))
    assert failure.value.__context__ is None and failure.value.__cause__ is None
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert done and not any(secret in report for secret in ("4711", "ann", "8150", KEY.hex()))


@every_engine
def test_a_column_or_view_that_is_not_there_is_refused_before_anything_is_opened(engine: Engine, tmp_path) -> None:
    source = visits(engine, tmp_path)
    question = read_question("SELECT COUNT(*) FROM t WHERE age > 5", unit="row")
    for act in (source.rehearse, source.count):
        with refused(InvalidInput, token="column 'age'"):
            act([engine.asked(Counting(question, TOTAL, "row", 1, KEY))])


@every_engine
def test_floats_cannot_name_people_where_they_are_stored_as_such(engine: Engine, tmp_path) -> None:
    source = visits(engine, tmp_path)
    source.check_unit(engine.table, "person")
    if source.table(engine.table)["x"] == "number":
        with refused(InvalidInput, token="cannot name people"):
            source.check_unit(engine.table, "x")


# ------------------------------------------------------------------------------------------------ the reference itself


@pytest.mark.parametrize(
    ("value", "type_", "read"),
    [
        (None, "DOUBLE", None), (True, "DOUBLE", 1.0), ("1e3", "DOUBLE", 1000.0), (" 7 ", "DOUBLE", 7.0),
        ("seven", "DOUBLE", None), (Decimal("1.50"), "DOUBLE", 1.5), (datetime.date(2020, 1, 1), "DOUBLE", None),
        (2**40, "INTEGER", None), (2**40, "BIGINT", 2**40), ("007", "BIGINT", 7), (float("inf"), "BIGINT", None),
        (0.0, "BOOLEAN", False), (float("nan"), "BOOLEAN", True), ("True", "BOOLEAN", True), ("maybe", "BOOLEAN", None),
        (datetime.datetime(2020, 2, 29, 12), "DATE", datetime.date(2020, 2, 29)), ("2020-02-30", "DATE", None),
        (datetime.date(2020, 2, 29), "TIMESTAMP", datetime.datetime(2020, 2, 29)), (5, "DATE", None),
        (datetime.datetime(2020, 2, 29, 12), "VARCHAR", "2020-02-29 12:00:00"), (False, "VARCHAR", "false"),
        (Decimal("0.00"), "VARCHAR", "0.00"),
    ],
)  # fmt: skip
def test_the_reference_reads_values_as_stated(value: Any, type_: str, read: Any) -> None:
    found = read_value(value, type_)
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("value", "type_"), [(1e15, "VARCHAR"), (1.5, "BIGINT"), ("1.5", "INTEGER"), ("0x1F", "DOUBLE"), ("yes", "BOOLEAN"),
                         ("2020-2-9", "DATE"), ("10000-01-01", "DATE")],
)  # fmt: skip
def test_the_reference_has_no_answer_where_engines_may_differ(value: Any, type_: str) -> None:
    with pytest.raises(Unsupported):
        read_value(value, type_)


def test_the_reference_follows_the_rule_on_a_table_worked_by_hand() -> None:
    """md5('6b6579:ann') begins with d0278d1e2ef5c2c: ann starts at the first of 5 groups and of 2 conditions."""
    assert 0xD0278D1E2EF5C2C % 5 == 0 and 0xD0278D1E2EF5C2C // 5 % 2 == 0
    question = read_question("SELECT g, COUNT(*), COUNT_IF(a) AS a, COUNT_IF(b) AS b FROM t GROUP BY g", unit="p")
    groups = groups_from({"g": range(5)}, question.by)
    rows: list[Row] = [
        {"p": "ann", "g": 3, "a": False, "b": True},
        {"p": "ann", "g": 3, "a": True, "b": False},  # the first condition decides, so this one
        {"p": "ann", "g": 4, "a": None, "b": None},  # the third group from 0: two are taken
        {"p": "ann", "g": 1, "a": None, "b": True},
        {"p": "ann", "g": 9, "a": True, "b": True},  # not declared
        {"p": None, "g": 0, "a": True, "b": True},  # nobody
    ]
    counts = count_rows(rows, Counting(question, groups, "p", 2, b"key"))
    assert counts.tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 0]]
    by_row = count_rows(rows, Counting(question, groups, "row", 1, b"key"))
    assert by_row.tolist() == [[1, 1, 1], [1, 0, 1], [0, 0, 0], [2, 1, 1], [1, 0, 0]]


# ------------------------------------------------------------------------------------------------ the seam


class PlainRows(Source):
    """An engine without SQL, over rows in a list: what the abstract part asks of a new engine, and nothing more."""

    dataset = "t"
    dialect = DUCKDB

    def __init__(self, rows: list[Row], changes: bool = False) -> None:
        self.rows = rows
        self.changes = changes

    def tables(self) -> list[str]:
        return ["t"]

    def table(self, name: str) -> Mapping[str, str]:
        return {"person": "text", "site": "integer", "x": "number"}

    def view(self, name: str) -> str | None:
        return None

    def check_unit(self, table: str, column: str) -> None:
        pass

    def check_whole(self) -> None:
        pass

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        yield OpenRows(self)


class OpenRows(Snapshot):
    def __init__(self, source: PlainRows) -> None:
        self.source = source

    def rehearse(self, counting: Counting) -> None:
        count_rows([], counting)

    def count(self, counting: Counting) -> np.ndarray:
        return count_rows(self.source.rows, counting)

    def unchanged(self) -> bool:
        return not self.source.changes


def test_a_new_engine_gives_its_abstract_part_and_keeps_the_promises_of_all(tmp_path) -> None:
    rows: list[Row] = [dict(zip(VISITS.names, row, strict=True)) for row in ROWS]
    source = PlainRows(rows)
    source.rehearse(countings(ENGINES[0]))
    for engine in EMBEDDED:
        theirs = visits(engine, tmp_path).count(countings(engine))
        for one, other in zip(source.count(countings(ENGINES[0])), theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    with refused(SourceFailed, token="withheld"):
        PlainRows(rows, changes=True).count(countings(ENGINES[0]))
    with pytest.raises(SourceFailed) as failure:
        PlainRows([{"person": "ann"}]).count(countings(ENGINES[0]))  # a KeyError inside
    assert failure.value.__context__ is None
    assert repr(source) == "<the data t>"


class Foreign(Dialect):
    """Words that no engine has; the hooks that DuckDB's words go through."""

    name = "foreign"
    direct: ClassVar[Mapping[str, frozenset[str]]] = {type_: frozenset({"text"}) for type_ in DUCKDB.direct}

    def quoted(self, name: str) -> str:
        return f"`{name}`"

    def text(self, value: str) -> str:
        return f"U&'{value}'"

    def double(self, digits: str) -> str:
        return f"{digits}D"

    def as_text(self, expression: str, kind: str) -> str:
        return f"text_of({expression})"

    def safe_cast(self, expression: str, kind: str, type_: str) -> str:
        return f"{type_.lower()}_or_null({expression})"

    def whole_number(self, column: str, kind: str) -> str:
        return f"whole({self.quoted(column)})"

    def bounding_hash(self, unit: str, key: bytes) -> str:
        return f"h({unit})"

    def function(self, name: str, text: str) -> str:
        return f"{name}_OF({text})"

    def compare(self, left: str, operator: str, right: str) -> str:
        return f"{left} {'<=>' if operator == 'IS NOT DISTINCT FROM' else operator} {right}"


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("i = 1", "`i` = 1"),
        ("i = 1.5", "double_or_null(text_of(`i`)) = 1.5D"),
        ("t = 2", "double_or_null(`t`) = 2D"),
        ("t IN ('a', 'b')", "text_of(`t`) IN (U&'a', U&'b')"),
        ("t IS NOT DISTINCT FROM 'a'", "text_of(`t`) <=> U&'a'"),
        ("LOWER(t) LIKE 'a%'", "LOWER_OF(text_of(`t`)) LIKE U&'a%'"),
        ("TRY_CAST(TRIM(t) AS BIGINT) = 3", "bigint_or_null(TRIM_OF(text_of(`t`))) = 3"),
        ("TRY_CAST(UPPER(t) AS VARCHAR) = 'A'", "UPPER_OF(text_of(`t`)) = U&'A'"),
        ("COALESCE(i, 0) > 1", "COALESCE(double_or_null(text_of(`i`)), 0D) > 1D"),
        ("i IS NULL OR (t = 'a' AND i <> 1)", "`i` IS NULL OR (`i` <> 1 AND text_of(`t`) = U&'a')"),
        (
            "TRY_CAST(t AS DATE) < TRY_CAST(i AS DATE)",
            "date_or_null(text_of(`i`)) > date_or_null(`t`)",
        ),
    ],
)
def test_a_dialect_writes_every_test_in_its_own_words(condition: str, written: str) -> None:
    where = read_question(f"SELECT COUNT(*) FROM t WHERE {condition}", unit="row").where
    assert where is not None
    assert Foreign().condition(where, {"i": "integer", "t": "text"}) == written


def test_what_a_row_shows_is_what_the_reference_decides() -> None:
    """Truth in three values: NULL is neither true nor false, and NOT does not change that."""
    where = read_question("SELECT COUNT(*) FROM t WHERE NOT (i > 1 AND t ILIKE 'A_')", unit="row").where
    assert where is not None
    cases = [((2, "ab"), False), ((2, None), False), ((1, None), True), ((None, "b"), True), ((None, "ab"), False)]
    assert [holds(where, {"i": i, "t": t}) for (i, t), _ in cases] == [truth for _, truth in cases]
