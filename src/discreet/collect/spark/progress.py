"""How far the cluster is, asked from beside while it works."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..columns import Tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The property by which jobs of one purpose are found, in Spark's words.
_GROUP = "spark.jobGroup.id"


@contextmanager
def watched(session: SparkSession, tell: Tell | None) -> Iterator[None]:
    """Tell which share of the tasks is done, of all jobs that are started meanwhile."""
    if tell is None:
        yield
        return
    context, stop, name = session.sparkContext, threading.Event(), f"discreet-{uuid.uuid4().hex}"
    tracker, before = context.statusTracker(), context.getLocalProperty(_GROUP)

    def watch() -> None:
        while not stop.wait(0.2):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            known = [stage for stage in stages if stage is not None and stage.numTasks]
            if known:
                tell(sum(one.numCompletedTasks for one in known) / sum(one.numTasks for one in known))

    context.setLocalProperty(_GROUP, name)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        tell(1.0)
    finally:
        stop.set()
        watcher.join()
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]
