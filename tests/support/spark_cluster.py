"""A standalone Spark cluster of the tests' own: a master and two workers on loopback, stopped by their process ids.

PySpark's package brings the programs and no script that starts them. The master chooses a free port and says in its log
which.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from support.waiting import LIMIT_SECONDS, wait_for

_DEPLOY = "org.apache.spark.deploy"


@dataclass(eq=False)
class Cluster:
    """A running cluster.

    Attributes
    ----------
    address
        The master's address, ``spark://127.0.0.1:PORT``.
    folder
        Where the logs are, and what executors keep.
    master, workers
        Their processes.
    """

    address: str
    folder: Path
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    def executors(self) -> list[int]:
        """The process ids of the executors that run now."""
        mine = [pid for worker in self.workers for pid in descendants(worker.pid)]
        return [pid for pid in mine if "CoarseGrainedExecutorBackend" in _command(pid)]

    def stop(self) -> None:
        processes = [*self.workers, self.master]
        started = [pid for process in processes for pid in descendants(process.pid)]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in started:
            if str(self.folder) in _command(pid):  # another process may have the number by now
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def start(workers: int = 2) -> Cluster:
    """Start a master and some workers of one core each, and wait until the master knows them."""
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    master = _launch(folder, "master", "master.Master", "--host", "127.0.0.1", "--port", "0")
    cluster = Cluster("", folder, master, [])
    try:
        addresses = wait_for(lambda: re.findall(r"Starting Spark master at (spark://\S+)", _log(folder, "master")))
        cluster.address = addresses[0]
        for number in range(workers):
            name = f"worker{number}"
            own = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / name)]
            cluster.workers.append(_launch(folder, name, "worker.Worker", *own, cluster.address))
        wait_for(lambda: _log(folder, "master").count("Registering worker") >= workers)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def descendants(pid: int) -> list[int]:
    """The process ids of the children of a process, of their children, and so on."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        children.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    found, left = [], [pid]
    while left:
        own = children.get(left.pop(), [])
        found += own
        left += own
    return found


def _launch(folder: Path, name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None, "the extra dev brings pyspark"
    home = Path(spec.origin).parent
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "PYSPARK_PYTHON": sys.executable,
    }
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", f"{_DEPLOY}.{program}", "--webui-port", "0", *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder,
        )  # fmt: skip


def _log(folder: Path, name: str) -> str:
    return (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:
        return ""
