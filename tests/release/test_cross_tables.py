"""A table of two columns is read across and down, and every number of it is that of the list."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import discreet as dc
from discreet.release.bundle.cross import MAX_COLUMNS, cross_table, figure
from discreet.report import TextTable
from support.bundles import BY_BOTH, ZEROS, answered

EVIL = "<script>alert(1)</script>\x1b[31m\n&\"'"


def crossed(make, **options) -> TextTable | None:
    return cross_table(make(**options).tables[0])


def test_every_count_stands_where_its_two_values_meet(make):
    release = make(zeros=ZEROS, suppress_below=50, counts="clamped")
    table = cross_table(release.tables[0])
    assert table.headings == ("site", "good", "poor") and table.over == "health"
    by_place = {
        (row[0], heading): cell for row in table.rows for heading, cell in zip(table.headings[1:], row[1:], strict=True)
    }
    assert by_place == {(str(row["site"]), row["health"]): figure(row) for row in release.rows()}
    assert by_place["1", "poor"] == "0\ncannot exist"
    assert any(cell == "–\nsuppressed" for cell in by_place.values())


def test_totals_stand_at_the_ends(make):
    release = make(totals="all")
    table = cross_table(release.tables[0])
    assert table.headings == ("site", "good", "poor", "Total") and [row[0] for row in table.rows] == [*"123", "Total"]
    rows = release.tables[0].rows_for_people()
    assert rows[0]["grouping"] == 3 and table.rows[-1][-1] == figure(rows[0])
    by_health = next(row for row in rows if row["grouping"] == 2 and row["health"] == "poor")
    assert table.rows[-1][2] == figure(by_health)
    half = cross_table(make(totals="site", edition="2").tables[0])  # totals over sites: a line, and no column
    assert half.headings == ("site", "good", "poor") and [row[0] for row in half.rows] == [*"123", "Total"]


def test_the_column_with_few_values_goes_across(make):
    wide = {"site": [1, 2], "health": [f"h{k}" for k in range(MAX_COLUMNS + 1)]}
    table = crossed(make, domain=wide)
    assert table.headings[0] == "health" and table.headings[1:] == ("1", "2") and table.over == "site"


@pytest.mark.parametrize(
    "options",
    [
        {"domain": {"site": range(1, 15), "health": [f"h{k}" for k in range(14)]}},
        {"domain": {"site": range(1, 4), "health": ["good"]}},
        {"domain": {"site": range(1, 300), "health": ["good", "poor"]}},
        {"domain": None, "groups": [(1, "a"), (2, "b"), (3, "c"), (4, "d")]},
        {"questions": "SELECT site, COUNT(*) FROM visits GROUP BY site", "domain": {"site": range(1, 4)}},
        {"questions": BY_BOTH.replace("COUNT(*)", "COUNT(*), COUNT_IF(x = 1) AS x")},
    ],
)
def test_other_tables_are_lists(make, options):
    assert crossed(make, **options) is None


def test_listed_groups_leave_holes(make):
    table = crossed(make, domain=None, groups=[(1, "a"), (1, "b"), (2, "a")])
    assert table.rows[1][2] == "\n" and table.rows[1][1] != "\n"


def test_the_terminal_puts_intervals_beside_counts_or_under_them(make):
    release = make()
    row = release.rows()[3]
    text = release.describe()
    assert "site \\ health" in text and "its 95% interval." in text
    assert re.search(rf"^2 .* {row['count']} +{row['low']} to {row['high']}$", text, re.M)
    narrow = release.describe(width=30).splitlines()
    line = next(k for k, one in enumerate(narrow) if one.startswith("2 "))
    assert str(row["count"]) in narrow[line] and f"{row['low']} to {row['high']}" in narrow[line + 1]


class _Cells(HTMLParser):
    """The texts of the cells of the first cross-table of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.texts = False, []

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.inside = ("class", "cross") in attrs
        if self.inside and tag in ("th", "td"):
            self.texts.append("")

    def handle_data(self, data):
        if self.inside and self.texts:
            self.texts[-1] += data.strip() + (" " if data.strip() else "")


def test_the_page_has_the_cross_table_and_the_list_one_click_away(make, tmp_path):
    release = make(tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    reader = _Cells()
    reader.feed(page)
    first = release.rows()[0]
    assert [text.strip() for text in reader.texts[1:5]] == ["health", "site", "good", "poor"]
    assert reader.texts[6].split() == [str(first["count"]), str(first["low"]), "to", str(first["high"])]
    assert "<summary>One count on each line, with bars</summary>" in page
    assert dc.verify_bundle(tmp_path / "out")["page"].holds


def test_labels_are_out_to_break_it_and_do_not(book, tmp_path):
    release = answered(book, tmp_path / "out", domain={"site": [1, 2], "health": [EVIL, "NULL", None]})
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page and "\x1b" not in page and "cross" in page
    text = release.describe()
    assert "\x1b" not in text and "'NULL'" in text and "NULL" in text
    table = cross_table(release.tables[0])
    assert all("\n" not in heading for heading in table.headings)
