"""How near the default estimate comes to the truth, beside 5,000 iterative Bayesian updates of the same reports.

Seven mechanisms, 500 to 100,000 reports, fixed seeds. A setting is a mechanism, a truth and a number of reports; its
ratio is the mean error of the default estimate over that of the updates, and what is shown is the geometric mean over
settings. The first truths are like those that the method's constants were chosen on, the second are not.

``python benchmarks/battery.py 10`` takes ten surveys for each setting instead of eight.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import discreet as dc
import measure
from estimation import UPDATES, updates
from measure import Line

DATA = Path(__file__).parent.parent / "data"
N = 100
X = np.arange(N + 1)
PEOPLE = (500, 5_000, 100_000)


def _shares(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / weights.sum())


def _normal(mean: float, spread: float) -> np.ndarray:
    return _shares(np.exp(-0.5 * ((X - mean) / spread) ** 2))


def _points(where: dict[int, float]) -> np.ndarray:
    return _shares(np.array([where.get(int(k), 0.0) for k in X]))


def _counted(folder: Path, file: str, column: str) -> np.ndarray:
    with gzip.open(folder / file, "rt", encoding="utf-8") as rows:
        values = [min(int(row[column]), N) for row in csv.DictReader(rows)]
    return _shares(np.bincount(values, minlength=N + 1).astype(float))


def _adult() -> dict[str, np.ndarray]:
    """Ages and weekly hours of UCI Adult (Becker and Kohavi 1996), where DISCREET_DATA names a folder that has it."""
    folder = os.environ.get("DISCREET_DATA")
    if folder is None or not (Path(folder) / "adult.csv.gz").is_file():
        return {}
    columns = {"hours": "hours_per_week", "ages": "age"}
    return {name: _counted(Path(folder), "adult.csv.gz", column) for name, column in columns.items()}


def tuned_on() -> dict[str, np.ndarray]:
    """Real visits, ages and working hours (with their spike at 40), smooth ones, and few points."""
    binomial = np.array([math.comb(N, int(k)) / 2.0**N for k in X])
    return {
        "visits": _counted(DATA, "doctor_visits.csv.gz", "doctor_visits"),
        **_adult(),
        "binomial": binomial,
        "uniform": _shares(np.ones(N + 1)),
        "four points": _points({10: 0.4, 35: 0.3, 60: 0.2, 90: 0.1}),
        "two humps": 0.6 * _normal(25, 6) + 0.4 * _normal(70, 10),
        "geometric": _shares(0.9**X),
    }


def not_tuned_on() -> dict[str, np.ndarray]:
    """Heaped, stepped, zero-inflated, few points, and others."""
    heaps = np.where(X % 10 == 0, 6.0, np.where(X % 5 == 0, 3.0, 0.6))
    return {
        "heaped": _shares(X * np.exp(-X / 30.0) * heaps),
        "stepped": _shares(np.select([X < 20, X < 46, X < 80], [4.0, 1.0, 2.5], 0.3)),
        "zero-inflated": 0.55 * (X == 0) + 0.45 * _normal(30, 12),
        "six points": _points({0: 0.3, 5: 0.1, 20: 0.25, 21: 0.05, 50: 0.2, 100: 0.1}),
        "gamma": _shares((X + 0.5) ** 1.5 * np.exp(-X / 12.0)),
        "one point": _points({37: 1.0}),
        "cliff": _shares(np.where(X <= 30, np.exp(X / 12.0), 1e-9)),
        "spike on a hump": 0.8 * _normal(50, 18) + 0.2 * (X == 40),
    }


@cache
def mechanisms() -> dict[str, dc.Mechanism]:
    made = {f"geometric {e}": dc.geometric(N, epsilon=e) for e in ("0.03", "0.1", "0.3", "1")}
    made |= {f"k-RR {e}": dc.randomized_response(N + 1, epsilon=e) for e in (2, 4)}
    return made | {"explicit fair 0.1": dc.explicit_fair(N, epsilon="0.1")}


def _errors(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Kantorovich distance and total variation."""
    return np.array([np.abs(np.cumsum(p - truth)).sum(), np.abs(p - truth).sum() / 2])


def ratios(
    truths: dict[str, np.ndarray], surveys: int, first_seed: int = 100
) -> dict[tuple[str, str, int], np.ndarray]:
    """For each setting, the errors of the default estimate over those of the updates."""
    found = {}
    for name, mechanism in mechanisms().items():
        matrix = np.array(mechanism.matrix)
        for what, truth in truths.items():
            for people in PEOPLE:
                ours, plain = np.zeros(2), np.zeros(2)
                for seed in range(first_seed, first_seed + surveys):
                    counts = np.random.default_rng([seed, people]).multinomial(people, _shares(truth @ matrix))
                    seen = counts > 0
                    ours += _errors(dc.estimate(counts, mechanism).distribution, truth)
                    columns = np.ascontiguousarray(matrix[:, seen])
                    plain += _errors(updates(columns, counts[seen] / people, UPDATES), truth)
                found[name, what, people] = ours / plain
    return found


def lines(surveys: int = 8) -> Iterator[Line]:
    """Geometric means and worst settings of both distances, then the time of a call."""
    wanted = (("tuned on", tuned_on(), 0.5, 0.3, 1.5), ("not tuned on", not_tuned_on(), 0.7, 0.5, 1.6))
    for name, truths, kantorovich, variation, worst in wanted:
        found = ratios(truths, surveys)
        together = np.exp(np.mean(np.log(np.maximum(list(found.values()), 1e-3)), axis=0))
        peer = f"{UPDATES} updates 1"
        for k, (what, most) in enumerate((("Kantorovich", kantorovich), ("total variation", variation))):
            yield measure.at_most(
                f"default estimate, {what}, truths {name}", f"{together[k]:.3g}", peer, together[k], most
            )
        setting = max(found, key=lambda one: found[one][0])
        ratio = float(found[setting][0])
        yield measure.at_most(f"worst setting: {', '.join(map(str, setting))}", f"{ratio:.3g}", peer, ratio, worst)
    yield from _times()


def _times() -> Iterator[Line]:
    for n, wanted in ((N, None), (1000, 2.0)):
        mechanism = dc.geometric(n, epsilon="0.1")
        x = np.arange(n + 1)
        truth = _shares(np.exp(-0.5 * ((x - 0.4 * n) / (0.08 * n)) ** 2))
        matrix = np.array(mechanism.matrix)
        counts = np.random.default_rng(1).multinomial(100_000, _shares(truth @ matrix))
        times = UPDATES if n == N else 100
        ours, plain = measure.in_turn(
            lambda m=mechanism, c=counts: dc.estimate(c, m),
            lambda a=matrix, c=counts, t=times: updates(a, c / c.sum(), t),
            rounds=3,
        )
        plain *= UPDATES / times
        if wanted is None:
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", "0.1 s", ours / 0.1, 1)
        else:
            peer = f"{UPDATES} updates {plain:.3g} s"
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", peer, ours / plain, wanted)


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 8):
        print(
            f"{line.what:70} {line.ours:>9} {line.theirs:>18} {line.ratio:6.2f} {line.wanted:8} {line.holds}",
            flush=True,
        )
