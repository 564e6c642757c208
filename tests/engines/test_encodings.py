"""CSV files in other encodings, and bytes that are invalid in theirs: what every question counts of them."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines import reference
from discreet.engines.base import Counting, Discovering, Source
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, UnreadableFile
from discreet.questions.domains import REST
from discreet.questions.groups import TOTAL, Groups, groups_from
from discreet.questions.question import read_question
from discreet.sources.encodings import ENCODINGS, read_encoding
from discreet.system import private_file
from support.file_questions import KEY, counts
from support.refusals import refused

REGIONS = ["Île-de-France", "Provence-Alpes-Côte d'Azur", "Corse"]
BY_REGION = "SELECT region, COUNT(*) FROM t GROUP BY region"


def source(folder: Path, content: bytes, encoding: str | None, name: str = "t.csv") -> Source:
    (folder / name).write_bytes(content)
    return open_source(folder / name, encoding=encoding).call_table("t")


def people(number: int = 300) -> str:
    """Return a table in which two of three people live in Île-de-France."""
    rows = (f"p{k},{REGIONS[0] if k % 3 else REGIONS[2]}\r\n" for k in range(number))
    return "person,region\r\n" + "".join(rows)


FILES = {
    "utf-8": ("utf-8", lambda text: text.encode()),
    "utf-8 with a mark": ("utf-8", lambda text: text.encode("utf-8-sig")),
    "latin-1": ("latin-1", lambda text: text.encode("latin-1")),
    "windows-1252": ("windows-1252", lambda text: text.encode("cp1252")),
    "utf-16 little-endian with a mark": ("utf-16", lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    "utf-16 big-endian with a mark": ("utf-16", lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    "utf-16 without a mark": ("utf-16", lambda text: text.encode("utf-16-le")),
    "utf-16-be without a mark": ("utf-16-be", lambda text: text.encode("utf-16-be")),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", FILES)
def test_three_hundred_people_are_counted_in_every_encoding(tmp_path, what, packed) -> None:
    encoding, encode = FILES[what]
    content = encode(people())
    made = source(tmp_path, gzip.compress(content) if packed else content, encoding, "t.csv.gz" if packed else "t.csv")
    assert counts(made, BY_REGION, {"region": REGIONS}, "person") == [200, 0, 100]
    assert made.encoding == encoding


def test_read_in_the_wrong_encoding_nobody_is_found(tmp_path) -> None:
    """The negative control: without the declaration the 200 are in no declared group, and under * if there is one."""
    made = source(tmp_path, people().encode("latin-1"), None)
    assert counts(made, BY_REGION, {"region": REGIONS}, "person") == [0, 0, 100]
    assert counts(made, BY_REGION, {"region": [*REGIONS, REST]}, "person") == [0, 0, 100, 200]


def test_every_byte_of_latin_1_is_a_letter(tmp_path) -> None:
    """The engine's own decoder stops at bytes of 0x80 to 0x9f; a release must not."""
    letters = [bytes([byte]) for byte in range(1, 256) if byte not in b'\n\r",']
    content = b"person,x\n" + b"".join(b"%d,%s\n" % (k, letter) for k, letter in enumerate(letters))
    made = source(tmp_path, content, "latin-1")
    domain = {"x": [letter.decode("latin-1") for letter in letters]}
    assert counts(made, "SELECT x, COUNT(*) FROM t GROUP BY x", domain, "person") == [1] * len(letters)
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT * FROM read_csv('{tmp_path / 't.csv'}', encoding = 'latin-1')").fetchall()


# ------------------------------------------------------------------------------------------------ stray bytes

#: For each encoding a field that is invalid in it.
STRAY = {
    "utf-8": b"\xff",
    "windows-1252": b"\x81",
    "utf-16": b"\x00\xd8",  # half a pair
    "utf-16-be": b"\xdc\x00",
}


def table(encoding: str, rows: list[tuple[bytes | str, ...]], heading: str = "person,region,age") -> bytes:
    """Return a table in an encoding; fields that are bytes stand as they are."""
    codec = {"utf-16": "utf-16-le", "windows-1252": "cp1252"}.get(encoding, encoding)

    def encoded(field: bytes | str) -> bytes:
        return field if isinstance(field, bytes) else field.encode(codec)

    lines = [encoded(",").join(map(encoded, row)) for row in rows]
    return encoded(f"{heading}\n") + b"".join(line + encoded("\n") for line in lines)


@pytest.mark.parametrize("encoding", STRAY)
def test_where_a_stray_byte_stands_decides_what_it_does(tmp_path, encoding) -> None:
    bad = STRAY[encoding]
    rows: list[tuple[bytes | str, ...]] = [
        ("ann", "Corse", "30"), (bad, "Corse", "30"), (bad, "Corse", "40"), ("bob", bad, "30"), ("eve", "Corse", bad),
        ("joe", "", "30"),
    ]  # fmt: skip
    made = source(tmp_path, table(encoding, rows), encoding)
    # the unit: the rows vanish, and do not become one person
    assert counts(made, "SELECT COUNT(*) FROM t", None, "person") == [4]
    # a group: in no declared group, neither NULL; under * where that is declared
    assert counts(made, BY_REGION, {"region": ["Corse"]}, "person") == [2]
    assert counts(made, BY_REGION, {"region": ["Corse", None]}, "person") == [2, 1]
    assert counts(made, BY_REGION, {"region": ["Corse", REST]}, "person") == [2, 2]
    assert counts(made, BY_REGION, {"region": ["Corse", None, REST]}, "person") == [2, 1, 1]
    # a condition: missing
    assert counts(made, "SELECT COUNT(*) FROM t WHERE age = 30", None, "person") == [3]
    assert counts(made, "SELECT COUNT(*) FROM t WHERE age IS NULL", None, "person") == [1]
    assert counts(made, "SELECT COUNT_IF(age <> 31) AS a, COUNT(*) AS b FROM t", None, "person") == [3, 4]
    # a group and a condition at once
    sql = "SELECT region, COUNT(*) FROM t WHERE region IS NULL GROUP BY region"
    assert counts(made, sql, {"region": ["Corse", None, REST]}, "person") == [0, 1, 1]


@pytest.mark.parametrize("encoding", STRAY)
def test_an_unreadable_value_is_never_discovered(tmp_path, encoding) -> None:
    rows = [(f"p{k}", STRAY[encoding] if k % 2 else "Corse", "1") for k in range(40)]
    made = source(tmp_path, table(encoding, rows), encoding)
    question = read_question(BY_REGION, unit="person")
    asked = Discovering(question, TOTAL, "person", 1, KEY, ("region",), ("text",))
    made.rehearse([asked])
    found = made.discover(asked)
    assert (found.labels[0].tolist(), found.counts.tolist()) == (["Corse"], [[20]])


def test_a_file_that_was_cut_off_inside_a_character_is_read_as_far_as_it_goes(tmp_path) -> None:
    content = "person,region\nann,Corse\nbob,Cors".encode("utf-16-le") + b"e"
    made = source(tmp_path, content, "utf-16")
    assert counts(made, BY_REGION, {"region": ["Corse", REST]}, "person") == [1, 1]


@pytest.mark.parametrize("bad", [False, True])
def test_no_row_decides_how_the_noncharacter_of_another_row_is_read(tmp_path, bad) -> None:
    """Whether a file of UTF-8 must be repaired depends on its rows; how each row is read must not."""
    rows: list[tuple[bytes | str, ...]] = [("ann", "\uffff", "1"), ("bob", "Corse", "1")]
    made = source(tmp_path, table("utf-8", rows + [("eve", b"\xff", "1")] * bad), "utf-8")
    assert counts(made, BY_REGION, {"region": ["Corse", REST]}, "person") == [1, 1 + bad]
    assert counts(made, "SELECT COUNT(*) FROM t WHERE region IS NOT NULL", None, "person") == [1]


# ------------------------------------------------------------------------------------------------ against the reference

FIELDS = st.lists(
    st.sampled_from(["ann", "bob", "Île", "1", "30", "", "ß€", "\U0001f600", b"!"]), min_size=3, max_size=3
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(FIELDS, max_size=8), encoding=st.sampled_from([*STRAY, "latin-1"]), person=st.booleans())
def test_files_are_counted_as_the_reference_counts_their_rows(tmp_path_factory, rows, encoding, person) -> None:
    bad = STRAY.get(encoding, b"?")
    codec = {"utf-16": "utf-16-le", "windows-1252": "cp1252"}.get(encoding, encoding)

    def written(field: bytes | str) -> bytes | str:
        return bad if field == b"!" else str(field).encode(codec, "replace").decode(codec)

    content = table(encoding, [tuple(map(written, row)) for row in rows])
    read = _read(content, encoding)
    unit = "person" if person else "row"
    made = source(tmp_path_factory.mktemp("t"), content, encoding)
    for sql, domain in (
        ("SELECT COUNT(*) FROM t", None),
        (BY_REGION, {"region": ["Île", "1", None]}),
        (BY_REGION, {"region": ["Île", "ß€", REST]}),
        ("SELECT region, COUNT_IF(age = 30) AS a, COUNT(*) FROM t WHERE region IS NULL OR age > '1' GROUP BY region",
         {"region": ["Île", None, REST]}),
        ("SELECT region, age, COUNT(*) FROM t WHERE age <> 'x' GROUP BY region, age",
         {"region": ["1", REST], "age": [1, 30, None]}),
    ):  # fmt: skip
        question = read_question(sql, unit=unit)
        groups: Groups = groups_from(domain, question.by) if domain else TOTAL
        counting = Counting(question, groups, unit, 2, KEY)
        assert made.count([counting])[0].tolist() == reference.count_rows(read, counting).tolist(), sql


def _read(content: bytes, encoding: str) -> list[reference.Row]:
    """Read a table letter by letter, without the package's decoder: None is an unreadable letter."""
    width = 2 if encoding.startswith("utf-16") else 1
    codec = {"utf-16": "utf-16-le", "windows-1252": "cp1252"}.get(encoding, encoding)
    text, place = "", 0
    while place < len(content):
        for size in sorted({width, 2, 3, 4} if encoding != "latin-1" else {1}, reverse=True):
            try:
                letter = content[place : place + size].decode(codec)
            except UnicodeDecodeError:
                continue
            if len(letter) == 1:
                break
        else:
            letter, size = "\ue000", width  # no row has this letter
        text, place = text + letter, place + size
    heading, *records = csv.reader(io.StringIO(text, newline=""))

    def value(field: str) -> reference.Value:
        return reference.Unreadable() if "\ue000" in field else field or None

    return [dict(zip(heading, map(value, record), strict=True)) for record in records]


# ------------------------------------------------------------------------------------------------ refusals and places


def test_the_names_of_encodings() -> None:
    assert [read_encoding(name) for name in ENCODINGS] == list(ENCODINGS)
    for given_name, name in {
        "Latin1": "latin-1",
        "UTF8": "utf-8",
        "cp1252": "windows-1252",
        "UTF-16LE": "utf-16",
    }.items():
        assert read_encoding(given_name) == name
    for unknown in ("latin-2", "rot13", "utf-32", "\0", ""):
        with refused(InvalidInput, "encoding", token="windows-1252"):
            read_encoding(unknown)


@pytest.mark.parametrize(
    "address",
    ["t.parquet", "t.duckdb", "duckdb:t.csv", "postgresql://ann@host/study", "spark:local[*]?csv=t.csv", "t/"],
)
def test_only_csv_files_have_an_encoding(tmp_path, address) -> None:
    with refused(InvalidInput, "encoding", token="CSV"):
        open_source(address, encoding="latin-1")


def test_zstd_and_marks_of_another_encoding_are_refused(tmp_path) -> None:
    (tmp_path / "t.csv.zst").write_bytes(b"")
    with refused(InvalidInput, "encoding", token="gzip"):
        open_source(tmp_path / "t.csv.zst", encoding="latin-1")
    for content, encoding, token in (
        ("a,b\n".encode("utf-8-sig"), "latin-1", "UTF-8"), ("a,b\n".encode("utf-16"), "latin-1", "utf-16"),
        ("a,b\n".encode("utf-16-be"), "utf-16", "utf-16-be"), (b"a\xdc,\0b\0\n\0", "utf-16", "heading"),
    ):  # fmt: skip
        with refused(UnreadableFile, token=token):
            source(tmp_path, content, encoding).tables()


def test_the_decoded_rows_are_in_no_file_that_has_a_name(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for size in (10, 1 << 60):  # in memory, and on the disk
        with private_file(size) as (path, stream):
            stream.write(b"ann")
            stream.flush()
            assert path.read_bytes() == b"ann" and not list(tmp_path.iterdir())
            assert re.search("memfd|deleted", os.readlink(path))
        assert not path.exists()
