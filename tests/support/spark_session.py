"""The one Spark of the tests: a session in this process, its Java process started when something first needs it.

All tests that use it are in one group, so that no two workers start one each.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support import awkward
from support.needs import need

MASTER = "local[2]"

#: A mark for every test that uses Spark.
IN_ONE_PROCESS = pytest.mark.xdist_group("spark")


@cache
def session() -> Any:
    """A user's session, with nothing set that we would set; small, since tables are."""
    need("java")
    from discreet.engines.spark.session import pyspark_driver

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        # many small queries: a better compiler would take longer than it saves
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(folder),
    }
    builder = pyspark_driver().SparkSession.builder.master(MASTER)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def address(path: Path) -> str:
    """The address of what a writer wrote."""
    session()
    kind = "csv" if ".csv" in path.name else "orc" if ".orc" in path.name else "parquet"
    return f"spark:{MASTER}?{kind}={path}"


def on_spark(writer: awkward.Writer) -> awkward.Writer:
    """A writer whose files Spark reads."""

    def choose(chance: random.Random) -> Callable[[Path, awkward.Table], Any]:
        write = writer(chance)
        return lambda folder, table: address(write(folder, table))

    return choose
