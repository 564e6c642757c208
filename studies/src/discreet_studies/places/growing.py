"""Data sets that grow: the loss of utility of [A] figure 2, over repeated orders and perturbations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.estimation.methods import Method, estimate
from discreet.exact.arrays import FloatArray, IntArray
from discreet.mechanism import Mechanism
from discreet.plots.chart import Chart
from discreet.utility import kantorovich

from ..means import Mean
from ..repetitions import MeanPoint, mean_lines
from ..study import Row, Setting
from .square import GRID, Square

#: What is reconstructed, in the order in which it is shown, and by which method.
MAXIMUM, INVERSE, DEFAULT = "EM, converged", "inversion", "default estimate"
METHODS: Mapping[str, Method] = {MAXIMUM: "mle", INVERSE: "inverse", DEFAULT: "auto"}


@dataclass(frozen=True, eq=False)
class Growth:
    """Check-ins in a random order, and the reports of one mechanism about each: data sets are their first n.

    Attributes
    ----------
    mechanism
        What reports.
    truths, reports
        The true cell and the reported cell of each check-in.
    """

    mechanism: Mechanism
    truths: IntArray
    reports: IntArray

    def loss(self, number: int, method: str) -> float:
        """Return the Kantorovich distance in metres between the first check-ins and what is reconstructed of them."""
        counts = np.bincount(self.reports[:number], minlength=GRID.size)
        shares = np.maximum(estimate(counts, self.mechanism, method=METHODS[method]).distribution, 0)
        truth = np.bincount(self.truths[:number], minlength=GRID.size) / number
        return kantorovich(shares / shares.sum(), truth, GRID)


def grow(setting: Setting, area: Square, mechanism: Mechanism, name: str, repeat: int) -> Growth:
    """Return a random order, the same for every mechanism, and reports."""
    order = setting.generator("order", repeat).permutation(len(area.cells))
    seed = int(setting.generator("reports", name, repeat).integers(2**63))
    truths = area.cells[order]
    return Growth(mechanism, truths, np.asarray(mechanism.simulate(truths, seed=seed)))


#: Losses by mechanism, method and number of check-ins: one for each repetition.
Losses = Mapping[tuple[str, str, int], FloatArray]


def measure(
    setting: Setting,
    area: Square,
    mechanisms: Mapping[str, Mechanism],
    sizes: Sequence[int],
    repeats: int,
    methods: Sequence[str] = tuple(METHODS),
) -> Losses:
    """Return the losses of every mechanism, method and size."""
    losses: dict[tuple[str, str, int], list[float]] = {}
    for name, repeat in setting.progress([(name, k) for name in mechanisms for k in range(repeats)], "surveys"):
        growth = grow(setting, area, mechanisms[name], name, repeat)
        for method in methods:
            for size in sizes:
                losses.setdefault((name, method, size), []).append(growth.loss(size, method))
    return {key: np.array(values) for key, values in losses.items()}


def table(losses: Losses) -> list[Row]:
    """Return means with their intervals, as rows."""
    return [
        {
            "mechanism": name,
            "estimate": method,
            "checkins": size,
            "repeats": len(values),
            **Mean.of(values).columns("metres"),
        }
        for (name, method, size), values in losses.items()
    ]


def chart(losses: Losses, title: str, *sentences: str) -> Chart:
    """Draw means over sizes, a panel for each method."""
    points = []
    for (name, method, size), values in losses.items():
        mean = Mean.of(values)
        points.append(MeanPoint(name, size, mean.value, mean.low, mean.high, method))
    return mean_lines(points, "check-ins", "Kantorovich distance, metres", title, *sentences, width=210, height=230)
