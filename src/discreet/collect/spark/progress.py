"""Progress of the cluster, polled from another thread while it works."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..columns import ProgressCallback

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Spark's property that groups jobs.
_GROUP = "spark.jobGroup.id"


@contextmanager
def report_progress(session: SparkSession, on_progress: ProgressCallback | None) -> Iterator[None]:
    """Report the share of tasks that are done, of all jobs started meanwhile."""
    if on_progress is None:
        yield
        return
    context, stop, name = session.sparkContext, threading.Event(), f"discreet-{uuid.uuid4().hex}"
    tracker, previous_group = context.statusTracker(), context.getLocalProperty(_GROUP)

    def watch() -> None:
        while not stop.wait(0.2):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            started = [stage for stage in stages if stage is not None and stage.numTasks]
            if started:
                on_progress(sum(one.numCompletedTasks for one in started) / sum(one.numTasks for one in started))

    context.setLocalProperty(_GROUP, name)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        on_progress(1.0)
    finally:
        stop.set()
        watcher.join()
        context.setLocalProperty(_GROUP, previous_group)  # type: ignore[arg-type]
