"""The estimate as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...exact.arrays import FloatArray
from ...plots import Chart, beside
from ...plots.chart import values_of
from ...plots.maps import in_squares, maps_beside, square_map
from ...plots.reconstruction import bars, cumulative
from ...spaces import Grid
from ...wording import percent
from .. import spikes
from .report import MAX_BAND_COUNTS
from .report import title as title_of

if TYPE_CHECKING:
    from ..result import Estimate


#: Maximum number of values that are drawn with intervals.
MAX_WHISKERS = 60

#: Total length of the intervals above which a smoothed estimate is drawn without them: they would hide the bars, and
#: the cumulative band says more.
MAX_WHISKER_LENGTH = 1.5

#: Number of people below which a cell is drawn as empty.
LEAST_PEOPLE = 1e-3

#: Minimum number of differences of surveys, in a square and those around it, behind a standard error on a map.
MIN_DIFFERENCES = 24


def draw(estimate: Estimate, title: str | None, band: bool | float) -> Chart:
    """Draw bars and a cumulative band for counts, bars for labels, maps for grids."""
    space = estimate.space
    level = 0.95 if isinstance(band, bool) else band
    heading = title or title_of(estimate, len(estimate.problem.groups))
    if space.as_grid is not None:
        return _maps(estimate, space.as_grid, heading)
    reports = _reports(estimate)
    seen = "Bars: the estimate." + (" Dots: the raw reports." if reports is not None else "")
    notes = list(estimate.notes)
    if estimate.spikes:
        notes.insert(0, spikes.MEANING)
    limits = None
    if band is not False and len(estimate.distribution) <= MAX_WHISKERS:
        limits = _limits(estimate, level)
        if estimate.method == "empirical-bayes" and (limits[1] - limits[0]).sum() > MAX_WHISKER_LENGTH:
            limits = None
    if limits is not None:
        seen += f" Lines: a {percent(level)} interval for each value by itself."
    if not space.has_numbers:
        return _ranked(estimate, reports, limits, heading, seen, notes)
    values = values_of(space)
    first = bars(
        values, space.noun, estimate.distribution, reports, limits, f"Probability of each {space.noun}", seen, *notes
    )
    cdf_limits = None
    if band is not False and (len(estimate.distribution) <= MAX_BAND_COUNTS or band is not True):
        cdf_band = estimate.band(level)
        cdf_limits = (cdf_band.low, cdf_band.high)
    words = f"Shaded: a {percent(level)} interval at each {space.noun} by itself." if cdf_limits else ""
    steps = None
    if estimate.method == "empirical-bayes":
        steps, words = np.cumsum(estimate.maximum), f"{words} Thin: the maximum likelihood estimate.".strip()
    heading_below = "Cumulative probability"
    second = cumulative(
        estimate.cdf(), cdf_limits, heading_below, words, other=steps, values=space.coordinates()[0], noun=space.noun
    )
    return beside([first, second], heading, columns=1)


def _ranked(
    estimate: Estimate,
    reports: FloatArray | None,
    limits: tuple[FloatArray, FloatArray] | None,
    heading: str,
    seen: str,
    notes: Sequence[str],
) -> Chart:
    """Draw bars of values without an order, the likeliest first."""
    order = np.argsort(-estimate.distribution, kind="stable")[:MAX_WHISKERS]
    size = len(estimate.distribution)
    if size > len(order):
        seen = f"The {len(order)} likeliest of {size:,} values. {seen}"
    return bars(
        [estimate.space.value(int(k)) for k in order],
        estimate.space.noun,
        estimate.distribution[order],
        None if reports is None else reports[order],
        None if limits is None else (limits[0][order], limits[1][order]),
        heading,
        seen,
        *notes,
    )


def _limits(estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
    values = (estimate.space.value(k) for k in range(len(estimate.distribution)))
    ends = np.array([list(estimate.interval(("cell", value), level)) for value in values])
    return ends[:, 0], ends[:, 1]


def _reports(estimate: Estimate) -> FloatArray | None:
    """Return the share of the reports that name each true value, where reports are of the same kind as truths."""
    shares = np.zeros(len(estimate.distribution))
    for group in estimate.problem.groups:
        if group.outputs != estimate.space:
            return None
        shares += group.whole()
    return np.asarray(shares / estimate.people)


def _maps(estimate: Estimate, grid: Grid, heading: str) -> Chart:
    expected = estimate.expected_counts()
    people = in_squares(np.where(expected < LEAST_PEOPLE, 0.0, expected), grid)
    empty = int((people == 0).sum())
    seen = f"White: estimated as 0 ({empty:,} of {people.size:,} squares), which does not mean that nobody is there."
    maps = [square_map(people, grid, "people", "The estimate", *([seen] if empty else []))]
    errors = estimate.map_errors()
    if errors is not None:
        caption = (
            "Two standard errors of the number in each square. Detail that smoothing has blurred does not show here: "
            "intervals of single cells, which assume nothing, are wider."
        )
        maps.append(square_map(2 * errors, grid, "± people", "How much it would change in another survey", caption))
    reports = _reports(estimate)
    if reports is not None:
        counted = in_squares(reports * estimate.people, grid)
        maps.append(
            square_map(counted, grid, "reports", "The raw reports", "Noise has moved them away from the truth.")
        )
    said_of = [spikes.MEANING] if estimate.spikes else list(estimate.notes[:1])
    return maps_beside(maps, heading, *said_of)


def map_errors(estimate: Estimate, grid: Grid, differences: FloatArray) -> FloatArray:
    """Return the standard error of the people in each square that is drawn, from differences of surveys.

    A few differences say little about one square, so their squares are averaged with those of the squares around it.
    """
    from scipy.ndimage import uniform_filter

    mean_square = (in_squares(differences, grid) ** 2).mean(axis=0)
    width = 1
    while width**2 * len(differences) < MIN_DIFFERENCES:
        width += 2
    return np.asarray(estimate.people * np.sqrt(np.maximum(uniform_filter(mean_square, width, mode="nearest"), 0.0)))
