"""Estimates from the counts of a store, with what fake reports could do to them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from starlette.concurrency import run_in_threadpool

from ...errors import DiscreetError
from ...estimation.intervals.moments import Unbiased
from ...estimation.methods import estimate
from ...estimation.result import Estimate
from ...exact.arrays import FloatArray
from ...report import Json, stamped
from ..collection import Collection
from ..stores.base import ReportStore
from .logs import LOGGER
from .metrics import Metrics
from .problems import Problem
from .registry import Served

#: Of how many collections answers are kept, and for how many levels of each.
MOST_KEPT, MOST_LEVELS = 64, 8

#: With so many times the reports it was made from, an answer is worked out anew beside the requests, or before them.
AGEING, OLD = 1.01, 1.1

#: After so many seconds an answer is worked out anew beside the requests for a single report more.
AGED = 60.0

#: From so many reports on, an answer that is no older than this, in seconds, is not waited for however fast they come.
MANY, YOUNG = 100_000, 3.0

#: How many estimates are worked out at once, and how many collections may wait for that.
AT_ONCE, MOST_WAITING = 2, 32

#: How long a request waits for an estimate before it is asked to come back, in seconds.
PATIENCE = 10.0

#: The level of intervals unless another one is asked for.
LEVEL = 0.95

#: The share of fake reports whose effect is stated.
FAKE_SHARE = 0.01

#: With more values than this, what fake reports can do is not worked out for each.
MOST_VALUES = 200


class EstimateAnswers:
    """Answers about collections: worked out from counts, and given again until reports have grown.

    An estimate takes a fraction of a second, however many reports there are, and hardly changes when one more comes in.
    So an answer is given as it stands while there are at most 1% more reports than it was made from. From then on it is
    worked out anew beside the requests, which still get the one before; with 10% more they wait for the new one, but
    for collections of many reports whose answer is a few seconds old at most. Every answer states the number of its
    reports. :meth:`prepare`, called beside the requests for collections that reports came in for, lets nobody wait for
    the first one, and takes in the last reports once no more come.

    Estimates have threads of their own, and each collection takes one at a time, so that nothing else waits for a
    slow one. The fit is kept: intervals of another level are all that is worked out for it.

    Parameters
    ----------
    store
        The store with the reports.
    metrics
        Where estimates are counted.
    clock
        Seconds, from some moment on: by it the age of an answer is told.
    """

    def __init__(self, store: ReportStore, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._metrics, self._clock = store, metrics, clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._jobs: dict[str, Future[_Answer]] = {}
        self._turn = threading.Lock()
        self._workers = ThreadPoolExecutor(AT_ONCE, "discreet-estimates")

    def counts(self, served: Served) -> dict[str, dict[int, int]]:
        """For each mechanism, how often each report was made: index -> times."""
        return {name: self._store.histogram(number) for name, number in served.numbers.items()}

    async def answer(self, find: Callable[[], Served], level: float) -> dict[str, Json]:
        """The estimate with intervals; a problem while there are too few reports, or when it takes too long.

        Parameters
        ----------
        find
            Finds the collection, or refuses to. It is called in another thread, together with all that takes time:
            each change of threads takes as long as an answer that is there.
        level
            Of the intervals.
        """
        late = time.monotonic() + PATIENCE
        while True:
            found, total = await run_in_threadpool(lambda: self._at_hand(find(), level))
            if isinstance(found, _Answer):
                return found.content
            work = asyncio.wrap_future(found)
            work.add_done_callback(_look)
            await asyncio.wait([work], timeout=max(0.0, late - time.monotonic()))
            if not work.done():
                raise _too_busy()
            made = work.result()
            if made.level == level and total <= made.reports * OLD:
                return made.content

    async def fit(self, served: Served) -> Estimate:
        """The estimate behind the usual answer, for pages; refused as :meth:`answer` is."""
        await self.answer(lambda: served, LEVEL)
        return self._kept[served.collection.name].fit

    async def prepare(self, served: Served, *, all_reports: bool = False) -> None:
        """Work out the answer that will be asked for, if there are enough reports and they have grown.

        Parameters
        ----------
        served
            The collection.
        all_reports
            Whether a single report more is reason enough.
        """
        counts = await run_in_threadpool(self.counts, served)
        total = _total(counts)
        kept = self._kept.get(served.collection.name)
        made = None if kept is None else kept.answers.get(LEVEL)
        grown = made is None or total > made.reports * (1 if all_reports else AGEING)
        if total >= served.collection.minimum_reports and grown:
            await asyncio.wrap_future(self._start(served, counts, LEVEL, all_reports))

    def close(self) -> None:
        """Begin no further estimate."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _at_hand(self, served: Served, level: float) -> tuple[_Answer | Future[_Answer], int]:
        """The answer that will do, or the work that leads to it; and how many reports there are."""
        counts = self.counts(served)
        total, needed = _total(counts), served.collection.minimum_reports
        if total < needed:
            raise Problem(
                "too-few-reports",
                f"There are {total:,} reports, and an estimate needs {needed:,}.",
                more={"reports": total, "needed": needed},
            )
        kept = self._kept.get(served.collection.name)
        made = None if kept is None else kept.answers.get(level)
        if made is None:
            return self._start(served, counts, level, False), total
        age = self._clock() - made.made
        # whatever came in since, a recent answer from many reports is given: another one is on its way
        will_do = made.reports >= MANY and age < YOUNG
        if total > made.reports * OLD and not will_do:
            return self._start(served, counts, level, False), total
        if total > made.reports * (AGEING if age < AGED else 1):
            with suppress(Problem):  # there is an answer
                self._start(served, counts, level, age >= AGED)
        return made, total

    def _start(
        self, served: Served, counts: Mapping[str, Mapping[int, int]], level: float, all_reports: bool
    ) -> Future[_Answer]:
        """The work on a collection that is under way, or that begins now."""
        name = served.collection.name
        with self._turn:
            under_way = self._jobs.get(name)
            if under_way is not None:
                return under_way
            if len(self._jobs) >= MOST_WAITING:
                raise _too_busy()
            job = self._jobs[name] = self._workers.submit(self._work, served, counts, level, all_reports)
        job.add_done_callback(lambda done: self._end(name, done))
        return job

    def _end(self, name: str, job: Future[_Answer]) -> None:
        self._jobs.pop(name, None)
        failure = None if job.cancelled() else job.exception()
        if failure is not None and not isinstance(failure, DiscreetError):
            LOGGER.error("an estimate failed", exc_info=failure)

    def _work(
        self, served: Served, counts: Mapping[str, Mapping[int, int]], level: float, all_reports: bool
    ) -> _Answer:
        collection, total = served.collection, _total(counts)
        kept = self._kept.get(collection.name)
        if kept is None or total > kept.fit.people * (1 if all_reports else AGEING):
            self._metrics.estimated()
            kept = _Kept(_fitted(collection, counts), {} if kept is None else kept.answers)
        content: dict[str, Json] = {
            "collection": collection.name,
            "reports": kept.fit.people,
            "estimate": kept.fit.to_json(level),
            "fake_reports": fake_effect(kept.fit),
        }
        made = _Answer(level, kept.fit.people, stamped("collected estimate", 1, content), self._clock())
        others = {one: answer for one, answer in kept.answers.items() if one != level}
        while len(others) >= MOST_LEVELS:
            others.pop(next(one for one in others if one != LEVEL))
        with self._turn:
            self._kept[collection.name] = _Kept(kept.fit, {**others, level: made})
            self._kept.move_to_end(collection.name)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made


class _Answer(NamedTuple):
    """An answer, its level, the number of reports that it was made from, and when."""

    level: float
    reports: int
    content: dict[str, Json]
    made: float


class _Kept(NamedTuple):
    """The last fit of a collection, and its answers by level."""

    fit: Estimate
    answers: Mapping[float, _Answer]


def _look(work: asyncio.Future[_Answer]) -> None:
    """Take note of how work ended that nobody may wait for any more."""
    if not work.cancelled():
        work.exception()


def _total(counts: Mapping[str, Mapping[int, int]]) -> int:
    return sum(sum(one.values()) for one in counts.values())


def _too_busy() -> Problem:
    return Problem(
        "busy", "The estimate is being worked out. Ask again in a few seconds.", headers={"Retry-After": "5"}
    )


def _fitted(collection: Collection, counts: Mapping[str, Mapping[int, int]]) -> Estimate:
    pairs = [
        ({mechanism.outputs.value(report): times for report, times in counts[name].items()}, mechanism)
        for name, mechanism in collection.mechanisms.items()
        if counts[name]
    ]
    return estimate(pairs[0][0], pairs[0][1]) if len(pairs) == 1 else estimate(pairs)


def fake_effect(found: Estimate) -> dict[str, Json]:
    """How far fake reports can move an estimate.

    With weights g of the reports whose mean is an unbiased estimate of a statistic f.p, a share d of fake reports moves
    that mean by at most ``d (max g - min g)``: at worst all of them are the report with the largest weight, where
    honest ones would have had the smallest. It is stated for the mean of counts, and otherwise for the share of the
    value that can be moved most. Noise makes the weights large: the more private the mechanism, the more a
    fake report can do.
    """
    size = len(found.distribution)
    statistics: dict[str, FloatArray] = {}
    if found.space.is_line:
        statistics["mean"] = np.arange(size, dtype=float)
    elif size <= MOST_VALUES:
        statistics = {f"share of {found.space.value(k)}": np.eye(1, size, k)[0] for k in range(size)}
    unbiased = Unbiased(found.problem, found.maximum)
    effects = {}
    for name, f in statistics.items():
        weights = unbiased.weights(f)
        if weights is not None:
            effects[name] = FAKE_SHARE * float(weights.max() - weights.min())
    if not effects:
        return {"share": FAKE_SHARE, "statistic": None, "moves_by_at_most": None}
    worst = max(effects, key=lambda name: effects[name])
    return {"share": FAKE_SHARE, "statistic": worst, "moves_by_at_most": effects[worst]}
