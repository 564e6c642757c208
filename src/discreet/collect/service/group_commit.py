"""Group commit: one thread writes all batches since its last write in one durable transaction.

A batch is acknowledged when its group is on the disk. While one group is written the next one gathers, so that many
batches share the wait for the disk.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from ...errors import DiscreetError
from ..stores.base import Batch, Outcome, ReportStore
from .logs import LOGGER
from .metrics import Metrics
from .problems import busy

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Maximum number of batches in a group, which bounds the time of a transaction.
MAX_GROUP_BATCHES = 1000


class Writer(Protocol):
    """A writer of batches that reports their outcomes."""

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        """Take a batch; the outcome is known when the batch is durable. To be called in the event loop."""

    @property
    def waiting(self) -> int:
        """The number of batches that wait to be written."""

    def close(self) -> None:
        """Write what waits, and end."""


class _QueuedItem(NamedTuple, Generic[Item, Result]):
    item: Item
    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[Result]


class GroupThread(Generic[Item, Result]):
    """A thread that processes all items since its last group, and answers them together.

    Parameters
    ----------
    work
        A function from a group to the result or the error of each item, in order.
    name
        Name of the thread.
    most_waiting
        Maximum number of waiting items, beyond which new ones are refused.
    max_group
        Maximum number of items in a group.
    """

    def __init__(
        self, work: Callable[[Sequence[Item]], Sequence[Result | Exception]], name: str, most_waiting: int,
        max_group: int,
    ) -> None:  # fmt: skip
        self._work, self._most, self._largest = work, most_waiting, max_group
        self._gathering: list[_QueuedItem[Item, Result]] = []
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of waiting items."""
        return len(self._gathering)

    def submit(self, item: Item) -> asyncio.Future[Result]:
        """Take an item. To be called in the event loop."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Result] = loop.create_future()
        with self._lock:
            if self._closing or len(self._gathering) >= self._most:
                raise busy("Too many batches wait to be stored. Send this one again in a moment, under the same key.")
            self._gathering.append(_QueuedItem(item, loop, outcome))
        if not self._wake.is_set():
            self._wake.set()
        return outcome

    def close(self) -> None:
        """Work on what waits, and end."""
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
                    group, self._gathering = self._gathering[: self._largest], self._gathering[self._largest :]
                if not group:
                    break
                results = self._work([one.item for one in group])
                group[0].loop.call_soon_threadsafe(_resolve, group, results)
            if self._closing:
                return


class GroupCommit(GroupThread[Batch, Outcome]):
    """A thread that writes batches to a store, group by group.

    Parameters
    ----------
    store
        An open store, to which nothing else in this process adds batches.
    most_waiting
        Maximum number of waiting batches, beyond which new ones are refused.
    metrics
        Counters of the service.
    """

    def __init__(self, store: ReportStore, most_waiting: int, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        super().__init__(self._write, "discreet-writer", most_waiting, MAX_GROUP_BATCHES)

    def _write(self, batches: Sequence[Batch]) -> Sequence[Outcome | Exception]:
        began = time.perf_counter()
        try:
            outcomes: Sequence[Outcome] | None = self._store.add(batches)
        except DiscreetError as problem:
            outcomes = None
            LOGGER.warning("a group was not written", extra={"figures": {"why": str(problem)}})
        except Exception:
            outcomes = None
            LOGGER.exception("a group was not written")
        self._metrics.group(time.perf_counter() - began, outcomes is not None)
        if outcomes is None:
            return [busy("The store cannot be written now. Send the same batch again.") for _ in batches]
        return outcomes


def _resolve(group: Sequence[_QueuedItem[Item, Result]], results: Sequence[Result | Exception]) -> None:
    """Wake the requests that wait for the items; those that left meanwhile are skipped."""
    for one, result in zip(group, results, strict=True):
        if one.outcome.done():
            continue
        if isinstance(result, Exception):
            one.outcome.set_exception(result)
        else:
            one.outcome.set_result(result)
