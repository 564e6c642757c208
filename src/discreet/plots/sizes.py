"""The chart of the noise relative to counts of every size."""

from __future__ import annotations

from collections.abc import Mapping

from ..wording import percent
from .chart import WIDTH, Chart, Spec, finish, series

#: The sizes of counts on the axis: eight for each power of ten.
SIZES = tuple(round(10 ** (k / 8)) for k in range(49))


def noise_by_size(half_widths: Mapping[str, int], level: float, title: str | None = None) -> Chart:
    """Draw the half-width of the noise as a share of the true count, for counts from 1 to a million.

    Parameters
    ----------
    half_widths
        For each name (the first eight are drawn), the half-width of the noise.
    level
        The probability with which the noise stays within its half-width.
    title
        Title of the chart, instead of "Error for counts of every size".

    Examples
    --------
    >>> noise_by_size({"by site": 3}, 0.95)
    <Chart: Error for counts of every size>
    """
    names = list(half_widths)[:8]
    rows = [
        {"name": name, "count": size, "share": 100 * half_widths[name] / size}
        for name in names
        for size in dict.fromkeys(SIZES)
        if half_widths[name]
    ]
    x: Spec = {
        "field": "count", "type": "quantitative", "title": "true count", "scale": {"type": "log", "nice": False},
        "axis": {"values": [10**k for k in range(7)], "format": "~s"},
    }  # fmt: skip
    y: Spec = {
        "field": "share", "type": "quantitative", "title": f"noise, {percent(level)} of the time, in % of the count",
        "scale": {"domain": [0, 100], "clamp": True},
    }  # fmt: skip
    spec: Spec = {
        "data": {"values": rows}, "mark": {"type": "line", "clip": True, "tooltip": True}, "width": WIDTH,
        "height": 220, "encoding": {"x": x, "y": y, **(series(names, "color") if len(names) > 1 else {})},
    }  # fmt: skip
    large_counts = "; ".join(
        f"{10 * width:,} for 10%, {100 * width:,} for 1%" for width in list(half_widths.values())[:1]
    )
    return finish(spec, title or "Error for counts of every size", f"Counts of at least {large_counts}.", width=WIDTH)
