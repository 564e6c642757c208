"""Files and tables of other programs: what is safe works, the rest is named on the first line with what to type."""

from __future__ import annotations

import io
import pickle
import sqlite3
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import discreet as dc
from discreet.errors import UnreadableFile, WrongType
from discreet.files import load, read_subject, subject_from_text
from discreet.matrix_text import matrix_from_text
from support.command_line import run
from support.refusals import Parts, refused

M = np.array([[0.75, 0.25], [0.25, 0.75]])
TEXT = "0.75 0.25\n0.25 0.75\n"


# ------------------------------------------------------------------------------------------------ what works


@pytest.mark.parametrize("text", [TEXT, "0.75   0.25\n 0.25\t0.75\n".replace("\t", " "), "3/4 1/4\n1/4 3/4\n"])
@pytest.mark.parametrize("ending", ["txt", "csv", "tsv"])
def test_blanks_separate_where_nothing_else_does(text: str, ending: str, tmp_path: Path) -> None:
    """As numpy.savetxt and R write them."""
    file = tmp_path / f"m.{ending}"
    file.write_text(text, encoding="utf-8")
    table, _ = read_subject(file)
    assert dc.verify(table).ratio == 3


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "m.txt", M)
    np.save(tmp_path / "m.npy", M)
    for name in ("m.txt", "m.npy"):
        told = run("verify", tmp_path / name).stdout
        assert "2 truths by 2 reports" in told and "epsilon = 1.09862" in told
        run("check", tmp_path / name, "--require", "S")


def test_a_matrix_with_separators_is_read_as_before() -> None:
    for text in ("0.75, 0.25\n0.25, 0.75\n", "0.75;0.25\n0.25;0.75\n", "a b,c d\n0.75,0.25\n0.25,0.75\n"):
        table, _ = matrix_from_text(text, "m.csv")
        assert dc.verify(table).ratio == 3


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(M), pd.DataFrame(M, columns=["x", "y"]), pl.DataFrame(M),
        pa.table({"x": M[:, 0], "y": M[:, 1]}), pd.DataFrame(M, dtype="Float64"),
    ],
    ids=["pandas", "named columns", "polars", "arrow", "nullable"],
)  # fmt: skip
def test_tables_of_probabilities_are_matrices(frame: Any) -> None:
    assert dc.verify(frame).ratio == 3
    assert {code: bool(result) for code, result in dc.check(frame).items()} == {
        code: bool(result) for code, result in dc.check(M).items()
    }
    assert dc.estimate([60, 40], frame).distribution == pytest.approx(dc.estimate([60, 40], M).distribution)
    assert dc.from_matrix(frame).probability(0, 0) == Fraction(3, 4)


def test_a_table_with_named_rows_is_a_matrix_of_labels() -> None:
    frame = pd.DataFrame(M, index=["a", "b"], columns=["x", "y"])
    assert dc.verify(frame).ratio == 3 and dc.from_matrix(frame).probability("a", "x") == Fraction(3, 4)
    assert dc.estimate({"x": 60, "y": 40}, frame).distribution == pytest.approx(dc.estimate([60, 40], M).distribution)
    same = pd.DataFrame(M, index=["a", "b"], columns=["a", "b"])
    for code, result in dc.check(same).items():
        assert result.holds == dc.check(M)[code].holds
    with pytest.raises(dc.errors.Unsupported):  # what is reported is not what is true
        dc.check(frame)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_fractions_in_a_table_are_exact_and_names_of_rows_are_named(make: Any) -> None:
    exact = make({"x": ["3/4", "1/4"], "y": ["1/4", "3/4"]})
    assert dc.verify(exact).ratio == 3 and bool(dc.check(exact, ["S"])["S"])
    for judge in (dc.verify, dc.check, lambda table: dc.estimate([1, 2], table)):
        with refused(dc.errors.InvalidInput, given="no", token="row 0 ... column 0"):
            judge(make({"truth": ["no", "yes"], "x": [0.75, 0.25], "y": [0.25, 0.75]}))


# ------------------------------------------------------------------------------------------------ what is named


def archive(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return data.getvalue()


def saved(save: Any) -> bytes:
    data = io.BytesIO()
    save(data)
    return data.getvalue()


FOREIGN = {
    "m.xlsx": (archive("[Content_Types].xml", "xl/workbook.xml"), "Excel ... CSV ... m.csv"),
    "m.ods": (
        archive("mimetype") + b"application/vnd.oasis.opendocument.spreadsheet",
        "spreadsheet ... CSV",
    ),
    "m.zip": (archive("out/counts.csv", "out/SHA256SUMS"), "zip ... verify the folder"),
    "n.zip": (archive("m.csv"), "zip ... Unpack it first"),
    "m.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "Excel ... CSV ... m.csv"),
    "m.npz": (saved(lambda file: np.savez(file, matrix=M)), "NumPy ... np.save('matrix.npy'"),
    "m.parquet": (saved(lambda file: pd.DataFrame({"a": [1.0]}).to_parquet(file)), "Parquet ... to_csv('m.csv'"),
    "m.pkl": (pickle.dumps(M), "pickle ... savetxt('m.csv'"),
    "m.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5 ... savetxt('m.csv'"),
    "m.csv.gz": (b"\x1f\x8b\x08" + bytes(20), "gunzip"),
    "m.xyz": (b"hello", ".json ... .csv, .tsv, .txt ... .npy ... p-table"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_file_of_another_program_is_named_with_what_to_type(name: str, tmp_path: Path) -> None:
    data, token = FOREIGN[name]
    file = tmp_path / name
    file.write_bytes(data)
    with refused(UnreadableFile, token=token):
        read_subject(file)
    if name != "m.xyz":
        with refused(UnreadableFile, token=token):  # as --mechanism
            load(file)
        with pytest.raises(UnreadableFile):  # from standard input, where it has no name
            subject_from_text(data, "standard input")


@pytest.mark.parametrize("ending", [".csv", ".txt", ".json"])
def test_another_ending_does_not_hide_what_it_is(ending: str, tmp_path: Path) -> None:
    for name in ("m.xlsx", "m.parquet", "m.pkl"):
        file = tmp_path / f"m{ending}"
        file.write_bytes(FOREIGN[name][0])
        with refused(UnreadableFile, token=FOREIGN[name][1]):
            read_subject(file)


def test_the_answer_is_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "m.xlsx").write_bytes(FOREIGN["m.xlsx"][0])
    told = run("check", tmp_path / "m.xlsx", code=2).stderr
    assert "is an Excel file" in told.splitlines()[0] and len(told.splitlines()) == 1


def test_arrays_of_objects_are_not_read(tmp_path: Path) -> None:
    """They are pickles, which run code."""
    np.save(tmp_path / "m.npy", np.array([[Fraction(1, 2), 1]], object), allow_pickle=True)
    with refused(UnreadableFile, token="np.save('m.npy', matrix)"):
        read_subject(tmp_path / "m.npy")
    np.save(tmp_path / "m.npy", M * 2)
    with refused(UnreadableFile, token="up to 1"):
        read_subject(tmp_path / "m.npy")


def test_a_decimal_comma_is_named() -> None:
    with refused(UnreadableFile, token="decimal comma"):
        matrix_from_text("1.0;0\n0,25;0,75\n", "m.csv")


def test_a_matrix_given_as_a_mechanism_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0.75,0.25\n0.25,0.75\n", encoding="utf-8")
    with refused(UnreadableFile, token="dc.from_matrix(matrix).save('m.json')"):
        load(tmp_path / "m.csv")


PEOPLE = {"person": [1, 2, 3], "site": [1, 2, 2]}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pl.DataFrame(PEOPLE).lazy(), Parts(argument="data", given="a LazyFrame")),
        (pa.table(PEOPLE).to_batches()[0], Parts(argument="data", given="a RecordBatch")),
        (pa.table(PEOPLE).to_reader(), Parts(argument="data", given="a RecordBatchReader")),
        (pa.dataset.dataset(pa.table(PEOPLE)), Parts(argument="data", given="a InMemoryDataset")),
        (pa.dataset.dataset(pa.table(PEOPLE)).scanner(), Parts(argument="data", given="a Scanner")),
        (duckdb.connect(), Parts(argument="data", given="a DuckDBPyConnection")),
        (duckdb.sql("SELECT 1 AS person, 1 AS site"), Parts(argument="data", given="a DuckDBPyRelation")),
        (sqlite3.connect(":memory:"), Parts(argument="data", given="a Connection")),
        (PEOPLE, Parts(argument="data", given="a dict")),
        ([PEOPLE], Parts(argument="data", given="a list")),
        (pd.DataFrame(PEOPLE)["site"], Parts(argument="data", given="a Series")),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_give_instead(table: Any, words: Parts, tmp_path: Path) -> None:
    """Nothing is planned, reserved or read."""
    book = tmp_path / "people.ledger"
    ledger = dc.Ledger.create(book, dataset="people", unit="person", epsilon=2)
    asked: dict[str, Any] = {"unit": "person", "domain": {"site": [1, 2]}, "epsilon": 1, "max_groups": 1}
    question = "SELECT site, COUNT(*) FROM people GROUP BY site"
    with refused(WrongType, **words):
        dc.release_counts(question, data=table, dataset="people", ledger=book, **asked)
    with refused(WrongType, **words):
        dc.plan_release(question, data=table, dataset="people", **asked)
    assert ledger.entries() == []


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_whole_table_is_not_taken_for_one_column(make: Any) -> None:
    """Values and how often they came were once read as one column of reports."""
    table, m = make({"value": [0, 1, 2], "count": [1, 2, 2]}), dc.geometric(2, epsilon=1)
    for given in ({"reports": table}, {"counts": table}):
        with refused(WrongType, token="dict(zip(df['value']"):
            dc.estimate(mechanism=m, **given)
    e = dc.estimate(dict(zip(PEOPLE["site"][:2], [1, 2], strict=True)), m)
    assert e.people == 3


ROWS = [["0.7", "0.2", "0.1"], ["0.2", "0.6", "0.2"], ["0.1", "0.2", "0.7"]]
WORDS, NUMBERS, LATER, ODD = ("red", "green", "blue"), ("0", "1", "2"), ("5", "6", "7"), ("1", "3", "7")


@pytest.mark.parametrize("corner", ["truth", "", None], ids=["word", "empty", "none"])
@pytest.mark.parametrize(
    ("columns", "rows", "notion", "said"),
    [
        (WORDS, NUMBERS, "central", ["columns are named red, green, blue: they were taken as 0, 1, 2"]),
        (WORDS, LATER, "central", ["rows are named 5, 6, 7: they were taken as 0, 1, 2", "columns are named red"]),
        (WORDS, ODD, "local", ["rows are named 1, 3, 7: they were judged as labels"]),
        (NUMBERS, WORDS, "local", ["judged as labels", "columns are named 0, 1, 2: they were taken as red, green"]),
        (LATER, WORDS, "local", ["judged as labels", "columns are named 5, 6, 7: they were taken as red, green"]),
        (NUMBERS, NUMBERS, "central", []),
    ],
)
def test_numbers_and_words_name_rows_and_columns_and_verdicts_say_how_they_were_taken(
    columns: tuple[str, ...], rows: tuple[str, ...], notion: str, said: list[str], corner: str | None, tmp_path: Path
) -> None:
    heading = columns if corner is None else (corner, *columns)
    lines = [heading, *([name, *row] for name, row in zip(rows, ROWS, strict=True))]
    (tmp_path / "m.csv").write_text("\n".join(map(",".join, lines)))
    if corner is None and columns != WORDS:  # a line of numbers alone may be one of probabilities
        with refused(UnreadableFile, token="m.csv, line 2"):
            dc.verify(tmp_path / "m.csv")
        return
    verdict = dc.verify(tmp_path / "m.csv")
    assert verdict.notion == notion and verdict.ratio == (7 if notion == "local" else Fraction(7, 2))
    about_names = [note for note in verdict.notes if note.startswith(("rows", "columns"))]
    assert len(about_names) == len(said) and all(map(str.__contains__, about_names, said))


def test_a_column_of_probabilities_is_not_taken_as_names() -> None:
    """Even one that reads 0, 1, or a report that is never made."""
    for text in ("a,b\n0,1\n1,0\n", "a,b,c\n0,0.5,0.5\n0,0.1,0.9\n", "a,b\n1,0\n0,1\n"):
        table, notes = matrix_from_text(text, "m.csv")
        assert table.shape == (2, text.index("\n") // 2 + 1) and notes == ("line 1 was taken as a heading",)
