"""The page of an estimate: complete, offline, deaf to what labels say, and the same numbers as everywhere else."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.describing.report import MOST_ROWS, Origin
from discreet.estimation.describing.summary import answers
from discreet.estimation.intervals.questions import COVERS


def page_html(estimate: dc.Estimate, level: float, origin: Origin | None = None) -> str:
    return estimate.report(level, origin=origin).page()


def head_of(html: str) -> str:
    """What stands before the first picture or table."""
    return words(html.partition("<figure")[0].rpartition("<section")[0] + "</main></body></html>")


def words(html: str) -> str:
    """The text of a page; every tag in it is closed."""

    class Reader(HTMLParser):
        found, open = "", list[str]()

        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "path"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("meta", "path"):
                assert self.open.pop() == tag

        def handle_data(self, data):
            if "style" not in self.open:
                self.found += data

    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader.found


@pytest.fixture(scope="module")
def counted() -> dc.estimation.result.Estimate:
    m = dc.geometric(8, epsilon=1)
    return dc.estimate(
        reports=m.simulate(np.random.default_rng(1).binomial(8, 0.3, 2000), seed=1), mechanism=m, method="mle"
    )


def test_the_page_has_picture_numbers_intervals_certificate_and_privacy(counted) -> None:
    html = page_html(counted, 0.9)
    text = words(html)
    assert html.count("<svg") == 1 and html.count('<div class="bar">') == 9
    assert "9 true counts, from 2,000 reports" in text
    for one in answers(counted, 0.9):
        assert one.interval is not None and one.statistic in text
        assert f"{one.interval.low:.4g} to {one.interval.high:.4g}" in text
    for line in counted.table(level=0.9)[1]:
        assert "".join(line) in text
    assert COVERS in text and "A 90% interval is meant to contain" in text and "95%" not in text
    assert "No other distribution explains these reports better" in text and "maximum likelihood" in text
    assert "epsilon is 8." in text and "also against whoever collects" in text


def test_it_loads_nothing_and_runs_nothing(counted) -> None:
    html = page_html(counted, 0.95)
    assert "default-src 'none'" in html and "<script" not in html
    assert set(re.findall(r"https?://[^\"' )]+", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


@pytest.mark.parametrize(
    "label", ["</style><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\x1b[31m", "x" * 9999]
)
def test_a_label_is_only_ever_text(label: str) -> None:
    html = page_html(dc.estimate([40, 60], dc.randomized_response([label, "b"], epsilon=1)), 0.95)
    assert "<script" not in html and "<img" not in html and "\x1b" not in html and len(html) < 61_000
    words(html)


def test_a_letter_that_steers_does_not_end_the_program_that_draws() -> None:
    chart = dc.estimate([40, 60], dc.randomized_response(["\x1b[31m", "\x00"], epsilon=1)).plot()
    assert chart.png(1).startswith(b"\x89PNG") and "\x1b" not in chart.svg()


def test_odds_are_stated_where_they_mean_something() -> None:
    small = words(page_html(dc.estimate([40, 60], dc.randomized_response(2, epsilon=1)), 0.95))
    large = words(page_html(dc.estimate([40, 60], dc.randomized_response(2, epsilon=9)), 0.95))
    assert "by at most 2.72" in small and "epsilon is 1." in small
    assert "by at most" not in large.partition("What is protected")[2] and "epsilon is 9." in large
    endless = dc.estimate({0: 5, 3: 9, 4: 2}, dc.two_sided_geometric(epsilon=1), over=dc.Counts(5))
    text = words(page_html(endless, 0.95))
    assert "Between any two true values epsilon is infinite" in text and "no bound" in text and "ε =" not in text
    assert "Mechanism: two-sided geometric." in text


def test_a_matrix_promises_nothing() -> None:
    text = words(page_html(dc.estimate([5, 9], [[0.8, 0.2], [0.3, 0.7]]), 0.95))
    assert "What is protected" not in text and "ε" not in text


def test_groups_are_compared_and_the_privacy_of_each_is_stated() -> None:
    shy, bold = (dc.randomized_response(3, epsilon=e) for e in (1, 3))
    text = words(page_html(dc.estimate([([50, 30, 20], shy), ([10, 20, 70], bold)]), 0.95))
    assert "p = 0.005" in text and "use the stratified estimate" in text
    assert "Group 1, 100 people" in text and "ε = 3" in text and "in the group with the least privacy" in text


def test_the_stratified_estimate_and_the_warning_stand_beside_the_headline() -> None:
    shy, bold = (dc.randomized_response(3, epsilon=e) for e in (1, 3))
    e = dc.estimate([([50, 30, 20], shy), ([10, 20, 70], bold)])
    html = page_html(e, 0.95, Origin(("a.csv", "<b>.csv"), ("shy", "<i>bold")))
    head, text = head_of(html), words(html)
    interval = e.stratified.interval("mean")
    assert "(p = 0.005, 199 simulations)" in head
    assert f"stratified estimate, 95% interval {interval.low:.4g} to {interval.high:.4g}" in head
    for line, p in zip(e.table()[1], e.stratified.distribution, strict=True):
        assert f"{line[0]}{line[1]}{p:.4f}{line[2]}" in text
    assert "a.csv" in text and "<b>.csv" in text and "Group shy, 100 people" in text and "Group <i>bold" in text
    same = dc.estimate([([500, 300, 200], shy), ([500, 300, 200], shy)])
    assert "differ" not in head_of(page_html(same, 0.95))


def test_numbers_are_written_for_people() -> None:
    m = dc.two_sided_geometric(epsilon=1)
    many = dc.estimate(reports=np.arange(1000), mechanism=m, over=dc.Counts(9999))
    assert "10,000 true counts, from 1,000 reports" in words(page_html(many, 0.95))
    text = words(page_html(dc.estimate([0, 1, 0], dc.geometric(2, epsilon=1)), 0.95))
    assert "3 true counts, from 1 report" in text
    assert "1 reports" not in text and "1report" in text
    assert "flatter than the truth" not in text and "Noise moves reports away from the truth" in text


def test_many_values_are_cut_and_the_page_says_so() -> None:
    m = dc.geometric(500, epsilon=1)
    e = dc.estimate(reports=m.simulate(np.full(3000, 250), seed=1), mechanism=m)
    html = page_html(e, 0.95)
    shown = html.count('<div class="bar">')
    assert 1 < shown <= MOST_ROWS and "In ranges; a report saved as .json has every value." in html
    assert len(html) < 400_000


def test_an_estimate_with_negative_entries_has_a_page() -> None:
    e = dc.estimate([80, 0, 3, 0, 7], dc.geometric(4, epsilon=1), method="inverse")
    text = words(page_html(e, 0.95))
    assert text.count("not defined (negative entries)") == 4 and "cannot be compared with the best one" in text
    assert "an estimate can lie outside its interval" in text


def test_maps_have_a_page() -> None:
    m = dc.planar_geometric(dc.Grid(4, 5, cell=100.0), epsilon="0.01")
    html = page_html(dc.estimate(reports=m.simulate(np.full(200, 7), seed=1), mechanism=m), 0.95)
    assert "Darker cells" in words(html) and "does not mean that nobody is there" in words(html)
    assert "Per metre it is 0.01" in html and "P(7)" in html


def test_without_the_drawing_program_the_table_has_bars(counted, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    html = page_html(counted, 0.95)
    assert "<svg" not in html and html.count('<div class="bar">') == 9


def test_bars_are_measured_from_zero() -> None:
    e = dc.estimate([80, 0, 3, 0, 7], dc.geometric(4, epsilon=1), method="inverse")
    html, low, high = page_html(e, 0.95), float(e.distribution.min()), float(e.distribution.max())
    lefts = [float(left) for left in re.findall(r'<i style="left:([\d.]+)%', html)]
    zero = -low / (high - low) * 100
    below = e.distribution < 0
    assert below.any() and all(left < zero - 0.1 for left, k in zip(lefts, below, strict=True) if k)
    assert all(left == pytest.approx(zero, abs=0.01) for left, k in zip(lefts, below, strict=True) if not k)


def test_the_page_says_beside_the_headline_that_reports_do_not_fit(counted) -> None:
    reports = dc.geometric(8, epsilon=1).simulate(np.full(2000, 3), seed=2)
    wrong = dc.estimate(reports=reports, mechanism=dc.randomized_response(9, epsilon=1))
    assert "THE REPORTS DO NOT FIT" in words(page_html(wrong, 0.95)).split("Probability of each")[0]
    assert "DO NOT FIT" not in page_html(counted, 0.95)
