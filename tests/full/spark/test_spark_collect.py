"""Columns on Spark: reports are drawn and counted on the executors, by the rules of files."""

from __future__ import annotations

import itertools
import pickle
import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import discreet as dc
from discreet.collect.open import open_column, write_reports
from discreet.collect.spark.source import SparkSource
from discreet.collect.spark.write import perturb_on_spark
from discreet.collect.tables import FileColumn
from discreet.errors import DiscreetError, InvalidInput, SourceFailed, UnreadableFile, Unsupported, WrongType
from support import spark_session
from support.refusals import refused

pytestmark = spark_session.IN_ONE_PROCESS


@pytest.fixture(scope="module")
def spark() -> Any:
    from pyspark import cloudpickle

    session = spark_session.session()
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the executors do not have the tests
    return session


def written(folder: Path, **columns: Any) -> Path:
    """A Parquet file of some columns."""
    file = folder / "people.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def reports_of(folder: Path) -> np.ndarray[Any, Any]:
    return np.asarray(pq.read_table(folder)["report"])


# ------------------------------------------------------------------------------------------------ the law


def improbable(counts: np.ndarray[Any, Any], law: np.ndarray[Any, Any]) -> float:
    """The probability of counts as far from a law as these, by Pearson's test."""
    expected = counts.sum() * law
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(law) - 1))


def test_reports_have_the_law_of_the_mechanism_for_each_true_value(spark: Any, tmp_path: Path) -> None:
    """The group, which is written beside the report, says what the true value was."""
    m = dc.geometric(5, epsilon="0.7")
    people = spark.range(0, 60_000, 1, 6).selectExpr("CAST(id % 6 AS INT) AS visits", "CAST(id % 6 AS STRING) AS truth")
    names = [str(truth) for truth in range(6)]
    reports = perturb_on_spark(dict.fromkeys(names, m), SparkSource(people, "visits", group="truth"), tmp_path / "r")
    assert reports.rows == 60_000
    counted = SparkSource(reports.frame, "report", group="truth").counts_by_group([m.outputs] * 6, names)
    wrong = dc.geometric(5, epsilon="0.8").matrix
    for truth, counts in enumerate(counted):
        found = np.array([counts.get(report, 0) for report in range(6)])
        assert found.sum() == 10_000
        assert improbable(found, m.matrix[truth]) > 1e-9
    all_found = np.array([[counts.get(report, 0) for report in range(6)] for counts in counted])
    assert min(improbable(found, law) for found, law in zip(all_found, wrong, strict=True)) < 1e-6, "the control"


class Seeded(dc.Mechanism):
    """What must never be: each task draws from the same seed, as it would from a generator copied to it."""

    def release(self, x: Any) -> Any:
        return self.simulate(x, seed=7)


def equal_draws(folder: Path) -> int:
    """In how many places the reports of two partitions are the same, over all pairs of partitions."""
    parts = [reports_of(file) for file in sorted(folder.glob("part-*.parquet"))]
    assert len(parts) == 8 and {len(part) for part in parts} == {2000}
    return sum(int((one == other).sum()) for one, other in itertools.combinations(parts, 2))


def test_no_two_partitions_share_noise(spark: Any, tmp_path: Path) -> None:
    """Eight partitions of the same true value, reported nearly uniformly among a million."""
    m = dc.randomized_response(1_000_000, epsilon="0.01")
    source = SparkSource(spark.range(0, 16_000, 1, 8).selectExpr("0 AS cell"), "cell")
    perturb_on_spark(m, source, tmp_path / "secure")
    assert equal_draws(tmp_path / "secure") <= 6  # 0.06 are expected; 7 have probability 1e-12
    seeded = Seeded(m.inputs, m.outputs, m.kernel, m.certificate, m.family, m.parameters)
    perturb_on_spark(seeded, source, tmp_path / "seeded")
    assert equal_draws(tmp_path / "seeded") > 50_000, "the control: shared noise is found"


@pytest.mark.parametrize(
    "mechanism", [dc.geometric(9, epsilon=1), dc.explicit_fair(9, epsilon=1), dc.discrete_gaussian(sigma2=3)]
)
def test_what_is_shipped_has_the_very_integers_that_were_proved(mechanism: dc.Mechanism) -> None:
    shipped = pickle.loads(pickle.dumps(mechanism))
    assert shipped.kernel.to_json() == mechanism.kernel.to_json()
    assert shipped.certificate == mechanism.certificate


def test_looking_at_reports_again_draws_nothing(spark: Any, tmp_path: Path) -> None:
    source = SparkSource(spark.range(0, 5000, 1, 3).selectExpr("id % 5 AS v"), "v")
    frame = perturb_on_spark(dc.randomized_response(5, epsilon=1), source, tmp_path / "r").frame
    assert frame.collect() == frame.collect()
    assert sorted(row.report for row in frame.collect()) == sorted(reports_of(tmp_path / "r").tolist())


def test_every_person_has_one_report_and_nothing_else_is_written(spark: Any, tmp_path: Path) -> None:
    """At epsilon 60 a report is the true value, here the number of a person."""
    people = spark.range(0, 30_000, 1, 7).selectExpr("id", "id AS other")
    reports = perturb_on_spark(dc.randomized_response(30_000, epsilon=60), SparkSource(people, "id"), tmp_path / "r")
    assert reports.frame.columns == ["report"]
    assert sorted(reports_of(tmp_path / "r").tolist()) == list(range(30_000))
    left = {file.name for file in (tmp_path / "r").iterdir() if not file.name.startswith(".")}
    assert {name for name in left if not name.startswith("part-")} == {"_SUCCESS"}


# ------------------------------------------------------------------------------------------------ as for files


def problem_of(work: Callable[[], object]) -> DiscreetError:
    with pytest.raises(DiscreetError) as failure:
        work()
    return failure.value


AWKWARD: dict[str, tuple[Any, Any]] = {
    "missing": (pa.array([3, None, 4711]), dc.Counts(20)),
    "fractions": (pa.array([3.0, 3.5, 4711.25]), dc.Counts(20)),
    "not a number": (pa.array([3.0, float("nan"), float("inf"), 1e300]), dc.Counts(20)),
    "text": (pa.array(["3", " 4 ", "0x10", "1e1", "secret4711", None]), dc.Counts(20)),
    "decimals": (pa.array(["3.00", "4711.50"]).cast(pa.decimal128(10, 2)), dc.Counts(20)),
    "labels": (pa.array(["a", "b", "secret4711", None]), dc.Labels(["a", "b"])),
    "numbers as labels": (pa.array([1.0, 2.0, 4711.0]), dc.Labels([1, 2])),
    "cells": (pa.array([0, 8, 4711], pa.int32()), dc.Grid(3, 3)),
    "booleans": (pa.array([True, False]), dc.Counts(20)),
    "times": (pa.array([4711], pa.timestamp("us", tz="UTC")), dc.Counts(20)),
    "lists": (pa.array([[4711]]), dc.Counts(20)),
    "no rows": (pa.array([], pa.int64()), dc.Counts(20)),
}


@pytest.mark.parametrize("what", AWKWARD)
def test_values_are_refused_as_in_files(what: str, spark: Any, tmp_path: Path) -> None:
    values, space = AWKWARD[what]
    file = written(tmp_path, v=values)
    address = spark_session.address(file)
    in_file = problem_of(lambda: FileColumn(file, "v").counts(space))
    on_spark = problem_of(lambda: open_column(address, "v").counts(space))
    assert type(on_spark) is type(in_file)
    assert str(on_spark).replace(address, str(file)).replace(" WITH TIME ZONE", "") == str(in_file).replace(
        " WITH TIME ZONE", ""
    )


@pytest.mark.parametrize("what", ["text", "no rows"])
def test_a_wrong_value_leaves_nothing_behind_and_is_not_quoted(what: str, spark: Any, tmp_path: Path) -> None:
    values, space = AWKWARD[what]
    m = dc.geometric(20, epsilon=1) if isinstance(space, dc.Counts) else dc.randomized_response(space, epsilon=1)
    address = spark_session.address(written(tmp_path, v=values))
    problem = problem_of(lambda: write_reports(m, open_column(address, "v"), tmp_path / "r"))
    assert not (tmp_path / "r").exists()
    assert str(problem) == str(problem_of(lambda: open_column(address, "v").counts(space)))
    assert problem.__context__ is None and problem.__cause__ is None
    shown = "".join(traceback.TracebackException.from_exception(problem, capture_locals=True).format())
    assert "4711" not in shown


def test_good_values_of_other_types_are_read_as_in_files(spark: Any, tmp_path: Path) -> None:
    for name, values in (("double", pa.array([3.0, 4.0, 3.0])), ("text", pa.array(["3", "+4", " 3.0"]))):
        (tmp_path / name).mkdir()
        file = written(tmp_path / name, v=values)
        assert open_column(spark_session.address(file)).counts(dc.Counts(5)) == {3: 2, 4: 1}


def test_places_and_labels_on_spark(spark: Any, tmp_path: Path) -> None:
    grid = dc.Grid(3, 3, cell=10.0)
    frame = spark.createDataFrame([(1.0, 2.0), (29.0, 29.0)], "east double, north double")
    perturb_on_spark(
        dc.randomized_response(grid, epsilon=60), SparkSource(frame, ["east", "north"]), tmp_path / "cells"
    )
    assert sorted(reports_of(tmp_path / "cells").tolist()) == [0, 8]
    labels = dc.randomized_response(["yes", "no's"], epsilon=60)
    answers = spark.createDataFrame([("yes",), ("no's",), ("yes",)], "`an.s``wer` string")
    perturb_on_spark(labels, SparkSource(answers), tmp_path / "labels")
    assert sorted(reports_of(tmp_path / "labels").tolist()) == ["no's", "yes", "yes"]


@pytest.fixture
def chosen(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    return written(tmp_path, choice=rng.choice(["bold", "careful"], 4000), report=rng.integers(0, 21, 4000))


def test_counts_on_spark_equal_those_of_the_same_file(spark: Any, chosen: Path) -> None:
    spaces, names = [dc.Counts(20), dc.Integers()], ["bold", "careful"]
    address = spark_session.address(chosen)
    on_spark = open_column(address, "report", group="choice").counts_by_group(spaces, names)
    assert on_spark == FileColumn(chosen, "report", group="choice").counts_by_group(spaces, names)
    m = dc.geometric(20, epsilon=1)
    counts = open_column(address, "report").counts(m.outputs)
    assert np.array_equal(
        dc.estimate(counts, m).distribution, dc.estimate(FileColumn(chosen, "report").counts(m.outputs), m).distribution
    )


def test_a_group_without_a_mechanism_is_refused_as_in_files(spark: Any, chosen: Path, tmp_path: Path) -> None:
    address = spark_session.address(chosen)
    in_file = problem_of(
        lambda: FileColumn(chosen, "report", group="choice").counts_by_group([dc.Counts(20)], ["bold"])
    )
    source = open_column(address, "report", group="choice")
    on_spark = problem_of(lambda: write_reports({"bold": dc.geometric(20, epsilon=1)}, source, tmp_path / "r"))
    assert str(on_spark).replace(address, str(chosen)) == str(in_file)
    assert not (tmp_path / "r").exists()


def test_the_command_line_perturbs_and_estimates_on_spark(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, visits=np.arange(3000) % 21)
    dc.geometric(20, epsilon=1).save(tmp_path / "m.json")
    data, output = spark_session.address(file), str(tmp_path / "reports")
    perturbed = discreet(
        ["perturb", "visits", "--data", data, "--mechanism", str(tmp_path / "m.json"), "-o", output],
        monkeypatch,
        capsys,
    )
    assert f"3,000 reports in {output}; the true values were not written" in perturbed
    estimated = ["--mechanism", str(tmp_path / "m.json"), "--json"]
    on_spark = discreet(["estimate", spark_session.address(Path(output)), *estimated], monkeypatch, capsys)
    assert on_spark == discreet(["estimate", output, *estimated], monkeypatch, capsys)


def discreet(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The command line, in this process, which has the Java process already."""
    from discreet.cli.main import main

    monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    output = capsys.readouterr()
    assert end.value.code == 0, output.err
    return output.out


def test_progress_is_told_until_all_is_done(spark: Any, tmp_path: Path) -> None:
    shares: list[float] = []
    source = SparkSource(spark.range(0, 1000, 1, 4).selectExpr("id % 5 AS v"), "v")
    perturb_on_spark(dc.randomized_response(5, epsilon=1), source, tmp_path / "r", shares.append)
    assert shares[-1] == 1.0 and all(0 <= share <= 1 for share in shares)


# ------------------------------------------------------------------------------------------------ refusals


def refusal_of(source: SparkSource, output: Path) -> DiscreetError:
    problem = problem_of(lambda: perturb_on_spark(dc.randomized_response(5, epsilon=1), source, output))
    assert problem.__context__ is None
    return problem


@pytest.fixture
def people(spark: Any) -> SparkSource:
    return SparkSource(spark.range(0, 100, 1, 2).selectExpr("id % 5 AS v"), "v")


def test_reports_go_to_a_folder_that_does_not_exist(people: SparkSource, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "mine").write_text("mine", encoding="utf-8")
    assert "exists already; it is not overwritten" in str(refusal_of(people, tmp_path / "r"))
    assert [file.name for file in (tmp_path / "r").iterdir()] == ["mine"]
    (tmp_path / "r" / "_writing").touch()
    assert "another run is writing it, or was stopped" in str(refusal_of(people, tmp_path / "r"))
    assert "must be a new folder, for Parquet files" in str(refusal_of(people, tmp_path / "r.csv"))
    assert "does not know such a place" in str(refusal_of(people, "nowhere:///r"))  # type: ignore[arg-type]


SETTINGS = {
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol",
    "spark.sql.parquet.output.committer.class": "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_session_whose_settings_lose_or_repeat_rows_is_refused(name: str, spark: Any, tmp_path: Path) -> None:
    other = spark.newSession()
    other.conf.set(name, SETTINGS[name])
    problem = refusal_of(SparkSource(other.range(0, 10).selectExpr("id % 5 AS v"), "v"), tmp_path / "r")
    assert isinstance(problem, Unsupported) and f"the session has {name}" in str(problem)
    assert not (tmp_path / "r").exists()


def test_speculation_is_refused(spark: Any, people: SparkSource, tmp_path: Path) -> None:
    """Two attempts of a task at a time would be two draws of which one is chosen."""
    settings = spark.sparkContext._conf  # a cluster is started with it; here no job runs meanwhile
    settings.set("spark.speculation", "true")
    try:
        problem = refusal_of(people, tmp_path / "r")
    finally:
        settings.set("spark.speculation", "false")
    assert "the session has spark.speculation = true, and false is needed" in str(problem)


@pytest.fixture
def other_python(spark: Any, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Lets executors use another Python, as the variable PYSPARK_PYTHON would."""
    before = spark.sparkContext.pythonExec

    def use(script: str) -> None:
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        spark.sparkContext.pythonExec = str(file)

    yield use
    spark.sparkContext.pythonExec = before


def test_executors_without_the_packages_are_refused_before_anything_is_written(
    people: SparkSource, other_python: Callable[[str], None], tmp_path: Path
) -> None:
    other_python(f'exec "{sys.executable}" -S "$@"')  # without site-packages
    problem = refusal_of(people, tmp_path / "r")
    assert "one lacks pyarrow, pandas, duckdb, numpy and discreet" in str(problem)
    assert f"pip install 'discreet[spark]=={dc.__version__}'" in str(problem) and "PYSPARK_PYTHON" in str(problem)
    assert not (tmp_path / "r").exists()


def test_executors_with_another_version_of_this_package_are_refused(
    people: SparkSource, other_python: Callable[[str], None], tmp_path: Path
) -> None:
    (tmp_path / "other" / "discreet").mkdir(parents=True)
    (tmp_path / "other" / "discreet" / "__init__.py").write_text("__version__ = '0.0.1'\n", encoding="utf-8")
    other_python(f'PYTHONPATH="{tmp_path}/other:$PYTHONPATH" exec "{sys.executable}" "$@"')
    assert "one has discreet 0.0.1" in str(refusal_of(people, tmp_path / "r"))


def test_executors_without_python_are_refused(
    people: SparkSource, other_python: Callable[[str], None], tmp_path: Path
) -> None:
    other_python("exit 3")
    assert "a small job that asks them for it failed" in str(refusal_of(people, tmp_path / "r"))


def test_reports_that_cannot_be_read_back_are_deleted_and_refused(
    people: SparkSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where executors write to disks of their own."""
    from discreet.collect.spark import write

    read = write._Folder.read
    monkeypatch.setattr(write._Folder, "read", lambda self, drawing: read(self, drawing).limit(7))
    problem = refusal_of(people, tmp_path / "r")
    assert isinstance(problem, SourceFailed) and "of 100 reports, 7 could be read back" in str(problem)
    assert not (tmp_path / "r").exists()


class Broken(dc.Mechanism):
    def release(self, x: Any) -> Any:
        raise ValueError(f"secret {x}")


def test_what_breaks_on_an_executor_is_withheld(people: SparkSource, tmp_path: Path) -> None:
    m = dc.randomized_response(5, epsilon=1)
    broken = Broken(m.inputs, m.outputs, m.kernel, m.certificate, m.family, m.parameters)
    problem = problem_of(lambda: perturb_on_spark(broken, people, tmp_path / "r"))
    assert isinstance(problem, SourceFailed) and "withheld" in str(problem) and problem.__context__ is None
    assert "secret" not in "".join(traceback.format_exception(problem))
    assert not (tmp_path / "r").exists()


def test_sources_that_spark_does_not_have_are_refused(spark: Any, tmp_path: Path) -> None:
    with refused(UnreadableFile, "data", token="PATH_NOT_FOUND"):
        open_column(spark_session.address(tmp_path / "nothing.parquet"), "v")
    with refused(UnreadableFile, "data", token="TABLE_OR_VIEW_NOT_FOUND"):
        SparkSource(spark, "v", table="nothing")
    with refused(InvalidInput, "table"):
        SparkSource(spark, "v")
    with refused(Unsupported, "data", token="ORC"):
        open_column(f"spark:{spark_session.MASTER}?csv={tmp_path}", "v")
    with refused(WrongType, "data", given="a list"):
        SparkSource([1, 2], "v")  # type: ignore[arg-type]
    with refused(InvalidInput, "column", token="no column 'w'"):
        SparkSource(spark.range(3).selectExpr("id AS v"), "w")
    with refused(InvalidInput, "column", token="several columns"):
        SparkSource(spark.range(3).selectExpr("id AS v", "id AS V"), "v")
    with refused(Unsupported, "data", token="streaming"):
        SparkSource(spark.readStream.format("rate").load(), "value")


def test_a_table_of_a_session_is_named(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE collected_visits USING parquet AS SELECT id % 3 AS visits FROM range(9)")
    try:
        assert SparkSource(spark, table="collected_visits").counts(dc.Counts(5)) == {0: 3, 1: 3, 2: 3}
    finally:
        spark.sql("DROP TABLE collected_visits")
