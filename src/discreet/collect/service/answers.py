"""Estimates from the counts of a store, with what fake reports could do to them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping

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

#: How many answers are kept; each belongs to one state of the counts.
MOST_KEPT = 64

#: The share of fake reports whose effect is stated.
FAKE_SHARE = 0.01

#: With more values than this, what fake reports can do is not worked out for each.
MOST_VALUES = 200


class EstimateAnswers:
    """Answers about collections: worked out once for each state of the counts."""

    def __init__(self, store: ReportStore, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        self._kept: OrderedDict[tuple[object, ...], dict[str, Json]] = OrderedDict()
        self._turn = threading.Lock()

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
        state = tuple((name, tuple(sorted(one.items()))) for name, one in counts.items())
        key = (served.collection.name, level, hashlib.sha256(repr(state).encode()).digest())
        with self._turn:  # one at a time: several would take longer together
            if key not in self._kept:
                self._metrics.estimated()
                self._kept[key] = _worked_out(served.collection, counts, level)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key]


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
