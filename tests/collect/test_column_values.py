"""Columns of true values: what is read as it is meant, and what is refused without a word of the rows."""

from __future__ import annotations

import csv
import gzip
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.collect import tables
from discreet.collect.tables import FileColumn, perturb_column
from discreet.errors import InvalidInput, UnreadableFile
from support.command_line import run
from support.refusals import refused


def read_problem(data: Path, column: str = "visits", n: int = 20) -> dc.errors.DiscreetError:
    with pytest.raises(dc.errors.DiscreetError) as failure:
        tables.perturb_column(
            dc.geometric(n, epsilon=1), tables.FileColumn(data, column), data.parent / "reports.parquet"
        )
    assert not (data.parent / "reports.parquet").exists()
    return failure.value


@pytest.mark.parametrize(
    "wrong", ["SECRET", "3.7", "3.01", ".0", "0x10", "1e1", "1_0", "99999999999999999999", "nan", "4 711"]
)
def test_text_that_is_no_whole_number_is_told_by_its_row(wrong: str, tmp_path: Path) -> None:
    """An engine's own cast takes 3.7 for 4, 0x10 for 16 and 1e1 for 10."""
    data = tmp_path / "people.csv"
    data.write_text("visits\n" + "3\n" * 60_000 + wrong + "\n" + "3\n" * 10, encoding="utf-8")
    problem = read_problem(data)
    assert "row 60,001 of column 'visits'" in str(problem)


def test_whole_numbers_may_have_a_sign_and_blanks(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('visits\n 3\n+3\n"03"\n3 \n-0\n3.0\n', encoding="utf-8")
    assert tables.FileColumn(tmp_path / "people.csv").counts(dc.Counts(5)) == {3: 5, 0: 1}


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(10,2)", "VARCHAR"])
def test_whole_numbers_are_read_from_columns_of_other_types(kind: str, tmp_path: Path) -> None:
    """Programs turn a column of whole numbers into one of these once a value was missing."""
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute(f"CREATE TABLE p AS SELECT CAST(v AS {kind}) AS visits FROM (VALUES ('3.0'), ('4')) t(v)")
    assert tables.FileColumn(tmp_path / "p.duckdb").counts(dc.Counts(5)) == {3: 1, 4: 1}
    if kind != "VARCHAR":
        assert tables.FileColumn(tmp_path / "p.duckdb").counts(dc.Labels([3, 4])) == {3: 1, 4: 1}
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute("INSERT INTO p VALUES ('3.5')")
    assert "row 3 of column 'visits'" in str(read_problem(tmp_path / "p.duckdb"))


def test_what_is_no_number_in_a_column_of_floats_is_missing_or_refused(tmp_path: Path) -> None:
    for wrong, words in (
        ("nan", "the value is missing"),
        ("inf", "not a whole number"),
        ("1e300", "not a whole number"),
    ):
        with duckdb.connect(str(tmp_path / f"{wrong}.duckdb")) as store:
            store.execute(f"CREATE TABLE p AS SELECT CAST(v AS DOUBLE) AS visits FROM (VALUES ('3'), ('{wrong}')) t(v)")
        problem = str(read_problem(tmp_path / f"{wrong}.duckdb"))
        assert "row 2 of column 'visits'" in problem and words in problem


def test_an_error_about_a_row_says_what_to_do_apart_and_holds_no_value(tmp_path: Path) -> None:
    for wrong, advice in (
        ("", "Drop such rows, or decide what they are."),
        ("x4711", "Convert them deliberately first."),
        ("4711", "Give values in that range, or build for a larger n."),
    ):
        (tmp_path / "people.csv").write_text(f'visits\n3\n"{wrong}"\n', encoding="utf-8")
        problem = read_problem(tmp_path / "people.csv")
        assert str(problem).startswith("row 2 of column 'visits'") and str(problem).endswith(advice)
        assert problem.advice == advice and problem.given is None


def test_the_argument_of_a_column_that_is_not_there_is_named_only_where_it_is_known(tmp_path: Path) -> None:
    """A column of groups is asked for by --group or by --by."""
    (tmp_path / "people.csv").write_text("visits,sex\n3,f\n", encoding="utf-8")
    for arguments, argument in (({"column": "sx"}, "column"), ({"column": "visits", "group": "sx"}, None)):
        with refused(InvalidInput, token="'sx' ... mean 'sex'") as failure:
            tables.FileColumn(tmp_path / "people.csv", **arguments)
        assert failure.value.argument == argument


SPOILT = {
    "fewer fields": b"name,visits\np,3\nsecret4711\np,4\n",
    "no UTF-8": b"name,visits\np,3\np,secret\xff4711\n",
    "too long": b"name,visits\np,3\nsecret4711" + b"x" * 3_000_000 + b",3\n",
    "no number": b"name,visits\np,3\np,secret4711\n",
    "out of range": b"name,visits\np,3\np,4711\n",
    "missing": b"name,visits\np,4\np,\n",
}


@pytest.mark.parametrize("what", SPOILT)
def test_neither_rows_nor_the_engines_words_are_in_reach_of_a_failure(what: str, tmp_path: Path) -> None:
    """Also not in the chain of exceptions, nor in the variables of the frames that a report of errors may show."""
    data = tmp_path / "people.csv"
    data.write_bytes(SPOILT[what])
    problem = read_problem(data)
    assert problem.__context__ is None and problem.__cause__ is None
    shown = "".join(traceback.TracebackException.from_exception(problem, capture_locals=True).format())
    shown = shown.replace(str(tmp_path), "")
    assert "4711" not in shown and "secret" not in shown and "array(" not in shown
    assert "row 2" in str(problem) or "line 3" in str(problem)


def test_a_file_that_ends_in_the_middle_is_refused_without_the_engines_words(tmp_path: Path) -> None:
    packed = gzip.compress(b"visits\n" + b"".join(b"%d\n" % (k % 20) for k in range(500_000)))
    (tmp_path / "people.csv.gz").write_bytes(packed[: len(packed) // 2])
    problem = read_problem(tmp_path / "people.csv.gz")
    assert "withheld" in str(problem) and problem.__context__ is None
    with refused(UnreadableFile, token="withheld") as failure:
        tables.FileColumn(tmp_path / "people.csv.gz").counts(dc.Counts(20))
    assert failure.value.__context__ is None


def test_quoted_line_ends_split_no_row(tmp_path: Path) -> None:
    """Read by several threads, the engine loses rows after a line end in quotes."""
    with open(tmp_path / "people.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["note", "visits"])
        out.writerows(["two\nlines, " * (k % 60), k % 5] for k in range(150_000))
    m = dc.randomized_response(5, epsilon=40)  # reports the truth
    assert (
        tables.perturb_column(m, tables.FileColumn(tmp_path / "people.csv", "visits"), tmp_path / "r.parquet")
        == 150_000
    )
    assert np.array_equal(pd.read_parquet(tmp_path / "r.parquet")["report"], np.arange(150_000) % 5)


def test_a_dialect_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name;visits\nann;3\nbob;4\n", encoding="utf-8")
    with refused(UnreadableFile, token="read_csv('people.csv', sep=';')"):
        tables.FileColumn(tmp_path / "people.csv", "visits")
    for name, text in (("p.tsv", "name\tvisits\na,b\t3\n"), ("p.csv", "name,visits\n#a,3\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert tables.FileColumn(tmp_path / name, "VISITS").counts(dc.Counts(5)) == {3: 1}


def test_a_name_that_two_columns_share_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits,Visits,name\n1,2,ann\n", encoding="utf-8")
    with refused(InvalidInput, "column"):
        tables.FileColumn(tmp_path / "people.csv", "visits")


def test_a_file_without_a_heading_is_refused_and_its_first_row_not_quoted(tmp_path: Path, mechanism: Path) -> None:
    reports = tmp_path / "reports.csv"
    for text in ("17\n4\n5\n", "17.0\n4\n", "17,17\n4,5\n", "ann,17\nbob,4\n"):
        reports.write_text(text, encoding="utf-8")
        for told in (
            run("estimate", reports, "--mechanism", mechanism, code=2).stderr,
            run("perturb", "visits", "--data", reports, "--mechanism", mechanism, "-o", "r.csv", code=2).stderr,
        ):
            told = told.replace(str(tmp_path), "")  # the name of the folder may hold any number
            assert "the first line must be a heading" in told and "17" not in told and "ann" not in told
    reports.write_text("17\n4\n5\n", encoding="utf-8")
    assert tables.FileColumn(reports, "17").counts(dc.Counts(5)) == {4: 1, 5: 1}  # a name that somebody gives is one
    reports.write_text("yes\nno\nno\n", encoding="utf-8")
    with refused(InvalidInput, "column"):
        tables.FileColumn(reports).counts(dc.Labels(["yes", "no"]))
    dc.randomized_response(["yes", "no"], epsilon=1).save(tmp_path / "m.json")
    for text in ("yes\nno\nno\n", "yes,yes\nno,no\n", "ann,yes\nbob,no\n"):
        reports.write_text(text, encoding="utf-8")
        told = run("perturb", "v", "--data", reports, "--mechanism", tmp_path / "m.json", "-o", "r.csv", code=2).stderr
        assert "the first line must be a heading" in told and "yes" not in told.replace(str(tmp_path), "")


def test_headings_that_cannot_be_used_are_said_so_by_estimates_too(tmp_path: Path) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("report;x\n3;1\n", encoding="utf-8")
    with refused(UnreadableFile, token="read_csv('reports.csv', sep=';')"):
        tables.FileColumn(reports)
    reports.write_text("report,report\n3,1\n", encoding="utf-8")
    with refused(InvalidInput, "column"):
        tables.FileColumn(reports)
    reports.write_text("report\n3\nreport\n4\n", encoding="utf-8")
    for space in (dc.Counts(5), dc.Labels(["3", "4"])):
        with refused(dc.errors.WrongType, "column"):
            tables.FileColumn(reports).counts(space)


@pytest.mark.parametrize("out", ["tsv", "csv.gz", "tsv.gz"])
def test_reports_are_written_as_their_ending_says(out: str, tmp_path: Path) -> None:
    m = dc.randomized_response(["a\tb", 'c,"d"\n', "e"], epsilon=40)
    pd.DataFrame({"v": ["a\tb", 'c,"d"\n', "e"]}).to_csv(tmp_path / "people.csv", index=False)
    tables.perturb_column(m, tables.FileColumn(tmp_path / "people.csv"), tmp_path / f"r.{out}")
    assert tables.FileColumn(tmp_path / f"r.{out}").counts(m.outputs) == dict.fromkeys(m.outputs.labels, 1)


def test_labels_of_two_kinds_are_told_apart_by_their_text(tmp_path: Path) -> None:
    m = dc.randomized_response([1, "one"], epsilon=40)
    (tmp_path / "people.csv").write_text("v\n1\none\none\n", encoding="utf-8")
    tables.perturb_column(m, tables.FileColumn(tmp_path / "people.csv"), tmp_path / "r.parquet")
    assert tables.FileColumn(tmp_path / "r.parquet").counts(m.outputs) == {1: 1, "one": 2}
    with refused(InvalidInput, "labels"):
        tables.FileColumn(tmp_path / "people.csv").counts(dc.Labels([1, "1"]))
    with refused(InvalidInput, "column"):
        tables.FileColumn(tmp_path / "people.csv").counts(dc.Labels([1, "two"]))


@pytest.mark.parametrize("kind", ["HUGEINT", "UBIGINT", "DECIMAL(38,0)"])
def test_long_whole_numbers_are_read_where_they_fit(kind: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute(f"CREATE TABLE p AS SELECT CAST(v AS {kind}) AS visits FROM (VALUES (3), (4)) t(v)")
    assert tables.FileColumn(tmp_path / "p.duckdb").counts(dc.Counts(5)) == {3: 1, 4: 1}
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute("INSERT INTO p VALUES (18446744073709551615)")
    assert "row 3 of column 'visits'" in str(read_problem(tmp_path / "p.duckdb"))


def test_a_folder_of_parquet_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for part in (2, 0, 1):
        pd.DataFrame({"v": [part, part]}).to_parquet(tmp_path / "parts" / f"{part}.parquet")
    m = dc.randomized_response(3, epsilon=40)
    tables.perturb_column(m, tables.FileColumn(tmp_path / "parts"), tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_labels_that_are_numbers_come_back_as_numbers(kind: str, tmp_path: Path) -> None:
    m = dc.randomized_response([1, 2, 3], epsilon=2)
    pd.DataFrame({"answer": [1, 2, 3, 1] * 50}).to_csv(tmp_path / "people.csv", index=False)
    reports = tmp_path / f"reports.{kind}"
    perturb_column(m, FileColumn(tmp_path / "people.csv"), reports)
    counts = FileColumn(reports).counts(m.outputs)
    assert dc.estimate(counts, m).people == 200


def test_a_column_without_rows_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits\n")
    m = dc.geometric(9, epsilon=1)
    with refused(InvalidInput, "data"):
        perturb_column(m, FileColumn(tmp_path / "people.csv", "visits"), tmp_path / "reports.csv")
    with refused(InvalidInput, "data"):
        FileColumn(tmp_path / "people.csv").counts(m.outputs)
