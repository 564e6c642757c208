"""Charts of the probabilities: heat maps, maps, and the distributions of a few truths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from ..channels import Channel
from ..errors import InvalidInput, Unsupported
from ..exact.arrays import FloatArray
from ..privacy.verify import verify
from ..privacy.witness import Witness
from ..wording import rounded
from .chart import ACCENT, DARK, INK, ON_CELLS, PALE, QUIET, RAMP, WIDTH, Chart, Spec, band, describe, finish, values_of

ColourScale = Literal["linear", "sqrt", "log"]

#: Maximum number of values a side of a heat map, and of reports in ``rows``, that fit on paper.
MAX_SIDE_CELLS, MAX_ROW_BARS = 201, 1001

#: Maximum number of values a side for which the cells contain their numbers.
MAX_NUMBERED_SIDE = 10


# ------------------------------------------------------------------------------------------------ heat maps


def heatmap(
    mechanism: object, witness: bool | Witness = True, title: str | None = None, *, scale: ColourScale = "sqrt"
) -> Chart:
    """Draw the whole mechanism: a row for each true value, a column for each report, colour for the probability.

    Darker is likelier; white is zero. Small mechanisms have their numbers in the cells. The diagonal, where the truth
    is reported, is marked: bold numbers in small mechanisms, a dashed line in large ones.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table or a matrix of probabilities, with at most 201 true and 201 reported values.
    witness
        True to mark the judge's witness: the report, and the two truths that it distinguishes best. Or another witness,
        such as ``verify(m, "local").witness``; or False.
    title
        Instead of the description of the mechanism.
    scale
        The scale of colours: "sqrt" (small probabilities are visible), "linear", or "log".

    Examples
    --------
    >>> import discreet as dc
    >>> chart = heatmap(dc.explicit_fair(8, alpha="10/11"))
    >>> chart
    <Chart: Explicit fair, counts 0 to 8, epsilon 0.09532>
    >>> path = chart.save("fair.svg")  # doctest: +SKIP
    """
    channel = Channel.of(mechanism)
    size = max(channel.shape)
    if size > MAX_SIDE_CELLS:
        instead = "plots.rows(m) or plots.error(m)" if channel.inputs.as_grid is None else "plots.report_map(m, cell)"
        raise Unsupported(
            f"a heat map of {channel.shape[0]} x {channel.shape[1]} values cannot be read; it shows at most "
            f"{MAX_SIDE_CELLS} x {MAX_SIDE_CELLS}.",
            f"Use {instead}.",
            argument="mechanism",
        )
    truths, reports = values_of(channel.inputs), values_of(channel.outputs)
    step = cell_size(size, has_names=isinstance(truths[0], str))
    noun = channel.inputs.noun
    x = band("report", f"reported {channel.outputs.noun}", reports, step)
    y = band("truth", f"true {noun}", truths, step, across=False)
    numbered = size <= MAX_NUMBERED_SIDE
    layers = [heat_cells(channel.matrix, x, y, step, scale)]
    layers.append(_numbers(layers[0]) if numbered else _diagonal(truths, reports, x, y))
    words = f"One row for each true {noun}: how likely every report is. {'Bold' if numbered else 'Dashed'}: the truth."
    if not channel.matrix.all():
        words += " White: never (or below 1e-300)."
    mark = verify(channel.source).witness if witness is True else witness
    caption = ""
    if mark and mark.ratio == 1:
        caption = f"No report tells one true {noun} from another."
    elif mark:
        report = reports[channel.outputs.index(mark.report)]
        cells = [{"truth": truths[channel.inputs.index(t)], "report": report} for t in (mark.truth, mark.other)]
        layers.append(_mark(cells, x, y, step))
        caption = f"{'Ringed' if _tiny(step) else 'Framed'}, what gives most away: {_sentence(mark)}"
    return sized(layers, step, title or describe(mechanism, channel.inputs), words, caption)


def report_map(mechanism: object, cell: object, title: str | None = None, *, scale: ColourScale = "sqrt") -> Chart:
    """Draw a map of the reports of one true cell, for mechanisms on a :class:`~discreet.Grid`.

    Parameters
    ----------
    mechanism
        A mechanism whose true and reported values are the cells of a grid, at most 201 a side.
    cell
        The number of the true cell (row * cols + col, row 0 south and at the bottom); ``grid.locate(x, y)`` finds it.
    title, scale
        As for :func:`heatmap`.

    Examples
    --------
    >>> import discreet as dc
    >>> report_map(dc.planar_geometric(dc.Grid(4, 4, cell=100.0), epsilon="1/100"), cell=5)
    <Chart: Planar geometric, 16 cells, epsilon 0.01 per unit of distance>
    """
    channel = Channel.of(mechanism)
    grid = channel.outputs.as_grid
    if grid is None or grid != channel.inputs:
        raise Unsupported(
            f"a map needs the cells of a Grid; got {channel.inputs.noun}s.",
            "Use plots.heatmap(m).",
            argument="mechanism",
        )
    if max(grid.rows, grid.cols) > MAX_SIDE_CELLS:
        raise Unsupported(
            f"a map shows at most {MAX_SIDE_CELLS} cells a side; this grid has {grid.rows} x {grid.cols}.",
            argument="mechanism",
        )
    true = grid.index(cell)
    row, col = divmod(true, grid.cols)
    step = cell_size(max(grid.rows, grid.cols))
    x = band("column", "column (west to east)", range(grid.cols), step)
    y = band("row", "row (south to north)", range(grid.rows), step, across=False)
    reports = channel.source.forward(np.eye(1, grid.size, true)[0])  # the whole matrix of a large map is too large
    layers = [heat_cells(reports.reshape(grid.rows, grid.cols), x, y, step, scale)]
    y["scale"]["domain"].reverse()  # south at the bottom
    layers.append(_mark([{"row": row, "column": col}], x, y, step))
    mark = "Ringed" if _tiny(step) else "Framed"
    sentence = f"How likely every cell is to be reported. {mark}: the true cell {true} (row {row}, column {col})."
    return sized(layers, step, title or describe(mechanism, grid), sentence)


def cell_size(cells: int, has_names: bool = False) -> int:
    """Return the side of a cell in whole pixels, which avoids hairlines between cells."""
    least = 14 if has_names and cells <= 60 else 3  # room for every name
    return max(least, min(46, 460 // cells))


def heat_cells(matrix: FloatArray, x: Spec, y: Spec, step: int, scale: ColourScale) -> Spec:
    """Draw coloured cells; zeros stay white."""
    if scale not in ("linear", "sqrt", "log"):
        raise InvalidInput.must_be("scale", "'linear', 'sqrt' or 'log'", scale)
    columns, rows = x["scale"]["domain"], y["scale"]["domain"]
    # Six significant digits keep the file of a large map small.
    table = [
        {y["field"]: name, x["field"]: columns, "probability": [float(f"{p:.6g}") for p in line]}
        for name, line in zip(list(rows), matrix.tolist(), strict=True)
    ]
    most, least = float(matrix.max()), float(matrix[matrix > 0].min())
    start = min(max(least, most * 1e-9), most / 10) if scale == "log" else 0
    colour = {
        "field": "probability",
        "type": "quantitative",
        "condition": {"test": "datum.probability === 0", "value": "white"},
        "scale": {"type": scale, "domain": [start, most], "range": list(RAMP), "interpolate": "lab", "clamp": True},
        "legend": {
            "title": "probability", "format": "~e" if scale == "log" else ".3~g", "tickCount": 5,
            "gradientLength": max(110, min(step * len(rows), 220)), "gradientThickness": 14,
        },
    }  # fmt: skip
    return {
        "data": {"values": table},
        "transform": [{"flatten": [x["field"], "probability"]}],
        "mark": {"type": "rect", "tooltip": True},
        "encoding": {"x": x, "y": y, "color": colour},
    }


#: Luminance above which a cell has dark digits, below which white ones; the contrast is at least 4.5 either way.
_MIN_LIGHT_LUMINANCE = 0.179


def _numbers(cells: Spec) -> Spec:
    """Draw the probabilities in their cells, those of the truth in bold."""
    text = "datum.probability === 0 ? '0' : datum.probability < 0.0005 ? '<.001' : format(datum.probability, '.3f')"
    weight = {"expr": "datum.truth === datum.report ? 'bold' : 'normal'"}
    # Ask the scale itself, which several charts in one picture share.
    light = f"datum.probability === 0 || luminance(scale('color', datum.probability)) > {_MIN_LIGHT_LUMINANCE}"
    colour = {"condition": {"test": light, "value": ON_CELLS}, "value": "white"}
    return {
        "data": cells["data"],
        "transform": [*cells["transform"], {"calculate": text, "as": "text"}],
        "mark": {"type": "text", "fontSize": 11, "fontWeight": weight},
        "encoding": {
            "x": cells["encoding"]["x"],
            "y": cells["encoding"]["y"],
            "text": {"field": "text"},
            "color": colour,
        },
    }


def _diagonal(truths: list[int | str], reports: list[int | str], x: Spec, y: Spec) -> Spec:
    """Draw a line through the cells of the truth, white on dark so that it shows on any colour."""
    reported = set(reports)
    line = {"type": "line", "strokeWidth": 1}
    return {
        "data": {"values": [{"truth": value, "report": value} for value in truths if value in reported]},
        "encoding": {"x": x, "y": y},
        "layer": [{"mark": {**line, "color": INK}}, {"mark": {**line, "color": "white", "strokeDash": [4, 4]}}],
    }


def _mark(cells: list[Spec], x: Spec, y: Spec, step: int) -> Spec:
    """Draw frames around cells, or rings around tiny ones, with a halo that also shows in grey."""
    form = {"type": "point", "shape": "circle", "size": 220} if _tiny(step) else {"type": "rect"}
    strokes = ({"stroke": "white", "strokeWidth": 5}, {"stroke": ACCENT, "strokeWidth": 2.5})
    layers = [{"mark": {**form, "filled": False, **stroke}} for stroke in strokes]
    return {"data": {"values": cells}, "encoding": {"x": x, "y": y}, "layer": layers}


def _tiny(step: int) -> bool:
    return step < 9


def _sentence(witness: Witness) -> str:
    """Describe the witness in one short sentence."""
    report = f"{witness.report}" + (" or less" if witness.at_most else " or more" if witness.at_least else "")
    truth, noun = witness.truth, witness.noun
    if witness.other_probability == 0:
        possible = f"a true {noun} of {truth} ({rounded(witness.probability)})"
        return f"report {report} is possible for {possible}, not for {witness.other}."
    return (
        f"report {report} is {rounded(witness.ratio)} times as likely for a true {noun} of {truth} "
        f"({rounded(witness.probability)}) as for {witness.other} ({rounded(witness.other_probability)})."
    )


def sized(layers: list[Spec], step: int, title: str, *sentences: str) -> Chart:
    cells = len(layers[0]["encoding"]["x"]["scale"]["domain"])
    spec = {"layer": layers, "width": {"step": step}, "height": {"step": step}}
    return finish(spec, title, *sentences, width=step * cells + 130)


# ------------------------------------------------------------------------------------------------ distributions


def rows(mechanism: object, truths: Iterable[object] | None = None, title: str | None = None) -> Chart:
    """Draw the distribution of reports for a few true values as bars, one truth above the other.

    Parameters
    ----------
    mechanism
        A mechanism, an exact Table or a matrix of probabilities, with at most 1001 reports.
    truths
        The true values to show, at most 12; by default five, evenly from the first to the last.
    title
        Instead of the description of the mechanism.

    Examples
    --------
    >>> import discreet as dc
    >>> chart = rows(dc.geometric(20, epsilon=1))
    >>> [row["truth"] for row in chart.spec["data"]["values"]]
    [0, 5, 10, 15, 20]
    """
    channel = Channel.of(mechanism)
    last, width = channel.shape[0] - 1, channel.shape[1]
    if width > MAX_ROW_BARS:
        raise Unsupported(
            f"{width} bars do not fit in a picture; it shows at most {MAX_ROW_BARS}.",
            "Use plots.error(m).",
            argument="mechanism",
        )
    true = [channel.inputs.index(truth) for truth in truths] if truths is not None else _evenly_spread(last)
    if not 1 <= len(true) <= 12:
        raise InvalidInput(f"a picture shows the reports of 1 to 12 true values; got {len(true)}.", argument="truths")
    names, reports = values_of(channel.inputs), values_of(channel.outputs)
    step = min(40.0, 1.25 * WIDTH / width)
    x = band("report", f"reported {channel.outputs.noun}", reports, step)
    x["scale"]["paddingInner"] = 0.12 if step > 4 else 0
    table = [{"truth": names[i], "report": reports, "probability": channel.matrix[i].tolist()} for i in true]
    is_truth = "datum.truth === datum.report"
    bars: Spec = {
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": x,
            "y": {"field": "probability", "type": "quantitative", "title": "probability", "axis": {"tickCount": 3}},
            "color": {"condition": {"test": is_truth, "value": DARK}, "value": PALE},
        },
    }
    rule: Spec = {
        "transform": [{"filter": is_truth}],
        "mark": {"type": "rule", "color": QUIET, "strokeDash": [2, 2]},
        "encoding": {"x": x},
    }
    noun = channel.inputs.noun
    header = {"title": None, "labelAnchor": "start", "labelExpr": f"'true {noun} ' + datum.value"}
    facet = {"field": "truth", "type": "ordinal", "sort": [row["truth"] for row in table], "header": header}
    spec: Spec = {
        "data": {"values": table},
        "transform": [{"flatten": ["report", "probability"]}],
        "facet": facet,
        "columns": 1,
        "spacing": 12,
        "spec": {"layer": [rule, bars], "width": step * width, "height": 80},
    }
    sentence = f"How likely every report is, for a few true {noun}s. Dark, on the dashed line: the truth."
    peaks = channel.matrix[true].max(axis=1)
    if peaks.max() > 4 * peaks.min():
        spec["resolve"] = {"scale": {"y": "independent"}}
        sentence += " Each has its own scale."
    return finish(spec, title or describe(mechanism, channel.inputs), sentence, width=step * width + 40)


def _evenly_spread(last: int) -> list[int]:
    return sorted({round(k * last / 4) for k in range(5)})
