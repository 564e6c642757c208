"""The estimate as a picture: estimate, intervals and raw reports for counts and labels, maps for grids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.plots.reconstruction import MOST_BARS, binned, distribution_map


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
    e = dc.estimate(reports=m.simulate(np.full(200, 7), seed=1), mechanism=m)
    chart = e.plot("Where people are")
    assert len(chart.spec["concat"]) == 2 and "Where people are" in repr(chart)
    assert chart.svg().startswith("<svg")


def test_long_ranges_are_drawn_in_bins_that_add_up() -> None:
    values, (sums,), width = binned(range(10_001), np.full(10_001, 1 / 10_001))
    assert len(values) <= MOST_BARS and sums.sum() == pytest.approx(1) and values[1] == width
    m = dc.geometric(5000, epsilon=1)
    e = dc.estimate(reports=m.simulate(np.full(500, 2500), seed=1), mechanism=m)
    assert e.plot().png(1)[1:4] == b"PNG"
    wide = distribution_map(np.full(500 * 300, 1 / 150_000), dc.Grid(500, 300), "A wide map")
    assert wide.png(1)[1:4] == b"PNG"


def test_reports_are_saved_by_their_ending(tmp_path: Path) -> None:
    e = dc.estimate([30, 20, 10], dc.geometric(2, epsilon=1), method="smoothed")
    page = e.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<table" in page and "cross-validation" in page and "</html>" in page
    assert e.save(tmp_path / "e.json").read_text(encoding="utf-8").startswith("{")
    assert e.save(tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match=r"\.png"):
        e.save(tmp_path / "e.txt")


def test_labels_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    nasty = "</script><b>x"
    e = dc.estimate([5, 9], dc.randomized_response([nasty, "b"], epsilon=1))
    page = e.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert nasty not in page
