"""discreet perturb and discreet estimate, on files of every kind."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
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
from support.paths import VISITS
from support.people_files import people
from support.refusals import refused


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
@pytest.mark.parametrize("out", ["csv", "parquet", "duckdb"])
def test_true_values_become_reports_and_reports_an_estimate(
    kind: str, out: str, tmp_path: Path, mechanism: Path
) -> None:
    truths = np.random.default_rng(1).binomial(20, 0.3, 3000)
    data, reports = people(tmp_path, kind, truths.tolist()), tmp_path / f"reports.{out}"
    m = dc.load(mechanism)
    assert tables.perturb_column(m, tables.FileColumn(data, "visits"), reports) == 3000
    source = tables.FileColumn(reports)
    assert source.column == "report"  # the only one: neither names nor true values were written
    counts = source.counts(m.outputs)
    assert sum(counts.values()) == 3000
    e = dc.estimate(counts, m, method="mle")
    assert e.converged and abs(e.mean() - truths.mean()) < 0.5
    assert not list(tmp_path.glob(".discreet-*"))


def test_the_verbs_say_what_they_did_and_what_it_protects(tmp_path: Path, mechanism: Path) -> None:
    data, reports = people(tmp_path, "csv", [1, 2, 3] * 100), tmp_path / "reports.parquet"
    out = run("perturb", "visits", "--data", data, "--mechanism", mechanism, "-o", reports).stdout
    assert "300 reports" in out and "not written" in out
    assert "epsilon is 20." in out and "Per unit it is 1" in out
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    out = run("estimate", reports, "--mechanism", mechanism, "--page", page, "-o", numbers).stdout
    assert f"report    {numbers}\npage      {page}" in out and json.loads(numbers.read_text())["people"] == 300
    assert "epsilon 1 between" in out
    for words in (
        "smoothed as far as the reports allow",
        "mean",
        "median",
        "95% interval",
        "probability",
        "population",
    ):
        assert words in out
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text and "<table" in text and "maximum likelihood" in text and "<script" not in text
    found = json.loads(run("estimate", reports, "--mechanism", mechanism, "--json", "--level", 0.9).stdout)
    assert found["method"] == "empirical-bayes" and found["people"] == 300 and found["level"] == 0.9
    assert found["intervals"][0]["low"] < found["mean"] < found["intervals"][0]["high"]


def test_labels_and_maps_go_through_files(tmp_path: Path) -> None:
    answers, place = dc.randomized_response(["1", "yes", "no"], epsilon=2), dc.Grid(2, 3, cell=100.0)
    planar = dc.planar_geometric(place, epsilon="0.01")
    for m, values in ((answers, ["1", "yes", "no", "1"]), (planar, [0, 5, 2, 2])):
        file, reports = tmp_path / f"{m.family}.csv", tmp_path / f"{m.family}.parquet"
        pd.DataFrame({"value": values}).to_csv(file, index=False)
        assert tables.perturb_column(m, tables.FileColumn(file), reports) == 4
        assert sum(tables.FileColumn(reports).counts(m.outputs).values()) == 4
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
    assert "in 2 groups" in out and "groups differ (p = " in out
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
    assert out.startswith("Distribution of 21 true counts, from 1 report\n")


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


def test_a_bar_is_shown_on_a_terminal_only(tmp_path: Path, mechanism: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", 10)
    for kind in ("csv", "parquet", "duckdb"):
        source, told = tables.FileColumn(people(tmp_path, kind, [1, 2, 3] * 20), "visits"), list[float]()
        tables.perturb_column(dc.load(mechanism), source, tmp_path / f"r.{kind}", told.append)
        assert len(told) == 6 and told == sorted(told) and told[0] >= 0 and told[-1] <= 1
        assert kind == "csv" or told[-1] == 1
        assert sum(source.counts(dc.Counts(20), told.append).values()) == 60
    assert run("estimate", tmp_path / "r.csv", "--mechanism", mechanism).stderr == ""


def test_the_true_column_is_read_from_a_table_beside_views(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as store:
        store.execute("CREATE TABLE t AS SELECT 3 AS visits; CREATE VIEW v AS SELECT visits + 1 AS visits FROM t")
    assert tables.FileColumn(tmp_path / "t.duckdb").counts(dc.Counts(5)) == {3: 1}
    assert tables.FileColumn(tmp_path / "t.duckdb", table="V").counts(dc.Counts(5)) == {4: 1}


def test_a_table_larger_than_the_engines_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_MEMORY", "8MB")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as store:
        # numbers that cannot be packed: 8 bytes each
        store.execute("CREATE TABLE t AS SELECT hash(i) % 1_000_000_000_000_000 AS v FROM range(2_000_000) r(i)")
    assert (tmp_path / "t.duckdb").stat().st_size > 1.5 * 8_000_000
    m = dc.two_sided_geometric(epsilon=1)
    assert tables.perturb_column(m, tables.FileColumn(tmp_path / "t.duckdb"), tmp_path / "r.parquet") == 2_000_000
    with refused(UnreadableFile, token="8MB") as failure:
        tables.FileColumn(tmp_path / "t.duckdb").counts(m.outputs)  # two million different values
    assert failure.value.__context__ is None


def test_a_database_in_use_is_told_from_a_broken_one(tmp_path: Path) -> None:
    file = str(tmp_path / "t.duckdb")
    code = f"import duckdb, time; c = duckdb.connect({file!r}); print('open', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == b"open\n"
            with refused(UnreadableFile, token="open for writing") as failure:
                tables.FileColumn(tmp_path / "t.duckdb")
            assert failure.value.__context__ is None
        finally:
            other.kill()
    (tmp_path / "b.duckdb").write_text("no database at all")
    with refused(UnreadableFile, token="b.duckdb"):
        tables.FileColumn(tmp_path / "b.duckdb")


def test_no_true_value_reaches_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Watched from beside: the data is in another folder, and the mechanism never reports the truth."""
    monkeypatch.setattr(tables, "BATCH_ROWS", 1000)
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
        tables.perturb_column(m, tables.FileColumn(tmp_path / "people.csv"), out / "reports.csv")
    finally:
        stop.set()
        watcher.join()
    assert seen == {"report"}


def test_files_that_cannot_be_used_are_said_so(tmp_path: Path, mechanism: Path) -> None:
    data = people(tmp_path, "csv", [1, 2])
    with refused(InvalidInput, "column"):
        tables.FileColumn(data, "vists")
    with refused(InvalidInput, "column"):
        tables.FileColumn(data, "colour")
    with refused(InvalidInput, "column"):
        tables.FileColumn(data)
    with refused(UnreadableFile, token="no such file"):
        tables.FileColumn(tmp_path / "none.csv", "visits")
    (tmp_path / "x.xlsx").write_text("")
    with refused(UnreadableFile, token="to_parquet('x.parquet')"):
        tables.FileColumn(tmp_path / "x.xlsx")
    (tmp_path / "broken.parquet").write_text("no")
    with refused(UnreadableFile, token="broken.parquet"):
        tables.FileColumn(tmp_path / "broken.parquet")
    with refused(InvalidInput, "table"):
        tables.FileColumn(data, "visits", "people")
    m, source = dc.load(mechanism), tables.FileColumn(data, "visits")
    with refused(InvalidInput, "output", given="reports.xlsx"):
        tables.perturb_column(m, source, tmp_path / "reports.xlsx")
    (tmp_path / "there.csv").write_text("")
    with refused(InvalidInput, "output"):
        tables.perturb_column(m, source, tmp_path / "there.csv")
    empty = people(tmp_path, "parquet", [])
    pd.DataFrame({"visits": np.array([], np.int64)}).to_parquet(empty)
    with refused(InvalidInput, "data"):
        tables.perturb_column(m, tables.FileColumn(empty), tmp_path / "reports.csv")


def test_tables_of_a_database_are_named(tmp_path: Path) -> None:
    file = tmp_path / "two.duckdb"
    with duckdb.connect(str(file)) as store:
        store.execute("CREATE TABLE a AS SELECT 1 AS v; CREATE TABLE b AS SELECT 2 AS v")
    with refused(InvalidInput, "table"):
        tables.FileColumn(file)
    with refused(InvalidInput, token="table 'c'"):
        tables.FileColumn(file, table="c")
    source = tables.FileColumn(file, table="b")
    assert source.counts(dc.Counts(5)) == {2: 1}


def test_estimates_refuse_what_makes_no_sense(tmp_path: Path, mechanism: Path) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("report\n1\n2\n", encoding="utf-8")
    assert "ends in" in run("estimate", reports, "--mechanism", mechanism, "--report", "x.txt", code=2).stderr
    other = run("estimate", reports, reports, reports, "--mechanism", mechanism, "--mechanism", mechanism, code=2)
    assert "of the 3 files" in other.stderr
    reports.write_text("report\n1\n99\n", encoding="utf-8")
    assert "0..20" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    reports.write_text("report\n1\n99\n98\n98\n-1\n", encoding="utf-8")
    assert "4 rows of column 'report'" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    reports.write_text('report\n1\n99\n98\n""\n', encoding="utf-8")
    told = run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    assert "2 rows of column 'report'" in told and "Of 1 row more" in told
    told = run("estimate", reports, "--mechanism", mechanism, "--html", "x", code=2).stderr
    assert "--report x.html" in told
    reports.write_text('report\n1\n""\n', encoding="utf-8")
    assert "missing" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr


def test_batches_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", 7)
    file = tmp_path / "people.csv"
    pd.DataFrame({"v": np.arange(50) % 5}).to_csv(file, index=False)
    source = tables.FileColumn(file)
    joined = np.concatenate([batch.indices for batch in source.batches(dc.Counts(4))])  # type: ignore[union-attr]
    assert np.array_equal(joined, np.arange(50) % 5)
    m = dc.randomized_response(5, epsilon=40)  # reports the truth
    tables.perturb_column(m, tables.FileColumn(file), tmp_path / "r.csv")
    assert np.array_equal(pd.read_csv(tmp_path / "r.csv")["report"], np.arange(50) % 5)
    pd.DataFrame({"v": [*range(5)] * 4 + [9]}).to_csv(file, index=False)
    with refused(dc.errors.ForeignValue, token="row 21"):
        tables.perturb_column(m, tables.FileColumn(file), tmp_path / "r2.csv")


def test_real_people_through_the_whole_path(tmp_path: Path) -> None:
    m = dc.geometric(100, epsilon=1)
    m.save(tmp_path / "m.json")
    reports = tmp_path / "reports.parquet"
    run("perturb", "doctor_visits", "--data", VISITS, "--mechanism", tmp_path / "m.json", "-o", reports)
    found = json.loads(run("estimate", reports, "--mechanism", tmp_path / "m.json", "--json").stdout)
    true = pd.read_csv(VISITS)["doctor_visits"]
    assert abs(found["mean"] - true.mean()) < 0.15


# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["people[1]", "people*", "people?"])
def test_the_name_of_a_file_is_no_pattern(name: str, kind: str, tmp_path: Path) -> None:
    for stem, values in ((name, [1, 2]), ("people1", [8, 8, 8])):
        frame, file = pd.DataFrame({"visits": values}), tmp_path / f"{stem}.{kind}"
        frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    assert FileColumn(tmp_path / f"{name}.{kind}", "visits").counts(dc.Counts(9)) == {1: 1, 2: 1}


def test_folders_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "epsilon=1"
    folder.mkdir()
    pd.DataFrame({"report": [1, 2]}).to_parquet(folder / "reports.parquet")
    assert FileColumn(folder / "reports.parquet").column == "report"


def test_the_folder_of_the_output_must_exist(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits\n1\n")
    with refused(InvalidInput, "output"):
        perturb_column(
            dc.geometric(9, epsilon=1), FileColumn(tmp_path / "people.csv"), tmp_path / "none" / "reports.csv"
        )


# ------------------------------------------------------------------------------------------------ what is said


def test_the_level_holds_for_all_intervals_and_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    m, page = tmp_path / "m.json", tmp_path / "page.html"
    dc.geometric(4, epsilon=1).save(m)
    pd.DataFrame({"report": [0] * 30 + [2] * 30 + [4] * 20 + [1] * 15}).to_csv(tmp_path / "reports.csv", index=False)
    out = run("estimate", tmp_path / "reports.csv", "--mechanism", m, "--level", 0.5, "--report", page).stdout
    assert out.count("50% interval") == 3 and "95%" not in out
    text = page.read_text(encoding="utf-8")
    assert "50% interval" in text and "95% interval" not in text
    page.unlink()
    refused = run("estimate", tmp_path / "reports.csv", "--mechanism", m, "--level", 2, "--report", page, code=2)
    assert "level" in refused.stderr and not refused.stdout and not page.exists()


def test_what_is_called_the_estimate_is_that_of_the_method_asked_for(tmp_path: Path) -> None:
    m = dc.geometric(4, epsilon=1)
    m.save(tmp_path / "m.json")
    counts = [80, 0, 3, 0, 7]
    pd.DataFrame({"report": np.repeat(range(5), counts)}).to_csv(tmp_path / "reports.csv", index=False)
    arguments = ("--mechanism", tmp_path / "m.json", "--method", "ibu", "--iterations", 1, "--json")
    found = json.loads(run("estimate", tmp_path / "reports.csv", *arguments).stdout)
    mean = dc.estimate(counts, m, method="ibu", iterations=1).mean()
    assert found["intervals"][0]["estimate"] == pytest.approx(mean) == found["mean"]
    assert abs(mean - dc.estimate(counts, m).mean()) > 0.01  # the two differ, or nothing was tested
