"""Error of the default estimate, against 5,000 iterative Bayesian updates of the same reports.

Seven mechanisms, 500 to 100,000 reports, fixed seeds. A setting is a mechanism, a truth and a number of reports; its
ratio is the mean error of the default estimate over that of the updates, and what is shown is the geometric mean over
settings. The first truths are like those that the method's constants were chosen on, the second are not.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import discreet as dc
import measure
from discreet_studies.results.populations import N, counted, mechanisms, not_tuned_on, shares, tuned_on
from estimation import UPDATES, updates
from measure import FULL, Line, Scale


def _adult() -> dict[str, np.ndarray]:
    """Read ages and weekly hours of UCI Adult (Becker and Kohavi 1996) if DISCREET_DATA names a folder that has it."""
    folder = os.environ.get("DISCREET_DATA")
    if folder is None or not (Path(folder) / "adult.csv.gz").is_file():
        return {}
    with gzip.open(Path(folder) / "adult.csv.gz", "rt", encoding="utf-8") as file:
        people = list(csv.DictReader(file))
    columns = {"hours": "hours_per_week", "ages": "age"}
    return {name: counted([person[column] for person in people]) for name, column in columns.items()}


def _errors(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the Kantorovich distance and the total variation."""
    return np.array([np.abs(np.cumsum(p - truth)).sum(), np.abs(p - truth).sum() / 2])


def ratios(
    truths: dict[str, np.ndarray], sizes: tuple[int, ...], times: int, surveys: int
) -> dict[tuple[str, str, int], np.ndarray]:
    """Return, for each setting, the errors of the default estimate over those of ``updates`` updates."""
    settings = {}
    for name, mechanism in mechanisms().items():
        matrix = np.array(mechanism.matrix)
        for what, truth in truths.items():
            for people in sizes:
                ours, plain = np.zeros(2), np.zeros(2)
                for seed in range(100, 100 + surveys):
                    counts = np.random.default_rng([seed, people]).multinomial(people, shares(truth @ matrix))
                    seen = counts > 0
                    ours += _errors(dc.estimate(counts, mechanism).distribution, truth)
                    columns = np.ascontiguousarray(matrix[:, seen])
                    plain += _errors(updates(columns, counts[seen] / people, times), truth)
                settings[name, what, people] = ours / plain
    return settings


def lines(scale: Scale = FULL) -> Iterator[Line]:
    """Measure geometric means and worst settings of both distances, then the time of a call."""
    sizes, times, surveys = scale.pick(((500, 5_000, 100_000), UPDATES, 8), ((500,), 10, 1))
    targets = (("tuned on", tuned_on() | _adult(), 0.5, 0.3, 1.5), ("not tuned on", not_tuned_on(), 0.7, 0.5, 1.6))
    for name, truths, kantorovich, variation, worst in targets:
        names = scale.pick(list(truths), list(truths)[:1])
        settings = ratios({one: truths[one] for one in names}, sizes, times, surveys)
        together = np.exp(np.mean(np.log(np.maximum(list(settings.values()), 1e-3)), axis=0))
        peer = f"{times} updates 1"
        for k, (what, most) in enumerate((("Kantorovich", kantorovich), ("total variation", variation))):
            yield measure.at_most(
                f"default estimate, {what}, truths {name}", f"{together[k]:.3g}", peer, together[k], most
            )
        setting = max(settings, key=lambda one: settings[one][0])
        ratio = float(settings[setting][0])
        yield measure.at_most(f"worst setting: {', '.join(map(str, setting))}", f"{ratio:.3g}", peer, ratio, worst)
    yield from _times(scale)


def _times(scale: Scale) -> Iterator[Line]:
    for n, target in ((N, None), (scale.pick(1000, 50), 2.0)):
        mechanism = dc.geometric(n, epsilon="0.1")
        x = np.arange(n + 1)
        truth = shares(np.exp(-0.5 * ((x - 0.4 * n) / (0.08 * n)) ** 2))
        matrix = np.array(mechanism.matrix)
        counts = np.random.default_rng(1).multinomial(100_000, shares(truth @ matrix))
        times = scale.pick(UPDATES if n == N else 100, 10)
        ours, plain = measure.in_turn(
            lambda m=mechanism, c=counts: dc.estimate(c, m),
            lambda a=matrix, c=counts, t=times: updates(a, c / c.sum(), t),
            rounds=scale.pick(3, 1),
        )
        plain *= UPDATES / times
        if target is None:
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", "0.1 s", ours / 0.1, 1)
        else:
            peer = f"{UPDATES} updates {plain:.3g} s"
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", peer, ours / plain, target)
