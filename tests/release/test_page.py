"""The page and the words for people: complete, bounded, offline, and deaf to what labels say."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import discreet as dc
from discreet.exact.bits import SeededBits
from discreet.exact.rationals import text_up
from discreet.pages.html import page
from discreet.plots.counts import MAX_DRAWN_CELLS
from discreet.release.bundle.guarantee import guarantee_text
from discreet.release.bundle.report import columns_in_words
from discreet.release.bundle.verify import verify_bundle
from discreet.release.counts import _release
from discreet.release.outputs.csvw import csvw_metadata
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready

BY_BOTH = "SELECT site, health, COUNT(*) FROM visits WHERE year = 1 GROUP BY site, health"
DOMAIN = {"site": range(1, 7), "health": ["excellent", "good", "fair", "poor"]}


class Made(Ready):
    """A source with made-up true counts."""

    def count(self, countings):
        return [np.full((one.groups.size, len(one.question.aggregates)), 50) for one in countings]


@pytest.fixture
def make(tmp_path):
    book = dc.Ledger.create(tmp_path / "v.ledger", dataset="visits", unit="person", epsilon=1000, delta="1e-3")

    def made(questions=BY_BOTH, **options):
        given = {"data": "visits.csv", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
        out = options.pop("out", None)
        return _release(plan_release(questions, **(given | options)), Made(), book, out, SeededBits(1))

    return made


class Reader(HTMLParser):
    """Which tags a page has, whether they are closed, and its text."""

    VOID = ("meta", "br", "link", "img", "path", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside_pictures: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._note(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self._note(tag)

    def _note(self, tag):
        self.tags.append(tag)
        if "svg" not in self.open:
            self.outside_pictures.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def test_the_page_has_the_question_the_picture_every_count_and_the_guarantee(make):
    release = make(unit_name="person")
    page = Reader(release.report().page())
    assert page.open == [] and page.tags.count("svg") == 1
    assert "by site and health?" in page.text and "year = 1" in page.text
    for row in release.rows():
        assert f"{row['count']}{row['low']} to {row['high']}" in page.text
    for sentence in release.guarantee:
        assert sentence in page.text
    assert "× 2.72" in page.text and "ε = 1" in page.text and "± 3" in page.text
    assert release.ledger["head"] in page.text and "discreet verify" in page.text


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "0.6", "0.7", "1.1", "0.0123"])
def test_epsilon_is_shown_as_it_was_typed(make, epsilon):
    """The double at or above 3/10 is above it: rounded up, it would read 0.3001."""
    text = Reader(make("SELECT COUNT(*) FROM visits", domain=None, epsilon=epsilon).report().page()).text
    assert set(re.findall(r"ε = ([\d.]+)privacy", text)) == {epsilon}


def test_the_page_loads_nothing_and_runs_nothing(make):
    page = make().report().page()
    assert not {"script", "link", "img", "iframe", "object"} & set(Reader(page).tags)
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\"' )]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


#: Tags of the labels below, which no page has.
INJECTED = {"script", "img", "u"}


@pytest.mark.parametrize(
    "label", ["</style><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"'><b>", "-->", "<!--/picture-->"]
)
def test_a_label_is_only_ever_text(make, label):
    release = make(
        f"SELECT site, health, COUNT(*) AS n FROM visits WHERE health <> '{label.replace(chr(39), chr(39) * 2)}' "
        "GROUP BY site, health",
        domain={"site": [1, 2], "health": [label, "b"]}, edition=label,
    )  # fmt: skip
    page = Reader(release.report().page())
    plain = make(
        "SELECT site, health, COUNT(*) AS n FROM visits WHERE health <> 'plain' GROUP BY site, health",
        domain={"site": [1, 2], "health": ["plain", "b"]}, edition="plain",
    )  # fmt: skip
    assert page.outside_pictures == Reader(plain.report().page()).outside_pictures  # no tag more, not even <b>
    assert INJECTED.isdisjoint(page.tags) and label in page.text
    assert "<script" not in release.report().page() and "<img" not in release.report().page()
    assert "<script" not in guarantee_text(release) and "<img" not in guarantee_text(release)


@pytest.mark.parametrize("tag", ["<script></script>", "<img>", "<u></u>"])
def test_an_injected_tag_is_noticed(make, tag):
    """The control of the test above."""
    page = make().report().page()
    assert INJECTED.isdisjoint(Reader(page).tags)
    assert not INJECTED.isdisjoint(Reader(page.replace("</body>", f"{tag}</body>")).tags)


def test_a_hostile_label_does_not_hide_a_change_from_the_check(make, tmp_path):
    """The marks around pictures cannot be forged by a label, which is escaped."""
    make(domain={"site": [1, 2], "health": ["<!--/picture-->", "<!--picture x-->"]}, out=tmp_path / "out")
    assert verify_bundle(tmp_path / "out").holds


def test_cells_that_cannot_exist_or_are_suppressed_are_named_and_explained(make):
    release = make(zeros=[{"site": 1, "health": "poor"}], suppress_below=50)
    page = Reader(release.report().page()).text
    assert page.count("cannot exist") >= 2 and "suppressed" in page and "structural zero" in page
    assert "structural zero" not in Reader(make(edition="2").report().page()).text


def test_a_large_release_shows_its_first_cells_and_says_so(make):
    release = make("SELECT site, COUNT(*) FROM visits GROUP BY site", domain={"site": range(20_000)})
    page = release.report().page()
    assert len(page) < 600_000 and f"The first {MAX_DRAWN_CELLS} of 20,000 rows" in page
    assert page.count("<tr>") < MAX_DRAWN_CELLS + 10


def test_long_labels_do_not_blow_up_the_page(make):
    release = make(domain={"site": range(1, 7), "health": ["x" * 100_000 + end for end in "abcd"]})
    assert len(release.report().page()) < 150_000


def test_many_tables_are_bounded_too(make):
    questions = [f"SELECT site, COUNT(*) FROM visits WHERE year = {year} GROUP BY site" for year in range(15)]
    page = make(questions, domain={"site": range(1, 4)}).report().page()
    assert page.count("<svg") == 12 and "3 more tables" in page


def test_without_the_drawing_program_the_table_has_bars(make, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = make().report().page()
    assert "<svg" not in page and page.count('<div class="bar">') == 24
    make(out=tmp_path / "out")
    assert verify_bundle(tmp_path / "out")["pictures"].holds


def test_pictures_on_one_page_do_not_share_names(make):
    page = make([BY_BOTH, "SELECT COUNT(*) FROM visits"]).report().page()
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_the_guarantee_is_told_in_odds_and_says_what_it_is_not(make):
    release = make(counts="signed")
    text = guarantee_text(release)
    words = dc.explain(release.tables[0].plan.noise.mechanisms[0], prior="1/10")
    assert "Epsilon = 1 " in text and "at most 2.72-fold" in text
    assert f"| 10% | {text_up(words.posterior * 100, 3)}% | 45.1% |" in text  # e^2 / (9 + e^2)
    assert "What is not guaranteed" in text and "unbiased" in text


def test_with_a_delta_no_belief_is_bounded(make):
    release = make(mechanism="discrete-gaussian", delta="1e-6")
    assert "believed" not in guarantee_text(release) and "Epsilon = 1, delta = 9.97e-07" in guarantee_text(release)
    assert "×" not in release.report().page().split("<main>")[0] and "δ = 9.97e-07" in release.report().page()


def test_the_bias_of_clamped_counts_is_told(make):
    assert re.search(r"at most 0\.426 too high\.", guarantee_text(make(counts="clamped")))


def test_one_number_has_a_page(make):
    page = Reader(make("SELECT COUNT(*) FROM visits", domain=None).report().page())
    assert page.open == [] and "How many person values" in page.text


# ------------------------------------------------------------------------------------------------ reports


def test_lines_to_type_stay_lines_on_the_page(make):
    assert "<pre><code>sha256sum -c SHA256SUMS\ndiscreet verify .\n</code></pre>" in make().report().page()


def test_page_and_guarantee_say_the_same_sentences(make):
    release = make(edition="1", unit_name="person")
    page, markdown = Reader(release.report().page()).text, guarantee_text(release)
    markdown = re.sub(r"`(\w+)`", r"\1", re.sub(r"\\(.)", r"\1", markdown))
    section = markdown.split("## What is not guaranteed")[1].split("##")[0]
    for sentence in [*release.guarantee, *re.findall("^- (.*)$", section, flags=re.M)]:
        assert sentence in page and sentence in markdown
    assert section.count("\n- ") == 3


def test_the_sql_is_one_click_away(make):
    page = make().report().page()
    folded = page.split("<details><summary>The question in SQL</summary>")[1].split("</details>")[0]
    assert "SELECT site, health, COUNT(*)" in folded and page.count("SELECT site") == 1


def test_a_report_of_a_large_release_does_not_look_at_its_cells_one_by_one(make, monkeypatch):
    """A million groups must not be labelled to show five hundred."""
    from discreet.questions.groups import Groups

    release = make("SELECT site, COUNT(*) FROM visits GROUP BY site", domain={"site": range(20_000)})
    one, labelled = Groups.label, []
    monkeypatch.setattr(Groups, "labels", None)
    monkeypatch.setattr(Groups, "label", lambda groups, k: (labelled.append(k), one(groups, k))[1])
    release.report().page()
    assert 0 < len(labelled) <= 2 * MAX_DRAWN_CELLS  # once for the picture, once for the table
    labelled.clear()
    assert "the first 7 of 20,000" in release.describe(most=7)


def test_a_notebook_shows_the_tables(make):
    piece = make()._repr_html_()
    assert "<table" in piece and "<script" not in piece and "What is guaranteed" in piece


def test_the_plan_has_a_page_in_the_same_frame(make):
    plan = make(unit_name="person").plan
    page = plan.report().page()
    text = Reader(page).text
    assert Reader(page).open == [] and "default-src 'none'" in page
    for sentence in plan.guarantee:
        assert sentence in text
    assert "24 counts of visits" in text and "noise ± 3" in text and plan.tables[0].question.text in text
    assert "with year = 1" in text
    assert plan.describe() == plan.report().text() == str(plan)
    assert plan.guarantee[0] not in plan.describe(guarantee=False)


def test_where_rows_are_protected_no_person_is_spoken_of():
    ask = {"data": "visits.csv", "unit": "row", "domain": {"site": range(3)}, "epsilon": 1}
    page = plan_release("SELECT site, COUNT(*) FROM visits GROUP BY site", **ask).report().page()
    assert "What a reader can learn about one row" in page and "How many rows are there in visits" in page
    assert "one person" not in Reader(page).text


def reading(release) -> str:
    """The section on how to read the numbers, in one line."""
    text = Reader(page(release.report())).text
    return " ".join(text[text.index("How to read the numbers") :].split())


@pytest.mark.parametrize("counts", ["signed", "clamped", "in-range"])
def test_only_where_a_count_can_be_negative_the_page_says_so(make, counts):
    said = reading(make(counts=counts, **({"bound": 1000} if counts == "in-range" else {})))
    assert ("negative count" in said) == (counts == "signed")
    assert "otal that differs from the sum of its parts" in said and "comes from the noise and is not a mistake" in said


@pytest.mark.parametrize("totals", [None, "all"])
@pytest.mark.parametrize("unit", ["row", "person"])
def test_the_contribution_bound_is_mentioned_where_there_is_one(tmp_path, unit, totals):
    (tmp_path / "visits.csv").write_text("person,site\nann,1\nbob,2\n")
    book = dc.Ledger.create(tmp_path / "b.ledger", dataset="visits", unit=unit, epsilon=9)
    asked = {"max_groups": 1} if unit == "person" else {}
    release = dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=tmp_path / "visits.csv", unit=unit, epsilon=1,
        domain={"site": [1, 2]}, ledger=book, totals=totals, **asked,
    )  # fmt: skip
    release.save(tmp_path / "out")
    assert verify_bundle(tmp_path / "out", book).holds
    for text in (reading(release), (tmp_path / "out" / "release.json").read_text(), str(csvw_metadata(release))):
        assert ("after the contribution bound" in text) == (unit == "person")


def test_the_page_explains_every_column_of_a_table_with_totals(make):
    for totals in (None, "all"):
        release = make(totals=totals, edition="q1")
        terms = dict(columns_in_words(release))
        assert set(release.tables[0].headings) - {"edition", "site", "health", "status"} == set(terms)
        assert all(meaning in reading(release) for meaning in terms.values())
        assert ("grouping" in terms) == (totals is not None)
