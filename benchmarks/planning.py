"""Plans of surveys against surveys: people one by one, their reports, the estimate, and what its intervals say.

A plan is worked out from the chances of reports; here each person's value is drawn and perturbed by itself, with other
seeds, so that nothing but the mechanism and ``dc.estimate`` is shared with the planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from measure import FULL, Line, Scale

Floats = NDArray[np.float64]

#: Allowed relative deviation of the realised error from the target error.
WITHIN = 0.1


def _falling(size: int, ratio: float) -> Floats:
    weights = ratio ** np.arange(size)
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class Request:
    """A request to the planner, and its statistic (None for a map)."""

    space: object
    target_error: str
    options: Mapping[str, object]
    statistic: object
    error: float


ANSWERS = dc.Labels(["never", "rarely", "sometimes", "often"])
TOWN = dc.Grid(12, 12, cell=200.0)

REQUESTS: dict[str, Request] = {
    "mean of counts, geometric": Request(
        dc.Counts(100), "mean ±0.5", {"epsilon": 0.5, "mechanism": "geometric"}, "mean", 0.5
    ),
    "mean of counts, epsilon for 20,000": Request(
        dc.Counts(100), "mean ±0.5", {"people": 20_000, "mechanism": "geometric"}, "mean", 0.5
    ),
    "mean of counts near 0, wide noise": Request(
        dc.Counts(30), "mean ±0.4", {"epsilon": 0.1, "mechanism": "geometric", "guess": _falling(31, 0.8)}, "mean", 0.4
    ),
    "share of 0 among counts": Request(
        dc.Counts(20), "share of 0 ±2 points",
        {"epsilon": 1, "mechanism": "geometric", "guess": _falling(21, 0.7)}, ("cell", 0), 0.02,
    ),
    "share of a range of counts": Request(
        dc.Counts(50), "share of 0..3 ±3 points",
        {"epsilon": 0.7, "mechanism": "geometric", "guess": _falling(51, 0.85)}, ("range", 0, 3), 0.03,
    ),
    "yes or no": Request(dc.Labels(["yes", "no"]), "±2 points", {"epsilon": 1}, ("cell", "yes"), 0.02),
    "four answers": Request(ANSWERS, "±2 points", {"epsilon": 1}, ("cell", "never"), 0.02),
    "four answers, epsilon for 8,000": Request(
        ANSWERS, "share of often ±2.5 points", {"people": 8_000, "guess": [0.5, 0.3, 0.15, 0.05]}, ("cell", "often"),
        0.025,
    ),
    "500 values": Request(
        dc.Counts(499), "share of 0 ±2 points",
        {"epsilon": 1, "notion": "local", "guess": _falling(500, 0.8)}, ("cell", 0), 0.02,
    ),
    "a map": Request(TOWN, "map 200 m", {"epsilon": 0.004}, None, 200.0),
}  # fmt: skip


@dataclass(frozen=True)
class Realised:
    """What surveys of the planned size came to.

    Attributes
    ----------
    error
        The mean half length of the intervals, or the mean distance of the map.
    estimates_within
        Of 95% of the maximum likelihood estimates; None for a map.
    covered
        The share of the intervals that contained the truth; None for a map.
    """

    error: float
    estimates_within: float | None
    covered: float | None


def realised(request: Request, plan: dc.CollectionPlan, surveys: int, seed: int) -> Realised:
    """Return surveys of the planned size, person by person."""
    mechanism, rng = plan.mechanism, np.random.default_rng(seed)
    space = mechanism.inputs
    p = _population(request, plan)
    errors, off, covered = [], [], []
    for _ in range(surveys):
        truths = space.values(rng.choice(space.size, plan.people, p=p))
        reports = mechanism.simulate(truths, seed=int(rng.integers(2**62)))
        if request.statistic is None:
            estimate = dc.estimate(reports=reports, mechanism=mechanism)
            errors.append(dc.kantorovich(estimate.distribution, p, space))
            continue
        estimate = dc.estimate(reports=reports, mechanism=mechanism, method="mle")  # intervals are the same by any
        interval = estimate.interval(request.statistic)
        truth, value = (_value(request.statistic, one) for one in (p, estimate.distribution))
        errors.append((interval.high - interval.low) / 2)
        off.append(abs(value - truth))
        covered.append(interval.low <= truth <= interval.high)
    if request.statistic is None:
        return Realised(float(np.mean(errors)), None, None)
    return Realised(float(np.mean(errors)), float(np.quantile(off, 0.95)), float(np.mean(covered)))


def _population(request: Request, plan: dc.CollectionPlan) -> Floats:
    """Return the population that the plan assumes, written down again."""
    guess = request.options.get("guess")
    if guess is not None:
        return np.asarray(guess, float) / np.sum(guess)
    space = plan.mechanism.inputs
    if not isinstance(space, dc.Grid):
        return np.full(space.size, 1 / space.size)
    x, y = (place / (space.cell * 12) for place in space.centre(np.arange(space.size)))
    hills = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.02) for a, b in ((0.3, 0.35), (0.7, 0.65))]
    return np.asarray(0.3 / space.size + sum(w * h / h.sum() for w, h in zip((0.4, 0.3), hills, strict=True)))


def _value(statistic: object, p: Floats) -> float:
    if statistic == "mean":
        return float(p @ np.arange(len(p)))
    assert isinstance(statistic, tuple)
    if statistic[0] == "range":
        return float(p[statistic[1] : statistic[2] + 1].sum())
    return float(p[{"yes": 0, "never": 0, "often": 3}.get(statistic[1], statistic[1])])


def lines(scale: Scale = FULL) -> Iterator[Line]:
    """Compare, for each request, the realised error with the one asked for."""
    for name in scale.pick(list(REQUESTS), ["share of 0 among counts", "four answers", "a map"]):
        request = REQUESTS[name]
        plan = dc.plan_collection(request.space, request.target_error, **request.options)
        estimate = realised(request, plan, surveys=scale.pick(40, 1), seed=11)
        ratio = estimate.error / request.error
        people = f"{plan.people:,} people, epsilon {float(plan.epsilon):g}"
        target = f"{1 - WITHIN:g} to {1 + WITHIN:g}"
        holds = abs(ratio - 1) <= WITHIN
        yield Line(
            f"plan: {name}", f"{estimate.error:.4g} ({people})", f"{request.error:g} wanted", ratio, target, holds
        )
