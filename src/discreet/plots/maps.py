"""Maps to scale: square cells in metres, and a legend that says what is counted."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..exact.arrays import FloatArray
from ..spaces import Grid
from .chart import RAMP, Chart, Spec, beside, finish
from .probabilities import cell_size

#: A map shows at most this many squares a side; on larger ones, squares of cells are counted together.
MOST_SQUARES = 100

#: From this many metres on, a map is measured in kilometres.
KILOMETRES = 2000


def square_side(grid: Grid) -> int:
    """How many cells a side are drawn as one square."""
    return -(-max(grid.rows, grid.cols) // MOST_SQUARES)


def in_squares(values: FloatArray, grid: Grid) -> FloatArray:
    """Sums of a number of each cell over the squares that are drawn: a row of squares for each row of the result.

    Parameters
    ----------
    values
        One number for each cell, or several such rows.
    grid
        The map.
    """
    side = square_side(grid)
    field = values.reshape(*values.shape[:-1], grid.rows, grid.cols)
    for axis in (-2, -1):
        field = np.add.reduceat(field, np.arange(0, field.shape[axis], side), axis=axis)
    return np.asarray(field)


def square_map(squares: FloatArray, grid: Grid, legend: str, title: str, *sentences: str) -> Chart:
    """A map of one number for each square, drawn to scale; zeros stay white.

    Parameters
    ----------
    squares
        As :func:`in_squares` gives them.
    grid
        The map.
    legend
        What the number is, such as "people".
    title, sentences
        What the picture is about, and what to see in it.
    """
    rows, cols = squares.shape
    step = cell_size(max(rows, cols))
    metres = square_side(grid) * float(grid.unit)
    unit, scale = ("km", 1000.0) if max(rows, cols) * metres >= KILOMETRES else ("m", 1.0)
    edges = [float(f"{k * metres / scale:.9g}") for k in range(max(rows, cols) + 1)]
    table = []
    for row, line in enumerate(squares.tolist()):
        drawn = [col for col, value in enumerate(line) if value > 0]
        if drawn:
            table.append(
                {
                    "south": edges[row],
                    "north": edges[row + 1],
                    "west": [edges[col] for col in drawn],
                    "east": [edges[col + 1] for col in drawn],
                    "number": [float(f"{line[col]:.4g}") for col in drawn],
                }
            )
    corner = ("the western edge", "the southern edge")
    if grid.box is not None:
        corner = f"longitude {grid.box.west:g}", f"latitude {grid.box.south:g}"
    x, y = (
        {
            "field": low,
            "type": "quantitative",
            "title": f"{unit} {high} of {begin}",
            "scale": {"domain": [0, edges[count]], "nice": False, "zero": False},
            "axis": {"grid": False, "domain": False, "tickCount": 6},
        }
        for low, high, begin, count in (("west", "east", corner[0], cols), ("south", "north", corner[1], rows))
    )
    most = float(squares.max()) or 1.0
    colour = {
        "field": "number",
        "type": "quantitative",
        "scale": {"type": "sqrt", "domain": [0, most], "range": list(RAMP), "interpolate": "lab"},
        "legend": {
            "title": [legend, f"per {metres:g} m square"], "format": ",.3~r", "tickCount": 5, "symbolType": "square",
        },
    }  # fmt: skip
    spec: Spec = {
        "data": {"values": table},
        "transform": [{"flatten": ["west", "east", "number"]}],
        # without strokes hairlines show between squares; words for each of them would make a page three times as long
        "mark": {"type": "rect", "tooltip": True, "strokeWidth": 0.7, "aria": False},
        "encoding": {
            "x": x, "x2": {"field": "east"}, "y": y, "y2": {"field": "north"},
            "color": colour, "stroke": colour,
        },
        "width": step * cols,
        "height": step * rows,
    }  # fmt: skip
    return finish(spec, title, *sentences, width=step * cols + 130)


def maps_beside(charts: Iterable[Chart], title: str, *sentences: str) -> Chart:
    """Maps in one picture, each with a legend of its own."""
    together = beside(charts, title, *sentences, columns=2)
    own = {"scale": {"color": "independent", "stroke": "independent"}, "legend": {"color": "independent"}}
    return Chart({**together.spec, "resolve": own})
