"""discreet perturb and discreet estimate, on files of every kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.collect import tables
from discreet.errors import InvalidInput, UnreadableFile

VISITS = Path(__file__).parent.parent.parent / "data" / "doctor_visits.csv.gz"


def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


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
    source.close()
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
    assert "vegaEmbed" in text and "<table>" in text and "maximum likelihood" in text
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
    assert "over=Counts" in run("estimate", reports, "--mechanism", tmp_path / "m.json", code=2).stderr
    out = run("estimate", reports, "--mechanism", tmp_path / "m.json", "--over", 9, "--method", "smoothed").stdout
    assert "10 true counts" in out and "cross-validation" in out


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, 77], r"row 3 of column 'visits': a value is not a count in 0\.\.20"),
        ([1.5, 2.5], "holds DOUBLE; whole numbers are needed"),
        ([4, None, 5], "row 2 of column 'visits' is missing"),
        (["ill", "7777"], "holds VARCHAR"),
    ],
    ids=["outside", "floats", "missing", "text"],
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


def test_the_engines_messages_are_withheld(tmp_path: Path, mechanism: Path) -> None:
    """A number far down that does not fit the type the engine guessed: its own message would quote it."""
    data = tmp_path / "people.csv"
    data.write_text("visits\n" + "3\n" * 60_000 + "SECRET\n" + "3\n" * 10, encoding="utf-8")
    out = tmp_path / "reports.parquet"
    done = run("perturb", "visits", "--data", data, "--mechanism", mechanism, "-o", out, code=2)
    assert "SECRET" not in done.stderr + done.stdout and not out.exists()
    assert "withheld" in done.stderr or "VARCHAR" in done.stderr


def test_files_that_cannot_be_used_are_said_so(tmp_path: Path, mechanism: Path) -> None:
    data = people(tmp_path, "csv", [1, 2])
    with pytest.raises(InvalidInput, match="no column 'vists'; its columns are name, visits"):
        tables.Source(data, "vists")
    with pytest.raises(InvalidInput, match="2 columns; name one"):
        tables.Source(data)
    with pytest.raises(UnreadableFile, match="there is no file"):
        tables.Source(tmp_path / "none.csv", "visits")
    (tmp_path / "x.xlsx").write_text("")
    with pytest.raises(InvalidInput, match=r"\.csv, \.parquet and \.duckdb"):
        tables.Source(tmp_path / "x.xlsx")
    (tmp_path / "broken.parquet").write_text("no")
    with pytest.raises(UnreadableFile, match="withheld"):
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
    with pytest.raises(InvalidInput, match="2 tables; name one: a, b"):
        tables.Source(file)
    with pytest.raises(InvalidInput, match="no table 'c'"):
        tables.Source(file, table="c")
    source = tables.Source(file, table="b")
    assert source.counts(dc.Counts(5)) == {2: 1}
    source.close()


def test_estimates_refuse_what_makes_no_sense(tmp_path: Path, mechanism: Path) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("report\n1\n2\n", encoding="utf-8")
    assert "ends in" in run("estimate", reports, "--mechanism", mechanism, "--report", "x.txt", code=2).stderr
    other = run("estimate", reports, reports, reports, "--mechanism", mechanism, "--mechanism", mechanism, code=2)
    assert "one for each of the 3 files" in other.stderr
    reports.write_text("report\n1\n99\n", encoding="utf-8")
    assert "0..20" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr
    reports.write_text('report\n1\n""\n', encoding="utf-8")
    assert "missing" in run("estimate", reports, "--mechanism", mechanism, code=2).stderr


def test_batches_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH", 7)
    file = tmp_path / "people.csv"
    pd.DataFrame({"v": np.arange(50) % 5}).to_csv(file, index=False)
    source = tables.Source(file)
    joined = np.concatenate([indices for _, indices in source.batches(dc.Counts(4))])
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
