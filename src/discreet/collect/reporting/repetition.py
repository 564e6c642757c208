"""The loss of privacy when an observer sees many reports of one person, and why an answer is drawn once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InvalidInput
from ...exact.integers import positive_integer
from ...mechanism import Mechanism
from ...plots import Chart
from ...plots.panels import Axis, panels


def guessed_right(mechanism: Mechanism, reports: int, *, drawn_once: bool, people: int = 2000, seed: int = 0) -> float:
    """Return the share of people whose value an observer guesses correctly from ``reports`` reports of each.

    People have every value equally often, and the guess is the likeliest value given the reports. With a fresh draw for
    each report, the losses of privacy add up: after t reports epsilon is t times that of one. Drawn once and sent
    again, all reports together reveal as much as one.

    Parameters
    ----------
    mechanism
        The mechanism of the reports.
    reports
        Number of reports seen of each person.
    drawn_once
        True if the first report is sent again each time, False if each is drawn afresh.
    people, seed
        Number of simulated people, and seed of the simulation.

    Examples
    --------
    >>> import discreet as dc
    >>> coin = dc.randomized_response(["yes", "no"], epsilon=1)
    >>> guessed_right(coin, 100, drawn_once=False) > 0.999 > 0.8 > guessed_right(coin, 100, drawn_once=True)
    True
    """
    times = positive_integer(reports, "reports")
    size = mechanism.inputs.size
    if size is None or mechanism.outputs.size is None:
        raise InvalidInput.must_be("mechanism", "one with finitely many values and reports", mechanism)
    truths = np.arange(positive_integer(people, "people")) % size
    values = mechanism.inputs.values(np.repeat(truths, 1 if drawn_once else times))
    indices = mechanism.outputs.indices(mechanism.simulate(values, seed=seed)).reshape(len(truths), -1)
    with np.errstate(divide="ignore"):
        logs = np.log(mechanism.matrix)
    # further copies of one report do not change the guess: the likeliest value given one is the likeliest given all
    evidence = np.zeros((len(truths), size))
    for column in indices.T:
        evidence += logs[:, column].T
    return float(np.mean(evidence.argmax(axis=1) == truths))


def repetition_chart(mechanism: Mechanism, reports: Sequence[int] = (1, 2, 4, 7, 14, 30, 90, 180, 365)) -> Chart:
    """Return a chart of :func:`guessed_right` over the number of reports seen of each person.

    Examples
    --------
    >>> import discreet as dc
    >>> repetition_chart(dc.geometric(6, epsilon="1/10"), (1, 7))
    <Chart: What many reports of one person give away>
    """
    names = {False: "a fresh report each time", True: "drawn once, and sent again"}
    points = [
        {"name": name, "x": times, "y": guessed_right(mechanism, times, drawn_once=once)}
        for once, name in names.items()
        for times in reports
    ]
    blind = 1 / (mechanism.inputs.size or 1)
    return panels(
        {"": points},
        Axis("reports seen of each person", log=True),
        Axis("values guessed right", (0, 1)),
        "What many reports of one person give away",
        "Averaging fresh reports over days removes the noise. Drawn once, all reports reveal as much as the first.",
        f"A guess without any report is right {blind:.0%} of the time.",
        columns=1,
        with_dots=True,
    )
