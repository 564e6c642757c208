"""Small groups of people with one bit each, counted by [C]'s four mechanisms: expected, and in repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.exact.arrays import FloatArray, IntArray
from discreet.losses import Loss
from discreet.mechanism import Mechanism
from discreet.plots import Chart
from discreet.report import Json
from discreet.spaces import Counts
from discreet.utility import expected_loss

from ..repetitions import MeanPoint, mean_lines
from ..study import Row
from ..tables import significant

#: [C]'s names of the mechanisms, in the order of its legends.
NAMES = ("GM", "WM", "EM", "UM")

#: The note on WM under every chart that shows it.
WEAKLY_HONEST_MEANS = (
    "WM is the best mechanism with weak honesty and row and column monotonicity. It is not unique: this is the one "
    "that `dc.design` gives."
)


@dataclass(frozen=True)
class Outcome:
    """An error of groups' counts.

    Attributes
    ----------
    expected
        Exactly, over all noise (and over all data where the data is a law).
    mean, deviation
        Of the runs: the mean, and the standard deviation of one run.
    runs
        How many.
    """

    expected: float
    mean: float
    deviation: float
    runs: int

    @property
    def standard_error(self) -> float:
        """Of the mean of the runs."""
        return float(self.deviation / self.runs**0.5)

    def row(self, **columns: Json) -> dict[str, Json]:
        """Return a row of data: the columns, what is expected, the runs, and one standard error each way."""
        means = {"expected": self.expected, "mean": self.mean}
        ends = {"low": self.mean - self.standard_error, "high": self.mean + self.standard_error}
        return {**columns, **{name: significant(value) for name, value in (means | ends).items()}, "runs": self.runs}


def outcome(
    mechanism: Mechanism, loss: Loss, law: FloatArray, runs: Sequence[IntArray], seed: int, *, root: bool = False
) -> Outcome:
    """Return what a mechanism does to counts of groups.

    Parameters
    ----------
    mechanism
        What makes the reports.
    loss
        What a report costs.
    law
        How often each count comes up.
    runs
        The true counts of the groups, for each run.
    seed
        Of the noise.
    root
        Whether the error is the root of the mean loss, as RMSE is.
    """
    costs = loss.of(mechanism.inputs, mechanism.outputs)
    shape = [len(counts) for counts in runs]
    truths = np.concatenate(list(runs))
    reports = np.asarray(mechanism.simulate(truths, seed=seed))
    means = np.array([part.mean() for part in np.split(costs[truths, reports], np.cumsum(shape)[:-1])])
    expected = float(law @ expected_loss(mechanism, loss))
    if root:
        means, expected = np.sqrt(means), expected**0.5
    return Outcome(expected, float(means.mean()), float(means.std(ddof=1)), len(runs))


def picture(
    rows: Sequence[Row], title: str, sentence: str, *, x: str, y: str, sizes: str, across: str, down: str | None = None
) -> Chart:
    """Draw means of the repetitions over a column, in panels, with one standard error each way.

    Parameters
    ----------
    rows
        As :meth:`Outcome.row` makes them.
    x, across, down
        The columns from left to right within a panel, and those that tell panels apart.
    sizes, y
        What the axes are called.
    """
    points = []
    for row in rows:
        place, mean, low, high = (float(str(row[name])) for name in (x, "mean", "low", "high"))
        panel = str(row[across]), "" if down is None else str(row[down])
        points.append(MeanPoint(str(row["name"]), place, mean, low, high, *panel))
    return mean_lines(points, sizes, y, title, sentence, width=170, height=150, logarithmic=False, even=True)


def group_counts(bits: IntArray, n: int) -> IntArray:
    """Return how many of each n people in a row have the bit; a rest of fewer people is left out.

    >>> group_counts(np.array([1, 0, 1, 1, 1]), 2).tolist()
    [1, 2]
    """
    groups = len(bits) // n
    counts: IntArray = bits[: groups * n].reshape(groups, n).sum(axis=1)
    return counts


def law_of(counts: IntArray, n: int) -> FloatArray:
    """Return how often each count from 0 to n comes up."""
    space = Counts(n)
    assert space.size is not None
    return np.bincount(counts, minlength=space.size) / len(counts)
