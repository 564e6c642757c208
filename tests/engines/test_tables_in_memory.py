"""Tables of pandas, polars and pyarrow: judged by their types, copied once, and called as the data set is."""

from __future__ import annotations

import datetime
import gc
import re
import subprocess
import sys
import traceback
import weakref
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.arrow import source as arrow_source
from discreet.engines.arrow.tables import table_in_memory
from discreet.engines.base import Counting
from discreet.engines.sources import Source, open_source
from discreet.errors import InvalidInput, MissingExtra, SourceFailed, WrongType
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from discreet.sources import engine as duckdb_engine
from support import engines as engine_registry
from support.refusals import Parts, refused
from support.tiers import batches

KEY = bytes(range(16))
ROWS = {"person": ["ann", "bob", "ann", None, "eve"], "site": [1, 2, 2, 3, 1]}
BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
MOMENT = datetime.datetime(2020, 2, 29, 12, 30)

every_library = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


def count_where(table: Any, condition: str) -> int:
    """How many rows meet a condition, after a rehearsal of the same."""
    source = open_source(table, "t")
    question = read_question(f"SELECT COUNT(*) FROM t WHERE {condition}", unit="row")
    counting = Counting(question.bind(source.table("t"), "t"), TOTAL, "row", 1, KEY)
    source.rehearse([counting])
    return int(source.count([counting])[0].item())


def plan(table: Any, sql: str = "SELECT COUNT(*) FROM t", unit: str = "row", **more: Any) -> Any:
    return dc.plan_release(sql, data=table, **{"unit": unit, "epsilon": 1, "dataset": "t", **more})


def refusal(table: Any, column: str = "x", unit: bool = False) -> str:
    """Why a plan that reads a column is refused."""
    sql = "SELECT COUNT(*) FROM t" + ("" if unit else f' WHERE "{column}" IS NULL')
    with pytest.raises(InvalidInput) as refusal:
        plan(table, sql, unit=column if unit else "row")
    return str(refusal.value)


# ------------------------------------------------------------------------------------------------ the whole path


@every_library
def test_a_release_from_memory_is_recorded_and_verified_like_any_other(make: Any, tmp_path: Path) -> None:
    book = tmp_path / "visits.ledger"
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    asked: dict[str, Any] = {"unit": "person", "max_groups": 1, "domain": {"site": range(1, 4)}, "epsilon": 1}
    request = dc.ReleaseRequest(questions=(BY_SITE,), dataset="visits", **asked)
    first = dc.release_counts(request, data=make(ROWS), ledger=book, out=tmp_path / "out")
    again = dc.release_counts(BY_SITE, data=make(ROWS), dataset="visits", ledger=book, **asked)
    assert first.fresh and not again.fresh and first.rows() == again.rows()
    assert dc.verify_bundle(tmp_path / "out", ledger=book).holds
    assert dc.Ledger.open(book).left().epsilon == 1
    with refused(dc.errors.InvalidInput, "dataset"):
        dc.release_counts(BY_SITE.replace("visits", "people"), data=make(ROWS), dataset="people", ledger=book, **asked)


@every_library
def test_a_table_is_called_as_the_data_set_and_nothing_is_guessed(make: Any) -> None:
    visits = make(ROWS)
    with refused(InvalidInput, "dataset"):
        dc.plan_release("SELECT COUNT(*) FROM visits", data=visits, unit="row", epsilon=1)
    assert plan(visits, "SELECT COUNT(*) FROM Visits", dataset="visits").dataset == "visits"
    assert plan(visits, 'SELECT COUNT(*) FROM "the visits"', dataset="the visits").dataset == "the visits"
    with refused(InvalidInput, token="table 'people' ... table is visits."):
        plan(visits, "SELECT COUNT(*) FROM people", dataset="visits")
    with refused(InvalidInput, given=repr("a\nb"), allowed="a text of 1 to 200 printable characters"):
        plan(visits, 'SELECT COUNT(*) FROM "a\nb"', dataset="a\nb")


def test_an_edition_tells_states_of_one_data_set_apart(tmp_path: Path) -> None:
    book = tmp_path / "t.ledger"
    dc.Ledger.create(book, dataset="t", unit="row", epsilon=40)
    asked: dict[str, Any] = {"dataset": "t", "unit": "row", "epsilon": 20, "ledger": book}
    frame = pd.DataFrame(ROWS)
    counted = []
    for edition in ("a", "b"):
        release = dc.release_counts("SELECT COUNT(*) FROM t", data=frame, edition=edition, **asked)
        counted.append(release.rows()[0]["count"])
        frame = pd.concat([frame, frame])
    assert counted == [5, 10]  # at epsilon 20 a count is its truth but for once in a hundred million


# ------------------------------------------------------------------------------------------------ copied once


@every_library
def test_a_plan_and_a_rehearsal_stream_no_rows_and_a_count_streams_them_once(make: Any, monkeypatch) -> None:
    table = make(ROWS)
    adapter = type(table_in_memory(table))
    streamed: list[tuple[int, bool]] = []
    stream: Any = adapter.stream

    def watched(self: Any, places: Any, *, empty: bool) -> Any:
        streamed.append((len(places), empty))
        return stream(self, places, empty=empty)

    monkeypatch.setattr(adapter, "stream", watched)
    source = open_source(table, "visits")
    question = read_question(BY_SITE, unit="person").bind(source.table("visits"), "visits")
    groups = groups_from({"site": range(1, 4)}, question.by)
    countings = [Counting(question, groups, unit, 1, KEY) for unit in ("row", "person", "person")]
    plan(source, BY_SITE, domain={"site": range(1, 4)}, dataset=None)
    source.rehearse(countings)
    assert streamed and all(empty for _, empty in streamed)
    streamed.clear()
    counts = source.count(countings)
    assert [one.sum() for one in counts] == [5, 3, 3]
    assert [places for places, empty in streamed if not empty] == [2]


def test_only_the_columns_that_are_read_are_copied(monkeypatch) -> None:
    """The other column would be refused, and is as wide as it likes."""
    table = pd.DataFrame({"site": [1, 2], "other": [object(), 7]})
    assert count_where(table, "site = 1") == 1


def test_the_copy_is_freed_and_the_table_is_let_go(monkeypatch) -> None:
    engines: list[Any] = []
    connect = duckdb.connect
    monkeypatch.setattr(
        duckdb, "connect", lambda *given, **more: engines.append(connect(*given, **more)) or engines[-1]
    )
    frame = pl.DataFrame(ROWS)
    assert count_where(frame, "site = 1") == 2
    for engine in engines:
        with pytest.raises(duckdb.ConnectionException, match="closed"):
            engine.execute("SELECT 1")
    alive = weakref.ref(frame)
    del frame
    gc.collect()
    assert engines and alive() is None


@every_library
def test_the_tables_own_engine_and_settings_do_not_matter(make: Any) -> None:
    """No variable of the calling program is a table, and a name that is one elsewhere is not looked up."""
    given = held = make({"site": [7] * 9})  # noqa: F841  names that the copy is made under
    assert count_where(make(ROWS), "site = 7") == 0
    assert count_where(make(ROWS), "site IN (1, 2)") == 4


def test_rows_that_change_after_the_plan_are_counted_as_they_are_then() -> None:
    frame = pd.DataFrame(ROWS)
    source = open_source(frame, "t")
    question = read_question("SELECT COUNT(*) FROM t WHERE site = 1", unit="row").bind(source.table("t"), "t")
    counting = Counting(question, TOTAL, "row", 1, KEY)
    source.rehearse([counting])
    frame.loc[0, "site"] = 3
    assert source.count([counting])[0].item() == 1


@pytest.mark.parametrize("change", ["type", "name", "gone"])
def test_columns_that_change_after_the_plan_are_noticed_before_anything_is_spent(change: str) -> None:
    frame = pd.DataFrame(ROWS)
    source = open_source(frame, "t")
    question = read_question("SELECT COUNT(*) FROM t WHERE site = 1", unit="row").bind(source.table("t"), "t")
    if change == "type":
        frame["site"] = frame["site"].astype("str")
    elif change == "name":
        frame.columns = pd.Index(["person", "place"])
    else:
        del frame["person"]
    with refused(SourceFailed, token="t were altered"):
        source.rehearse([Counting(question, TOTAL, "row", 1, KEY)])


# ------------------------------------------------------------------------------------------------ names and the index


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame([[1, 2]]), "texts"),
        (pd.DataFrame([[1, 2]], columns=["a", None]), "texts"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "got ('a', 'b')"),
        (pl.DataFrame({"": [1]}), "got ''"),
        (pa.table({"a\0": [1]}), "texts"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "called 'a'"),
        (pl.DataFrame({"Site": [1], "site": [2]}), "'Site'"),
    ],
)
def test_names_that_could_mean_several_columns_are_refused(table: Any, words: str) -> None:
    with refused(InvalidInput, token=words):
        plan(table)


def test_any_text_is_a_name() -> None:
    for name in ('say "ah"', "it's", "{}", "c1", "données", "a.b", " "):
        for make in (pd.DataFrame, pl.DataFrame, pa.table):
            source = open_source(make({"c0": ["no"], name: ["x"]}), "t")
            asked = name.replace('"', '""')
            question = read_question(f"SELECT COUNT(*) FROM t WHERE \"{asked}\" = 'x'", unit="row")
            assert source.count([Counting(question, TOTAL, "row", 1, KEY)])[0].item() == 1, name


def test_the_index_is_not_read_and_says_so_when_it_is_asked_for() -> None:
    frame = pd.DataFrame(ROWS).set_index("person")
    assert (
        refusal(frame, "person") == "'person' of t is the index, which is not read. Make it a column: df.reset_index()."
    )
    assert "is the index" in refusal(frame, "person", unit=True)
    assert count_where(frame, "site = 1") == 2
    both = frame.set_index("site", append=True)
    assert "is the index" in refusal(both, "site") and plan(both).cells == 1


def test_an_index_that_is_called_like_a_column_leaves_the_column() -> None:
    frame = pd.DataFrame({"site": [1, 1]}, index=pd.Index([2, 2], name="site"))
    assert count_where(frame, "site = 1") == 2 and count_where(frame, "site = 2") == 0


# ------------------------------------------------------------------------------------------------ types


def arrow(values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


def polars(values: Any, kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"x": pl.Series(values, dtype=kind)})


def pandas(values: Any, kind: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=kind)})


TEXTS = ["a", None, "é"]
DECIMALS = [Decimal("1.50"), None, Decimal("2.25")]


@pytest.mark.parametrize(
    ("table", "condition", "found"),
    [
        *(
            (arrow(TEXTS, kind), "x = 'é'", 1)
            for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
        ),
        (arrow(TEXTS).slice(1), "x = 'é'", 1),
        (arrow([5, 6, None], pa.dictionary(pa.int8(), pa.int64())), "x > 5", 1),
        *((polars(TEXTS, kind), "x IS NULL", 1) for kind in (pl.String, pl.Categorical, pl.Enum(["é", "a"]))),
        *((pandas(TEXTS, kind), "x = 'a'", 1) for kind in ("str", "string", "string[python]", "category")),
        (pandas(TEXTS, pd.ArrowDtype(pa.string())), "x IS NULL", 1),
        (pandas([5, 6, 6], "category"), "x = 6", 2),
        (pandas(pd.Categorical(["b", "a", "b"], categories=pd.Index(["a", "b"], dtype=object))), "x = 'b'", 2),
        (pandas([5, None, 6], "Int64"), "x IS NULL", 1),
        (pandas([True, None, False], "boolean"), "x = TRUE", 1),
        (arrow(DECIMALS, pa.decimal128(5, 2)), "x = 1.5", 1),
        (arrow(DECIMALS, pa.decimal64(5, 2)), "x >= 2.25", 1),
        (polars(DECIMALS), "x = 1.5", 1),
        (arrow([MOMENT.date(), None]), "x = DATE '2020-02-29'", 1),
        (polars([MOMENT.date(), None]), "x = DATE '2020-02-29'", 1),
        *((arrow([MOMENT, None], pa.timestamp(unit)), "x > TIMESTAMP '2020-02-29 12:00:00'", 1)
          for unit in ("s", "ms", "us", "ns")),
        *((polars([MOMENT, None], pl.Datetime(unit)), "x > TIMESTAMP '2020-02-29 12:00:00'", 1)
          for unit in ("ms", "us", "ns")),
        *((pandas([MOMENT, None], f"datetime64[{unit}]"), "x IS NULL", 1) for unit in ("s", "ms", "us", "ns")),
        (arrow([MOMENT], pa.timestamp("us", "Europe/Oslo")), "x = TIMESTAMP '2020-02-29 12:30:00'", 1),
        (polars([MOMENT], pl.Datetime("us", "UTC")), "x = TIMESTAMP '2020-02-29 12:30:00'", 1),
        (pandas([MOMENT], "datetime64[us]").assign(x=lambda f: f.x.dt.tz_localize("Europe/Oslo")),
         "x = TIMESTAMP '2020-02-29 11:30:00'", 1),
        (arrow([None, None]), "x IS NULL", 2),
        (polars([None, None]), "x IS NULL", 2),
        (pandas([None, None], pd.ArrowDtype(pa.null())), "x IS NULL", 2),
        (arrow([2**64 - 1], pa.uint64()), "x > 5", 1),
        (arrow([b"0123456789abcdef"], pa.uuid()), "x = '30313233-3435-3637-3839-616263646566'", 1),
    ],
)  # fmt: skip
def test_types_that_are_counted(table: Any, condition: str, found: int) -> None:
    assert count_where(table, condition) == found


NESTED = {"list": [[1]], "struct": [{"a": 1}]}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        *((arrow(values), f"is of the type {kind}, which is not counted here") for kind, values in NESTED.items()),
        *((polars(values), f"is of the type {kind.title()},") for kind, values in NESTED.items()),
        (arrow([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "the type map,"),
        (arrow([b"a"]), "the type binary,"), (arrow([b"a"], pa.binary(1)), "the type fixed_size_binary,"),
        (polars([b"a"]), "the type Binary,"),
        (arrow([1], pa.duration("us")), "the type duration,"),
        (polars([datetime.timedelta(1)]), "the type Duration,"),
        (pandas(pd.to_timedelta([1])), "the type timedelta64,"),
        (arrow([1], pa.time64("us")), "the type time64,"), (polars([datetime.time(1)]), "the type Time,"),
        (arrow([1.5], pa.float16()), "the type halffloat,"), (pandas([1.5], "float16"), "the type float16,"),
        (arrow([Decimal("1")], pa.decimal256(50, 2)), "the type decimal256,"),
        (arrow([Decimal("100")], pa.decimal128(5, -2)), "the type decimal128,"),
        (arrow([MOMENT.date()], pa.date64()), "the type date64,"),
        (arrow([MOMENT], pa.timestamp("ms", "UTC")), "the type timestamp,.*moments in microseconds"),
        (polars([MOMENT], pl.Datetime("ms", "UTC")), "the type Datetime,.*moments in microseconds"),
        (pandas([MOMENT], "datetime64[s, UTC]"), "the type datetime64,.*moments in microseconds"),
        (polars([1], pl.Int128), "the type Int128,"), (polars([object()], pl.Object), "the type Object,"),
        (pandas(["a", 1]), r"is an object column, which can hold values of any kind.*df\.astype\(\{'x': 'string'\}\)"),
        (pandas(["a", "b"], object), "is an object column"), (pandas([None, None], object), "is an object column"),
        (pandas([1j]), "the type complex128,"), (pandas(pd.period_range("2020", periods=1)), "the type period,"),
        (pandas(pd.interval_range(0, 1)), "the type interval,"),
        (pandas(pd.arrays.SparseArray([0, 1])), "the type Sparse,"),
        (pandas(pd.Categorical(["a", 1])), "the type category,"),
        (pandas(pd.Categorical([0.5, 1.5])), "the type category,"),
        (pandas([[1]], pd.ArrowDtype(pa.list_(pa.int64()))), "the type list,"),
        (pandas(np.array([1], dtype=">i8")), "the type >i8,"),
    ],
)  # fmt: skip
def test_types_that_are_refused_whatever_the_rows_hold(table: Any, words: str) -> None:
    """By the type alone: the same table without rows is refused in the same words."""
    said = refusal(table)
    assert re.search(words, said), said
    assert refusal(table[:0] if isinstance(table, pd.DataFrame) else table.slice(0, 0)) == said


def test_a_refusal_names_no_category_and_no_field() -> None:
    nested = pl.DataFrame({"x": [[1]]}).cast({"x": pl.List(pl.String)})
    nested = nested.cast({"x": pl.List(pl.Enum(["1", "ann"]))})
    assert "ann" not in refusal(nested) and "ann" not in refusal(arrow([{"ann": 1}]))


@pytest.mark.parametrize(
    "table",
    [arrow([1.5]), polars([1.5]), pandas([1.5]), arrow([MOMENT], pa.timestamp("us", "UTC")), pandas([1.5], "Float64")],
)
def test_floats_and_moments_with_a_zone_cannot_name_people(table: Any) -> None:
    assert "cannot name people" in refusal(table, unit=True)


@pytest.mark.parametrize(
    "table", [arrow(["a", None, "a", "b"], pa.dictionary(pa.int8(), pa.string())), polars(["a", None, "a", "b"],
              pl.Categorical), pandas(["a", None, "a", "b"], "category"), pandas([1, None, 1, 2], "Int64"),
              arrow([Decimal("1.50"), None, Decimal("1.50"), Decimal("2.00")], pa.decimal128(5, 2))],
)  # fmt: skip
def test_categories_whole_numbers_and_decimals_name_people(table: Any) -> None:
    source = open_source(table, "t")
    question = read_question("SELECT COUNT(DISTINCT x) FROM t", unit="x")
    assert source.count([Counting(question, TOTAL, "x", 1, KEY)])[0].item() == 2


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("table", "nan", "missing"),
    [
        (arrow([1.0, float("nan"), None]), 1, 1),
        (polars([1.0, float("nan"), None]), 1, 1),
        (pandas(np.array([1.0, float("nan"), float("nan")])), 2, 0),
        (pandas(np.array([1.0, float("nan")], dtype="float32")), 1, 0),
        (pandas([1.0, None, None], "Float64"), 0, 2),
        (pandas(pd.Series(pa.array([1.0, float("nan"), None]), dtype=pd.ArrowDtype(pa.float64()))), 1, 1),
        (pandas(np.array([1.0, float("nan")])).astype({"x": "Float64"}), 0, 1),
    ],
)
def test_nan_stays_nan_and_missing_stays_missing_by_the_type(table: Any, nan: int, missing: int) -> None:
    assert (count_where(table, "x > 200"), count_where(table, "x IS NULL")) == (nan, missing)


def test_a_plan_notes_what_nan_is_in_floats_of_pandas() -> None:
    sql = "SELECT COUNT(*) FROM t WHERE x > 1"
    (note,) = plan(pandas([1.5]), sql).notes
    assert "`x` is a float column" in note and "df.astype({'x': 'Float64'})" in note
    assert plan(pandas([1.5], "Float64"), sql).notes == plan(polars([1.5]), sql).notes == ()


def raw_texts(values: list[bytes], kind: pa.DataType) -> pa.Array:
    array = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    if kind == pa.string_view():
        return pa.array(values, pa.binary_view()).view(kind)
    return pa.Array.from_buffers(kind, len(array), array.buffers())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), "dictionary"], ids=str)
def test_texts_that_are_no_utf8_are_question_marks_and_stop_nothing(kind: Any) -> None:
    values = [b"\xff", b"a\xed\xa0\x80b", b"ok", b"a long text behind which stands \xff"]
    if kind == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), raw_texts(values, pa.string()))
    else:
        column = pa.chunked_array([raw_texts(values, kind), pa.array([None], kind)])
    table = pa.table({"x": column})
    found = ["x = '?'", "x = 'a???b'", "x = 'ok'", "x LIKE '%stands ?'", "x IS NULL"]
    assert [count_where(table, condition) for condition in found] == [1] * 5
    frame = pd.DataFrame({"x": pd.Series(table["x"].combine_chunks(), dtype=pd.ArrowDtype(table["x"].type))})
    assert [count_where(frame, condition) for condition in found] == [1] * 5


def test_halves_of_characters_in_texts_of_python_are_question_marks() -> None:
    frame = pandas(["a\ud800b", None, "ok"], "string[python]")
    assert [count_where(frame, f"x {test}") for test in ("= 'a?b'", "IS NULL", "= 'ok'")] == [1, 1, 1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_too_far_away_stop_nothing(unit: str) -> None:
    values = [2**62, -(2**62), 2**63 - 1, -(2**63), -(2**63) + 1, 0]
    table = pa.table({"x": pa.array(values, pa.int64()).view(pa.timestamp(unit))})
    for condition in ("x = TIMESTAMP '1970-01-01 00:00:00'", "TRY_CAST(x AS VARCHAR) = '1970-01-01 00:00:00'"):
        assert count_where(table, condition) == 1
    assert count_where(table, "x IS NULL OR x IS NOT NULL") == 6


def test_days_too_far_away_stop_nothing() -> None:
    table = pa.table({"x": pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32())})
    assert count_where(table, "x = TIMESTAMP '1970-01-01 00:00:00'") == 1
    assert count_where(table, "TRY_CAST(x AS VARCHAR) = '1970-01-01'") == 1


@every_library
def test_tables_without_rows_or_columns_are_counted(make: Any) -> None:
    empty = make({"x": pa.array([], pa.int64())} if make is pa.table else {"x": np.array([], dtype="int64")})
    assert count_where(empty, "x = 1") == 0
    source = open_source(make({"x": [1, 2, 3]}), "t")
    question = read_question("SELECT COUNT(*) FROM t", unit="row")
    assert source.count([Counting(question, TOTAL, "row", 1, KEY)])[0].item() == 3


def test_words_about_a_row_are_withheld_when_the_copy_fails(monkeypatch) -> None:
    source = open_source(pd.DataFrame(ROWS), "t")
    question = read_question("SELECT COUNT(*) FROM t WHERE site = 1", unit="row").bind(source.table("t"), "t")

    def stops(*_: Any, **__: Any) -> None:
        raise ValueError("cannot convert 4711 of ann")

    monkeypatch.setattr(arrow_source.CountedTable, "copy", stops)
    with refused(SourceFailed, token="withheld") as failure:
        source.count([Counting(question, TOTAL, "row", 1, KEY)])
    assert failure.value.__context__ is None
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert "4711" not in report


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("pyspark.sql.classic.dataframe", "DataFrame", Parts(argument="data", given="a Derived")),
        ("sqlalchemy.engine.base", "Engine", Parts(argument="data", given="a Derived")),
        ("psycopg", "Connection", Parts(argument="data", given="a Derived")),
        ("ibis.expr.types.relations", "Table", Parts(argument="data", given="a Derived")),
        ("somewhere.else", "DataFrame", Parts(argument="data", given="a Derived")),
    ],
)
def test_queries_and_connections_of_others_are_refused_with_what_to_give(module: str, name: str, words: Parts) -> None:
    """Also of libraries that hand out streams of Arrow."""
    handed_out: dict[str, Any] = {"__module__": module, "__arrow_c_stream__": lambda self: pytest.fail("it was read")}
    derived = type("Derived", (type(name, (), handed_out),), {"__module__": "theirs"})
    with refused(WrongType, **words):
        plan(derived())


# ------------------------------------------------------------------------------------------------ libraries absent


ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import discreet as dc
import {library} as library
table = library.{maker}({{"person": ["a", "b", "a"], "x": [1, 2, 3]}})
try:
    plan = dc.plan_release("SELECT COUNT(*) FROM t WHERE x > 1", data=table, dataset="t", unit="person", epsilon=1)
    from discreet.engines.sources import open_source
    from discreet.release.counts import countings
    print(open_source(table, "t").count(countings(plan, b"key"))[0].item())
except dc.errors.MissingExtra as missing:
    print(missing)
print([name for name in {absent} if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("library", "maker", "absent", "said"),
    [
        ("polars", "DataFrame", ("pandas", "pyarrow"), "2"),
        ("pyarrow", "table", ("pandas", "polars"), "2"),
        ("pandas", "DataFrame", ("polars",), "2"),
        ("pandas", "DataFrame", ("polars", "pyarrow"), "pip install 'discreet[frames]'"),
    ],
)
def test_a_library_needs_no_other_but_pandas_needs_pyarrow(library: str, maker: str, absent: Any, said: str) -> None:
    script = ALONE.format(library=library, maker=maker, absent=repr(absent))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    answer, loaded = done.stdout.splitlines()
    assert said in answer and loaded == "[]", done.stderr


def test_a_frame_without_what_reads_it_is_refused_before_anything_is_planned(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused(MissingExtra, token="pyarrow"):
        plan(pd.DataFrame({"x": [1]}))


# ------------------------------------------------------------------------------------------------ independence

IN_MEMORY = [engine for engine in engine_registry.ENGINES if engine.counts_by == engine_registry.ARROW_COUNT]


def test_the_suite_notices_a_copy_that_is_read_by_its_statistics(monkeypatch) -> None:
    """The negative control: a row that is left out because of what another holds."""
    copy = arrow_source.CountedTable.copy

    def evicting(self: Any, engine: Any, name: str, columns: Any, *, empty: bool) -> None:
        copy(self, engine, name, columns, empty=empty)
        engine.execute(f"DELETE FROM {name} WHERE rowid > 3")

    monkeypatch.setattr(arrow_source.CountedTable, "copy", evicting)
    assert any(IN_MEMORY[0].violations(seed, KEY) for seed in range(10))


def test_the_engine_of_a_copy_has_the_settings_of_files(monkeypatch) -> None:
    opened = []
    switch_off: Any = duckdb_engine._switch_off_what_reads_statistics
    monkeypatch.setattr(
        duckdb_engine, "_switch_off_what_reads_statistics", lambda engine: opened.append(switch_off(engine))
    )
    assert count_where(pl.DataFrame({"x": [50.0] * 500 + [float("nan")] * 20 + [250.0]}), "x > 200") == 21
    assert opened


def test_a_category_column_of_missing_values_counts_nobody() -> None:
    """Such a column has no categories, and so no type of its own."""
    frame = pd.DataFrame({"person": pd.Series([None, None], dtype=object).astype("category"), "site": [1, 2]})
    question = read_question("SELECT COUNT(*) FROM t", unit="person")
    assert open_source(frame, "t").count([Counting(question, TOTAL, "person", 1, KEY)])[0].tolist() == [[0]]


@pytest.mark.parametrize("batch", batches(full=1, long=5))
@pytest.mark.parametrize("engine", IN_MEMORY, ids=str)
def test_a_row_counts_for_itself_alone_in_memory(engine: engine_registry.Engine, batch: int) -> None:
    """A hundred cases a batch; eighteen hundred in all."""
    seeds = range(2000 + batch * 5, 2005 + batch * 5)
    assert [words for seed in seeds for words in engine.violations(seed, KEY)] == []


def test_a_table_of_a_million_rows_has_the_counts_of_its_file(tmp_path: Path) -> None:
    """The same frame saved, as files are counted: nothing is lost between batches."""
    numbers = np.arange(1_000_000)
    frame = pl.DataFrame({"person": numbers % 70_001, "site": numbers % 13})
    frame.write_parquet(tmp_path / "t.parquet")
    question = read_question("SELECT site, COUNT(*) FROM t GROUP BY site", unit="person")
    counting = Counting(question, groups_from({"site": range(13)}, question.by), "person", 2, KEY)
    sources: list[Source] = [open_source(frame, "t"), open_source(tmp_path / "t.parquet")]
    one, other = (source.count([counting])[0] for source in sources)
    np.testing.assert_array_equal(one, other)
    assert one.sum() == 2 * 70_001
