"""discreet perturb and discreet estimate, on files of every kind."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import re
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import run
from discreet.collect import tables
from discreet.errors import InvalidInput, UnreadableFile

VISITS = Path(__file__).parent.parent.parent / "data" / "doctor_visits.csv.gz"


@pytest.fixture
def mechanism(tmp_path: Path) -> Path:
    file = tmp_path / "m.json"
    dc.geometric(20, epsilon=1).save(file)
    return file


def people(folder: Path, kind: str, values: list[object]) -> Path:
    """The same column in a file of each kind, beside another column."""
    frame = pd.DataFrame({"name": [f"p{k}" for k in range(len(values))], "visits": values})
    file = folder / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    else:
        with duckdb.connect(str(file)) as store:
            store.execute("CREATE TABLE people AS SELECT * FROM frame")
    return file


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
@pytest.mark.parametrize("out", ["csv", "parquet", "duckdb"])
def test_true_values_become_reports_and_reports_an_estimate(
    kind: str, out: str, tmp_path: Path, mechanism: Path
) -> None:
    truths = np.random.default_rng(1).binomial(20, 0.3, 3000)
    data, reports = people(tmp_path, kind, truths.tolist()), tmp_path / f"reports.{out}"
    m = dc.load(mechanism)
    assert tables.perturb_column(m, tables.Source(data, "visits"), reports) == 3000
    source = tables.Source(reports)
    assert source.column == "report"  # the only one: neither names nor true values were written
    counts = source.counts(m.outputs)
    assert sum(counts.values()) == 3000
    e = dc.estimate(counts, m)
    assert e.converged and abs(e.mean() - truths.mean()) < 0.5
    assert not list(tmp_path.glob(".discreet-*"))


def test_the_verbs_say_what_they_did_and_what_it_protects(tmp_path: Path, mechanism: Path) -> None:
    data, reports = people(tmp_path, "csv", [1, 2, 3] * 100), tmp_path / "reports.parquet"
    out = run("perturb", "visits", "--data", data, "--mechanism", mechanism, "-o", reports).stdout
    assert "300 reports" in out and "not written" in out
    assert "Between any two true values epsilon is 20." in out and "Per unit it is 1" in out
    page = tmp_path / "page.html"
    out = run("estimate", reports, "--mechanism", mechanism, "--report", page).stdout
    for words in ("maximum likelihood", "mean", "0.5-quantile", "low (0.95)", "probability", "population"):
        assert words in out
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text and "<table>" in text and "maximum likelihood" in text and "<script" not in text
    found = json.loads(run("estimate", reports, "--mechanism", mechanism, "--json", "--level", 0.9).stdout)
    assert found["converged"] and found["people"] == 300 and found["level"] == 0.9
    assert found["intervals"][0]["low"] < found["mean"] < found["intervals"][0]["high"]


def test_labels_and_maps_go_through_files(tmp_path: Path) -> None:
    answers, place = dc.randomized_response(["1", "yes", "no"], epsilon=2), dc.Grid(2, 3, cell=100.0)
    planar = dc.planar_geometric(place, epsilon="0.01")
    for m, values in ((answers, ["1", "yes", "no", "1"]), (planar, [0, 5, 2, 2])):
        file, reports = tmp_path / f"{m.family}.csv", tmp_path / f"{m.family}.parquet"
        pd.DataFrame({"value": values}).to_csv(file, index=False)
        assert tables.perturb_column(m, tables.Source(file), reports) == 4
        assert sum(tables.Source(reports).counts(m.outputs).values()) == 4
    m = tmp_path / "map.json"
    planar.save(m)
    words = run("perturb", "value", "--data", file, "--mechanism", m, "-o", tmp_path / "again.csv").stdout
    assert "Per metre it is 0.01" in words


def test_groups_with_mechanisms_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    files, mechanisms = [], []
    for name, epsilon in (("a", 1), ("b", 2)):
        m = dc.geometric(10, epsilon=epsilon)
        file = tmp_path / f"{name}.csv"
        pd.DataFrame({"report": m.simulate(rng.binomial(10, 0.4, 300), seed=1)}).to_csv(file, index=False)
        m.save(tmp_path / f"{name}.json")
        files.append(file)
        mechanisms.append(tmp_path / f"{name}.json")
    out = run("estimate", *files, "--mechanism", mechanisms[0], "--mechanism", mechanisms[1]).stdout
    assert "of 2 groups" in out and "same distribution in all groups: p = " in out
    both = json.loads(run("estimate", *files, "--mechanism", mechanisms[0], "--json").stdout)
    assert both["people"] == 600 and "homogeneity" not in both


def test_noise_without_end_needs_a_range(tmp_path: Path) -> None:
    m = dc.two_sided_geometric(epsilon=1)
    m.save(tmp_path / "m.json")
    reports = tmp_path / "reports.csv"
    pd.DataFrame({"report": m.simulate(np.full(50, 3), seed=1)}).to_csv(reports, index=False)
    assert "--over N" in run("estimate", reports, "--mechanism", tmp_path / "m.json", code=2).stderr
    out = run("estimate", reports, "--mechanism", tmp_path / "m.json", "--over", 9, "--method", "smoothed").stdout
    assert "10 true counts" in out and "cross-validation" in out


def test_a_range_that_cannot_be_estimated_is_refused(tmp_path: Path) -> None:
    dc.two_sided_geometric(epsilon=1).save(tmp_path / "m.json")
    (tmp_path / "r.csv").write_text("report\n1\n2\n", encoding="utf-8")
    told = run("estimate", tmp_path / "r.csv", "--mechanism", tmp_path / "m.json", "--over", 10**11, code=2).stderr
    assert re.search(r"100,000,000,001 true values; at most [\d,]+ can be estimated", told)


def test_one_report_is_one_report(tmp_path: Path, mechanism: Path) -> None:
    data, reports = people(tmp_path, "csv", [3]), tmp_path / "r.csv"
    out = run("perturb", "visits", "--data", data, "--mechanism", mechanism, "-o", reports).stdout
    assert out.startswith("1 report in ")
    out = run("estimate", reports, "--mechanism", mechanism).stdout
    assert out.startswith("distribution of 21 true counts, from 1 report\n")


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, 77], r"row 3 of column 'visits': a value is not a count in 0\.\.20"),
        ([4.0, 77.5], "row 2 of column 'visits': the value is not a whole number"),
        ([4, None, 5], "row 2 of column 'visits': the value is missing"),
        (["4", "ill", "7777"], "row 2 of column 'visits': the value is not a whole number"),
        ([True, False], "holds BOOLEAN; whole numbers are needed"),
    ],
    ids=["outside", "floats", "missing", "text", "truths"],
)
def test_a_wrong_true_value_is_told_by_its_place_and_leaves_no_file(
    values: list[object], words: str, tmp_path: Path, mechanism: Path
) -> None:
    frame = pd.DataFrame({"visits": pd.array(values, dtype="Int64") if None in values else values})
    data = tmp_path / "people.parquet"
    frame.to_parquet(data)
    out = tmp_path / "reports.parquet"
    error = run("perturb", "visits", "--data", data, "--mechanism", mechanism, "-o", out, code=2).stderr
    assert re.search(words, error)
    told = error.replace(str(tmp_path), "")  # the name of the folder may hold any number
    assert "77" not in told and "ill" not in told and not out.exists()
    assert not list(tmp_path.glob(".discreet-*"))


def read_problem(data: Path, column: str = "visits", n: int = 20) -> dc.errors.DiscreetError:
    with pytest.raises(dc.errors.DiscreetError) as failure:
        tables.perturb_column(dc.geometric(n, epsilon=1), tables.Source(data, column), data.parent / "reports.parquet")
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
    assert "row 60,001 of column 'visits' (the heading is not counted): the value is not a whole number" in str(problem)


def test_whole_numbers_may_have_a_sign_and_blanks(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('visits\n 3\n+3\n"03"\n3 \n-0\n3.0\n', encoding="utf-8")
    assert tables.Source(tmp_path / "people.csv").counts(dc.Counts(5)) == {3: 5, 0: 1}


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(10,2)", "VARCHAR"])
def test_whole_numbers_are_read_from_columns_of_other_types(kind: str, tmp_path: Path) -> None:
    """Programs turn a column of whole numbers into one of these once a value was missing."""
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute(f"CREATE TABLE p AS SELECT CAST(v AS {kind}) AS visits FROM (VALUES ('3.0'), ('4')) t(v)")
    assert tables.Source(tmp_path / "p.duckdb").counts(dc.Counts(5)) == {3: 1, 4: 1}
    if kind != "VARCHAR":
        assert tables.Source(tmp_path / "p.duckdb").counts(dc.Labels([3, 4])) == {3: 1, 4: 1}
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute("INSERT INTO p VALUES ('3.5')")
    assert "row 3 of column 'visits': the value is not a whole number" in str(read_problem(tmp_path / "p.duckdb"))


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
    with pytest.raises(UnreadableFile, match="withheld") as failure:
        tables.Source(tmp_path / "people.csv.gz").counts(dc.Counts(20))
    assert failure.value.__context__ is None


def test_quoted_line_ends_split_no_row(tmp_path: Path) -> None:
    """Read by several threads, the engine loses rows after a line end in quotes."""
    with open(tmp_path / "people.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["note", "visits"])
        out.writerows(["two\nlines, " * (k % 60), k % 5] for k in range(150_000))
    m = dc.randomized_response(5, epsilon=40)  # reports the truth
    assert tables.perturb_column(m, tables.Source(tmp_path / "people.csv", "visits"), tmp_path / "r.parquet") == 150_000
    assert np.array_equal(pd.read_parquet(tmp_path / "r.parquet")["report"], np.arange(150_000) % 5)


def test_a_dialect_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name;visits\nann;3\nbob;4\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"separates its fields by semicolons.*sep=';'"):
        tables.Source(tmp_path / "people.csv", "visits")
    for name, text in (("p.tsv", "name\tvisits\na,b\t3\n"), ("p.csv", "name,visits\n#a,3\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert tables.Source(tmp_path / name, "VISITS").counts(dc.Counts(5)) == {3: 1}


def test_a_name_that_two_columns_share_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits,Visits,name\n1,2,ann\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="several columns called 'visits'"):
        tables.Source(tmp_path / "people.csv", "visits")


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
    assert tables.Source(reports, "17").counts(dc.Counts(5)) == {4: 1, 5: 1}  # a name that somebody gives is one
    reports.write_text("yes\nno\nno\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="the first line must be a heading"):
        tables.Source(reports).counts(dc.Labels(["yes", "no"]))
    dc.randomized_response(["yes", "no"], epsilon=1).save(tmp_path / "m.json")
    for text in ("yes\nno\nno\n", "yes,yes\nno,no\n", "ann,yes\nbob,no\n"):
        reports.write_text(text, encoding="utf-8")
        told = run("perturb", "v", "--data", reports, "--mechanism", tmp_path / "m.json", "-o", "r.csv", code=2).stderr
        assert "the first line must be a heading" in told and "yes" not in told.replace(str(tmp_path), "")


def test_headings_that_cannot_be_used_are_said_so_by_estimates_too(tmp_path: Path) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("report;x\n3;1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="separates its fields by semicolons, and commas are read"):
        tables.Source(reports)
    reports.write_text("report,report\n3,1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="several columns called 'report'"):
        tables.Source(reports)
    reports.write_text("report\n3\nreport\n4\n", encoding="utf-8")
    for space in (dc.Counts(5), dc.Labels(["3", "4"])):
        with pytest.raises(dc.errors.WrongType, match=r"1 row of column 'report'.*repeats the name of the column"):
            tables.Source(reports).counts(space)


@pytest.mark.parametrize("out", ["tsv", "csv.gz", "tsv.gz"])
def test_reports_are_written_as_their_ending_says(out: str, tmp_path: Path) -> None:
    m = dc.randomized_response(["a\tb", 'c,"d"\n', "e"], epsilon=40)
    pd.DataFrame({"v": ["a\tb", 'c,"d"\n', "e"]}).to_csv(tmp_path / "people.csv", index=False)
    tables.perturb_column(m, tables.Source(tmp_path / "people.csv"), tmp_path / f"r.{out}")
    assert tables.Source(tmp_path / f"r.{out}").counts(m.outputs) == dict.fromkeys(m.outputs.labels, 1)


def test_labels_of_two_kinds_are_told_apart_by_their_text(tmp_path: Path) -> None:
    m = dc.randomized_response([1, "one"], epsilon=40)
    (tmp_path / "people.csv").write_text("v\n1\none\none\n", encoding="utf-8")
    tables.perturb_column(m, tables.Source(tmp_path / "people.csv"), tmp_path / "r.parquet")
    assert tables.Source(tmp_path / "r.parquet").counts(m.outputs) == {1: 1, "one": 2}
    with pytest.raises(InvalidInput, match="written alike"):
        tables.Source(tmp_path / "people.csv").counts(dc.Labels([1, "1"]))
    with pytest.raises(InvalidInput, match=r"2 rows of column 'v'.*not one of the 2 labels"):
        tables.Source(tmp_path / "people.csv").counts(dc.Labels([1, "two"]))


@pytest.mark.parametrize("kind", ["HUGEINT", "UBIGINT", "DECIMAL(38,0)"])
def test_long_whole_numbers_are_read_where_they_fit(kind: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute(f"CREATE TABLE p AS SELECT CAST(v AS {kind}) AS visits FROM (VALUES (3), (4)) t(v)")
    assert tables.Source(tmp_path / "p.duckdb").counts(dc.Counts(5)) == {3: 1, 4: 1}
    with duckdb.connect(str(tmp_path / "p.duckdb")) as store:
        store.execute("INSERT INTO p VALUES (18446744073709551615)")
    assert "row 3 of column 'visits': the value is not a whole number" in str(read_problem(tmp_path / "p.duckdb"))


def test_a_folder_of_parquet_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for part in (2, 0, 1):
        pd.DataFrame({"v": [part, part]}).to_parquet(tmp_path / "parts" / f"{part}.parquet")
    m = dc.randomized_response(3, epsilon=40)
    tables.perturb_column(m, tables.Source(tmp_path / "parts"), tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [0, 0, 1, 1, 2, 2]


# ------------------------------------------------------------------------------------------------ places and groups


def test_places_are_two_columns(tmp_path: Path) -> None:
    grid = dc.Grid(2, 3, cell=100.0)
    m = dc.planar_geometric(grid, epsilon="1/2")  # per metre: hardly any noise
    m.save(tmp_path / "map.json")
    data = tmp_path / "places.csv"
    data.write_text("east,north,name\n0,0,a\n299.9,1.5e1,b\n150,199,c\n", encoding="utf-8")
    out = tmp_path / "reports.csv"
    run("perturb", "east", "north", "--data", data, "--mechanism", tmp_path / "map.json", "-o", out)
    assert pd.read_csv(out)["report"].tolist() == [0, 2, 4]
    for row, words in (
        ("300,50,d", "row 4 .*: a place lies outside the grid"),
        (",50,d", "row 4 .*: the value is missing"),
        ('"2,5",50,d', "row 4 .*: a coordinate is not a number"),
    ):
        data.write_text(f"east,north,name\n0,0,a\n299.9,15,b\n150,199,c\n{row}\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match=words) as failure:
            tables.perturb_column(m, tables.Source(data, ["east", "north"]), tmp_path / "again.csv")
        assert failure.value.__context__ is None
    with pytest.raises(InvalidInput, match="takes one column; got 2"):
        tables.perturb_column(
            dc.geometric(9, epsilon=1), tables.Source(data, ["east", "north"]), tmp_path / "again.csv"
        )
    frame = pd.DataFrame({"east": ["1"], "north": [2.5]})
    frame.to_parquet(tmp_path / "places.parquet")
    with pytest.raises(dc.errors.WrongType, match="holds VARCHAR; numbers are needed"):
        tables.perturb_column(m, tables.Source(tmp_path / "places.parquet", ["east", "north"]), tmp_path / "again.csv")


@pytest.mark.parametrize(
    "columns",
    [
        ["longitude", "latitude"], ["lon", "lat"], ["lng", "lat"], ["Lon", "LAT"], ["home_long", "home_lat"],
        ["startLon", "startLat"], ["lon_deg", "lat_deg"], ["lat", "lon"], ["lat"],
    ],
)  # fmt: skip
def test_degrees_are_not_taken_for_metres(columns: list[str], tmp_path: Path) -> None:
    """All of them would lie in the south-west corner. By name, whatever the rows: nothing is told about them."""
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    data, out = tmp_path / "places.csv", tmp_path / "again.csv"
    told = set()
    for rows in ("2.35,48.85\n2.36,48.86\n", "2.35,48.85\n", "1200,3500\n", "-1,x\n", ""):
        data.write_text(",".join([*columns, "name"][:2]) + f"\n{rows}", encoding="utf-8")
        with pytest.raises(InvalidInput, match=r"look like degrees: .* metres east and north") as failure:
            tables.perturb_column(m, tables.Source(data, columns), out)
        told.add(str(failure.value))
    assert len(told) == 1 and not out.exists()
    m.save(tmp_path / "map.json")
    words = run("perturb", *columns, "--data", data, "--mechanism", tmp_path / "map.json", "-o", out, code=2).stderr
    assert "east = (longitude - west) * 111195 * cos(radians(south))" in words


def test_columns_declared_for_degrees_are_not_taken_for_metres(tmp_path: Path) -> None:
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    with duckdb.connect(str(tmp_path / "p.duckdb")) as engine:
        engine.execute("CREATE TABLE p (a DECIMAL(9,6), b DECIMAL(8,6), c DECIMAL(9,2), d DECIMAL(9,2), e DOUBLE)")
        engine.execute("INSERT INTO p VALUES (2.35, 48.85, 160, 10, 20)")
    with pytest.raises(InvalidInput, match="look like degrees: 'a' and 'b'"):
        tables.perturb_column(m, tables.Source(tmp_path / "p.duckdb", ["a", "b"]), tmp_path / "r.csv")
    for k, columns in enumerate((["c", "d"], ["c", "e"])):  # the negative control
        assert tables.perturb_column(m, tables.Source(tmp_path / "p.duckdb", columns), tmp_path / f"{k}.csv") == 1


def test_a_map_in_degrees_takes_degrees(tmp_path: Path) -> None:
    """Its cells are narrower than a degree. Columns of metres with other names are no degrees on any map."""
    m = dc.planar_geometric(dc.Grid(100, 100, cell=0.05), epsilon=300)
    (tmp_path / "p.csv").write_text("lon,lat\n0.355,0.855\n", encoding="utf-8")
    assert tables.perturb_column(m, tables.Source(tmp_path / "p.csv", ["lon", "lat"]), tmp_path / "r.csv") == 1
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [1707]
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    for k, names in enumerate(("x,y", "along,flat", "latency,longest", "platform,salon")):
        (tmp_path / "p.csv").write_text(f"{names}\n160,10\n", encoding="utf-8")
        out = tmp_path / f"{k}.csv"
        assert tables.perturb_column(m, tables.Source(tmp_path / "p.csv", names.split(",")), out) == 1


def test_north_is_not_given_before_east(tmp_path: Path) -> None:
    m = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon="1/20")
    for names in ("north,east", "y,x", "northing_m,easting_m"):
        (tmp_path / "p.csv").write_text(f"{names}\n160,10\n", encoding="utf-8")
        first, second = names.split(",")
        with pytest.raises(InvalidInput, match=f"east, then north. Type: {second} {first}"):
            tables.perturb_column(m, tables.Source(tmp_path / "p.csv", names.split(",")), tmp_path / "r.csv")


@pytest.fixture
def choices(tmp_path: Path) -> list[object]:
    """People who chose one of two mechanisms, and the options that say so."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"choice": np.where(rng.random(4000) < 0.5, "bold", "shy"), "visits": rng.binomial(10, 0.4, 4000)}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    options: list[object] = ["--group", "choice"]
    for name, epsilon in (("bold", 3), ("shy", 1)):
        dc.geometric(10, epsilon=epsilon).save(tmp_path / f"{name}.json")
        options += ["--mechanism", f"{name}={tmp_path / f'{name}.json'}"]
    return options


@pytest.mark.parametrize("out", ["csv", "parquet", "duckdb"])
def test_people_who_chose_different_mechanisms_in_one_file(out: str, choices: list[object], tmp_path: Path) -> None:
    data, reports = tmp_path / "people.csv", tmp_path / f"reports.{out}"
    words = run("perturb", "visits", "--data", data, *choices, "-o", reports).stdout
    assert "bold: Between any two true values epsilon is 30." in words and "shy: Between" in words
    source = tables.Source(reports, group="choice")
    by_group = source.counts_by_group([dc.Counts(10)] * 2, ["bold", "shy"])
    people = pd.read_csv(data)
    assert [sum(counts.values()) for counts in by_group] == [
        (people["choice"] == name).sum() for name in ("bold", "shy")
    ]
    found = json.loads(run("estimate", reports, *choices, "--json").stdout)
    assert found["people"] == 4000 and abs(found["mean"] - people["visits"].mean()) < 0.2
    assert "homogeneity" in found and len(found["stratified"]["distribution"]) == 11


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
@pytest.mark.parametrize("name", ["visits", "VISITS"])
def test_the_column_of_groups_is_never_that_of_true_values(
    kind: str, name: str, tmp_path: Path, mechanism: Path
) -> None:
    """It is written as it is."""
    data, out = people(tmp_path, kind, [1, 2]), tmp_path / "r.csv"
    choices = [option for value in (1, 2) for option in ("--mechanism", f"{value}={mechanism}")]
    for columns in (("visits", name), ("Visits", name)):
        told = run("perturb", columns[0], "--data", data, "--group", columns[1], *choices, "-o", out, code=2).stderr
        assert "column of groups must be another" in told and not out.exists()


def test_one_column_is_not_given_twice(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("east,north\n1,2\n", encoding="utf-8")
    dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon="1/2").save(tmp_path / "map.json")
    given, out = ["--data", tmp_path / "places.csv", "-o", tmp_path / "r.csv"], tmp_path / "r.csv"
    told = run("perturb", "east", "East", *given, "--mechanism", tmp_path / "map.json", code=2).stderr
    assert "the columns must differ" in told and not out.exists()
    for group in ("east", "NORTH"):
        choice = [
            "--group",
            group,
            "--mechanism",
            f"1={tmp_path / 'map.json'}",
            "--mechanism",
            f"2={tmp_path / 'map.json'}",
        ]
        told = run("perturb", "east", "north", *given, *choice, code=2).stderr
        assert "column of groups must be another" in told and not out.exists()


def test_groups_that_differ_are_said_so_first_and_told_by_the_stratified_estimate(tmp_path: Path) -> None:
    shy, bold = (dc.geometric(5, epsilon=e) for e in (1, 3))
    lines = ["choice,report"]
    for name, m, truth in (("shy", shy, 1), ("bold", bold, 4)):
        m.save(tmp_path / f"{name}.json")
        lines += [f"{name},{report}" for report in m.simulate(np.full(300, truth), seed=1)]
    reports = tmp_path / "reports.csv"
    reports.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = [reports, "--group", "choice"]
    for name in ("shy", "bold"):
        options += ["--mechanism", f"{name}={tmp_path / f'{name}.json'}"]
    counts = tables.Source(reports, group="choice").counts_by_group([dc.Counts(5)] * 2, ["shy", "bold"])
    other = dc.estimate(list(zip(counts, (shy, bold), strict=True))).stratified
    mean = other.interval("mean")
    out = run("estimate", *options, "--report", tmp_path / "page.html").stdout
    head, _, rest = out.partition("mean ")
    assert "use the stratified estimate" in head
    below = rest.splitlines()[1].split()
    assert below == ["stratified", *(f"{value:.4g}" for value in (other.mean(), mean.low, mean.high))]
    row = next(line.split() for line in rest.splitlines() if line.startswith("1 "))
    assert row[2] == f"{other.distribution[1]:.4f}"
    found = json.loads(run("estimate", *options, "--json").stdout)["stratified"]
    assert found["distribution"] == other.distribution.tolist() and found["mean"] == other.mean()
    assert found["intervals"][0] == {
        "statistic": "mean", "estimate": other.mean(), "low": mean.low, "high": mean.high
    }  # fmt: skip
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Group shy, 300 people" in page and "Group bold" in page and "reports.csv" in page


def test_each_group_has_its_own_mechanism(tmp_path: Path) -> None:
    """One tells the truth, the other turns it round."""
    turned = dc.from_matrix([[0, 1], [1, 0]])
    m = {"no": dc.randomized_response(2, epsilon=40), "yes": turned}
    pd.DataFrame({"turn": ["no", "yes"] * 50, "v": [0, 0, 1, 1] * 25}).to_csv(tmp_path / "people.csv", index=False)
    tables.perturb_column(m, tables.Source(tmp_path / "people.csv", "v", group="turn"), tmp_path / "r.csv")
    found = pd.read_csv(tmp_path / "r.csv")
    assert found["turn"].tolist() == ["no", "yes"] * 50 and found["report"].tolist() == [0, 1, 1, 0] * 25


def test_groups_that_make_no_sense_are_refused(choices: list[object], tmp_path: Path) -> None:
    data, out = tmp_path / "people.csv", tmp_path / "r.csv"

    def refused(*options: object) -> str:
        return run("perturb", "visits", "--data", data, *options, "-o", out, code=2).stderr

    assert "NAME=FILE" in refused("--group", "choice", "--mechanism", tmp_path / "shy.json")
    assert "no column 'chosen'" in refused("--group", "chosen", *choices[2:])
    assert "with --group which column" in refused(*["--mechanism", tmp_path / "shy.json"] * 2)
    told = refused("--group", "choice", "--mechanism", f"shy={tmp_path / 'shy.json'}")
    assert "none of those with a mechanism, which are shy" in told and "bold" not in told
    assert "two mechanisms" in refused(*choices, "--mechanism", f"shy={tmp_path / 'shy.json'}")
    dc.geometric(9, epsilon=1).save(tmp_path / "other.json")
    assert "same true values" in refused(*choices[:-1], f"shy={tmp_path / 'other.json'}")
    assert not out.exists()


def test_a_bar_is_shown_on_a_terminal_only(tmp_path: Path, mechanism: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH", 10)
    for kind in ("csv", "parquet", "duckdb"):
        source, told = tables.Source(people(tmp_path, kind, [1, 2, 3] * 20), "visits"), list[float]()
        tables.perturb_column(dc.load(mechanism), source, tmp_path / f"r.{kind}", told.append)
        assert len(told) == 6 and told == sorted(told) and told[0] >= 0 and told[-1] <= 1
        assert kind == "csv" or told[-1] == 1
        assert sum(source.counts(dc.Counts(20), told.append).values()) == 60
    assert run("estimate", tmp_path / "r.csv", "--mechanism", mechanism).stderr == ""


def test_the_true_column_is_read_from_a_table_beside_views(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as store:
        store.execute("CREATE TABLE t AS SELECT 3 AS visits; CREATE VIEW v AS SELECT visits + 1 AS visits FROM t")
    assert tables.Source(tmp_path / "t.duckdb").counts(dc.Counts(5)) == {3: 1}
    assert tables.Source(tmp_path / "t.duckdb", table="V").counts(dc.Counts(5)) == {4: 1}


def test_a_table_larger_than_the_engines_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MEMORY", "20MB")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as store:
        # numbers that cannot be packed: 8 bytes each
        store.execute("CREATE TABLE t AS SELECT hash(i) % 1_000_000_000_000_000 AS v FROM range(6_000_000) r(i)")
    assert (tmp_path / "t.duckdb").stat().st_size > 1.5 * 20_000_000
    m = dc.two_sided_geometric(epsilon=1)
    assert tables.perturb_column(m, tables.Source(tmp_path / "t.duckdb"), tmp_path / "r.parquet") == 6_000_000
    with pytest.raises(UnreadableFile, match="more memory than 20MB") as failure:
        tables.Source(tmp_path / "t.duckdb").counts(m.outputs)  # six million different values
    assert failure.value.__context__ is None


def test_a_database_in_use_is_told_from_a_broken_one(tmp_path: Path) -> None:
    file = str(tmp_path / "t.duckdb")
    code = f"import duckdb, time; c = duckdb.connect({file!r}); print('open', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == b"open\n"
            with pytest.raises(UnreadableFile, match="another program has it open for writing") as failure:
                tables.Source(tmp_path / "t.duckdb")
            assert failure.value.__context__ is None
        finally:
            other.kill()
    (tmp_path / "b.duckdb").write_text("no database at all")
    with pytest.raises(UnreadableFile, match="damaged"):
        tables.Source(tmp_path / "b.duckdb")


def test_no_true_value_reaches_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Watched from beside: the data is in another folder, and the mechanism never reports the truth."""
    monkeypatch.setattr(tables, "BATCH", 1000)
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(out)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    labels = dc.Labels(["xyzzy4711", "other"])
    m = dc.from_matrix([[0, 1], [0, 1]], inputs=labels, outputs=labels)
    (tmp_path / "people.csv").write_text("v\n" + "xyzzy4711\n" * 50_000, encoding="utf-8")
    seen, stop = set[str](), threading.Event()

    def watch() -> None:
        while not stop.wait(0.001):
            for file in [*out.rglob("*"), *temporary.rglob("*")]:
                with contextlib.suppress(OSError):
                    seen.add("true value" if b"xyzzy" in file.read_bytes() else "report")

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        tables.perturb_column(m, tables.Source(tmp_path / "people.csv"), out / "reports.csv")
    finally:
        stop.set()
        watcher.join()
    assert seen == {"report"}


def test_files_that_cannot_be_used_are_said_so(tmp_path: Path, mechanism: Path) -> None:
    data = people(tmp_path, "csv", [1, 2])
    with pytest.raises(InvalidInput, match=r"no column 'vists'; did you mean 'visits'\? Its columns are name, visits"):
        tables.Source(data, "vists")
    with pytest.raises(InvalidInput, match="no column 'colour'; its columns are name, visits"):
        tables.Source(data, "colour")
    with pytest.raises(InvalidInput, match="2 columns; name one"):
        tables.Source(data)
    with pytest.raises(UnreadableFile, match="there is no such file"):
        tables.Source(tmp_path / "none.csv", "visits")
    (tmp_path / "x.xlsx").write_text("")
    with pytest.raises(InvalidInput, match=r"it is a spreadsheet. Save the sheet as CSV"):
        tables.Source(tmp_path / "x.xlsx")
    (tmp_path / "broken.parquet").write_text("no")
    with pytest.raises(UnreadableFile, match=r"cannot read broken\.parquet: .*not take it for what its name says"):
        tables.Source(tmp_path / "broken.parquet")
    with pytest.raises(InvalidInput, match="for DuckDB files only"):
        tables.Source(data, "visits", "people")
    m, source = dc.load(mechanism), tables.Source(data, "visits")
    with pytest.raises(InvalidInput, match="written to"):
        tables.perturb_column(m, source, tmp_path / "reports.xlsx")
    (tmp_path / "there.csv").write_text("")
    with pytest.raises(InvalidInput, match="not overwritten"):
        tables.perturb_column(m, source, tmp_path / "there.csv")
    empty = people(tmp_path, "parquet", [])
    pd.DataFrame({"visits": np.array([], np.int64)}).to_parquet(empty)
    with pytest.raises(InvalidInput, match="no rows"):
        tables.perturb_column(m, tables.Source(empty), tmp_path / "reports.csv")


def test_tables_of_a_database_are_named(tmp_path: Path) -> None:
    file = tmp_path / "two.duckdb"
    with duckdb.connect(str(file)) as store:
        store.execute("CREATE TABLE a AS SELECT 1 AS v; CREATE TABLE b AS SELECT 2 AS v")
    with pytest.raises(InvalidInput, match=r"2 tables; name one with table=\.\.\.: a, b"):
        tables.Source(file)
    with pytest.raises(InvalidInput, match="no table 'c'"):
        tables.Source(file, table="c")
    source = tables.Source(file, table="b")
    assert source.counts(dc.Counts(5)) == {2: 1}


def test_estimates_refuse_what_makes_no_sense(tmp_path: Path, mechanism: Path) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("report\n1\n2\n", encoding="utf-8")
    assert "ends in" in run("estimate", reports, "--mechanism", mechanism, "--report", "x.txt", code=2).stderr
    other = run("estimate", reports, reports, reports, "--mechanism", mechanism, "--mechanism", mechanism, code=2)
    assert "one for each of the 3 files" in other.stderr
    reports.write_text("report\n1\n99\n", encoding="utf-8")
    assert "0..20" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    reports.write_text("report\n1\n99\n98\n98\n-1\n", encoding="utf-8")
    assert "4 rows of column 'report'" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    reports.write_text('report\n1\n99\n98\n""\n', encoding="utf-8")
    told = run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    assert "2 rows of column 'report'" in told and "Of 1 row more: the value is missing" in told
    told = run("estimate", reports, "--mechanism", mechanism, "--html", "x", code=2).stderr
    assert "there is no --html; a page is written by --report x.html" in told
    reports.write_text('report\n1\n""\n', encoding="utf-8")
    assert "missing" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr


def test_batches_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH", 7)
    file = tmp_path / "people.csv"
    pd.DataFrame({"v": np.arange(50) % 5}).to_csv(file, index=False)
    source = tables.Source(file)
    joined = np.concatenate([batch.indices for batch in source.batches(dc.Counts(4))])  # type: ignore[union-attr]
    assert np.array_equal(joined, np.arange(50) % 5)
    m = dc.randomized_response(5, epsilon=40)  # reports the truth
    tables.perturb_column(m, tables.Source(file), tmp_path / "r.csv")
    assert np.array_equal(pd.read_csv(tmp_path / "r.csv")["report"], np.arange(50) % 5)
    pd.DataFrame({"v": [*range(5)] * 4 + [9]}).to_csv(file, index=False)
    with pytest.raises(dc.errors.ForeignValue, match="row 21 of"):
        tables.perturb_column(m, tables.Source(file), tmp_path / "r2.csv")


def test_real_people_through_the_whole_path(tmp_path: Path) -> None:
    m = dc.geometric(100, epsilon=1)
    m.save(tmp_path / "m.json")
    reports = tmp_path / "reports.parquet"
    run("perturb", "doctor_visits", "--data", VISITS, "--mechanism", tmp_path / "m.json", "-o", reports)
    found = json.loads(run("estimate", reports, "--mechanism", tmp_path / "m.json", "--json").stdout)
    true = pd.read_csv(VISITS)["doctor_visits"]
    assert abs(found["mean"] - true.mean()) < 0.15
