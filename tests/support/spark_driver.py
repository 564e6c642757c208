"""A driver at a Spark cluster that the test beside it has started, in a process of its own: a process has one cluster.

``python spark_driver.py WHAT MASTER FOLDER NAME``, where WHAT names one of the functions below and NAME a release.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.collect.open import open_column
from discreet.collect.spark.source import SparkSource
from discreet.collect.spark.write import perturb_on_spark
from discreet.mechanism import Mechanism

#: How many people there are, and in how many files. At epsilon 60 a report is the true value: the number of a person.
PEOPLE, PARTITIONS = 1_000_000, 4
#: Somebody in the middle of a partition: batches before theirs have been written.
MARKED = 700_000


class WorkerKilledOnce(Mechanism):
    """Kills the Python process it runs in, in the first attempt of one task."""

    sign: Path

    def release(self, x: Any) -> Any:
        from pyspark import TaskContext

        task = TaskContext.get()
        if MARKED in x and task is not None and task.attemptNumber() == 0:
            self.sign.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Mechanism.release(self, x)


class Waiting(Mechanism):
    """Waits for a file in every batch of a partition but the first, so that an executor can be killed meanwhile."""

    folder: Path

    def release(self, x: Any) -> Any:
        first = int(min(x))
        if first % (PEOPLE // PARTITIONS):
            (self.folder / f"waiting-{first}").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.02)
        return Mechanism.release(self, x)


def perturb(master: str, folder: Path, kind: type[Mechanism]) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["__main__"])  # type: ignore[no-untyped-call]
    WorkerKilledOnce.sign, Waiting.folder = folder / "killed", folder
    m = dc.randomized_response(PEOPLE, epsilon=60)
    source = open_column(f"{master}?parquet={folder / 'people'}", "id")
    assert isinstance(source, SparkSource)
    made = kind(m.inputs, m.outputs, m.kernel, m.certificate, m.family, m.parameters)
    print(perturb_on_spark(made, source, folder / "reports").rows)


def release(master: str, folder: Path, name: str) -> None:
    dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=f"{master}?parquet={folder / 'visits'}", unit="person",
        max_groups=1, domain={"site": range(6)}, epsilon=1, ledger=folder / f"{name}.ledger",
        out=folder / f"out_{name}",
    )  # fmt: skip


if __name__ == "__main__":
    what, master, folder, name = sys.argv[1:]
    if what == "release":
        release(master, Path(folder), name)
    else:
        perturb(master, Path(folder), {"worker": WorkerKilledOnce, "executor": Waiting}[what])
