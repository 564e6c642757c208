"""Populations and mechanisms on which estimates are compared: the values 0 to 100."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from discreet.exact.arrays import Array, FloatArray
from discreet.mechanism import Mechanism
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import randomized_response

from ..datasets import Datasets

#: The largest value.
N = 100

_X: FloatArray = np.arange(N + 1, dtype=np.float64)


def shares(weights: Array) -> FloatArray:
    """Return weights divided by their sum."""
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def counted(values: list[str]) -> FloatArray:
    """Return the distribution of whole numbers as a file has them; values above the largest count as it."""
    numbers = [min(int(value), N) for value in values]
    return shares(np.bincount(numbers, minlength=N + 1).astype(float))


def _normal(mean: float, spread: float) -> FloatArray:
    return shares(np.exp(-0.5 * ((_X - mean) / spread) ** 2))


def _points(where: dict[int, float]) -> FloatArray:
    return shares(np.array([where.get(k, 0.0) for k in range(N + 1)]))


def tuned_on() -> dict[str, FloatArray]:
    """Return populations like those that the default method was tuned on: smooth ones, and few points."""
    binomial = np.array([math.comb(N, k) / 2.0**N for k in range(N + 1)])
    return {
        "visits": counted(Datasets().doctor_visits()["doctor_visits"]),
        "binomial": binomial,
        "uniform": shares(np.ones(N + 1)),
        "four points": _points({10: 0.4, 35: 0.3, 60: 0.2, 90: 0.1}),
        "two humps": 0.6 * _normal(25, 6) + 0.4 * _normal(70, 10),
        "geometric": shares(0.9**_X),
    }


def not_tuned_on() -> dict[str, FloatArray]:
    """Return other populations: heaped, stepped, zero-inflated, few points."""
    heaps = np.where(_X % 10 == 0, 6.0, np.where(_X % 5 == 0, 3.0, 0.6))
    return {
        "heaped": shares(_X * np.exp(-_X / 30.0) * heaps),
        "stepped": shares(np.select([_X < 20, _X < 46, _X < 80], [4.0, 1.0, 2.5], 0.3)),
        "zero-inflated": 0.55 * (_X == 0) + 0.45 * _normal(30, 12),
        "six points": _points({0: 0.3, 5: 0.1, 20: 0.25, 21: 0.05, 50: 0.2, 100: 0.1}),
        "gamma": shares((_X + 0.5) ** 1.5 * np.exp(-_X / 12.0)),
        "one point": _points({37: 1.0}),
        "cliff": shares(np.where(_X <= 30, np.exp(_X / 12.0), 1e-9)),
        "spike on a hump": 0.8 * _normal(50, 18) + 0.2 * (_X == 40),
    }


@cache
def mechanisms() -> dict[str, Mechanism]:
    """Return seven mechanisms, from little to much information in a report."""
    by_name = {f"geometric {e}": geometric(N, epsilon=e) for e in ("0.03", "0.1", "0.3", "1")}
    by_name |= {f"k-RR {e}": randomized_response(N + 1, epsilon=e) for e in (2, 4)}
    return by_name | {"explicit fair 0.1": explicit_fair(N, epsilon="0.1")}
