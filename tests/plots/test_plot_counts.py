"""The picture of released counts shows every count and interval, in a form that suits them, whatever labels say."""

from __future__ import annotations

import json
import re
from itertools import chain, product

import pytest

from discreet import plots
from discreet.errors import InvalidInput, Unsupported
from discreet.plots.chart import CONFIG, printable
from discreet.plots.counts import MAX_DRAWN_CELLS, label
from support.refusals import refused

HEALTH = ["excellent", "good", "fair", "poor"]
COUNTIES = [f"County {k}" for k in range(200)]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "\x1b[31mred\x00",
    "😀" * 60,
    "مدينة القاهرة",
    "東京都" * 20,
    "",
    "\ud800",
]


def cells(columns: dict, measures: list[str] = (), status: dict[int, str] | None = None) -> list[dict]:
    """Made-up counts for every combination of the columns' values."""
    rows = []
    for values in product(*columns.values()):
        for measure in measures or [None]:
            k = len(rows)
            flag = (status or {}).get(k, "A")
            known = {"count": 40 + 7 * k % 90 - 20, "low": 20 + 7 * k % 90, "high": 60 + 7 * k % 90}
            shown = {"A": known, "M": dict.fromkeys(known, 0), "Q": dict.fromkeys(known)}[flag]
            rows.append(dict(zip(columns, values, strict=True)) | shown | {"status": flag})
            if measure:
                rows[-1]["measure"] = measure
    return rows


SHAPES = {
    "a total": ({}, {}),
    "six": ({"site": range(1, 7)}, {}),
    "six long labels": ({"health": ["not known to anybody at all", *HEALTH, "very poor indeed"]}, {}),
    "24": ({"site": range(1, 7), "health": HEALTH}, {"status": {3: "M", 8: "Q"}}),
    "ages": ({"age": range(101), "sex": ["male", "female"]}, {"status": {7: "M"}}),
    "200": ({"county": COUNTIES}, {"status": {5: "M", 150: "Q"}}),
    "200 in colours": ({"county": COUNTIES[:25], "health": [*HEALTH, "a", "b", "c", "d"]}, {}),
    "three columns": ({"site": range(1, 7), "year": [1, 2, 3], "health": HEALTH}, {}),
    "two long columns": ({"county": COUNTIES[:10], "industry": [f"industry {k}" for k in range(20)]}, {}),
    "three long columns": ({"a": COUNTIES[:9], "b": COUNTIES[:9], "c": COUNTIES[:5], "d": [1]}, {}),
    "measures": ({"site": range(1, 4)}, {"measures": ["all", "poor"]}),
    "hostile": ({"re\x07gion": HOSTILE, "<b>": ["😀" * 40, "b"]}, {}),
}


def drawn(name: str) -> plots.Chart:
    columns, more = SHAPES[name]
    return plots.counts(cells(columns, **more), list(columns), f"Shape \x07 {name}")


def layers(chart: plots.Chart) -> list[dict]:
    return chart.spec.get("hconcat", [chart.spec.get("spec", chart.spec)])[0]["layer"]


def marks(chart: plots.Chart) -> set[str]:
    return {layer["mark"]["type"] for layer in layers(chart)}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_drawn_without_warnings_and_the_same_each_time(name, capfd):
    import vl_convert

    chart = drawn(name)
    assert chart == drawn(name) and chart.spec["config"] == CONFIG
    assert json.loads(json.dumps(chart.spec, allow_nan=False)) == chart.spec
    svg = chart.svg()
    assert svg.startswith("<svg") and "NaN" not in svg and "undefined" not in svg
    vl_convert.vegalite_to_vega(chart.spec, show_warnings=True)
    assert "WARN" not in "".join(capfd.readouterr()).upper()


@pytest.mark.parametrize("name", SHAPES)
def test_every_cell_is_in_the_picture_once_with_its_own_numbers(name):
    columns, more = SHAPES[name]
    given, table = cells(columns, **more), drawn(name).spec["data"]["values"]
    places = {(row["along"], row["hue"], row["panel"]) for row in table}
    assert len(places) == len(table) == len(given)
    for row, cell in zip(table, given, strict=True):
        shown = {key: row[key] for key in ("count", "low", "high") if key in row}
        assert shown == ({key: cell[key] for key in ("count", "low", "high")} if cell["status"] == "A" else {})
        assert row.get("mark") == {"A": None, "M": "×", "Q": "?"}[cell["status"]]


@pytest.mark.parametrize(
    ("name", "form"), [("six", "bar"), ("24", "bar"), ("six long labels", "bar"), ("ages", "point"), ("200", "point")]
)
def test_few_cells_are_bars_and_many_are_dots_each_with_its_interval(name, form):
    chart = drawn(name)
    assert marks(chart) & {"bar", "point"} == {form} and "rule" in marks(chart)
    rule = next(layer for layer in layers(chart) if layer["mark"]["type"] == "rule")
    ends = {channel: rule["encoding"][channel]["field"] for channel in rule["encoding"] if channel in ("x", "y")}
    assert list(ends.values()) == ["low"]
    assert ("Bars" if form == "bar" else "Dots") in chart.spec["title"]["subtitle"][0]


def test_the_second_column_is_told_by_colour_and_the_third_by_panels():
    chart = drawn("three columns")
    assert chart.spec["spec"]["encoding"]["color"]["scale"]["domain"] == HEALTH
    assert chart.spec["facet"]["sort"] == ["1", "2", "3"] and chart.spec["facet"]["header"]["title"] == "year"
    assert drawn("24").spec["encoding"]["color"]["title"] == "health"
    assert drawn("measures").spec["encoding"]["color"]["scale"]["domain"] == ["all", "poor"]


def test_a_long_list_goes_on_in_further_columns_in_its_order():
    chart = drawn("200")
    table = chart.spec["data"]["values"]
    columns = [column["encoding"]["y"]["sort"] for column in chart.spec["hconcat"]]
    assert len(columns) == 3 and [*chain(*columns)] == COUNTIES == [row["along"] for row in table]


def test_marks_are_explained_where_they_stand_and_only_there():
    assert "cannot exist. ? was" in " ".join(drawn("24").spec["title"]["subtitle"])
    assert "×" not in " ".join(drawn("six").spec["title"]["subtitle"])


def test_an_interval_without_an_end_has_no_line():
    chart = plots.counts([{"a": 1, "count": 9, "low": 8, "high": None, "status": "A"}], ["a"])
    assert "high" not in chart.spec["data"]["values"][0]
    assert chart.svg().count("mark-rule") >= 1


def test_labels_that_are_cut_alike_stay_apart():
    rows = [{"a": "x" * 60 + end, "count": 1, "low": 0, "high": 2, "status": "A"} for end in "pqr"]
    names = [row["along"] for row in plots.counts(rows, ["a"]).spec["data"]["values"]]
    assert len(set(names)) == 3 and all(len(name) <= 40 for name in names)


def test_labels_read_as_they_are_meant():
    assert [label(None), label("NULL"), label(7), label("a")] == ["NULL", "'NULL'", "7", "a"]
    assert label("東京都千代田区", 9) == "東京都千…" and label("abcdefgh", 5) == "abcd…"


def test_what_steers_a_terminal_is_replaced_and_what_scripts_need_is_kept():
    assert printable("a\x1b[2Jb\tc\u00a0d\u202ee\ud800") == "a\ufffd[2Jb c d\ufffde\ufffd"
    assert printable("می\u200cخواهم") == "می\u200cخواهم"


def test_none_and_too_many_cells_are_refused():
    with refused(InvalidInput, "rows"):
        plots.counts([], ["a"])
    with refused(Unsupported, "rows"):
        plots.counts(cells({"a": range(MAX_DRAWN_CELLS + 1)}), ["a"])


# ------------------------------------------------------------------------------------------------ figures and axes


def one_column(name: str, values: dict) -> plots.Chart:
    rows = [{name: k, "count": n, "low": n - 1, "high": n + 1, "status": "A"} for k, n in values.items()]
    return plots.counts(rows, by=[name])


def texts(chart: plots.Chart) -> list[str]:
    return re.findall(r">([^<>]+)</text>", chart.svg())


def test_axes_tell_figures_each_by_itself():
    """Told all in thousands, an axis to 1,000 read 0.2k, 0.4k, ..."""
    small, large = texts(one_column("site", {1: 200, 2: 990})), texts(one_column("site", {1: 200_000, 2: 1_990_000}))
    assert {"200", "400", "1,000"} <= set(small) and "500,000" in large and "1.5M" in large
    assert not any(re.search(r"\dk$", text) for text in small + large)


@pytest.mark.parametrize("top", [9, 98, 999, 99_999])
@pytest.mark.parametrize(
    "names", [["a", "b"], ["a name that is long enough", "for lines of their own, and more of it"]]
)
def test_the_figure_of_the_longest_bar_keeps_clear_of_the_frame(names, top):
    """The frame is a path of its size; figures are texts, placed from its corner."""
    chart = one_column("group", {names[0]: top, names[1]: 0})
    drawing = chart.svg()
    width, height = (float(size) for size in re.search(r'd="M0\.5,0\.5h([\d.]+)v([\d.]+)h', drawing).groups())
    x, y = re.findall(rf'translate\(([\d.-]+),([\d.-]+)\)"[^>]*>{top:,}</text>', drawing)[-1]
    if chart.spec["encoding"].get("x"):  # standing bars: the foot of the figure is at y
        assert float(y) > 11
    else:
        assert float(x) + 6.2 * len(f"{top:,}") < width
    assert 0 < float(y) < height


def test_counts_that_are_not_whole_are_rounded_not_cut() -> None:
    rows = [
        {"site": site, "count": count, "low": 0, "high": 9000, "status": "A"}
        for site, count in ((1, 8826.79), (2, -2.76), (3, 12))
    ]
    chart = plots.counts(rows, ["site"])
    assert [row["count"] for row in chart.spec["data"]["values"]] == [8827, -3, 12]
    assert ">8,827</text>" in chart.svg()


def test_labels_have_room_in_a_wide_font() -> None:
    """The reader's font may be a sixth wider than the one the picture was measured with."""
    countries = ["Dominican-Republic", *(f"Country {k}" for k in range(20))]
    rows = cells({"native_country": countries})
    svg = plots.counts(rows, ["native_country"]).svg()
    left = re.search(r'stroke-miterlimit="10" transform="translate\((\d+),', svg)
    assert left is not None
    assert int(left[1]) - 5 >= 6.5 * len("Dominican-Republic") + 5  # a letter of DejaVu Sans at 11 pixels: 6.4


def test_names_of_groups_that_grow_have_room_in_a_wide_font() -> None:
    group = {"site": "Total", "health": "excellent"}
    row = {"group": group, "from": "Q1", "to": "Q2", "growth": 20.0, "growth_low": 11.5, "growth_high": None}
    svg = plots.growth([row], by=["site", "health"]).svg()
    left = re.search(r'stroke-miterlimit="10" transform="translate\((\d+),', svg)
    assert left is not None and int(left[1]) >= 6.5 * len("Total, excellent") + 10


@pytest.mark.parametrize(("half_width", "visible"), [(3, False), (200, True)])
def test_intervals_too_short_to_see_are_stated_in_figures(half_width: int, visible: bool) -> None:
    rows = [
        {"site": k, "count": 7000 - k, "low": 7000 - k - half_width, "high": 7000 - k + half_width, "status": "A"}
        for k in range(1, 7)
    ]
    text = " ".join(plots.counts(rows, by=["site"]).spec["title"]["subtitle"])
    assert (f"± {half_width}." in text) is (not visible)


def test_titles_of_panels_fit_over_them_and_stay_distinct() -> None:
    sectors = [f"Transportation and storage of goods, part {k}" for k in range(12)]
    rows = [
        {"region": region, "sector": sector, "count": 5, "low": 2, "high": 8, "status": "A"}
        for region in ("north of the river", "south of the river") * 6
        for sector in sectors
    ]
    chart = plots.counts(rows, by=["region", "sector"])
    titles = chart.spec["facet"]["sort"]
    assert len(set(titles)) == 12 and max(map(len, titles)) <= 22
