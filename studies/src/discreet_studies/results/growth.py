"""Growth of the banded interior point with the number of values, against dense linear algebra and updates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.estimation.algebra import single_threaded_blas
from discreet.estimation.interior import solve
from discreet.estimation.methods import PAPER_ITERATIONS
from discreet.estimation.model.models import DenseModel, GeometricModel
from discreet.estimation.solvers.em import iterate
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.geometric import geometric
from discreet.plots.panels import Axis, panels
from discreet.report import Json
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import number, shortened
from .populations import shares

#: A likelihood ratio of 2 within ten values, as in [F].
EPSILON = math.log(2) / 10

PEOPLE = 100_000
GAP = 1e-8

#: Maximum number of values for which dense matrices are compared.
LARGEST_DENSE = 1000

#: Updates that stand for all 5,000, times the number of values: each takes as long as the others.
FEW_UPDATES = 100_000

#: In proportion to n, as far as a clock can tell.
IN_PROPORTION = 1.25

_NAMES = {
    "banded": "banded interior point",
    "dense": "the same with a dense matrix",
    "updates": f"{PAPER_ITERATIONS:,} updates with a dense matrix",
}


@dataclass(frozen=True)
class Sample:
    """Reports of 100,000 people whose values have a bell-shaped distribution: their shares, and alpha of the noise."""

    q: FloatArray
    alpha: float

    @staticmethod
    def of(size: int, generator: np.random.Generator) -> Sample:
        x = np.arange(size)
        truth = shares(np.exp(-0.5 * ((x - 0.4 * size) / (0.08 * size)) ** 2))
        chances = shares(geometric(size - 1, epsilon=EPSILON).forward(truth))
        return Sample(generator.multinomial(PEOPLE, chances) / PEOPLE, math.exp(-EPSILON))

    def dense(self) -> DenseModel:
        """Return the same problem with explicit probabilities (columns up to factors, which do not matter)."""
        x, is_possible = np.arange(len(self.q)), self.q > 0
        return DenseModel(self.alpha ** np.abs(np.subtract.outer(x, x[is_possible])).astype(float), self.q[is_possible])


def _seconds(task: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of several runs, which other programs do not lengthen."""
    best = math.inf
    for _ in range(rounds):
        start = time.thread_time()
        task()
        best = min(best, time.thread_time() - start)
    return best


def draw(setting: Setting) -> ExhibitResult:
    """Draw seconds over the number of values."""
    sizes = setting.pick((100, 300, 1000, 3000, 10_000), (100, 300, 1000, 3000, 10_000, 30_000, 100_000))
    rows = [_row(setting, size) for size in setting.progress(sizes, "sizes")]
    points = [
        {"name": name, "x": row["values"], "y": row[column]}
        for column, name in _NAMES.items()
        for row in rows
        if row[column] is not None
    ]
    chart = panels(
        {"": points},
        Axis("number of values", (80, 1.25 * max(sizes)), log=True),
        Axis(
            "seconds of one core to the certified maximum (updates: to the end)",
            _decades([number(point, "y") for point in points]),
            log=True,
        ),
        "A certified maximum in time proportional to the number of values",
        f"Geometric noise, {PEOPLE:,} reports. Both interior points end with the same certificate; the updates have "
        "none. The best of two or three runs on one machine: ratios count, not seconds.",
        columns=1,
        with_dots=True,
    )
    steps = [{key: row[key] for key in ("values", "iterations", "gap")} for row in rows]
    clocks = [{key: row[key] for key in ("values", *_NAMES)} for row in rows]
    return ExhibitResult({"": chart}, {"": shortened(steps), "seconds": shortened(clocks)}, _claims(rows))


def _decades(values: list[float]) -> tuple[float, float]:
    """Return the powers of ten around some numbers."""
    logs = [math.log10(value) for value in values]
    return 10.0 ** math.floor(min(logs)), 10.0 ** math.ceil(max(logs))


def _row(setting: Setting, size: int) -> dict[str, Json]:
    sample = Sample.of(size, setting.generator("growth", size))
    banded = GeometricModel(sample.alpha, sample.q)
    solution = solve(banded, GAP)
    row: dict[str, Json] = {
        "values": size, "iterations": solution.iterations, "gap": float(f"{solution.gap:.1e}"),
        "banded": _seconds(lambda: solve(banded, GAP), 3), "dense": None, "updates": None, "apart": None,
    }  # fmt: skip
    if size <= LARGEST_DENSE:
        dense, times = sample.dense(), FEW_UPDATES // size
        with single_threaded_blas(0):
            other = solve(dense, GAP)
            row["dense"] = _seconds(lambda: solve(dense, GAP), 2)
            row["updates"] = _seconds(lambda: iterate(dense, times), 2) / times * PAPER_ITERATIONS
        row["apart"] = abs(_log_likelihood(banded, solution.p) - _log_likelihood(banded, other.p))
    return row


def _log_likelihood(model: GeometricModel, p: FloatArray) -> float:
    return float(model.q @ np.log(model.forward(p)))


def _claims(rows: list[dict[str, Json]]) -> tuple[Claim, ...]:
    gaps = [number(row, "gap") for row in rows]
    steps = [int(number(row, "iterations")) for row in rows]
    large = [
        (math.log(number(r, "values")), math.log(number(r, "banded"))) for r in rows if number(r, "values") >= 1000
    ]
    x, y = (np.array(part) for part in zip(*large, strict=True))
    slope, variance = float(np.polyfit(x, y, 1)[0]), float(np.var(y - np.polyval(np.polyfit(x, y, 1), x)))
    error = math.sqrt(variance / max(len(x) - 2, 1) * len(x) / float(((x - x.mean()) ** 2).sum()))
    compared = [row for row in rows if row["dense"] is not None]
    last = compared[-1]
    dense, updates = (number(last, "banded") / number(last, name) for name in ("dense", "updates"))
    away = max(number(row, "apart") for row in compared)
    return (
        Claim(
            "banded: in proportion", "[R] banded interior point",
            "The time to the certified maximum grows in proportion to the number of values.",
            f"From 1,000 values on it grows with the power {rounded(slope)} (standard error {rounded(error, 2)}) of "
            "their number.",
            judge(slope - 2 * error < IN_PROPORTION),
        ),
        Claim(
            "banded: certified", "[R] banded interior point",
            "Every run ends with a gap of at most 1e-8, after at most 30 steps.",
            f"Gaps of at most {max(gaps):.1e}, after {min(steps)} to {max(steps)} steps, for "
            f"{listed([str(r['values']) for r in rows])} values; its log-likelihood is that of the dense method within "
            f"{max(away, 1e-12):.0e}.",
            judge(max(gaps) <= GAP and max(steps) <= 30 and away <= 2 * GAP),
        ),
        Claim(
            "banded: against dense algebra", "[R] banded interior point",
            "At 1,000 values it takes a small part of the time of dense linear algebra, and of 5,000 updates.",
            f"{rounded(dense, 2)} of the time of the same method with a dense matrix, {rounded(updates, 2)} of that of "
            f"{PAPER_ITERATIONS:,} updates, in this run.",
            judge(dense < 0.5 and updates < 0.1),
        ),
    )  # fmt: skip
