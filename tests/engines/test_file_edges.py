"""Files at their edges: other formats, several names of one file, line ends, damage, units, rehearsals."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import duckdb
import pytest

import discreet as dc
from discreet.engines.base import Counting
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, SourceFailed, UnreadableFile
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from discreet.sources import csv_files
from discreet.sources.files import open_files
from discreet.sources.packed import check_whole
from support.file_questions import KEY, by_site, counts, csv_source
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ other formats

FOREIGN = {
    "t.xlsx": (b"PK\x03\x04", "spreadsheet ... CSV UTF-8"),
    "t.xls": (b"", "spreadsheet"),
    "t.feather": (b"ARROW1", "Arrow ... read_ipc('t.feather')"),
    "t.sqlite": (b"SQLite format 3\0", "SQLite ... sqlite3 -header"),
    "t.db": (b"SQLite format 3\0 and more", "SQLite ... sqlite3 -header"),
    "t.rds": (b"", "R file"),
    "t.sav": (b"", "statistics"),
    "t.json": (b"{}", "read_json('t.json')"),
    "t.txt": (b"a,b", "name it .csv"),
    "t.npy": (b"", "Python file"),
    "t.csv": (b"PAR1....", "Parquet ... .parquet"),
    "u.csv": (b"PK\x03\x04....", "zip"),
    "v.csv": (gzip.compress(b"a,b\n"), "gzip ... .gz"),
    "w.csv": ("a,b\n1,2\n".encode("utf-16"), "UTF-16 ... iconv"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_format_is_named_with_what_to_do(tmp_path, name) -> None:
    content, token = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with refused(UnreadableFile, token=token):
        open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "heading", "words"),
    [
        ("t.csv", "a;b", "semicolons ... sep=';' ... decimal=','"),
        ("t.csv", "a\tb", "tabs"),
        ("t.csv", "a|b", "vertical"),
        ("t.tsv", "a,b", "tabs are read"),
    ],
)
def test_other_separators_are_named_from_the_heading_alone(tmp_path, name, heading, words) -> None:
    (tmp_path / name).write_text(f"{heading}\n1\n")
    with refused(UnreadableFile, token=words):
        open_source(tmp_path / name).table("t")


# ------------------------------------------------------------------------------------------------ one file, once


def test_a_file_is_read_once_whatever_names_it(tmp_path) -> None:
    folder = tmp_path / "visits"
    (folder / "deep" / "er").mkdir(parents=True)
    duckdb.execute(f"COPY (SELECT 1 AS site FROM range(7)) TO '{folder}/deep/er/a.parquet'")
    duckdb.execute(f"COPY (SELECT 2 AS site FROM range(5)) TO '{folder}/deep/B.PARQUET'")
    (folder / "linked.parquet").symlink_to(folder / "deep" / "er" / "a.parquet")
    os.link(folder / "deep" / "er" / "a.parquet", folder / "same.parquet")
    (folder / "loop").symlink_to(folder / "deep")
    for data in (folder, folder / "**" / "**" / "*.parquet", folder / "**" / "*.*", folder / "*" / "**" / "*"):
        source = open_source(data)
        sql = f'SELECT site, COUNT(*) FROM "{source.dataset}" GROUP BY site'
        wanted = [7, 0] if str(data).endswith("**/*.parquet") else [7, 5]
        assert counts(source, sql, {"site": range(1, 3)}) == wanted, data


def test_a_damaged_file_among_several_is_named(tmp_path) -> None:
    (tmp_path / "t").mkdir()
    duckdb.execute(f"COPY (SELECT 1 AS site) TO '{tmp_path}/t/a.parquet'")
    (tmp_path / "t" / "b.parquet").write_bytes(b"PAR1 and no more")
    with refused(UnreadableFile, token="cannot read b.parquet:"):
        open_source(tmp_path / "t").table("t")


def test_files_set_aside_in_a_folder_are_no_part_of_the_table(tmp_path) -> None:
    for name in ("a.parquet", "_temporary/a.parquet", ".b.parquet", "_c.parquet", "year=2020/d.parquet"):
        (tmp_path / "t" / name).parent.mkdir(parents=True, exist_ok=True)
        duckdb.execute(f"COPY (SELECT 1 AS site) TO '{tmp_path}/t/{name}'")
    assert by_site(open_source(tmp_path / "t")) == [2, 0, 0]


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie", "metadata"])
def test_a_table_whose_log_tells_which_rows_are_in_force_is_refused(tmp_path, log) -> None:
    (tmp_path / "t" / log).mkdir(parents=True)
    (tmp_path / "t" / log / "v1.metadata.json").write_text("{}")
    duckdb.execute(f"COPY (SELECT 1 AS site) TO '{tmp_path}/t/a.parquet'")
    with refused(UnreadableFile, token="older versions"):
        open_source(tmp_path / "t")


def test_a_pattern_that_selects_needs_an_edition(tmp_path) -> None:
    """Otherwise the answer recorded for one selection would be given for another."""
    for year in range(2020, 2026):
        duckdb.execute(f"COPY (SELECT 1 AS site) TO '{tmp_path}/v_{year}.parquet'")
    ask = {"unit": "row", "epsilon": 1}
    for pattern, names in (("v_202[0-2].parquet", "v_202"), ("v_*2.parquet", "v"), ("**/v_*.parquet", "v")):
        with refused(InvalidInput, "edition"):
            dc.plan_release(f"SELECT COUNT(*) FROM {names}", data=tmp_path / pattern, **ask)
    first, second = (
        dc.plan_release("SELECT COUNT(*) FROM v_202", data=tmp_path / f"v_202[{years}].parquet", edition=years, **ask)
        for years in ("0-2", "3-5")
    )
    assert first.key != second.key
    dc.plan_release("SELECT COUNT(*) FROM v", data=tmp_path / "v_*.parquet", **ask)


# ------------------------------------------------------------------------------------------------ headings


def test_rows_behind_an_open_quote_are_not_shown_as_names(tmp_path) -> None:
    source = csv_source(tmp_path, b'person,"age\nAnn Smith,47\nBob,8\n')
    assert list(source.table("t")) == ["person"]
    duckdb.execute(f"COPY (SELECT 1 AS \"home\ntown\") TO '{tmp_path}/u.parquet'")  # names are stated there
    assert list(open_source(tmp_path / "u.parquet").table("u")) == ["home\ntown"]


def test_the_first_row_is_not_taken_for_a_heading_that_is_not_utf8(tmp_path) -> None:
    """Of files that the engine unpacks; the others are read by Python."""
    for heading, words in (
        (b"personn\xe9,age", "cannot read t.csv.zst"),
        (b'person,"home', "heading goes"),
    ):
        raw = heading + b"\nAnn Smith,47\nBob,8\n"
        block = (1 | len(raw) << 3).to_bytes(3, "little") + raw  # one frame, one block, stored as it is
        (tmp_path / "t.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd\x20" + bytes([len(raw)]) + block)
        check_whole(tmp_path / "t.csv.zst")
        with refused(UnreadableFile, token=words) as failure:
            open_source(tmp_path / "t.csv.zst").table("t")
        assert "Ann" not in str(failure.value)


# ------------------------------------------------------------------------------------------------ line ends and buffers


@pytest.mark.parametrize("first", ["plain", "quoted"])
def test_a_blank_line_at_the_end_of_a_buffer_changes_no_record(tmp_path, monkeypatch, first) -> None:
    """With buffers of a few hundred bytes instead of 256 million, wherever they end."""
    monkeypatch.setattr(csv_files, "_MAX_RECORD_BYTES", 100)
    chance = random.Random(3)
    for _ in range(10):
        ends = chance.choice(["\r\n", "\r\n", "\n", "\r"])
        lines, wanted = [f"person,site,note{ends}"], []
        for n in range(80):
            if chance.random() < 0.3:
                lines.append(ends)
                continue
            person = f"p{n}," if first == "quoted" else f"p{n}"
            written = chance.choice(["x" * chance.randrange(9), f'"a{ends}{ends}""b"', ""])
            lines.append(f'"{person}",{n},{written}{ends}' if first == "quoted" else f"{person},{n},{written}{ends}")
            wanted.append((person, str(n)))
        (tmp_path / "t.csv").write_bytes("".join(lines).encode())
        for buffer in chance.sample(range(220, 1200), 8):
            monkeypatch.setattr(csv_files, "_BUFFER_BYTES", buffer)
            opened = open_files(tmp_path / "t.csv", skip_unreadable=True)
            with opened.engine(ordered=True) as engine:
                found = engine.execute(f"SELECT * FROM {opened.relation('t', ['person', 'site'])}").fetchall()
            assert found == wanted, (ends, buffer)


def test_a_long_record_vanishes_alone(tmp_path, monkeypatch) -> None:
    """Longer than a record may be, shorter than a buffer; with doubled quotes and line ends in fields not read."""
    monkeypatch.setattr(csv_files, "_MAX_RECORD_BYTES", 100)
    chance = random.Random(5)
    for _ in range(60):
        ends = chance.choice(["\r\n", "\n"])
        lines, wanted = [f"person,site,note{ends}"], []
        for n in range(200):
            if chance.random() < 0.04:
                body = chance.choice(['x""', f"line{ends}", "y", '"",'])
                several = chance.choice([100, 130, 600, 1400]) // len(body)
                lines.append(f'L,0,n,"{body * several}"{ends}')
            else:
                lines.append(f"p{n},{n},n{ends}")
                wanted.append((f"p{n}", str(n)))
        (tmp_path / "t.csv").write_bytes("".join(lines).encode())
        monkeypatch.setattr(csv_files, "_BUFFER_BYTES", chance.randrange(1600, 2600))
        opened = open_files(tmp_path / "t.csv", skip_unreadable=True)
        with opened.engine(ordered=True) as engine:
            found = engine.execute(f"SELECT * FROM {opened.relation('t', ['person', 'site'])}").fetchall()
        assert [row for row in found if row[0] != "L"] == wanted


def test_in_a_file_of_one_column_a_blank_line_is_no_record_and_two_quotes_are_one(tmp_path) -> None:
    for ends in (b"\n", b"\r\n", b"\r"):
        source = csv_source(tmp_path, ends.join([b"site", b"1", b"", b'""', b"2", b"", b""]))
        assert counts(source, "SELECT COUNT(*) FROM t") == [3]
        assert counts(source, "SELECT COUNT(site) AS n FROM t") == [2]


# ------------------------------------------------------------------------------------------------ damaged files

ROWS = b"".join(b"%d,x\n" % (i % 3 + 1) for i in range(50_000))


def _flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


def _zst(folder: Path) -> bytes:
    duckdb.execute(
        f"COPY (SELECT i % 3 + 1 AS site, hash(i) AS b FROM range(50000) r(i)) TO '{folder}/z.csv.zst' "
        "(FORMAT csv, HEADER, COMPRESSION zstd)"
    )
    return (folder / "z.csv.zst").read_bytes()


@pytest.mark.parametrize(
    ("packed", "what"),
    [("gz", what) for what in ("checksum", "length", "middle", "cut off", "cut in two", "more behind", "zeros behind")]
    # DuckDB writes zstd without a checksum, so that other damage cannot be told
    + [("zst", what) for what in ("cut off", "cut in two", "more behind", "zeros behind")],
)
def test_a_damaged_compressed_file_is_refused_before_anything_is_counted(tmp_path, packed, what) -> None:
    whole = gzip.compress(b"site,b\n" + ROWS) if packed == "gz" else _zst(tmp_path)
    damaged = {
        "checksum": _flipped(whole, len(whole) - 6),
        "length": _flipped(whole, len(whole) - 2),
        "middle": _flipped(whole, len(whole) // 2),
        "cut off": whole[:-3],
        "cut in two": whole[: len(whole) // 2],
        "more behind": whole + b"and more",
        "zeros behind": whole + bytes(16),
    }[what]
    file = tmp_path / f"t.csv.{packed}"
    file.write_bytes(whole)
    check_whole(file)
    file.write_bytes(whole + whole)
    check_whole(file)  # several packed files in one are a packed file
    file.write_bytes(damaged)
    with refused(UnreadableFile, token="gzip"):
        check_whole(file)
    question = read_question("SELECT COUNT(*) FROM t", unit="row")
    with pytest.raises(UnreadableFile):
        open_source(file).rehearse([Counting(question, TOTAL, "row", 1, KEY)])


@pytest.mark.parametrize("flag", [0x02, 0x10])
def test_a_gzip_header_that_the_engine_does_not_read_is_refused_before(tmp_path, flag) -> None:
    """A comment, or a checksum of the header."""
    raw = b"site,b\n1,2\n"
    packed = gzip.compress(raw, mtime=0)
    extra = (
        b"made by us\0"
        if flag == 0x10
        else (zlib.crc32(packed[:3] + b"\x02" + packed[4:10]) & 0xFFFF).to_bytes(2, "little")
    )
    (tmp_path / "t.csv.gz").write_bytes(packed[:3] + bytes([flag]) + packed[4:10] + extra + packed[10:])
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == raw
    with refused(UnreadableFile, token="gzip"):
        check_whole(tmp_path / "t.csv.gz")


# ------------------------------------------------------------------------------------------------ who can be a unit


def test_only_columns_whose_text_tells_people_apart_can_be_units(tmp_path) -> None:
    unusable = [
        "DOUBLE",
        "FLOAT",
        "TIMESTAMPTZ",
        "UNION(a INTEGER, b VARCHAR)",
        "INTEGER[]",
        "STRUCT(a INTEGER)",
        "BLOB",
    ]
    unusable += ["MAP(VARCHAR, INTEGER)", "INTERVAL", "BIT", "TIMETZ"]
    accepted = ["BIGINT", "UTINYINT", "HUGEINT", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NS", "UUID"]
    accepted += ["DECIMAL(10,2)", "ENUM('a', 'b')"]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        for j, stored in enumerate(unusable + accepted):
            base.execute(f"CREATE TABLE t{j} (person {stored}, site INTEGER)")
    source = open_source(tmp_path / "t.duckdb")
    for j, stored in enumerate(unusable + accepted):
        question = read_question(f"SELECT COUNT(*) FROM t{j}", unit="person")
        counting = Counting(question, TOTAL, "person", 1, KEY)
        if stored in unusable:
            for act in (source.count, source.rehearse):
                with refused(InvalidInput, token="cannot name people"):
                    act([counting])
        else:
            source.rehearse([counting])
            assert source.count([counting])[0].tolist() == [[0]], stored


# ------------------------------------------------------------------------------------------------ rehearsals


def test_a_rehearsal_needs_no_rows_and_says_what_is_missing(tmp_path, monkeypatch) -> None:
    source = csv_source(tmp_path, b"person,site\nann,1\n")
    question = read_question("SELECT site, COUNT(*) FROM t GROUP BY site", unit="person")
    counting = Counting(question, groups_from({"site": ["1", "x"]}, question.by), "person", 1, KEY)
    source.rehearse([counting])

    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'something'")

    monkeypatch.setattr("discreet.engines.duckdb.files.count", missing)
    with refused(SourceFailed, token="nothing was spent ... 'something'"):
        source.rehearse([counting])


def test_counting_needs_no_library_of_tables(tmp_path) -> None:
    """Of numpy and duckdb alone: pandas, polars and pyarrow may be missing."""
    (tmp_path / "t.csv").write_text("person,site,w\nann,a,1\nbob,b,2\nann,c,3\n")
    code = f"""
import sys
for name in ("pandas", "polars", "pyarrow"):
    sys.modules[name] = None
from discreet.engines.base import Counting
from discreet.questions.groups import groups_from
from discreet.questions.question import read_question
from discreet.engines.sources import open_source
source = open_source({str(tmp_path / "t.csv")!r})
for unit in ("row", "person"):
    for domain in ({{"site": ["a", "b", "c"]}}, {{"w": range(1, 4)}}, {{"site": ["a", None]}},
                   {{"site": ["a"], "w": range(1, 300)}}, {{"site": [f"x{{i}}" for i in range(2000)]}}):
        by = ", ".join(domain)
        question = read_question(f"SELECT {{by}}, COUNT(*), COUNT_IF(w > 1) AS m FROM t GROUP BY {{by}}", unit=unit)
        counting = Counting(question, groups_from(domain, question.by), unit, 1, bytes(16))
        source.rehearse([counting])
        print(source.count([counting])[0].sum(axis=0).tolist())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["[3, 2]", "[3, 2]", "[1, 0]"]


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(b""))
    for name in ("t.csv", "u.csv.gz"):
        source = open_source(tmp_path / name)
        with refused(UnreadableFile, token="is empty"):
            source.table(name[0])
