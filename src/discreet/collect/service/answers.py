"""Estimates from the counts of a store, with the possible effect of fake reports."""

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
from .problems import ApiError
from .registry import ActiveCollection

#: Maximum number of cached collections, and of confidence levels cached for each.
MAX_CACHED_COLLECTIONS, MAX_CACHED_LEVELS = 64, 8

#: Growth in reports after which an estimate is refreshed in the background, or before answering.
BACKGROUND_REFRESH_RATIO, STALE_RATIO = 1.01, 1.1

#: Age in seconds from which one more report is enough for a refresh in the background.
REFRESH_SECONDS = 60.0

#: Number of reports from which an estimate younger than this many seconds is served without waiting for a refresh.
LARGE_COLLECTION, FRESH_SECONDS = 100_000, 3.0

#: Maximum number of concurrent estimates, and of collections that are estimated or wait for it.
MAX_CONCURRENT_ESTIMATES, MAX_WAITING_ESTIMATES = 2, 32

#: Seconds a request waits for an estimate before it is asked to come back.
ESTIMATE_TIMEOUT_SECONDS = 10.0

#: Confidence level of intervals by default.
DEFAULT_LEVEL = 0.95

#: Share of fake reports whose effect is stated.
FAKE_SHARE = 0.01

#: Maximum number of values for which the effect of fake reports on each share is computed.
MAX_SHARES = 200


class EstimateAnswers:
    """A cache of estimates: each is computed from counts and served until the number of reports has grown.

    An estimate takes a fraction of a second for any number of reports, and hardly changes when one more comes in. So an
    answer is served unchanged while there are at most 1% more reports than it was made from. From then on it is
    refreshed in the background while requests still get the previous one; with 10% more they wait for the new one,
    except for large collections whose answer is a few seconds old at most. Every answer states the number of its
    reports. :meth:`prepare`, called in the background for collections with new reports, makes the first answer ready
    and includes the last reports once no more come.

    Estimates have threads of their own, and each collection takes one at a time, so that nothing else waits for a
    slow one. The fit is cached: another level needs new intervals only.

    Parameters
    ----------
    store
        The store with the reports.
    metrics
        Counters of the service.
    clock
        A clock in seconds, for the age of answers.
    """

    def __init__(self, store: ReportStore, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._metrics, self._clock = store, metrics, clock
        self._fits: OrderedDict[str, _CachedFit] = OrderedDict()
        self._jobs: dict[str, Future[_Answer]] = {}
        self._lock = threading.Lock()
        self._workers = ThreadPoolExecutor(MAX_CONCURRENT_ESTIMATES, "discreet-estimates")

    def counts(self, active: ActiveCollection) -> dict[str, dict[int, int]]:
        """Return for each mechanism the counts of reports: index -> times."""
        return {name: self._store.histogram(number) for name, number in active.numbers.items()}

    async def answer(self, find: Callable[[], ActiveCollection], level: float) -> dict[str, Json]:
        """Return the estimate with intervals; a problem while there are too few reports, or when it takes too long.

        Parameters
        ----------
        find
            Returns the collection, or refuses. It is called in another thread, together with all slow work: each
            change of threads takes as long as a cached answer.
        level
            Confidence level of the intervals.
        """
        deadline = time.monotonic() + ESTIMATE_TIMEOUT_SECONDS
        while True:
            answer, total = await run_in_threadpool(lambda: self._answer_or_job(find(), level))
            if isinstance(answer, _Answer):
                return answer.content
            work = asyncio.wrap_future(answer)
            work.add_done_callback(_retrieve_exception)
            await asyncio.wait([work], timeout=max(0.0, deadline - time.monotonic()))
            if not work.done():
                raise _too_busy()
            computed = work.result()
            if computed.level == level and total <= computed.reports * STALE_RATIO:
                return computed.content

    async def fit(self, active: ActiveCollection) -> Estimate:
        """Return the estimate behind the usual answer, for pages; refused as :meth:`answer` is."""
        await self.answer(lambda: active, DEFAULT_LEVEL)
        return self._fits[active.collection.name].fit

    async def prepare(self, active: ActiveCollection, *, all_reports: bool = False) -> None:
        """Compute the answer in advance, if there are enough reports and they have grown.

        Parameters
        ----------
        active
            The collection.
        all_reports
            If True, one more report is enough.
        """
        counts = await run_in_threadpool(self.counts, active)
        total = _total(counts)
        cached_fit = self._fits.get(active.collection.name)
        answer = None if cached_fit is None else cached_fit.answers.get(DEFAULT_LEVEL)
        grown = answer is None or total > answer.reports * (1 if all_reports else BACKGROUND_REFRESH_RATIO)
        if total >= active.collection.minimum_reports and grown:
            await asyncio.wrap_future(self._start(active, counts, DEFAULT_LEVEL, all_reports))

    def close(self) -> None:
        """Begin no further estimate."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _answer_or_job(self, active: ActiveCollection, level: float) -> tuple[_Answer | Future[_Answer], int]:
        """Return a sufficient answer, or the job that makes one; and the number of reports."""
        counts = self.counts(active)
        total, minimum = _total(counts), active.collection.minimum_reports
        if total < minimum:
            raise ApiError(
                "too-few-reports",
                f"There are {total:,} reports, and an estimate needs {minimum:,}.",
                more={"reports": total, "needed": minimum},
            )
        cached_fit = self._fits.get(active.collection.name)
        answer = None if cached_fit is None else cached_fit.answers.get(level)
        if answer is None:
            return self._start(active, counts, level, False), total
        age = self._clock() - answer.computed_at
        # a recent answer from many reports is sufficient: the next one is on its way
        is_sufficient = answer.reports >= LARGE_COLLECTION and age < FRESH_SECONDS
        if total > answer.reports * STALE_RATIO and not is_sufficient:
            return self._start(active, counts, level, False), total
        if total > answer.reports * (BACKGROUND_REFRESH_RATIO if age < REFRESH_SECONDS else 1):
            with suppress(ApiError):  # there is an answer
                self._start(active, counts, level, age >= REFRESH_SECONDS)
        return answer, total

    def _start(
        self, active: ActiveCollection, counts: Mapping[str, Mapping[int, int]], level: float, all_reports: bool
    ) -> Future[_Answer]:
        """Return the running job of a collection, or start one."""
        name = active.collection.name
        with self._lock:
            running_job = self._jobs.get(name)
            if running_job is not None:
                return running_job
            if len(self._jobs) >= MAX_WAITING_ESTIMATES:
                raise _too_busy()
            job = self._jobs[name] = self._workers.submit(self._work, active, counts, level, all_reports)
        job.add_done_callback(lambda future: self._end(name, future))
        return job

    def _end(self, name: str, job: Future[_Answer]) -> None:
        self._jobs.pop(name, None)
        failure = None if job.cancelled() else job.exception()
        if failure is not None and not isinstance(failure, DiscreetError):
            LOGGER.error("an estimate failed", exc_info=failure)

    def _work(
        self, active: ActiveCollection, counts: Mapping[str, Mapping[int, int]], level: float, all_reports: bool
    ) -> _Answer:
        collection, total = active.collection, _total(counts)
        cached_fit = self._fits.get(collection.name)
        if cached_fit is None or total > cached_fit.fit.people * (1 if all_reports else BACKGROUND_REFRESH_RATIO):
            self._metrics.estimated()
            cached_fit = _CachedFit(_fit(collection, counts), {} if cached_fit is None else cached_fit.answers)
        content: dict[str, Json] = {
            "collection": collection.name,
            "reports": cached_fit.fit.people,
            "estimate": cached_fit.fit.to_json(level),
            "fake_reports": fake_effect(cached_fit.fit),
        }
        fresh = _Answer(level, cached_fit.fit.people, stamped("collected estimate", 1, content), self._clock())
        other_levels = {other: answer for other, answer in cached_fit.answers.items() if other != level}
        while len(other_levels) >= MAX_CACHED_LEVELS:
            other_levels.pop(next(other for other in other_levels if other != DEFAULT_LEVEL))
        with self._lock:
            self._fits[collection.name] = _CachedFit(cached_fit.fit, {**other_levels, level: fresh})
            self._fits.move_to_end(collection.name)
            while len(self._fits) > MAX_CACHED_COLLECTIONS:
                self._fits.popitem(last=False)
        return fresh


class _Answer(NamedTuple):
    """An answer, its level, the number of its reports, and its time."""

    level: float
    reports: int
    content: dict[str, Json]
    computed_at: float


class _CachedFit(NamedTuple):
    """The last fit of a collection, and its answers by level."""

    fit: Estimate
    answers: Mapping[float, _Answer]


def _retrieve_exception(work: asyncio.Future[_Answer]) -> None:
    """Retrieve the exception of a job that nobody may wait for any more."""
    if not work.cancelled():
        work.exception()


def _total(counts: Mapping[str, Mapping[int, int]]) -> int:
    return sum(sum(one.values()) for one in counts.values())


def _too_busy() -> ApiError:
    return ApiError(
        "busy", "The estimate is being worked out. Ask again in a few seconds.", headers={"Retry-After": "5"}
    )


def _fit(collection: Collection, counts: Mapping[str, Mapping[int, int]]) -> Estimate:
    pairs = [
        ({mechanism.outputs.value(report): times for report, times in counts[name].items()}, mechanism)
        for name, mechanism in collection.mechanisms.items()
        if counts[name]
    ]
    return estimate(pairs[0][0], pairs[0][1]) if len(pairs) == 1 else estimate(pairs)


def fake_effect(fit: Estimate) -> dict[str, Json]:
    """Return how far fake reports can move an estimate.

    With weights g of the reports whose mean is an unbiased estimate of a statistic f.p, a share d of fake reports moves
    that mean by at most ``d (max g - min g)``: at worst all of them are the report with the largest weight, where
    honest ones would have had the smallest. It is stated for the mean of counts, and otherwise for the share of the
    value that can be moved most. Noise makes the weights large: the more private the mechanism, the more a
    fake report can do.
    """
    size = len(fit.distribution)
    statistics: dict[str, FloatArray] = {}
    if fit.space.is_line:
        statistics["mean"] = np.arange(size, dtype=float)
    elif size <= MAX_SHARES:
        statistics = {f"share of {fit.space.value(k)}": np.eye(1, size, k)[0] for k in range(size)}
    unbiased = Unbiased(fit.problem, fit.maximum)
    effects = {}
    for name, f in statistics.items():
        weights = unbiased.weights(f)
        if weights is not None:
            effects[name] = FAKE_SHARE * float(weights.max() - weights.min())
    if not effects:
        return {"share": FAKE_SHARE, "statistic": None, "moves_by_at_most": None}
    worst = max(effects, key=lambda name: effects[name])
    return {"share": FAKE_SHARE, "statistic": worst, "moves_by_at_most": effects[worst]}
