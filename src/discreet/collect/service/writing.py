"""Group commit: one thread writes all batches that came in since it wrote last, in one durable transaction.

A batch is acknowledged when its group is on the disk. While one group is written the next one gathers, so that many
batches share the wait for the disk.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...errors import DiscreetError
from ..stores.base import Batch, Outcome, ReportStore
from .logs import LOGGER
from .metrics import Metrics
from .problems import busy

#: The most batches of one group: a bound on how long one transaction takes.
LARGEST_GROUP = 1000


class _Waiting(NamedTuple):
    batch: Batch
    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[Outcome]


class Writer(Protocol):
    """Whoever takes batches and says what became of them."""

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        """Take a batch; the outcome is known when the batch is durable. To be called in the event loop."""

    @property
    def waiting(self) -> int:
        """How many batches wait to be written."""

    def close(self) -> None:
        """Write what waits, and end."""


class GroupCommit:
    """Writes batches to a store, group by group.

    Parameters
    ----------
    store
        An open store; nobody else adds batches to it in this process.
    most_waiting
        With more batches waiting than this, new ones are refused for the moment.
    metrics
        Where groups are counted.
    """

    def __init__(self, store: ReportStore, most_waiting: int, metrics: Metrics) -> None:
        self._store, self._most, self._metrics = store, most_waiting, metrics
        self._gathering: list[_Waiting] = []
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return len(self._gathering)

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        with self._lock:
            if self._closing or len(self._gathering) >= self._most:
                raise busy("Too many batches wait to be stored. Send this one again in a moment, under the same key.")
            self._gathering.append(_Waiting(batch, loop, outcome))
        if not self._wake.is_set():
            self._wake.set()
        return outcome

    def close(self) -> None:
        with self._lock:
            self._closing = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while True:
                with self._lock:
                    group, self._gathering = self._gathering[:LARGEST_GROUP], self._gathering[LARGEST_GROUP:]
                if not group:
                    break
                self._write(group)
            if self._closing:
                return

    def _write(self, group: Sequence[_Waiting]) -> None:
        began = time.perf_counter()
        try:
            outcomes: Sequence[Outcome] | None = self._store.add([one.batch for one in group])
        except DiscreetError as problem:
            outcomes = None
            LOGGER.warning("a group was not written", extra={"figures": {"why": str(problem)}})
        except Exception:
            outcomes = None
            LOGGER.exception("a group was not written")
        self._metrics.group(time.perf_counter() - began, outcomes is not None)
        group[0].loop.call_soon_threadsafe(_resolve, group, outcomes)


def _resolve(group: Sequence[_Waiting], outcomes: Sequence[Outcome] | None) -> None:
    """Wake everybody who waits for a batch; those who left meanwhile are passed over."""
    if outcomes is None:
        for one in group:
            if not one.outcome.done():
                one.outcome.set_exception(busy("The store cannot be written now. Send the same batch again."))
        return
    for one, outcome in zip(group, outcomes, strict=True):
        if not one.outcome.done():
            one.outcome.set_result(outcome)
