"""Files of every kind and in every state: what fails, fails because of the request, never because of rows."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.addresses import read_address
from discreet.engines.base import Counting
from discreet.engines.sources import Source, open_source
from discreet.errors import DiscreetError, InvalidInput, SourceFailed, UnreadableFile
from discreet.questions.groups import TOTAL, Groups
from discreet.questions.question import read_question
from discreet.questions.resolve.views import expand_view
from discreet.sources import csv_files
from discreet.sources.files import open_files
from support.file_questions import KEY, by_site, counts, csv_source
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ names and formats


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("data/doctor_visits.csv.gz", "doctor_visits"),
        ("doctor_visits.CSV", "doctor_visits"),
        ("a.b.tsv.zst", "a.b"),
        ("study.duckdb", "study"),
        ("study.db", "study"),
        ("x.parquet", "x"),
        ("folder/of/visits", "visits"),
        ("folder/visits_*.parquet", "visits"),
        ("folder/*.parquet", "folder"),
        (".csv", ".csv"),
    ],
)
def test_a_table_is_called_after_its_file(given, name) -> None:
    assert read_address(given).dataset == name
    assert read_address(Path(given)).dataset == name


def test_every_format_gives_the_same_table(tmp_path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute(
            "CREATE TABLE t AS SELECT 'p' || i % 7 AS person, i % 4 AS site, 'x' AS other FROM range(100) r(i)"
        )
        for name, options in {
            "t.csv": "FORMAT csv, HEADER",
            "t.csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
            "t.csv.zst": "FORMAT csv, HEADER, COMPRESSION zstd",
            "t.tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
            "t.tsv.gz": "FORMAT csv, HEADER, DELIMITER '\t', COMPRESSION gzip",
            "t.parquet": "FORMAT parquet",
        }.items():
            base.execute(f"COPY t TO '{tmp_path / name}' ({options})")
        (tmp_path / "parts").mkdir()
        for part in range(3):
            base.execute(f"COPY (SELECT * FROM t WHERE site % 3 = {part}) TO '{tmp_path}/parts/t_{part}.parquet'")
    names = [
        "t.csv",
        "t.csv.gz",
        "t.csv.zst",
        "t.tsv",
        "t.tsv.gz",
        "t.parquet",
        "t.duckdb",
        "parts",
        "parts/t_*.parquet",
    ]
    for name in names:
        source = open_source(tmp_path / name)
        assert source.dataset == ("parts" if name == "parts" else "t"), name
        assert list(source.table(source.dataset)) == ["person", "site", "other"], name
        assert source.view(source.dataset) is None
        assert by_site(source) == [25, 25, 25], name
        assert sum(by_site(source, unit="person")) == 7, name
    assert open_source(tmp_path / "t.parquet").table("T") == {"person": "text", "site": "integer", "other": "text"}


def test_what_is_not_there_is_refused_with_what_is(tmp_path) -> None:
    source = csv_source(tmp_path, b"a,b\n1,2\n")
    with refused(InvalidInput, token="table 'x' ... table is t."):
        source.table("x")
    with refused(InvalidInput, token="column 'c'"):
        counts(source, "SELECT COUNT_IF(c = 1) FROM t")
    with refused(UnreadableFile, token="no such file"):
        open_source(tmp_path / "missing.csv")
    (tmp_path / "t.what").write_bytes(b"")
    with refused(UnreadableFile, token=".tsv ... .duckdb"):
        open_source(tmp_path / "t.what")
    (tmp_path / "empty").mkdir()
    for none in ("empty", "none_*.parquet"):
        with refused(UnreadableFile, token="no file"):
            open_source(tmp_path / none)
    for name in ("t.parquet", "t.duckdb"):
        (tmp_path / name).write_bytes(b"neither of the two, and long enough to be looked at")
        with refused(UnreadableFile, token="does not fit") as failure:
            open_source(tmp_path / name).table("t")
        assert failure.value.__context__ is None and failure.value.__cause__ is None


def test_files_of_one_folder_must_have_the_same_columns(tmp_path) -> None:
    """Otherwise a value that does not fit the first file's type would stop the reading: a failure because of a row."""
    duckdb.execute(f"COPY (SELECT 1::TINYINT AS a) TO '{tmp_path}/t1.parquet'")
    duckdb.execute(f"COPY (SELECT 300::SMALLINT AS a) TO '{tmp_path}/t2.parquet'")
    with refused(UnreadableFile, token="t2.parquet ... t1.parquet"):
        open_source(tmp_path).table(tmp_path.name)


@pytest.mark.parametrize("name", ["it's; DROP TABLE x.csv", "sp ace [1] *?.csv", "données.csv", 'quo"te.csv'])
def test_any_file_name(tmp_path, name) -> None:
    source = csv_source(tmp_path, b"site\n1\n2\n1\n", name)
    quoted = '"' + source.dataset.replace('"', '""') + '"'
    assert counts(source, f"SELECT site, COUNT(*) FROM {quoted} GROUP BY site", {"site": range(1, 4)}) == [2, 1, 0]


# ------------------------------------------------------------------------------------------------ CSV in every state

CONTENTS = {
    "plain": (b"site,b\n1,x\n2,y\n1,z\n", [2, 1, 0]),
    "no last newline": (b"site,b\n1,x\n2,y\n1,z", [2, 1, 0]),
    "carriage returns": (b"site,b\r\n1,x\r\n2,y\r\n1,z\r\n", [2, 1, 0]),
    "old carriage returns": (b"site,b\r1,x\r2,y\r", [1, 1, 0]),
    "mixed newlines": (b"site,b\n1,x\r\n2,y\n3,z\r1,t\n", [2, 1, 1]),
    "byte order mark": (b"\xef\xbb\xbfsite,b\n1,x\n", [1, 0, 0]),
    "heading only": (b"site,b\n", [0, 0, 0]),
    "heading only, no newline": (b"site,b", [0, 0, 0]),
    "blank lines": (b"site,b\n\n1,x\n\n\n2,y\n\n", [1, 1, 0]),
    "too few fields": (b"site,b\n1,x\n2\n3,y\n", [1, 0, 1]),
    "too many fields": (b"site,b\n1,x\n2,y,z,,,\n3,y\n", [1, 1, 1]),
    "trailing comma": (b"site,b\n1,x,\n2,y,\n", [1, 1, 0]),
    "all NULL": (b"site,b\n,\n,\n", [0, 0, 0]),
    "quoted newlines": (b'site,b\n1,"x\ny, ""z"""\n"2",y\n', [1, 1, 0]),
    "newline in the heading": (b'site,"b\nc"\n1,x\n', [1, 0, 0]),
    "stray quotes": (b'site,b\n1,"x"y\n2,a"b\n3,"z"\n', [1, 1, 1]),
    "zero bytes": (b"site,b\n1,\0\n2\0,y\n3,z\n", [1, 0, 1]),
    "no number": (b"site,b\none,x\n1e999,y\n--1,z\n3,t\n", [0, 0, 1]),
    "a record of three million bytes": (b"site,b\n1,x\n2," + b"y" * 3_000_000 + b"\n3,z\n", [1, 0, 1]),
    "a record of forty million bytes": (b"site,b\n1,x\n2," + b"y" * 40_000_000 + b"\n3,z\n", [1, 0, 1]),
    "a quoted record of forty million bytes": (
        b'site,b\n1,x\n2,"' + b'he said ""no""\n1,5\n' * 2_000_000 + b'"\n3,z\n',
        [1, 0, 1],
    ),
    "two columns of one name": (b"site,b,b,B\n1,x,y,z\n", [1, 0, 0]),
    "a nameless column": (b"site,,\n1,x,y\n", [1, 0, 0]),
    "comment signs": (b"site,b\n#1,x\n2,#\n", [0, 1, 0]),
    "one column": (b"site\n1\n\n2\n", [1, 1, 0]),
}


@pytest.mark.parametrize("what", CONTENTS)
def test_no_rows_make_a_csv_file_fail(tmp_path, what) -> None:
    content, wanted = CONTENTS[what]
    assert by_site(csv_source(tmp_path, content)) == wanted


def test_bytes_that_are_no_text(tmp_path) -> None:
    """A value that is not text is missing where it is read, and its record stays."""
    source = csv_source(tmp_path, b"site,b\n1,\xff\n2,\xc3\x28\n\xfe,x\n3,y\n")
    assert by_site(source) == [1, 1, 1]
    assert counts(source, "SELECT site, COUNT(b) AS n FROM t GROUP BY site", {"site": range(1, 4)}) == [0, 0, 1]


def test_ten_thousand_columns(tmp_path) -> None:
    names = [f"column {j}" for j in range(9_999)] + ["site"]
    row = ",".join(["x"] * 9_999)
    source = csv_source(tmp_path, f"{','.join(names)}\n{row},1\n{row},2\nx,1\n".encode())
    assert len(source.table("t")) == 10_000
    assert by_site(source) == [1, 1, 0]


def test_names_that_are_not_a_columns_own_are_not_offered(tmp_path) -> None:
    source = csv_source(tmp_path, b"a,b,B,c,c,,\xc3\xa9\n1,2,3,4,5,6,7\n")
    assert list(source.table("t")) == ["a", "é"]
    with refused(InvalidInput, token="column 'c'"):
        counts(source, "SELECT COUNT(c) AS n FROM t")


@pytest.mark.parametrize(
    ("content", "token"),
    [(b"", "is empty"), (b"\n", "heading"), (b"\xff\xff\n1\n", "heading"), (b"\xef\xbb\xbf", "is empty")],
)
def test_a_csv_file_without_a_heading_is_refused(tmp_path, content, token) -> None:
    for name, packed in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
        with refused(UnreadableFile, token=token) as failure:
            csv_source(tmp_path, packed, name).table("t")
        assert failure.value.__context__ is None


def test_a_schema_is_known_without_reading_a_row(tmp_path) -> None:
    """The rest of this file is no gzip at all, and nobody notices."""
    packed = gzip.compress(b"site,b\n" + os.urandom(100_000), compresslevel=0)
    source = csv_source(tmp_path, packed[:40_000] + b"garbage", "t.csv.gz")
    assert list(source.table("t")) == ["site", "b"]


def test_records_across_the_engines_blocks(tmp_path, monkeypatch) -> None:
    """Large enough for several threads and buffers: quoted newlines and broken records, beside Python's own reader."""
    monkeypatch.setattr(csv_files, "_BUFFER_BYTES", 8 * csv_files._MAX_RECORD_BYTES)
    chance = random.Random(4)
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["site", "note"])
    wanted = [0, 0, 0]
    for _ in range(150_000):
        site = chance.randrange(1, 4)
        if chance.random() < 0.01:
            text.write("1\n")  # too few fields
            continue
        out.writerow([site, "two\nlines, " * chance.randrange(60)])
        wanted[site - 1] += 1
    source = csv_source(tmp_path, text.getvalue().encode())
    assert (tmp_path / "t.csv").stat().st_size > 33_000_000
    assert by_site(source) == wanted


# ------------------------------------------------------------------------------------------------ Parquet and databases


def test_parquet_text_that_is_no_text(tmp_path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    stored = pa.array([b"1", b"\xff\xfe", b"2\xff", b"2", None], type=pa.binary())
    text = pa.Array.from_buffers(pa.string(), 5, stored.buffers())
    pq.write_table(pa.table({"site": text, "person": text}), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert by_site(source) == [1, 1, 0]
    assert by_site(source, unit="person") == [1, 1, 0]


def test_empty_and_null_tables_of_every_format(tmp_path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute("CREATE TABLE t (site INTEGER, person VARCHAR)")
        for rows in (0, 5):
            base.execute(f"INSERT INTO t SELECT NULL, NULL FROM range({rows})")
            base.execute(f"COPY t TO '{tmp_path}/t.parquet'")
            base.execute(f"COPY t TO '{tmp_path}/t.csv' (HEADER)")
            base.close()
            for name in ("t.duckdb", "t.parquet", "t.csv"):
                for unit in ("row", "person"):
                    source = open_source(tmp_path / name)
                    assert by_site(source, unit) == [0, 0, 0]
                    assert counts(source, "SELECT COUNT(*) FROM t", unit=unit) == [rows if unit == "row" else 0]
            base = duckdb.connect(str(tmp_path / "t.duckdb"))
        base.close()


@pytest.fixture
def database(tmp_path) -> Source:
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        base.execute('CREATE TABLE "my ""visits" (site INTEGER, person VARCHAR, half AS (1 // (site + 1)))')
        base.execute("INSERT INTO \"my \"\"visits\" (site, person) VALUES (1, 'a'), (2, 'a'), (2, 'b'), (9, 'c')")
        base.execute('CREATE VIEW near AS SELECT site AS place, person FROM "my ""visits" WHERE site < 9')
        base.execute("CREATE MACRO md5(x) AS 'ffffffffffffffffffffffffffffffff'")
        base.execute("CREATE TABLE other (a DECIMAL(9, 2), b DATE, c TIMESTAMP, d BOOLEAN, e TIMESTAMPTZ, f UHUGEINT)")
    return open_source(tmp_path / "study.duckdb")


def test_tables_of_a_database(database) -> None:
    assert database.dataset == "study"
    assert database.table('my "visits') == {
        "site": "integer",
        "person": "text",
    }  # no computed column
    assert list(database.table("other").values()) == ["number", "date", "timestamp", "boolean", "other", "other"]
    with refused(InvalidInput, token='my ""visits ... near, other'):
        database.table("study")
    sql = 'SELECT site, COUNT(*) FROM "my ""visits" GROUP BY site'
    assert counts(database, sql, {"site": range(1, 4)}) == [1, 2, 0]
    assert sum(counts(database, sql, {"site": range(1, 80)}, unit="person")) == 3


def test_a_view_is_read_through_its_table(database) -> None:
    assert database.table("near") == {"place": "integer", "person": "text"}
    definition = database.view("near")
    assert definition is not None and database.view("other") is None
    question = read_question("SELECT place, COUNT(*) FROM near GROUP BY place", unit="row")
    groups = Groups(("place",), ("integer",), (range(1, 10),))
    inside = expand_view(question, definition)
    assert database.count([Counting(inside, groups, "row", 1, KEY)])[0][:, 0].tolist() == [1, 2] + [0] * 7
    with refused(InvalidInput, token="view"):
        database.count([Counting(question, groups, "row", 1, KEY)])


def test_a_macro_of_the_database_does_not_replace_our_functions(database) -> None:
    """With md5 replaced, everybody would have the same offset, and their choice would be known."""
    sql = 'SELECT site, COUNT(*) FROM "my ""visits" GROUP BY site'
    question = read_question(sql, unit="person")
    groups = Groups(("site",), ("integer",), (range(1, 3),))
    chosen = {
        tuple(database.count([Counting(question, groups, "person", 1, bytes([j]))])[0][:, 0].tolist())
        for j in range(12)
    }
    assert chosen == {(1, 1), (0, 2)}


# ------------------------------------------------------------------------------------------------ nothing gets out


def test_the_engines_words_are_withheld(tmp_path) -> None:
    """A truncated gzip file stops the engine in the middle."""
    packed = gzip.compress(b"site,b\n" + b"".join(b"%d,secret%d\n" % (j % 3, j) for j in range(200_000)))
    source = csv_source(tmp_path, packed[: len(packed) // 2], "t.csv.gz")
    with pytest.raises(SourceFailed) as failure:
        by_site(source)
    assert failure.value.__context__ is None and failure.value.__cause__ is None
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert "secret1" not in report and "duckdb" not in str(failure.value).lower()


def test_no_counts_are_in_reach_of_a_failure(tmp_path, monkeypatch) -> None:
    """The first of two countings is done when the second fails; a report with local variables does not show it."""
    import discreet.engines.duckdb.files as module

    source = csv_source(tmp_path, b"site\n" + b"1\n" * 4711)
    done = []

    def count_once(*given: object) -> np.ndarray:
        if done:
            raise RuntimeError("4711 rows were fine")
        done.append(True)
        return count(*given)

    count = module.count
    monkeypatch.setattr(module, "count", count_once)
    question = read_question("SELECT COUNT(*) FROM t", unit="row")
    with pytest.raises(SourceFailed) as failure:
        source.count([Counting(question, TOTAL, "row", 1, KEY)] * 2)
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert done and "4711" not in report and KEY.hex() not in report


def test_a_file_that_changes_while_it_is_read_is_not_counted(tmp_path, monkeypatch) -> None:
    import discreet.engines.duckdb.files as module

    source = csv_source(tmp_path, b"site\n1\n")
    count = module.count

    def slowly(*given: object) -> np.ndarray:
        found = count(*given)
        (tmp_path / "t.csv").write_bytes(b"site\n1\n2\n")
        return found

    monkeypatch.setattr(module, "count", slowly)
    with pytest.raises(SourceFailed):
        by_site(source)


def test_no_file_appears_while_counting(tmp_path, monkeypatch) -> None:
    """Watched from beside: the data's folder, the working folder and the temporary folder."""
    for folder in ("data", "work", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with duckdb.connect(str(tmp_path / "data" / "t.duckdb")) as base:
        base.execute("CREATE TABLE t AS SELECT i % 200000 AS person, i % 997 AS site FROM range(600000) r(i)")
        base.execute(f"COPY t TO '{tmp_path}/data/t.parquet'")
    before, seen, stop = set(tmp_path.rglob("*")), set(), threading.Event()

    def watch() -> None:
        while not stop.wait(0.001):
            seen.update(tmp_path.rglob("*"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for name in ("t.duckdb", "t.parquet"):
            source = open_source(tmp_path / "data" / name)
            for unit in ("row", "person"):
                assert (
                    sum(counts(source, "SELECT site, COUNT(*) FROM t GROUP BY site", {"site": range(997)}, unit, 2)) > 1
                )
    finally:
        stop.set()
        watcher.join()
    assert seen == before


def test_the_engine_reaches_nothing_else(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes(b"site\n1\n")
    (tmp_path / "other.csv").write_bytes(b"a\n1\n")
    local_table = {"a": np.arange(3)}  # noqa: F841
    with open_files(tmp_path / "t.csv", skip_unreadable=True).engine() as engine:
        for sql in (
            f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/new.duckdb'",
            "SET enable_external_access = true",
            "SET temp_directory = '/tmp'",
            "INSTALL httpfs",
            "SELECT * FROM local_table",
        ):
            with pytest.raises(duckdb.Error):
                engine.execute(sql)
        assert engine.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)
        assert engine.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
    assert not (tmp_path / "out.csv").exists()


def test_sources_do_not_show_what_they_hold(tmp_path) -> None:
    source = csv_source(tmp_path, b"site\n1\n")
    by_site(source)
    assert repr(source) == "<the data t>"
    held = [*vars(source).values(), *vars(source._files).values()]  # type: ignore[attr-defined]
    assert not any(isinstance(value, np.ndarray) for value in held)


def test_the_engine_is_loaded_when_it_is_needed() -> None:
    code = "import sys, discreet.engines.sources; print('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_error_is_ours(tmp_path) -> None:
    assert issubclass(SourceFailed, DiscreetError)
    source = csv_source(tmp_path, b"site\n1\n")
    (tmp_path / "t.csv").unlink()
    with refused(UnreadableFile, token="t.csv"):
        by_site(source)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_name_is_no_pattern(tmp_path, ending):
    """``p[1].csv`` is that file, never ``p1.csv``."""
    for name, rows in (("p[1]", 3), ("p1", 7)):
        place = str(tmp_path / f"{name}.{ending}").replace("'", "''")
        duckdb.sql(f"COPY (SELECT range AS person FROM range({rows})) TO '{place}'")
    question = read_question('SELECT COUNT(*) FROM "p[1]"', unit="person")
    source = open_source(tmp_path / f"p[1].{ending}")
    (counts,) = source.count([Counting(question, TOTAL, "person", 1, b"")])
    assert counts.tolist() == [[3]]
