"""Long work for the pages: each job in its own process, so that it can be watched and stopped."""

from __future__ import annotations

import multiprocessing
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Any

from ...errors import DiscreetError, InvalidInput
from ...system import limit_memory

#: Maximum number of jobs at a time; each takes a core.
MAX_RUNNING_JOBS = 2

#: Maximum number of jobs, running or done, whose results are kept.
MAX_REMEMBERED_JOBS = 50

#: Seconds before a job is stopped.
JOB_TIMEOUT_SECONDS = 900

#: Seconds before an unwatched job is stopped (its page was closed).
UNWATCHED_SECONDS = 60.0

#: Memory limit of a job, in bytes.
MAX_JOB_BYTES = 8 * 2**30

#: A step of some work: the amount done, the total, a status line; with the last step, the result.
Step = tuple[int, int, str, Any]

#: Work in steps, given the fields of a form.
Work = Callable[[Any], Iterator[Step]]


@dataclass
class Job:
    """A piece of work that is running or done.

    Attributes
    ----------
    fields
        The form that the work is for.
    owner
        The page and session that asked. A new job replaces the running one of its owner.
    done, total, status
        The progress.
    result
        The result, or None until there is one.
    problem
        The error that ended it.
    """

    fields: Any
    owner: str
    process: BaseProcess
    inbox: Connection
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    started_at: float = field(default_factory=time.monotonic)
    watched_at: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 1
    status: str = "Starting"
    result: Any = None
    problem: DiscreetError | None = None

    @property
    def running(self) -> bool:
        return self.result is None and self.problem is None

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self.started_at)

    def update(self) -> None:
        """Read the messages of the process, and end it if it took too long or nobody waits for it."""
        while self.running:
            try:
                if not self.inbox.poll():
                    break
                message = self.inbox.recv()
            except (EOFError, OSError):
                self.end(InvalidInput("the work ended without an answer.", "Ask again, or for a smaller one."))
                return
            if isinstance(message, DiscreetError):
                self.end(message)
            else:
                self.done, self.total, self.status, self.result = message
        if not self.running:
            self._close()
        elif time.monotonic() - self.started_at > JOB_TIMEOUT_SECONDS:
            minutes = JOB_TIMEOUT_SECONDS // 60
            self.end(InvalidInput(f"this took more than {minutes} minutes.", "Ask for a smaller one."))
        elif time.monotonic() - self.watched_at > UNWATCHED_SECONDS:
            self.end(InvalidInput("nobody waited for this any more.", "Start again."))

    def end(self, problem: DiscreetError) -> None:
        """Stop it for this reason."""
        if self.running:
            self.problem = problem
        self._close()

    def _close(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join(5)
        self.inbox.close()


class Jobs:
    """The jobs of this server, by name."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = Lock()

    def start(self, work: Work, fields: Any, owner: str) -> Job:
        """Start some work in place of the running job of its owner; refuse if too many jobs run."""
        with self._lock:
            for job in self._jobs.values():
                job.update()
                if job.owner == owner and job.running:
                    job.end(InvalidInput("something else was asked.", "Start again."))
            if sum(job.running for job in self._jobs.values()) >= MAX_RUNNING_JOBS:
                raise InvalidInput(
                    f"{MAX_RUNNING_JOBS} designs are being worked out already.", "Cancel one, or wait a moment."
                )
            while len(self._jobs) >= MAX_REMEMBERED_JOBS:
                del self._jobs[next(name for name, job in self._jobs.items() if not job.running)]
            context = multiprocessing.get_context("spawn")
            inbox, outbox = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(work, fields, outbox), daemon=True)
            process.start()
            outbox.close()
            job = Job(fields, owner, process, inbox)
            self._jobs[job.name] = job
        Thread(target=self._watch, args=(job,), daemon=True).start()
        return job

    def _watch(self, job: Job) -> None:
        """End a job that takes too long or that nobody waits for, even if nobody requests its progress."""
        while job.running:
            time.sleep(1)
            with self._lock:
                job.update()

    def find(self, name: str, owner: str) -> Job | None:
        """Return a job of this owner, up to date."""
        with self._lock:
            job = self._owned(name, owner)
            if job is not None:
                job.watched_at = time.monotonic()
                job.update()
            return job

    def _owned(self, name: str, owner: str) -> Job | None:
        job = self._jobs.get(name)
        return job if job is not None and job.owner == owner else None

    def cancel(self, name: str, owner: str) -> Job | None:
        """Stop a job at the request of its owner."""
        with self._lock:
            job = self._owned(name, owner)
            if job is not None:
                job.end(InvalidInput("cancelled.", "Change something, or start again."))
            return job

    def close(self) -> None:
        """Stop all of them."""
        for name, job in list(self._jobs.items()):
            self.cancel(name, job.owner)


def _run(work: Work, fields: Any, outbox: Connection) -> None:
    """Do the work, in its own process and within the memory limit."""
    limit_memory(MAX_JOB_BYTES)
    try:
        for step in work(fields):
            outbox.send(step)
    except DiscreetError as problem:
        outbox.send(type(problem)(str(problem)) if type(problem).__init__ is DiscreetError.__init__ else problem)
    except MemoryError:
        outbox.send(
            InvalidInput("this takes more memory than a page may.", "Ask for a smaller one, or the command line.")
        )
    finally:
        outbox.close()
