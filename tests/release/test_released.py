"""What a release says of its counts: rows, selections, sums, the terminal."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.release.counts import _release
from discreet.release.noise import margins
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready
from support.refusals import refused

BY_BOTH = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
DOMAIN = {"site": range(1, 4), "health": ["good", "poor"]}


class Made(Ready):
    """A source with made-up true counts."""

    def count(self, countings):
        shapes = [(one.groups.size, len(one.question.aggregates)) for one in countings]
        return [50 + np.arange(a * b, dtype=np.int64).reshape(a, b) for a, b in shapes]


@pytest.fixture
def released(tmp_path):
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=1000)

    def make(question=BY_BOTH, **options):
        given = {"data": "visits.csv", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
        return _release(plan_release(question, **(given | options)), Made(), book, None, SeededBits(1))

    return make


def test_rows_are_in_declared_order_with_what_is_known_of_each_count(released):
    release = released()
    rows = release.rows()
    assert [(row["site"], row["health"]) for row in rows] == [(s, h) for s in (1, 2, 3) for h in ("good", "poor")]
    accuracy = release.tables[0].plan.noise.accuracy([row["count"] for row in rows], Fraction(19, 20))
    assert [row["low"] for row in rows] == accuracy.low.tolist()
    assert [row["high"] for row in rows] == accuracy.high.tolist()
    assert [row["exact_probability"] for row in rows] == accuracy.exact.tolist()
    assert list(rows[0]) == list(release.tables[0].headings)


def test_the_three_kinds_of_cells_are_three_different_things(released):
    release = released(zeros=[{"site": 1, "health": "poor"}], suppress_below=53)
    rows = release.rows()
    assert [row["status"] for row in rows][:2] == ["Q", "M"] and "A" in {row["status"] for row in rows}
    assert rows[1] | {"count": 0, "low": 0, "high": 0, "sd": 0, "exact_probability": 1} == rows[1]
    said = {key: value for key, value in rows[0].items() if key not in ("site", "health", "status")}
    assert set(said.values()) == {None}


def test_several_measures_have_a_row_each(released):
    release = released("SELECT site, COUNT(*) AS n, COUNT_IF(health = 'poor') FROM visits GROUP BY site",
                       domain={"site": [1, 2]})  # fmt: skip
    rows = release.rows()
    assert [(row["site"], row["measure"]) for row in rows] == [
        (s, m) for s in (1, 2) for m in release.tables[0].measures
    ]
    assert "measure" in release.tables[0].headings


def test_a_group_column_that_reads_like_a_heading_of_ours_is_told_apart(released):
    release = released(
        'SELECT "count", group_count, status, COUNT(*) AS n FROM visits GROUP BY "count", group_count, status',
        domain={"count": [1], "group_count": [2], "status": ["x", "y"]},
    )  # fmt: skip
    table = release.tables[0]
    assert table.by == ("group_group_count", "group_count", "group_status")
    assert len(set(table.headings)) == len(table.headings)
    assert [row["group_status"] for row in release.rows()] == ["x", "y"]
    assert release.total({"group_status": "y"}).estimate == release.rows()[1]["count"]


def test_sums_differences_and_percentages_are_those_of_the_selected_cells(released):
    release = released()
    table = release.tables[0]
    counts = {(row["site"], row["health"]): row["count"] for row in release.rows()}
    first = np.array([True, True, False, False, False, False])
    good = np.array([True, False] * 3)
    assert release.total({"site": 1}) == margins.total(*table.noisy_cells, first, table.level)
    assert release.total({"site": 1}).estimate == counts[1, "good"] + counts[1, "poor"]
    assert release.total().estimate == sum(counts.values())
    assert release.total({"site": [1, 3], "health": "good"}).estimate == counts[1, "good"] + counts[3, "good"]
    assert release.difference({"health": "good"}, {"site": 1}) == margins.difference(
        *table.noisy_cells, good, first, table.level
    )
    whole = margins.percentage(*table.noisy_cells, good, np.ones(6, bool), table.level)
    assert release.percentage({"health": "good"}) == whole


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"site": 9}, "declared value"),
        ({"site": "1"}, "declared value"),
        ({"site": True}, "declared value"),
        ({"site": [1, 2.0]}, "declared value"),
        ({"town": 1}, "groups"),
        ({"site": []}, "no declared group"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(released, cells, words):
    with refused(InvalidInput, "cells", token=words):
        released().total(cells)


def test_a_sum_over_several_measures_says_which(released):
    release = released("SELECT site, COUNT(*) AS n, COUNT_IF(health = 'poor') AS poor FROM visits GROUP BY site",
                       domain={"site": [1, 2]})  # fmt: skip
    with refused(InvalidInput, "cells"):
        release.total({"site": 1})
    counts = [row["count"] for row in release.rows() if row["measure"] == "poor"]
    assert release.total({"measure": "poor"}).estimate == sum(counts)
    with refused(InvalidInput, "cells"):
        release.total({"measure": "rich"})


def test_tables_go_by_number(released):
    release = released([BY_BOTH, "SELECT COUNT(*) FROM visits"])
    assert len(release.rows(0)) == 6 and next(iter(release.rows(1)[0])) == "count"
    assert release.title == "Counts of visits, 2 tables"
    for wrong in (2, -1, True, "0"):
        with refused(InvalidInput, "number"):
            release.rows(wrong)


def test_the_terminal_shows_counts_intervals_bars_and_the_guarantee(released):
    release = released(zeros=[{"site": 1, "health": "poor"}], suppress_below=53)
    text = release.describe()
    last = release.rows()[-1]
    assert f"{last['count']}" in text and f"{last['low']} to {last['high']}" in text
    assert "cannot exist" in text and "suppressed" in text
    listed = released("SELECT site, COUNT(*) FROM visits GROUP BY site", domain={"site": range(1, 4)}).describe()
    assert "█" in listed
    assert release.guarantee[0].split(":")[0] in text and str(release) == text


def test_of_a_large_table_the_terminal_shows_the_beginning(released):
    release = released("SELECT site, COUNT(*) FROM visits GROUP BY site", domain={"site": range(10_000)})
    text = release.describe(most=5)
    assert "the first 5 of 10,000" in text and len(text.splitlines()) < 40


def test_a_label_cannot_steer_the_terminal_or_pretend_markup(released):
    release = released(domain={"site": [1], "health": ["\x1b[2Jgone", "[red]x[/red]"]})
    text = release.describe()
    assert "\x1b" not in text and "[red]x[/red]" in text


def test_to_json_holds_every_row(released):
    release = released([BY_BOTH, "SELECT COUNT(*) FROM visits"])
    content = json.loads(json.dumps(release.to_json(), allow_nan=False))
    assert [table["rows"] for table in content["tables"]] == [release.rows(0), release.rows(1)]
    assert content["ledger"] == dict(release.ledger) and content["cost"]["epsilon"] == "1"


def test_one_number_is_a_release_too(released):
    release = released("SELECT COUNT(*) FROM visits", domain=None)
    assert len(release.rows()) == 1 and "Counts of visits" in repr(release)
    assert release.total().estimate == release.rows()[0]["count"]
    assert release.chart().svg().startswith("<svg")
