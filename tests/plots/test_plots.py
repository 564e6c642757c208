"""Pictures show the mechanism's own numbers, are drawn without the network, and look the same every time."""

from __future__ import annotations

import base64
import json
import re
import struct
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import plots
from discreet.errors import DiscreetError, ForeignValue, InvalidInput, MissingExtra, Unsupported, WrongType
from discreet.plots.chart import CONFIG, INK, PALETTE, RAMP, Chart
from discreet.plots.panels import Axis, panels
from discreet.utility import bias, expected_loss, tail, variance
from discreet_studies.repetitions import MeanPoint, mean_lines
from support.refusals import Parts, refused

BLOOD = dc.Labels(["A", "B", "AB", "O, which is the most common of all"])
MAP = dc.Grid(3, 5, cell=100.0)

CURVES = {
    "left": [
        {"name": "one", "x": 0.5, "y": 0.1},
        {"name": "two", "x": 1, "y": 0},
        {"name": "two", "x": 1.5, "y": 0.01},
    ],
    "right": [{"name": "one", "x": 0.5, "y": 0.2}, {"name": "two", "x": 3, "y": 0.5}],
}

CHARTS = {
    "heatmap of one person": lambda: plots.heatmap(dc.geometric(1, epsilon=1)),
    "heatmap with numbers": lambda: plots.heatmap(dc.explicit_fair(8, alpha="10/11")),
    "heatmap, linear": lambda: plots.heatmap(dc.geometric(30, epsilon=1), scale="linear"),
    "heatmap, log": lambda: plots.heatmap(dc.geometric(9, epsilon=1), scale="log"),
    "heatmap of labels": lambda: plots.heatmap(dc.randomized_response(BLOOD, epsilon=1)),
    "heatmap of zeros": lambda: plots.heatmap(np.eye(12)),
    "heatmap, more reports than truths": lambda: plots.heatmap(np.full((12, 14), 1 / 14)),
    "report_map": lambda: plots.report_map(dc.planar_geometric(MAP, epsilon="1/100"), 7),
    "rows": lambda: plots.rows(dc.geometric(20, epsilon=1)),
    "rows of labels": lambda: plots.rows(dc.randomized_response(BLOOD, epsilon=1), ["AB"]),
    "error": lambda: plots.error(dc.geometric(8, epsilon=1)),
    "error, panels": lambda: plots.error(three(), ["L0", "L0_2", "bias", "variance"]),
    "error of labels": lambda: plots.error({"a": dc.randomized_response(BLOOD, epsilon=1)}, "L0"),
    "delta_curve": lambda: plots.delta_curve({**three(), "Gaussian": dc.discrete_gaussian(sigma2=2)}),
    "panels": lambda: panels(CURVES, Axis("epsilon", (0, 2)), Axis("delta", (1e-4, 1), log=True), "A", dots=["two"]),
    "delta_curve of one": lambda: plots.delta_curve(dc.geometric(8, epsilon=1), [0, 0.5, 0.9]),
    "comparison": lambda: plots.comparison(costs(), "Costs", "Lower is better."),
    "beside": lambda: plots.beside([plots.heatmap(m) for m in three().values()], "Three", columns=3),
}


def three() -> dict[str, object]:
    return {"geometric": dc.geometric(8, epsilon=1), "fair": dc.explicit_fair(8, epsilon=1), "uniform": dc.uniform(8)}


def costs() -> list[dict[str, object]]:
    return [
        {"name": name, "measure": loss, "value": dc.cost(m, loss)}
        for name, m in three().items()
        for loss in ("L0", "L1", "L2", "L0_1")
    ]


def table(spec: dict) -> list[dict]:
    return spec["data"]["values"]


def png_size(data: bytes) -> tuple[int, int]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


# ------------------------------------------------------------------------------------------------ every picture


@pytest.mark.parametrize("name", CHARTS)
def test_every_picture_is_drawn(name: str) -> None:
    chart = CHARTS[name]()
    svg = chart.svg()
    assert svg.startswith("<svg") and chart.spec["title"]["text"] in svg
    assert "NaN" not in svg and "undefined" not in svg
    width, height = png_size(chart.png(scale=1))
    assert 150 < width < 1700 and 150 < height < 1500
    assert png_size(chart.png()) == (2 * width, 2 * height)


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_is_the_same_every_time_and_plain_json(name: str) -> None:
    chart = CHARTS[name]()
    assert chart == CHARTS[name]()
    assert json.loads(json.dumps(chart.spec, allow_nan=False)) == chart.spec
    assert chart.spec["$schema"].endswith("vega-lite/v6.json") and chart.spec["config"] == CONFIG


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_compiles_without_warnings(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    import vl_convert

    vl_convert.vegalite_to_vega(CHARTS[name]().spec, show_warnings=True)
    warnings = [line for line in "".join(capfd.readouterr()).splitlines() if "WARN" in line.upper()]
    # Heat maps beside each other share their colours on purpose.
    assert all(name == "beside" and "Using the union of the two domains" in line for line in warnings)


def test_the_converter_draws_version_6_by_default() -> None:
    import vl_convert

    assert vl_convert.get_vegalite_versions()[-1].startswith("6.")


def test_a_large_heat_map_has_a_small_specification() -> None:
    chart = plots.heatmap(dc.explicit_fair(100, epsilon="1/2"))
    assert min(png_size(chart.png(1))) > 400
    assert len(json.dumps(chart.spec)) < 300_000


def test_the_largest_heat_map_is_drawn() -> None:
    assert min(png_size(plots.heatmap(dc.geometric(200, epsilon="1/10")).png(1))) > 600


# ------------------------------------------------------------------------------------------------ files and notebooks


def test_saving_goes_by_the_ending(tmp_path: Path) -> None:
    chart = plots.heatmap(dc.geometric(3, epsilon=1))
    assert png_size(chart.save(tmp_path / "a.PNG").read_bytes()) == png_size(chart.png(3))
    assert chart.save(str(tmp_path / "a.svg")).read_text("utf-8") == chart.svg()
    assert chart.save(tmp_path / "a.html").read_text("utf-8") == chart.html()
    assert json.loads(chart.save(tmp_path / "a.json").read_text()) == chart.spec
    assert chart.save(tmp_path / "a.pdf").read_bytes()[:5] == b"%PDF-"
    for wrong in ("a.gif", "a"):
        with refused(InvalidInput, "path"):
            chart.save(tmp_path / wrong)
        assert not (tmp_path / wrong).exists()


def test_a_page_loads_nothing_from_elsewhere() -> None:
    page = plots.heatmap(dc.geometric(3, epsilon=1)).html()
    assert re.findall(r"<script[^>]*>", page) == ["<script>", "<script>"]
    assert not re.search(r"<(link|img|iframe)\b[^>]*http|@import|url\(\s*['\"]?http", page)
    assert "window.vegaEmbed=" in page


def test_a_title_cannot_break_out_of_its_page() -> None:
    page = plots.heatmap(dc.geometric(3, epsilon=1), title="</script><script>alert(1)</script>").html()
    assert page.count("</script>") == 2
    assert "<title>&lt;/script&gt;" in page


def test_notebooks_get_the_specification_and_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = plots.rows(dc.geometric(3, epsilon=1))
    bundle = chart._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v6+json"] is chart.spec
    assert bundle["text/plain"] == "<Chart: Geometric, counts 0 to 3, epsilon 1>"
    assert base64.b64decode(bundle["image/png"]) == chart.png()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert set(chart._repr_mimebundle_()) == {"application/vnd.vegalite.v6+json", "text/plain"}


def test_without_the_extra_only_drawing_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    chart = plots.heatmap(dc.geometric(3, epsilon=1))
    chart.save(tmp_path / "a.json")
    for draw in (chart.png, chart.svg, chart.html, lambda: chart.save(tmp_path / "a.png")):
        with refused(MissingExtra, token="discreet[plots]"):
            draw()


@pytest.mark.parametrize(
    "line",
    [
        ["design", "-n", "4", "--epsilon", "1", "-o", "m.json", "--plot", "m.png"],
        ["design", "-n", "4", "--epsilon", "1", "--plot", "m.html"],
        ["compare", "-n", "4", "--epsilon", "1", "--report", "c.html"],
        ["estimate", "no_such_file.csv", "--mechanism", "no.json", "--report", "e.svg"],
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_work(
    line: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before a mechanism is designed or written, and before a file of reports is looked for."""
    from typer.testing import CliRunner

    from discreet.cli.main import app

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, line)
    assert isinstance(done.exception, MissingExtra) and list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ the numbers


@pytest.mark.parametrize("mechanism", [*three().values(), dc.geometric(60, epsilon=2)])
def test_a_heat_map_holds_the_matrix(mechanism: dc.Mechanism) -> None:
    rows = table(plots.heatmap(mechanism).spec["layer"][0])
    drawn = np.array([row["probability"] for row in rows])
    np.testing.assert_allclose(drawn, mechanism.matrix, rtol=1e-5)
    np.testing.assert_allclose(drawn.sum(axis=1), 1, atol=1e-5)
    assert [row["truth"] for row in rows] == list(range(len(drawn)))
    assert all(row["report"] == list(range(len(drawn))) for row in rows)


def test_a_heat_map_marks_the_witness() -> None:
    for mechanism in (dc.geometric(8, epsilon=1), dc.explicit_fair(40, epsilon=1), dc.geometric(150, epsilon=1)):
        witness = dc.verify(mechanism).witness
        chart = plots.heatmap(mechanism)
        marked = table(chart.spec["layer"][-1])
        assert [cell["truth"] for cell in marked] == [witness.truth, witness.other]
        assert [cell["report"] for cell in marked] == [witness.report] * 2
        (first, second) = (mechanism.probability(cell["truth"], cell["report"]) for cell in marked)
        assert first / second == witness.ratio
        caption = " ".join(chart.spec["title"]["subtitle"])
        assert f"report {witness.report} is 2.72 times as likely" in caption
        plain = plots.heatmap(mechanism, witness=False)
        assert len(plain.spec["layer"]) == len(chart.spec["layer"]) - 1
        assert "most away" not in " ".join(plain.spec["title"]["subtitle"])


def test_a_heat_map_marks_a_witness_of_ones_own() -> None:
    mechanism = dc.geometric(8, epsilon=1)
    witness = dc.verify(mechanism, "local").witness
    marked = table(plots.heatmap(mechanism, witness).spec["layer"][-1])
    assert {cell["truth"] for cell in marked} == {witness.truth, witness.other}


def test_a_heat_map_says_when_a_report_gives_everything_or_nothing_away() -> None:
    everything = " ".join(plots.heatmap(np.eye(3)).spec["title"]["subtitle"])
    assert "is possible for a true count of" in everything and "White: never" in everything
    nothing = plots.heatmap(dc.uniform(3))
    assert nothing.spec["title"]["subtitle"][-1] == "No report tells one true count from another."
    assert len(nothing.spec["layer"]) == 2


def test_the_colours_fall_in_equal_steps_of_lightness() -> None:
    def lightness(colour: str) -> float:
        channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return 116 * float(linear @ [0.2126, 0.7152, 0.0722]) ** (1 / 3) - 16

    steps = np.diff([lightness(colour) for colour in RAMP])
    np.testing.assert_allclose(steps, steps.mean(), atol=0.6)
    assert steps.mean() < -9
    assert lightness(RAMP[0]) < 97  # white is kept for zero


def test_digits_on_cells_have_a_contrast_of_four_and_a_half_on_light_and_dark_pages() -> None:
    def luminance(colour: str) -> float:
        channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        return float(
            np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
            @ [0.2126, 0.7152, 0.0722]
        )

    def contrast(first: float, second: float) -> float:
        return (max(first, second) + 0.05) / (min(first, second) + 0.05)

    digits = next(
        layer for layer in plots.heatmap(dc.geometric(3, epsilon=1)).spec["layer"] if "text" in str(layer["mark"])
    )
    condition = digits["encoding"]["color"]["condition"]
    limit = float(condition["test"].rpartition("> ")[2])
    cells = np.linspace(0, 1, 1001)
    found = [contrast(cell, luminance(condition["value"]) if cell > limit else 1.0) for cell in cells]
    assert min(found) >= 4.5
    style = (files("discreet.pages") / "templates" / "style.css").read_text(encoding="utf-8")
    assert condition["value"] not in style and INK in style  # ink turns light on a dark page, cells do not


def test_a_map_holds_the_reports_of_its_cell_with_south_at_the_bottom() -> None:
    mechanism = dc.planar_geometric(MAP, epsilon="1/100")
    cells, mark = plots.report_map(mechanism, 7).spec["layer"]
    np.testing.assert_allclose(
        [row["probability"] for row in table(cells)], mechanism.matrix[7].reshape(3, 5), rtol=1e-5
    )
    assert [row["row"] for row in table(cells)] == [0, 1, 2]
    assert cells["encoding"]["y"]["scale"]["domain"] == [2, 1, 0]
    assert table(mark) == [{"row": 1, "column": 2}]


def test_a_large_map_needs_no_matrix() -> None:
    mechanism = dc.planar_geometric(dc.Grid(70, 70), epsilon=1)
    cells = plots.report_map(mechanism, 2485).spec["layer"][0]
    assert "matrix" not in vars(mechanism)
    assert sum(map(sum, (row["probability"] for row in table(cells)))) == pytest.approx(1, abs=1e-4)


def test_rows_holds_the_rows_of_the_matrix() -> None:
    mechanism = dc.geometric(20, epsilon=1)
    for chart, truths in ((plots.rows(mechanism), [0, 5, 10, 15, 20]), (plots.rows(mechanism, [3, 1]), [3, 1])):
        assert [row["truth"] for row in table(chart.spec)] == truths
        assert [row["probability"] for row in table(chart.spec)] == mechanism.matrix[truths].tolist()
    assert [row["truth"] for row in table(plots.rows(dc.geometric(1, epsilon=1)).spec)] == [0, 1]


def test_rows_with_very_different_peaks_have_scales_of_their_own() -> None:
    assert "resolve" not in plots.rows(dc.geometric(20, epsilon=1)).spec
    chart = plots.rows(dc.geometric(100, epsilon="1/20"))
    assert chart.spec["resolve"] == {"scale": {"y": "independent"}}
    assert "its own scale" in " ".join(chart.spec["title"]["subtitle"])


@pytest.mark.parametrize(
    ("measure", "compute"),
    [
        ("L0", lambda m: expected_loss(m, "L0")),
        ("L1", lambda m: expected_loss(m, "L1")),
        (dc.losses.power(3), lambda m: expected_loss(m, "L3")),
        ("L0_2", lambda m: tail(m, 2)),
        ("bias", bias),
        ("variance", variance),
    ],
)
def test_error_holds_the_numbers_of_utility(measure: object, compute: object) -> None:
    drawn = table(plots.error(three(), measure).spec)
    assert {line["name"]: line["value"] for line in drawn} == {k: list(compute(m)) for k, m in three().items()}
    assert all(line["truth"] == list(range(9)) for line in drawn)


def test_error_draws_mechanisms_of_different_sizes() -> None:
    chart = plots.error({"small": dc.geometric(5, epsilon=1), "large": dc.geometric(9, epsilon=1)})
    assert [len(line["value"]) for line in table(chart.spec)] == [6, 10]
    assert chart.spec["encoding"]["x"]["scale"]["domain"] == [0, 9]


def test_delta_curve_holds_the_numbers_of_the_judge_and_ends_at_the_least_epsilon() -> None:
    verdict = dc.verify(dc.explicit_fair(8, epsilon=1))
    curve, marks = plots.delta_curve(verdict).spec["layer"]
    (line,) = table(curve)
    assert line["delta"] == [verdict.delta(e) for e in line["epsilon"]]
    assert line["epsilon"][0] == 0 and min(line["delta"]) > 0 and sorted(line["epsilon"]) == line["epsilon"]
    (end,) = table(marks)
    assert end["epsilon"] == verdict.epsilon
    assert line["delta"][-1] < 1e-8  # the line comes down to its mark


def test_delta_curve_uses_the_epsilons_it_is_given() -> None:
    verdict = dc.verify(dc.discrete_gaussian(sigma2=4))
    (curve,) = plots.delta_curve({"Gaussian": verdict}, [1, "1/2", 0.25]).spec["layer"]
    assert table(curve)[0]["epsilon"] == [0.25, 0.5, 1.0]
    assert table(curve)[0]["delta"] == [verdict.delta(e) for e in (0.25, "1/2", 1)]
    assert table(curve)[0]["name"] == "Gaussian (never 0)"


def test_delta_curve_of_something_never_private_still_ends() -> None:
    (curve,) = plots.delta_curve([[1, 0], [0, 1]]).spec["layer"]
    assert set(table(curve)[0]["delta"]) == {1.0}


def test_comparison_keeps_order_and_values() -> None:
    panels = plots.comparison(costs()).spec["concat"]
    assert [panel["title"]["text"] for panel in panels] == ["L0", "L1", "L2", "L0_1"]
    assert [row["value"] for row in table(panels[1])] == [dc.cost(m, "L1") for m in three().values()]
    assert all(panel["layer"][0]["encoding"]["y"]["scale"]["domain"] == list(three()) for panel in panels)


def test_panels_draw_lines_and_dots_with_a_legend_each() -> None:
    """A logarithmic axis leaves out zeros, dots beyond the axes are left out, and one look means one series."""
    chart = CHARTS["panels"]()
    left, right = chart.spec["concat"]
    lines, dots = (layer["data"]["values"] for layer in left["layer"])
    assert [row["y"] for row in lines] == [0.1] and [row["y"] for row in dots] == [0.01]
    assert len(right["layer"]) == 1 and right["layer"][0]["data"]["values"][0]["name"] == "one"
    line, dot = (layer["encoding"] for layer in left["layer"])
    assert line["color"]["scale"] == {"domain": ["one"], "range": [PALETTE[0]]} and "fill" not in line
    assert dot["fill"]["scale"] == {"domain": ["two"], "range": [PALETTE[1]]} and "color" not in dot
    assert left["encoding"]["y"]["axis"]["values"] == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


def test_beside_keeps_the_charts() -> None:
    charts = [plots.heatmap(m) for m in three().values()]
    parts = plots.beside(iter(charts), "Three").spec["concat"]
    assert [part["layer"] for part in parts] == [chart.spec["layer"] for chart in charts]
    assert not any("config" in part for part in parts)


# ------------------------------------------------------------------------------------------------ refusals


def test_refusals_say_what_to_do() -> None:
    small, grid = dc.geometric(3, epsilon=1), dc.planar_geometric(MAP, epsilon="1/100")
    unbounded = dc.two_sided_geometric(epsilon=1)
    cases: list[tuple[Callable[[], object], type[DiscreetError], Parts]] = [
        (lambda: plots.heatmap(dc.geometric(201, epsilon=1)), Unsupported, Parts(token="202 x 202 ... plots.rows(m)")),
        (
            lambda: plots.heatmap(dc.planar_geometric(dc.Grid(15, 15), epsilon=1)),
            Unsupported,
            Parts(token="225 x 225 ... plots.report_map(m, cell)"),
        ),
        (lambda: plots.heatmap(unbounded), Unsupported, Parts(token="m.on(Counts(n), clamp=True)")),
        (lambda: plots.heatmap(small, scale="cubic"), InvalidInput, Parts(argument="scale", given="cubic")),
        (lambda: plots.heatmap("no mechanism"), WrongType, Parts(argument="mechanism", given="str")),
        (
            lambda: plots.heatmap(small, dc.verify(dc.geometric(9, epsilon=1), "local").witness),
            ForeignValue,
            Parts(token="0..3"),
        ),
        (lambda: plots.report_map(small, 0), Unsupported, Parts(argument="mechanism", token="Grid")),
        (lambda: plots.report_map(grid, 15), ForeignValue, Parts(token="0..14")),
        (lambda: plots.rows(small, [4]), ForeignValue, Parts(token="0..3")),
        (lambda: plots.rows(small, []), InvalidInput, Parts(argument="truths", token="1 to 12")),
        (
            lambda: plots.rows(dc.geometric(1001, epsilon=1)),
            Unsupported,
            Parts(argument="mechanism", token="1002 bars"),
        ),
        (lambda: plots.error({}), InvalidInput, Parts(argument="subjects", token="got 0")),
        (
            lambda: plots.error({str(k): small for k in range(len(PALETTE) + 1)}),
            InvalidInput,
            Parts(argument="subjects", token="1 to 8"),
        ),
        (lambda: plots.error({1: small}), WrongType, Parts(argument="subjects", given=1)),
        (lambda: plots.error(small, "L"), InvalidInput, Parts(argument="loss", token="'L'")),
        (lambda: plots.error(small, []), InvalidInput, Parts(argument="measure")),
        (lambda: plots.error(grid), Unsupported, Parts(argument="mechanisms", token="plots.report_map(m, cell)")),
        (lambda: plots.delta_curve(small, [1]), InvalidInput, Parts(argument="epsilons", token="two")),
        (
            lambda: plots.delta_curve({"a": dc.verify(small), "b": dc.verify(small, "local")}),
            InvalidInput,
            Parts(argument="subjects", token="notion"),
        ),
        (lambda: plots.comparison([]), InvalidInput, Parts(argument="results", token="nothing")),
        (
            lambda: plots.comparison([{"name": "a", "value": 1}]),
            WrongType,
            Parts(argument="results", token="name, measure"),
        ),
        (
            lambda: plots.comparison([{"name": "a", "measure": "b", "value": float("inf")}]),
            InvalidInput,
            Parts(argument="results", token="finite"),
        ),
        (lambda: plots.beside([], "Nothing"), InvalidInput, Parts(argument="charts")),
    ]
    for call, kind, parts in cases:
        with refused(kind, **parts):
            call()


def test_importing_the_pictures_imports_no_converter() -> None:
    import subprocess

    check = "import sys, discreet.plots; sys.exit(any(m in sys.modules for m in ('vl_convert', 'scipy', 'altair')))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_charts_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Chart({}).spec = {}  # type: ignore[misc]


def test_means_are_drawn_with_their_intervals_in_a_panel_each() -> None:
    points = [
        MeanPoint(name, size, 10.0 / size, low, 12.0 / size, across, "shape")
        for name in ("one", "two")
        for across in ("first", "second")
        for size, low in ((1, 8.0), (10, -3.0))
    ]
    spec = mean_lines(points, "people", "metres", "Means", "With intervals.").spec
    rows = spec["data"]["values"]
    assert {(row["across"], row["down"]) for row in rows} == {("first", "shape"), ("second", "shape")}
    assert set(spec["facet"]) == {"row", "column"}
    # a logarithmic axis has no place for an end below zero: it is cut at a fifth of the smallest mean
    assert sorted({row["low"] for row in rows}) == [0.2, 8.0]
    assert {(row["mean"], row["high"]) for row in rows} == {(10.0, 12.0), (1.0, 1.2)}
    assert len({row["at"] for row in rows if row["size"] == 10}) == 2  # side by side
    assert mean_lines(points, "people", "metres", "Means").png(1)[1:4] == b"PNG"
