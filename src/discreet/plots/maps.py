"""Maps to scale: square cells in metres, with a legend."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..exact.arrays import FloatArray
from ..spaces import Grid
from .chart import RAMP, Chart, Spec, beside, finish
from .probabilities import cell_size

#: Maximum number of squares a side of a map; on larger maps, a square is several cells.
MAX_SQUARES = 100

#: Width in metres from which a map is measured in kilometres.
MIN_KILOMETRE_SCALE = 2000


def square_side(grid: Grid) -> int:
    """Return the number of cells a side that one square shows."""
    return -(-max(grid.rows, grid.cols) // MAX_SQUARES)


def in_squares(values: FloatArray, grid: Grid) -> FloatArray:
    """Sum the numbers of cells in each square that is drawn: a row of the result for each row of squares.

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
    """Draw a map of one number for each square, to scale; zeros stay white.

    Parameters
    ----------
    squares
        As :func:`in_squares` gives them.
    grid
        The map.
    legend
        The unit of the number, such as "people".
    title, sentences
        The title, and sentences about what to see.
    """
    rows, cols = squares.shape
    step = cell_size(max(rows, cols))
    metres = square_side(grid) * float(grid.unit)
    unit, scale = ("km", 1000.0) if max(rows, cols) * metres >= MIN_KILOMETRE_SCALE else ("m", 1.0)
    edges = [float(f"{k * metres / scale:.9g}") for k in range(max(rows, cols) + 1)]
    table = []
    for row, line in enumerate(squares.tolist()):
        occupied = [col for col, value in enumerate(line) if value > 0]
        if occupied:
            table.append(
                {
                    "south": edges[row],
                    "north": edges[row + 1],
                    "west": [edges[col] for col in occupied],
                    "east": [edges[col + 1] for col in occupied],
                    "number": [float(f"{line[col]:.4g}") for col in occupied],
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
    """Return maps in one picture, each with its own legend."""
    picture = beside(charts, title, *sentences, columns=2)
    separate = {"scale": {"color": "independent", "stroke": "independent"}, "legend": {"color": "independent"}}
    return Chart({**picture.spec, "resolve": separate})
