"""The estimate as a picture: estimate, intervals and raw reports for counts and labels, maps for grids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.estimation.model.problem import read
from discreet.estimation.solvers import em
from discreet.estimation.solvers.likelihood import Likelihood
from discreet.plots.maps import in_squares, square_map
from discreet.plots.reconstruction import MAX_BARS, binned
from support.refusals import refused


def layers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return list(spec["layer"])


def test_counts_have_bars_whiskers_dots_and_a_cumulative_band() -> None:
    chart = dc.estimate([30, 20, 10, 5], dc.geometric(3, epsilon=1)).plot()
    first, second = chart.spec["concat"]
    marks = [layer["mark"]["type"] for layer in layers(first)]
    assert marks == ["bar", "rule", "point"]
    assert [layer["mark"]["type"] for layer in layers(second)] == ["area", "line"]
    rows = first["data"]["values"]
    assert all(row["low"] <= row["probability"] <= row["high"] for row in rows)
    assert [row["reports"] for row in rows] == pytest.approx([30 / 65, 20 / 65, 10 / 65, 5 / 65], rel=1e-4)
    assert chart.png(1)[1:4] == b"PNG"


def test_labels_have_bars_only_and_other_reports_no_dots() -> None:
    chart = dc.estimate({"a": 5, "b": 9}, dc.randomized_response(["a", "b"], epsilon=1)).plot(band=False)
    assert [layer["mark"]["type"] for layer in layers(chart.spec)] == ["bar", "point"]
    other = dc.estimate([5, 9, 2], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]).plot(band=False)
    assert [layer["mark"]["type"] for layer in layers(other.spec["concat"][0])] == ["bar"]


def test_maps_show_the_estimate_beside_the_reports() -> None:
    grid = dc.Grid(4, 5, cell=100.0)
    m = dc.planar_geometric(grid, epsilon="0.01")
    e = dc.estimate(reports=m.simulate(np.full(200, 7), seed=1), mechanism=m, method="mle")
    chart = e.plot("Where people are")
    assert len(chart.spec["concat"]) == 2 and "Where people are" in repr(chart)
    assert chart.svg().startswith("<svg")


def squares(chart: dict[str, Any]) -> dict[tuple[float, float], float]:
    """The numbers that a map shows, by the south-west corner of their square."""
    return {
        (west, line["south"]): number
        for line in chart["data"]["values"]
        for west, number in zip(line["west"], line["number"], strict=True)
    }


@pytest.mark.parametrize(("rows", "cols", "cell", "unit"), [(4, 6, 100.0, "m"), (12, 10, 250.0, "km")])
def test_maps_are_to_scale_and_count_people(rows: int, cols: int, cell: float, unit: str) -> None:
    grid = dc.Grid(rows, cols, cell=cell)
    numbers = np.arange(rows * cols, dtype=float)
    chart = square_map(in_squares(numbers, grid), grid, "people", "A map").spec
    assert chart["width"] / cols == chart["height"] / rows  # square cells
    x, y = chart["encoding"]["x"], chart["encoding"]["y"]
    scale = 1000 if unit == "km" else 1
    assert x["title"] == f"{unit} east of the western edge" and x["scale"]["domain"] == [0, cols * cell / scale]
    assert y["title"] == f"{unit} north of the southern edge" and y["scale"]["domain"] == [0, rows * cell / scale]
    assert chart["encoding"]["color"]["legend"]["title"] == ["people", f"per {cell:g} m square"]
    shown = squares(chart)
    assert len(shown) == grid.size - 1  # zero stays white
    assert shown[2 * cell / scale, cell / scale] == numbers[cols + 2]


def test_large_maps_are_drawn_in_squares_of_cells_that_add_up() -> None:
    grid = dc.Grid(500, 300, cell=20.0)
    drawn = in_squares(np.ones(grid.size), grid)
    assert drawn.shape == (100, 60) and (drawn == 25).all()
    chart = square_map(drawn, grid, "people", "A large map")
    assert chart.spec["encoding"]["color"]["legend"]["title"][1] == "per 100 m square"
    assert chart.png(1)[1:4] == b"PNG"


def test_a_map_of_a_box_says_where_it_begins() -> None:
    grid = dc.Grid.from_box(48.80, 2.25, 48.92, 2.45, cell=500)
    chart = square_map(in_squares(np.ones(grid.size), grid), grid, "people", "Paris").spec
    assert chart["encoding"]["x"]["title"] == "km east of longitude 2.25"
    assert chart["encoding"]["y"]["title"] == "km north of latitude 48.8"


def crowd(grid: dc.Grid) -> np.ndarray:
    x, y = grid.centre(np.arange(grid.size))
    middle, width = grid.cols * grid.cell / 2, grid.cols * grid.cell / 6
    truth = np.exp(-((x - middle) ** 2 + (y - middle) ** 2) / (2 * width**2))
    return truth / truth.sum()


@pytest.mark.parametrize("side", [16, 120])
def test_standard_errors_of_a_smoothed_map_are_the_spread_of_estimates_over_surveys(side: int) -> None:
    """Twelve surveys with the number of updates of the first; on the large map two cells a side are one square."""
    grid = dc.Grid(side, side, cell=100.0)
    m = dc.planar_geometric(grid, epsilon=0.005)
    rng, chances, people = np.random.default_rng(7), m.forward(crowd(grid)), 40_000
    first = dc.estimate(rng.multinomial(people, chances), m, method="smoothed")
    stated = first.map_errors()
    assert stated is not None
    others = []
    for _ in range(12):
        model = Likelihood(read(rng.multinomial(people, chances), m, None, None)).model
        others.append(in_squares(people * em.accelerate(model, first.iterations).p, grid))
    spread = np.std(others, axis=0, ddof=1)
    assert stated.shape == spread.shape
    crowded = in_squares(first.expected_counts(), grid) > np.median(others)
    assert np.sqrt((stated[crowded] ** 2).mean() / (spread[crowded] ** 2).mean()) == pytest.approx(1, abs=0.25)


def test_smoothed_maps_show_how_much_they_vary_and_others_do_not() -> None:
    grid = dc.Grid(10, 10, cell=100.0)
    m = dc.planar_geometric(grid, epsilon=0.01)
    counts = np.random.default_rng(1).multinomial(3000, m.forward(crowd(grid)))
    charts = dc.estimate(counts, m, method="smoothed").plot().spec["concat"]
    titles = [chart["title"]["text"] for chart in charts]
    assert titles == ["The estimate", "How much it would change in another survey", "The raw reports"]
    assert sum(squares(charts[2]).values()) == pytest.approx(3000, rel=1e-3)
    assert sum(squares(charts[0]).values()) == pytest.approx(3000, rel=1e-3)
    assert dc.estimate(counts, m, method="mle").map_errors() is None
    assert dc.estimate([5, 3], dc.geometric(1, epsilon=1), method="mle").map_errors() is None


def test_long_ranges_are_drawn_in_bins_that_add_up() -> None:
    values, (sums,), width = binned(range(10_001), np.full(10_001, 1 / 10_001))
    assert len(values) <= MAX_BARS and sums.sum() == pytest.approx(1) and values[1] == width
    m = dc.geometric(5000, epsilon=1)
    e = dc.estimate(reports=m.simulate(np.full(500, 2500), seed=1), mechanism=m)
    assert e.plot().png(1)[1:4] == b"PNG"


def test_reports_are_saved_by_their_ending(tmp_path: Path) -> None:
    e = dc.estimate([30, 20, 10], dc.geometric(2, epsilon=1), method="smoothed")
    page = e.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<table" in page and "cross-validation" in page and "</html>" in page
    assert e.save(tmp_path / "e.json").read_text(encoding="utf-8").startswith("{")
    assert e.save(tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    with refused(InvalidInput, "path", given="the name 'e.txt'"):
        e.save(tmp_path / "e.txt")


def test_labels_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    nasty = "</script><b>x"
    e = dc.estimate([5, 9], dc.randomized_response([nasty, "b"], epsilon=1))
    page = e.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert nasty not in page
