"""Estimates from the counts of a store, with what fake reports could do to them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ...estimation.intervals.moments import Unbiased
from ...estimation.methods import estimate
from ...estimation.result import Estimate
from ...exact.arrays import FloatArray
from ...report import Json, stamped
from ...spaces import Counts
from ..collection import Collection
from ..stores.base import ReportStore
from .metrics import Metrics
from .problems import Problem
from .registry import Served

#: How many answers are kept.
MOST_KEPT = 64

#: With so many times the reports it was made from, an answer is worked out anew beside the requests, or before them.
AGEING, OLD = 1.01, 1.1

#: From so many reports on, an answer that is no older than this, in seconds, is not waited for however fast they come.
MANY, YOUNG = 100_000, 3.0

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
    the first one.
    """

    def __init__(self, store: ReportStore, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        self._kept: OrderedDict[tuple[str, float], _Kept] = OrderedDict()
        self._turn = threading.Lock()
        self._beside = ThreadPoolExecutor(1, "discreet-estimates")

    def counts(self, served: Served) -> dict[str, dict[int, int]]:
        """For each mechanism, how often each report was made: index -> times."""
        return {name: self._store.histogram(number) for name, number in served.numbers.items()}

    def answer(self, served: Served, level: float) -> dict[str, Json]:
        """The estimate with intervals; a problem while there are too few reports."""
        counts = self.counts(served)
        total = sum(sum(one.values()) for one in counts.values())
        needed = served.collection.minimum_reports
        if total < needed:
            raise Problem(
                "too-few-reports",
                f"There are {total:,} reports, and an estimate needs {needed:,}.",
                more={"reports": total, "needed": needed},
            )
        kept = self._kept.get((served.collection.name, level))
        if kept is None or (total > kept.reports * OLD and not kept.will_do):
            return self._renew(served, counts, total, level)
        if total > kept.reports * AGEING:
            self._beside.submit(self._renew, served, counts, total, level)
        return kept.answer

    def prepare(self, served: Served, level: float = LEVEL) -> None:
        """Work out the answer that will be asked for, if there are enough reports and they have grown."""
        counts = self.counts(served)
        total = sum(sum(one.values()) for one in counts.values())
        kept = self._kept.get((served.collection.name, level))
        if total >= served.collection.minimum_reports and (kept is None or total > kept.reports * AGEING):
            self._renew(served, counts, total, level)

    def _renew(
        self, served: Served, counts: Mapping[str, Mapping[int, int]], total: int, level: float
    ) -> dict[str, Json]:
        key = (served.collection.name, level)
        with self._turn:  # one at a time: several would take longer together
            kept = self._kept.get(key)
            if kept is None or kept.reports < total:
                self._metrics.estimated()
                kept = self._kept[key] = _Kept(total, _worked_out(served.collection, counts, level), time.monotonic())
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return kept.answer


class _Kept(NamedTuple):
    """An answer, and the number of reports that it was made from."""

    reports: int
    answer: dict[str, Json]
    made: float

    @property
    def will_do(self) -> bool:
        """Whether it is given whatever came in since: another one is on its way."""
        return self.reports >= MANY and time.monotonic() - self.made < YOUNG


def _worked_out(collection: Collection, counts: Mapping[str, Mapping[int, int]], level: float) -> dict[str, Json]:
    pairs = [
        ({mechanism.outputs.value(report): times for report, times in counts[name].items()}, mechanism)
        for name, mechanism in collection.mechanisms.items()
        if counts[name]
    ]
    found = estimate(pairs[0][0], pairs[0][1]) if len(pairs) == 1 else estimate(pairs)
    content: dict[str, Json] = {
        "collection": collection.name,
        "reports": found.people,
        "estimate": found.to_json(level),
        "fake_reports": fake_effect(found),
    }
    return stamped("collected estimate", 1, content)


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
    if isinstance(found.space, Counts):
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
