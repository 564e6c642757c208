"""A real cluster, a master and two workers, whose processes are killed while they draw reports or count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.release.bundle.verify import verify_bundle
from support import spark_cluster
from support.needs import need
from support.paths import TESTS
from support.spark_driver import PEOPLE
from support.spark_session import IN_ONE_PROCESS
from support.waiting import wait_for

pytestmark = IN_ONE_PROCESS

#: How long a driver may take, in seconds; it takes half a minute where nothing else runs.
PATIENCE = 600

DRIVER = TESTS / "support" / "spark_driver.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[spark_cluster.Cluster]:
    need("java")
    started = spark_cluster.start()
    yield started
    started.stop()


def drive(what: str, cluster: spark_cluster.Cluster, folder: Path, name: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [sys.executable, DRIVER, what, cluster.address, folder, name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def people(folder: Path) -> None:
    (folder / "people").mkdir()
    for number, part in enumerate(np.array_split(np.arange(PEOPLE), 4)):
        pq.write_table(pa.table({"id": part}), folder / "people" / f"{number}.parquet")


def each_once_and_nothing_else(folder: Path) -> None:
    """Every person has one report, and no file of an attempt that failed is left."""
    reports = np.sort(np.asarray(pq.read_table(folder)["report"]))
    assert np.array_equal(reports, np.arange(PEOPLE))
    names = [file.name.removeprefix(".") for file in folder.rglob("*")]
    assert all(name.startswith(("part-", "_SUCCESS")) for name in names), names
    assert (folder / "_SUCCESS").is_file()


def test_a_task_that_is_killed_and_run_again_reports_everybody_once(
    cluster: spark_cluster.Cluster, tmp_path: Path
) -> None:
    people(tmp_path)
    driver = drive("worker", cluster, tmp_path)
    said, problem = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, problem
    assert int(said) == PEOPLE and (tmp_path / "killed").exists()
    each_once_and_nothing_else(tmp_path / "reports")


def test_an_executor_killed_while_it_draws_leaves_nobody_out_and_nobody_twice(
    cluster: spark_cluster.Cluster, tmp_path: Path
) -> None:
    people(tmp_path)
    driver = drive("executor", cluster, tmp_path)
    try:
        # each of the two executors has written a batch and waits in its second one
        wait_for(lambda: driver.poll() is not None or len(list(tmp_path.glob("waiting-*"))) == 2)
        assert driver.poll() is None and not (tmp_path / "reports" / "_SUCCESS").exists()
        os.kill(cluster.executors()[0], signal.SIGKILL)
        (tmp_path / "go").touch()
        said, problem = driver.communicate(timeout=PATIENCE)
    finally:
        driver.kill()
        driver.communicate()
    assert driver.returncode == 0, problem
    assert int(said) == PEOPLE
    each_once_and_nothing_else(tmp_path / "reports")


def test_an_executor_killed_while_it_counts_costs_the_budget_once(
    cluster: spark_cluster.Cluster, tmp_path: Path
) -> None:
    """The release finishes, or fails closed: nothing is out that the ledger does not hold."""
    chance = np.random.default_rng(5)
    (tmp_path / "visits").mkdir()
    for number in range(4):
        rows = {"person": chance.integers(0, 400_000, 1_000_000), "site": chance.integers(0, 6, 1_000_000)}
        pq.write_table(pa.table(rows), tmp_path / "visits" / f"{number}.parquet")
    # on a busy machine a release may be over before the executor is killed: then another one tells
    assert any(_is_killed_while_counting(cluster, tmp_path, f"{attempt}") for attempt in range(5))


def _is_killed_while_counting(cluster: spark_cluster.Cluster, folder: Path, name: str) -> bool:
    """Kill an executor during a release, check what is left, and return whether the release was under way."""
    book, out = folder / f"{name}.ledger", folder / f"out_{name}"
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    driver = drive("release", cluster, folder, name)
    try:
        wait_for(lambda: driver.poll() is not None or dc.Ledger.open(book).entries())
        executors = cluster.executors()
        under_way = not any(entry.committed for entry in dc.Ledger.open(book).entries())
        if executors:
            os.kill(executors[0], signal.SIGKILL)
        _, problem = driver.communicate(timeout=PATIENCE)
    finally:
        driver.kill()
        driver.communicate()
    ledger = dc.Ledger.open(book)
    assert ledger.verify().holds and len(ledger.entries()) == 1 and ledger.spent().epsilon == 1, problem
    if driver.returncode == 0:
        assert verify_bundle(out, ledger=book).holds
    else:
        assert "Traceback" not in problem or "SourceFailed" in problem
        assert not out.exists()
    return under_way and bool(executors)
