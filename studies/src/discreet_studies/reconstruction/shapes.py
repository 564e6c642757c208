"""Figure 2 of [F]: what is reconstructed from 100,000 reports, in four panels."""

from __future__ import annotations

import math

from discreet.plots.chart import PALE, PALETTE, Chart, Spec, beside, finish

from ..claims import Claim, judge
from ..means import Mean
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .surveys import (
    BINOMIAL,
    CHOICES,
    DEFAULT,
    ESTIMATES,
    GEOMETRIC,
    MAXIMUM,
    POINTS,
    RESPONSE,
    UPDATES,
    Surveys,
    draw,
    mechanisms,
    shapes,
)  # fmt: skip

PEOPLE = 100_000

_PLACE = "[F] section 4.1, figure 2"


def draw_shapes(setting: Setting) -> ExhibitResult:
    """Draw one run of each shape and mechanism as curves, and the total variation distance over several runs."""
    repeats = setting.pick(3, 20)
    surveys = {
        (shape, name): draw(setting, m, population, PEOPLE, repeats, shape)
        for name, m in mechanisms().items()
        for shape, population in shapes().items()
    }
    variations = {
        (*key, which): Mean.of(one.variations(which, one.population))
        for key, one in surveys.items()
        for which in ESTIMATES
    }
    curves = [row for (shape, name), one in surveys.items() for row in _curves(shape, name, one)]
    table: list[Row] = [
        {
            "distribution": shape,
            "mechanism": name,
            "estimate": which,
            "repeats": repeats,
            **mean.columns("total_variation"),
        }
        for (shape, name, which), mean in variations.items()
    ]
    charts = {
        "": _chart(surveys, UPDATES, "Reconstructions as in the paper: 5,000 updates"),
        "maximum": _chart(surveys, MAXIMUM, "The same reports, at the maximum of the likelihood"),
        "default": _chart(surveys, DEFAULT, "The same reports, by the default estimate"),
    }
    return ExhibitResult(charts, {"": curves, "distances": table}, _claims(variations), CHOICES)


def _curves(shape: str, name: str, one: Surveys) -> list[Row]:
    """Return the curves of a typical run."""
    noisy = one.reports[one.typical] / one.people
    return [
        {
            "distribution": shape, "mechanism": name, "value": k, "truth": significant(float(one.population[k])),
            "sample": significant(float(one.sample[k])), "reports": significant(float(noisy[k])),
            **{which: significant(float(one.estimates(which)[one.typical, k])) for which in ESTIMATES},
        }
        for k in range(len(one.population))
    ]  # fmt: skip


def _claims(means: dict[tuple[str, str, str], Mean]) -> tuple[Claim, ...]:
    def describe(which: str) -> str:
        numbers = {key[:2]: mean for key, mean in means.items() if key[2] == which}
        return "; ".join(f"{shape}, {name} {mean}" for (shape, name), mean in numbers.items())

    def better(which: str, name: str, good: str, bad: str) -> bool:
        return means[good, name, which].below(means[bad, name, which])

    at = means[POINTS, RESPONSE, UPDATES], means[POINTS, GEOMETRIC, UPDATES]
    exact = means[POINTS, RESPONSE, MAXIMUM], means[POINTS, GEOMETRIC, MAXIMUM]
    flipped = not better(MAXIMUM, GEOMETRIC, BINOMIAL, POINTS)
    return (
        Claim(
            "figure 2: k-RR and shapes",
            _PLACE,
            "For k-RR the reconstruction of the 4-point distribution is much better than that of the binomial one.",
            f"Total variation distance from the truth after 5,000 updates: {describe(UPDATES)}.",
            judge(better(UPDATES, RESPONSE, POINTS, BINOMIAL)),
            f"At the maximum of the likelihood: {describe(MAXIMUM)}.",
        ),
        Claim(
            "figure 2: geometric and shapes",
            _PLACE,
            "For the geometric mechanism it is the other way round: the binomial distribution is reconstructed much "
            "better.",
            f"Total variation distance: {means[BINOMIAL, GEOMETRIC, UPDATES]} (binomial) and "
            f"{means[POINTS, GEOMETRIC, UPDATES]} (4 points) after 5,000 updates; "
            f"{means[BINOMIAL, GEOMETRIC, MAXIMUM]} and {means[POINTS, GEOMETRIC, MAXIMUM]} at the maximum of the "
            "likelihood.",
            judge(better(UPDATES, GEOMETRIC, BINOMIAL, POINTS), corrected=flipped),
            "It is the number of updates that favours the smooth shape: at the maximum the order is not the paper's."
            if flipped
            else "",
        ),
        Claim(
            "figure 2: k-RR on four points",
            _PLACE,
            "The shape of the 4-point distribution comes out better with k-RR than with the geometric mechanism.",
            f"Total variation distance: k-RR {at[0]}, geometric {at[1]} after 5,000 updates; k-RR {exact[0]}, "
            f"geometric {exact[1]} at the maximum of the likelihood.",
            judge(at[0].below(at[1]), corrected=not exact[0].below(exact[1])),
            "By total variation, which does not know how far off a value is; the Kantorovich distance of figure 3 does."
            + ("" if exact[0].below(exact[1]) else " At the maximum k-RR is not better beyond the intervals."),
        ),
    )


def _chart(surveys: dict[tuple[str, str], Surveys], which: str, title: str) -> Chart:
    panels = [
        _panel(surveys[shape, name], which, f"{name}, {shape}")
        for name in (RESPONSE, GEOMETRIC)
        for shape in (POINTS, BINOMIAL)
    ]
    together = beside(
        panels,
        title,
        "100,000 people. Bars: the true distribution; dots: shares of the reports; line: what is reconstructed from "
        "them. The run in the middle of several, by total variation after 5,000 updates.",
    )
    return Chart({**together.spec, "bounds": "flush", "spacing": {"row": 90, "column": 70}})


def _panel(one: Surveys, which: str, title: str) -> Chart:
    columns = {
        "truth": one.population,
        "reports": one.reports[one.typical] / one.people,
        "reconstruction": one.estimates(which)[one.typical],
    }
    rows = [
        {"value": k, **{name: float(f"{column[k]:.6g}") for name, column in columns.items()}}
        for k in range(len(one.population))
    ]
    highest = max(float(column.max()) for column in columns.values())
    step = next(step for step in (0.02, 0.05, 0.1, 0.2) if highest <= 6 * step)
    ticks = [significant(k * step) for k in range(math.ceil(highest / step) + 1)]
    top = ticks[-1]  # a label at the top of every panel, so that their titles are aligned
    scale = {"domain": list(columns), "range": [PALE, PALETTE[2], PALETTE[1]]}
    x = {
        "type": "quantitative",
        "field": "value",
        "title": "value",
        "scale": {"domain": [0, len(one.population) - 1], "nice": False},
    }

    def layer(mark: Spec, name: str) -> Spec:
        colour = {"datum": name, "type": "nominal", "scale": scale, "legend": {"title": None, "symbolType": "square"}}
        y = {"field": name, "type": "quantitative", "title": "probability", "scale": {"domain": [0, top]}}
        y["axis"] = {"values": ticks, "format": ".2f"}
        return {"mark": mark, "encoding": {"x": x, "y": y, "color": colour}}

    layers = [
        layer({"type": "bar", "width": 3}, "truth"),
        layer({"type": "point", "size": 6, "filled": True}, "reports"),
        layer({"type": "line", "strokeWidth": 1.3}, "reconstruction"),
    ]
    return finish({"data": {"values": rows}, "layer": layers, "width": 330, "height": 170}, title, width=330)
