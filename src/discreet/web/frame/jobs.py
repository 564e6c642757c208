"""Long work beside the pages: in a process of its own, so that it can be watched and stopped."""

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

#: So many run at once; each takes a core.
MOST_RUNNING = 2

#: So many are remembered, with what they found.
MOST_KEPT = 50

#: After so many seconds a job is stopped.
LONGEST = 900.0

#: After so many seconds without anybody asking how far it is, a job is stopped: its page was closed.
UNSEEN = 60.0

#: So many bytes a job may take.
MOST_MEMORY = 8 * 2**30

#: A step of some work: how much is done, of how much, in words; and at the end what was found.
Step = tuple[int, int, str, Any]

#: Work in steps, from what was asked.
Work = Callable[[Any], Iterator[Step]]


@dataclass
class Job:
    """Work under way, or done.

    Attributes
    ----------
    asked
        What the work is about; it belongs to the page that started it.
    owner
        Who asked: whoever asks for something else has no use for the last.
    done, total, words
        How far it is.
    found
        What was found; None until then.
    problem
        Why nothing was found.
    """

    asked: Any
    owner: str
    process: BaseProcess
    inbox: Connection
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    began: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 1
    words: str = "Starting"
    found: Any = None
    problem: DiscreetError | None = None

    @property
    def running(self) -> bool:
        return self.found is None and self.problem is None

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self.began)

    def look(self) -> None:
        """Take in what the process has said, and end it when it took too long or nobody waits for it any more."""
        while self.running:
            try:
                if not self.inbox.poll():
                    break
                said = self.inbox.recv()
            except (EOFError, OSError):
                self.end(InvalidInput("the work ended without an answer.", "Ask again, or for a smaller one."))
                return
            if isinstance(said, DiscreetError):
                self.end(said)
            else:
                self.done, self.total, self.words, self.found = said
        if not self.running:
            self._close()
        elif time.monotonic() - self.began > LONGEST:
            self.end(InvalidInput(f"this took more than {LONGEST / 60:.0f} minutes.", "Ask for a smaller one."))
        elif time.monotonic() - self.seen > UNSEEN:
            self.end(InvalidInput("nobody waited for this any more.", "Start again."))

    def end(self, problem: DiscreetError) -> None:
        """Stop it, and say why."""
        if self.running:
            self.problem = problem
        self._close()

    def _close(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join(5)
        self.inbox.close()


class Jobs:
    """What was started here, by name."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = Lock()

    def start(self, work: Work, asked: Any, owner: str) -> Job:
        """Start some work, in place of what its owner asked before; refused while as many run as there may be."""
        with self._lock:
            for job in self._jobs.values():
                job.look()
                if job.owner == owner and job.running:
                    job.end(InvalidInput("something else was asked.", "Start again."))
            if sum(job.running for job in self._jobs.values()) >= MOST_RUNNING:
                raise InvalidInput(
                    f"{MOST_RUNNING} designs are being worked out already.", "Cancel one, or wait a moment."
                )
            while len(self._jobs) >= MOST_KEPT:
                del self._jobs[next(name for name, job in self._jobs.items() if not job.running)]
            spawned = multiprocessing.get_context("spawn")
            inbox, outbox = spawned.Pipe(duplex=False)
            process = spawned.Process(target=_do, args=(work, asked, outbox), daemon=True)
            process.start()
            outbox.close()
            job = Job(asked, owner, process, inbox)
            self._jobs[job.name] = job
        Thread(target=self._mind, args=(job,), daemon=True).start()
        return job

    def _mind(self, job: Job) -> None:
        """End a job that takes too long or that nobody waits for, whether or not anybody asks."""
        while job.running:
            time.sleep(1)
            with self._lock:
                job.look()

    def find(self, name: str, owner: str) -> Job | None:
        """A job of this owner as it stands now."""
        with self._lock:
            job = self._of(name, owner)
            if job is not None:
                job.seen = time.monotonic()
                job.look()
            return job

    def _of(self, name: str, owner: str) -> Job | None:
        job = self._jobs.get(name)
        return job if job is not None and job.owner == owner else None

    def cancel(self, name: str, owner: str) -> Job | None:
        """Stop a job because its owner said so."""
        with self._lock:
            job = self._of(name, owner)
            if job is not None:
                job.end(InvalidInput("cancelled.", "Change something, or start again."))
            return job

    def close(self) -> None:
        """Stop all of them."""
        for name, job in list(self._jobs.items()):
            self.cancel(name, job.owner)


def _do(work: Work, asked: Any, outbox: Connection) -> None:
    """The work itself, in its own process and within bounds."""
    limit_memory(MOST_MEMORY)
    try:
        for step in work(asked):
            outbox.send(step)
    except DiscreetError as problem:
        outbox.send(type(problem)(str(problem)) if type(problem).__init__ is DiscreetError.__init__ else problem)
    except MemoryError:
        outbox.send(
            InvalidInput("this takes more memory than a page may.", "Ask for a smaller one, or the command line.")
        )
    finally:
        outbox.close()
