"""Sessions of Spark: started here or given, with settings under which no row decides about another.

A session of our own is derived from a given one, so that neither changes the other. It drops the cluster's settings of
SQL, except how the work is divided, and is pinned to the settings below.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from ...addresses import Address
from ...errors import InvalidInput, MissingExtra, SourceFailed, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The formats that Spark reads itself, as an address names them.
FORMATS = ("parquet", "orc", "csv")
TABLE = "table"

#: The oldest version whose plans and settings are known here.
OLDEST = 4

#: Settings of our sessions, which override the cluster's configuration.
PINNED: Mapping[str, str] = {
    # statistics of other rows, by which files, row groups and cached batches are skipped
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.csv.filterPushdown.enabled": "false",
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.optimizer.metadataOnly": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled": "false",
    "spark.sql.sources.bucketing.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.cbo.enabled": "false",
    "spark.sql.cbo.planStats.enabled": "false",
    "spark.databricks.delta.stats.skipping": "false",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.iceberg.planning.preserve-data-grouping": "false",
    # tables of people are sorted and merged, however many rows they have: broadcasting one can fail by its size
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "true",
    # which data is read
    "spark.sql.sources.useV1SourceList": "parquet,orc,csv,text,binaryFile",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.respectSummaryFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.readSideCharPadding": "true",
    # how it is read and compared
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.singleCharacterPipeOperator.enabled": "false",
    "spark.sql.optimizer.inSetConversionThreshold": "2147483647",  # a set tells -0.0 from 0.0
    # progress messages
    "spark.sql.debug.maxToStringFields": "0",
}

#: Other SQL settings that are kept from the configuration: how the work is divided, and where catalogues are.
_KEPT = re.compile(
    r"spark\.sql\.(shuffle\.partitions|files\.maxPartition(Bytes|Num)|files\.openCostInBytes|files\.minPartitionNum"
    r"|adaptive\.(enabled|coalescePartitions\..*|advisoryPartitionSizeInBytes|skewJoin\..*)|catalog\..*|hive\.metastore.*"
    r"|broadcastTimeout)"
)

#: Settings that hold for all sessions of a cluster -> the values that are known here.
_STATIC = {"spark.sql.extensions": (None, ""), "spark.sql.catalog.spark_catalog": (None, "builtin")}

_MASTER = re.compile(r"//[^/?=]+|local(\[[^\]]*\]|-cluster\[[^\]]*\])?|yarn|k8s://[^?]+")


@dataclass(frozen=True)
class Place:
    """The location of data in an address.

    Attributes
    ----------
    master
        The cluster in Spark's notation.
    kind
        ``"table"`` or one of :data:`FORMATS`.
    name
        The table's name, or the path of a file or folder.
    """

    master: str
    kind: str
    name: str


def read_place(address: Address) -> Place:
    """Return the location that an address names.

    Examples
    --------
    >>> from discreet.addresses import read_address
    >>> read_place(read_address("spark://host:7077?table=visits"))
    Place(master='spark://host:7077', kind='table', name='visits')
    >>> read_place(read_address("spark:local[*]?parquet=data/visits"))
    Place(master='local[*]', kind='parquet', name='data/visits')

    Raises
    ------
    InvalidInput
        If it names no cluster or no data, or holds a password.
    """
    if "***" in str(address):
        raise InvalidInput(
            f"{address} holds a password.", "Leave it out: a cluster has its own way to keep them.", argument="data"
        )
    master, _, query = address.rest.partition("?")
    kind, _, name = query.partition("=")
    if not _MASTER.fullmatch(master) or kind not in (TABLE, *FORMATS) or not name:
        raise InvalidInput(
            f"{address} does not name the data.",
            "Write it like spark://host:7077?table=visits, or with ?parquet=, ?orc= or ?csv= and a path; on this "
            "computer like 'spark:local[*]?parquet=visits'.",
            argument="data",
        )
    return Place("spark:" * master.startswith("//") + master, kind, name)


def start_session(master: str) -> SparkSession:
    """Return a session of our own at a cluster, or in this process. Java and PySpark are looked for first.

    A context that this process already has is used if it is at the same place; there can be only one.
    """
    driver = pyspark_driver()
    running = driver.SparkSession.getActiveSession()
    if running is None:
        _refuse_without_java()
        running = _launched(driver, master)
    if running.sparkContext.master != master:
        raise InvalidInput(
            f"this process already works with Spark at {running.sparkContext.master}, and can with no other.",
            f"Give that session as data, or ask {master} from another process.",
            argument="data",
        )
    return own_session(running)


class AnySparkSession(Protocol):
    """A session of Spark from elsewhere: PySpark's ``SparkSession``, which is not imported for its name."""

    @property
    def version(self) -> str: ...


def is_spark_session(data: object) -> TypeGuard[SparkSession]:
    """Return whether a value is a session of Spark or Spark Connect, without importing PySpark."""
    return type(data).__name__ == "SparkSession" and type(data).__module__.startswith("pyspark.sql.")


def own_session(given: SparkSession) -> SparkSession:
    """Return a session of our own at the cluster of a given one, with the settings of :data:`PINNED`.

    Raises
    ------
    Unsupported
        If the session is not of this process, or its cluster has settings that change how queries are planned.
    """
    driver = pyspark_driver()
    if not isinstance(given, driver.SparkSession) or not hasattr(given, "_jsparkSession"):
        raise Unsupported(
            "a session of Spark Connect plans its queries elsewhere, where they cannot be examined.",
            "Give a session of this process, or the address of the cluster.",
            argument="data",
        )
    if int(given.version.split(".")[0]) < OLDEST:
        raise Unsupported(f"this is Spark {given.version}; version {OLDEST} or newer is needed.", argument="data")
    for name, known in _STATIC.items():
        value = given.conf.get(name, None)
        if value not in known:
            raise Unsupported(
                f"the cluster is started with {name} = {value}, which may read tables in other ways than Spark itself.",
                "Use one that is started without it.",
            )
    session: SparkSession = given.newSession()
    for name in session.conf.getAll:
        if name.startswith("spark.sql.") and not _KEPT.fullmatch(name) and session.conf.isModifiable(name):
            session.conf.unset(name)
    for name, value in PINNED.items():
        session.conf.set(name, value)
    return session


def is_pinned(session: SparkSession) -> bool:
    """Return whether a session still has the settings that it was made with."""
    return all(session.conf.get(name) == value for name, value in PINNED.items())


def pyspark_driver() -> Any:
    """Import PySpark's ``sql`` package, which the extra ``spark`` installs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about the version of pandas, which counting does not use
            import pyspark.sql
    except ImportError:
        raise MissingExtra("pyspark", "spark") from None
    return pyspark.sql


def _refuse_without_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no java program" if home else "no java was found"
        raise Unsupported(
            f"Spark needs Java 17 or newer, and {where}.",
            "Install it, for example by: apt-get install openjdk-17-jre-headless",
        )


def _launched(driver: Any, master: str) -> SparkSession:
    settings = {
        "spark.app.name": "discreet",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",  # a log could quote a row
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    builder = driver.SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession | None = None
    reason = ""
    try:
        with _silent_stderr():
            session = builder.getOrCreate()
    except Exception as problem:  # no row has been read
        reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"[:300]
    if session is None:
        raise SourceFailed(
            f"cannot start Spark at {master}, and nothing was spent. It needs Java 17 or newer: {reason}"
        )
    return session


@contextmanager
def logs_withheld() -> Iterator[None]:
    """Keep PySpark from logging errors of queries, which would quote what the executors said about a row."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Send what the Java process writes nowhere: it inherits the stderr of the moment it is started."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
