"""The page for a lawyer: three sentences, the curator's statements, the ledger's total budget, and what verify says."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from fractions import Fraction

import pytest
from markdown_it import MarkdownIt

import discreet as dc
from discreet.datasets.publication import Publication
from discreet.errors import InvalidInput
from discreet.ledger.budget import Cost
from discreet.release.bundle.guarantee import _markdown
from discreet.release.bundle.introduction import opening_sentences
from discreet.release.bundle.write import write_bundle
from discreet.release.plan.plan import plan_from_request
from support.bundles import answered, edit_json, failing
from support.command_line import run
from support.refusals import refused

STATED = {
    "title": "Visits to the doctor", "publisher": "Office of Statistics", "source": "Register of visits, 2026",
    "contact": "stat@example.org",
}  # fmt: skip
HOSTILE = "<script>alert(1)</script> [x](javascript:y) `a_b` _c_ | # ~~d~~ ![e](f) &lt; \\"


# ------------------------------------------------------------------------------------------------ three sentences


def test_the_page_and_the_guarantee_open_with_three_sentences(book, tmp_path):
    release = answered(book, tmp_path / "out", unit_name="person", epsilon="0.5")
    protects, together, uncovered = opening_sentences(release)
    assert protects.startswith("This publication protects one person (all rows with the same person)")
    assert together.endswith("may reveal at most epsilon 100 about a person; this one uses epsilon 0.5.")
    assert uncovered.startswith("It does not cover facts about whole groups of people")
    markdown, page = ((tmp_path / "out" / name).read_text() for name in ("GUARANTEE.md", "index.html"))
    assert markdown.split("\n\n")[1:4] == [protects, together, uncovered]
    places = [page.index(sentence) for sentence in (protects, together, uncovered)]
    assert places == sorted(places) and places[-1] < page.index("<table")


def test_a_budget_in_rho_is_stated_in_rho(tmp_path):
    book = dc.Ledger.create(
        tmp_path / "z.ledger", dataset="visits", unit="person", epsilon=3, delta="1e-6", filter="zcdp"
    )
    release = answered(book, tmp_path / "out", epsilon="0.1")
    assert re.search(r"at most epsilon 3, delta 1e-06 about .* uses rho 0\.00\d+ of rho 0\.\d+", release_text(tmp_path))
    assert failing(tmp_path / "out", book) == set() and release.budget.rho == book.terms.rho


def release_text(folder):
    return (folder / "out" / "GUARANTEE.md").read_text()


def test_the_guarantee_has_code_spans_and_no_escaped_underscores(book, tmp_path):
    book = dc.Ledger.create(tmp_path / "u.ledger", dataset="doctor_visits", unit="person_id", epsilon=9)
    answered(
        book, tmp_path / "out", "SELECT site_no, COUNT(*) FROM doctor_visits GROUP BY site_no",
        data="doctor_visits.csv", unit="person_id", domain={"site_no": [1, 2]},
    )  # fmt: skip
    text = release_text(tmp_path)
    assert "\\_" not in text and "`doctor_visits`" in text and "`site_no`" in text and "`person_id`" in text


@pytest.mark.parametrize(
    "text", [HOSTILE, "``a_b``", "`a_b", "a_b`", "\\`x_y`z`", "__init__", "`a``b`", "_a_ _b_", "&amp;_x_", "a_b*c*_"]
)
def test_markdown_reads_every_text_as_it_is(text):
    """A parser of CommonMark renders the text, possibly in code spans, and nothing else."""
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(f"x {_markdown(text)}")
    assert set(re.findall(r"</?(\w+)", html)) <= {"p", "code"}
    shown = re.sub(r"</?(p|code)>", "", html)
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, letter)
    assert shown.strip().replace("`", "") == f"x {text}".replace("`", "")


# ------------------------------------------------------------------------------------------------ statements


def test_a_title_changes_no_key_and_costs_nothing(book, tmp_path):
    plain = answered(book, tmp_path / "plain")
    titled = answered(book, tmp_path / "titled", **STATED)
    assert titled.plan.key == plain.plan.key and titled.plan.canonical.request == plain.plan.canonical.request
    assert not titled.paid and titled.rows() == plain.rows() and titled.title == STATED["title"]
    assert failing(tmp_path / "plain", book) == failing(tmp_path / "titled", book) == set()
    assert json.loads((tmp_path / "titled" / "request.json").read_text())["publication"] == STATED
    assert json.loads((tmp_path / "titled" / "release.json").read_text())["publication"] == STATED
    assert "publication" not in json.loads((tmp_path / "plain" / "request.json").read_text())
    for name in ("GUARANTEE.md", "index.html"):
        assert all(text in (tmp_path / "titled" / name).read_text() for text in STATED.values())
    assert plan_from_request(titled.plan.request).publication == titled.plan.publication
    with refused(InvalidInput, token="another title"):
        answered(book, tmp_path / "plain", **STATED)


def test_the_ledger_keeps_questions_and_no_titles(book):
    answered(book, **STATED)
    assert "publication" not in str(book.entries()[-1].request) and "example.org" not in str(book.entries())


def test_verify_says_that_nothing_proves_the_statements(book, tmp_path):
    answered(book, tmp_path / "out", **STATED)
    sentence = dc.verify_bundle(tmp_path / "out")["request"].sentence
    assert "Nothing proves what the curator states: title, published by, source" in sentence
    answered(book, tmp_path / "plain")
    assert "curator" not in dc.verify_bundle(tmp_path / "plain")["request"].sentence
    edit_json(tmp_path / "out", "request.json", lambda request: request["publication"].update(title="Something else"))
    assert {"statement"} <= failing(tmp_path / "out")


@pytest.mark.parametrize("change", [{}, {"logo": "x"}, {"title": ""}, {"title": " padded "}, {"title": 3}, []])
def test_a_publication_is_read_as_this_program_writes_it(book, tmp_path, change):
    answered(book, tmp_path / "out")
    edit_json(tmp_path / "out", "request.json", lambda request: request.update(publication=change))
    assert "request" in failing(tmp_path / "out")


def test_hostile_statements_stay_text(book, tmp_path):
    release = answered(book, tmp_path / "out", title=HOSTILE, publisher=HOSTILE, source=HOSTILE, contact=HOSTILE)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    html = MarkdownIt("commonmark", {"html": True}).render((tmp_path / "out" / "GUARANTEE.md").read_text())
    assert "<script" not in html and "<a" not in html and "<img" not in html
    assert failing(tmp_path / "out", book) == set() and release.to_json()["title"] == HOSTILE
    for bad in ("two\nlines", "\x1b[31m", "\u202etxt.exe", "x" * 301, 3):
        with refused(InvalidInput, "title"):
            answered(book, title=bad)


def test_a_dataset_states_them_once(tmp_path):
    (tmp_path / "visits.csv").write_text("person,site\nann,1\n")
    book = dc.Ledger.create(tmp_path / "v.ledger", dataset="visits", unit="person", epsilon=3)
    data = dc.Dataset(
        name="visits", data=tmp_path / "visits.csv", unit="person", columns={"site": [1, 2]}, ledger=book, **STATED
    )
    data.save(tmp_path / "visits.toml")
    again = dc.Dataset.open(tmp_path / "visits.toml")
    assert again.declaration.publication == Publication(**STATED)
    plan = again.plan(by=["site"], max_groups=1, epsilon=1, title="Visits by site")
    assert plan.publication == replace(Publication(**STATED), title="Visits by site")
    assert plan.key == dc.plan_release(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=tmp_path / "visits.csv", unit="person", max_groups=1,
        epsilon=1, domain={"site": [1, 2]},
    ).key  # fmt: skip


# ------------------------------------------------------------------------------------------------ the total budget


def test_the_total_budget_is_recorded_and_checked_with_the_ledger(book, tmp_path):
    release = answered(book, tmp_path / "out")
    stated = json.loads((tmp_path / "out" / "release.json").read_text())["budget"]
    assert stated == {"epsilon": "100", "delta": "0", "rho": None}
    assert release.budget == Cost(Fraction(100)) == dc.open_bundle(tmp_path / "out").budget
    forged = replace(release, budget=Cost(Fraction(2)))
    write_bundle(forged, tmp_path / "forged")
    assert failing(tmp_path / "forged") == set(), "consistent: only the ledger knows"
    assert failing(tmp_path / "forged", book) == {"ledger"}


@pytest.mark.parametrize("budget", [{"epsilon": "1/2", "delta": "0", "rho": None}, None, {}, {"epsilon": "100"}])
def test_a_budget_that_does_not_pay_is_refuted(book, tmp_path, budget):
    answered(book, tmp_path / "out")
    edit_json(tmp_path / "out", "release.json", lambda stated: stated.update(budget=budget))
    assert "statement" in failing(tmp_path / "out")


# ------------------------------------------------------------------------------------------------ explain


def test_explain_prints_the_page_of_a_bundle(book, tmp_path):
    release = answered(book, tmp_path / "out", **STATED)
    shown = run("explain", str(tmp_path / "out"), "--page", str(tmp_path / "page.html")).stdout
    flat = " ".join(shown.split())
    for sentence in (*opening_sentences(release), *release.guarantee, *STATED.values()):
        assert sentence in flat
    assert "<h1" in (tmp_path / "page.html").read_text()
    content = json.loads(run("explain", str(tmp_path / "out"), "--json").stdout)
    assert content["sentences"] == list(opening_sentences(release)) and content["budget"]["epsilon"] == "100"
    shutil.copy(tmp_path / "out" / "index.html", tmp_path / "out" / "more.html")
    assert run("explain", str(tmp_path / "out"), code=2).stdout == ""


def test_explain_of_a_bundle_takes_no_options_of_mechanisms(book, tmp_path):
    answered(book, tmp_path / "out")
    assert "Leave --prior" in run("explain", str(tmp_path / "out"), "--prior", "0.1", code=2).stderr
    dc.geometric(4, alpha="1/2").save(tmp_path / "m.json")
    assert "Leave it out" in run("explain", str(tmp_path / "m.json"), "--ledger", "x", code=2).stderr
