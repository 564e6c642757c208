"""Declared data sets on the pages: what is declared is not typed again, and one request does everything once."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, UnreadableFile
from discreet.ledger.ledger import Ledger
from discreet.questions.question import read_question
from discreet.questions.select import only_statement
from discreet.release import counts
from discreet.release.bundle.recorded import recorded_answer
from discreet.release.bundle.report import NEAR_ZERO
from discreet.release.plan.planning import plan_request
from discreet.web.frame.settings import PageSettings
from discreet.web.serve import serve
from support.calls import count_calls
from support.command_line import invoke, run
from support.refusals import refused
from support.serving_pages import HOSTILE, QuietPages, true_counts

REGION = "Île-de-France"
TEXT = f"""format = "discreet dataset"
dataset = "visits"
unit = "person"
unit_name = "patient"
ledger = "visits.ledger"

[tables.visits]
data = "visits.csv"
[tables.homes]
data = "homes.csv"
encoding = "latin-1"

[columns]
site = "1..3"
age = {{ bands = [20, 30, 45, 70] }}
region = ["{REGION}", "Bretagne, sud", "*"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with two tables of 311 people, their declaration and their ledger (epsilon 10)."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{k},{1 + (k >= 137) + (k >= 226)},{20 + k % 50},{k % 2}\n" for k in range(311))
    Path("visits.csv").write_text(f"person,site,age,smokes\n{rows}")
    homes = "".join(f"p{k},{REGION if k % 3 else 'Corse'}\n" for k in range(311))
    Path("homes.csv").write_bytes(f"person,region\n{homes}".encode("latin-1"))
    Path("visits.toml").write_text(TEXT, encoding="utf-8")
    dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=10)
    return tmp_path


def opened(*datasets: str, data: tuple[str, ...] = (), ledgers: tuple[str, ...] = ()) -> QuietPages:
    return QuietPages(PageSettings(("127.0.0.1:1",), ledgers, data, "out", datasets=datasets))


@pytest.fixture
def pages(folder: Path) -> QuietPages:
    return opened("visits.toml")


def asked(**changed: str) -> dict[str, str]:
    """Return the form of a question to the declared table."""
    form = {
        "data": "visits.toml", "table": "visits", "by": "site", "how:site": "declared", "values:site": "1..3",
        "max_groups": "1", "epsilon": "1", "folder": "first", "unit_word": "patient",
    }  # fmt: skip
    return form | {name.replace("__", ":"): value for name, value in changed.items()}


def lines(plan: str, kind: str) -> str:
    return html.unescape(re.findall(rf'<code id="{kind}">\n?(.*?)</code>', plan, re.DOTALL)[0])


def column_of(form: str, name: str) -> str:
    """Return the part of the form that declares the groups of a column."""
    return re.findall(f'<div class="column"><input[^>]*value="{name}".*?</div></div>', form, re.DOTALL)[0]


def typed(column: str) -> list[str]:
    """Return the lines in the text area of a column."""
    return html.unescape(re.findall("<textarea[^>]*>\n(.*?)</textarea>", column, re.DOTALL)[0]).splitlines()


# ------------------------------------------------------------------------------------------------ the form


def test_what_is_declared_is_fixed_or_offered_with_its_groups(pages: QuietPages) -> None:
    assert 'table=homes"' in pages.look("/release")
    form = pages.look("/release/new?data=visits.toml&table=visits")
    assert "one patient" in form and "Groups per patient" in form
    assert not re.search(r'<select id="(unit|ledger)"', form)
    assert "epsilon 10 is left" in form and "visits.ledger" in form
    site, age, smokes = (column_of(form, name) for name in ("site", "age", "smokes"))
    assert 'value="declared"' in site and typed(site) == ["1..3"]
    assert 'value="declared"' in age and typed(age) == ["20,30,45,70"]
    assert 'value="declared"' not in smokes and 'name="how:person"' not in form


def test_a_release_shows_what_is_left(pages: QuietPages, folder: Path) -> None:
    plan = pages.post("/release/plan", asked())
    assert "Declared in visits.toml" in plan and "paid; epsilon 9 is left" in plan
    assert str(folder) not in plan
    page = pages.release(asked())
    assert "epsilon 9 is left" in page and "visits.ledger" in page
    assert dc.verify("out/first", ledger="visits.ledger").holds
    assert "epsilon 9 is left" in pages.look("/release/new?data=visits.toml&table=visits")


@pytest.mark.parametrize(
    "edit", [("visits.ledger", "other.ledger"), ("visits.csv", "o/visits.csv"), ("patient", "person")]
)
def test_only_what_was_looked_at_is_released(pages: QuietPages, folder: Path, edit: tuple[str, str]) -> None:
    """The declaration is edited between the second look and the confirmation."""
    other = dc.Ledger.create("other.ledger", dataset="visits", unit="person", epsilon=10)
    Path("o").mkdir()
    Path("o/visits.csv").write_bytes(Path("visits.csv").read_bytes())
    key = re.findall(r'"key": "([0-9a-f]+)"', pages.post("/release/review", asked()))[0]
    text = Path("visits.toml").read_text(encoding="utf-8")
    assert edit[0] in text
    Path("visits.toml").write_text(text.replace(*edit), encoding="utf-8")
    assert "Look at it again" in pages.post("/release/run", {**asked(), "key": key})
    assert not other.entries() and not dc.Ledger.open("visits.ledger").entries()
    Path("visits.toml").write_text(text, encoding="utf-8")
    assert "hx-redirect" in pages.ask("/release/run", {**asked(), "key": key}).headers


def test_values_in_a_file_are_offered_and_used(folder: Path) -> None:
    Path("sites.txt").write_text("1\n2\n")
    Path("visits.toml").write_text(TEXT.replace('"1..3"', '{ from = "sites.txt" }'), encoding="utf-8")
    pages = opened("visits.toml")
    assert "values in sites.txt" in pages.look("/release/new?data=visits.toml&table=visits")
    assert "(2 site: 1, 2)" in pages.post("/release/plan", asked())


def test_what_a_release_spends_is_what_the_ledger_counts(pages: QuietPages) -> None:
    """The rho of geometric noise is not spent from a budget of epsilon."""
    spends = re.findall("<strong>(epsilon [^<]*)</strong>", pages.post("/release/review", asked()))
    assert spends == ["epsilon 1"]


def test_a_name_that_is_taken_is_refused_before_anything_is_confirmed(pages: QuietPages) -> None:
    pages.release(asked())
    assert 'hx-post="/release/run"' in pages.post("/release/review", asked())  # the recorded answer is there already
    other = pages.post("/release/review", asked(epsilon="2"))
    assert 'role="alert"' in other and "/release/run" not in other


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"by": "age", "how:age": "declared", "where": "site < 3"}, ""),
        ({"how:site": "values", "values:site": "1,2,*"}, "--domain 'site=1,2,*'"),
        ({"by": "smokes", "how:smokes": "values", "values:smokes": "0,1"}, "--domain smokes=0,1"),
        ({"how:site": "discover", "delta": "1e-6"}, "--discover site"),
        ({"totals": "all", "counts": "signed", "edition": "2026-Q1"}, "--edition 2026-Q1"),
        ({"table": "homes", "by": "region", "how:region": "declared"}, ""),  # which has an encoding
    ],
)
def test_the_lines_that_are_shown_ask_the_same(pages: QuietPages, changed: dict[str, str], words: str) -> None:
    Path("visits.ledger").unlink()
    dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=10, delta="1/1000")
    form = asked(epsilon="2") | changed
    plan = pages.post("/release/plan", form)
    assert 'role="alert"' not in plan, plan
    key = re.findall(r'"key": "([0-9a-f]{64})', pages.post("/release/review", form))[0]
    command = lines(plan, "command")
    assert "--dataset visits.toml" in command and words in command
    assert not re.search("--(unit|ledger|data) ", command)
    typed = shlex.split(command)[1:]
    assert json.loads(run(*typed, "--plan", "--json").stdout)["key"] == key
    scope: dict[str, dc.Release] = {}
    exec(lines(plan, "python"), scope)
    assert scope["released"].plan.key == key
    Path("request.toml").write_text(lines(plan, "file"), encoding="utf-8")
    request = dc.open_request("request.toml")
    assert request.dataset == "visits.toml" and not {"unit", "ledger", "data"} & {*request.content}
    assert json.loads(run("release", "request.toml", "--plan", "--json").stdout)["key"] == key


def test_what_replaces_the_declaration_is_named(pages: QuietPages) -> None:
    plan = pages.post("/release/plan", asked(how__site="values", values__site="1,2"))
    assert "domain of site" in plan
    assert "domain of site" not in pages.post("/release/plan", asked())


def test_what_is_missing_is_said_with_the_name_of_the_unit(pages: QuietPages) -> None:
    assert "“Groups per patient”" in pages.post("/release/plan", asked(max_groups=""))
    refusal = pages.post("/release/plan", asked(by="smokes", how__smokes="declared"))
    assert 'role="alert"' in refusal and "smokes" in refusal
    assert 'role="alert"' in pages.post("/release/plan", asked(table="visits WHERE 1"))


def test_a_table_in_latin_1_is_counted_by_its_encoding(pages: QuietPages) -> None:
    form = asked(table="homes", by="region", how__region="declared", folder="homes")
    assert REGION in pages.look("/release/new?data=visits.toml&table=homes")
    page = pages.release(form)
    assert "within noise of zero" not in page
    released = dc.open_bundle("out/homes")
    assert released.request["encoding"] == "latin-1" and abs(released.rows()[0]["count"] - 207) < 40


def test_a_page_says_that_all_counts_are_within_noise_of_zero(pages: QuietPages) -> None:
    page = pages.release(asked(how__site="values", values__site="7,8", level="0.999999"))
    warning = re.findall(r'<div class="warning".*?</div>', page, re.DOTALL)
    assert len(warning) == 1 and NEAR_ZERO in html.unescape(warning[0])
    assert page.count("within noise of zero") == 1
    assert "within noise of zero" not in pages.release(asked(folder="second"))


def test_no_page_of_a_dataset_has_a_true_count(pages: QuietPages, folder: Path) -> None:
    """137, 89 and 85 people in three sites: a page that had counted would say so."""
    shown = [pages.look(path) for path in ("/", "/datasets/1", "/release/new?data=visits.toml&table=visits")]
    shown += [pages.post(path, asked(where="site = 1")) for path in ("/release/plan", "/release/review")]
    for body in shown:
        assert not true_counts(body, folder)
    assert true_counts("<td>89</td>", folder) == ["89"]  # one that is shown is noticed


# ------------------------------------------------------------------------------------------------ ledgers of plain data


def test_a_ledger_that_is_bound_to_the_data_is_chosen_and_fixes_the_unit(folder: Path) -> None:
    dc.Ledger.create("odd.ledger", dataset="odd", unit="row", epsilon=1)
    dc.Ledger.create("no_column.ledger", dataset="visits", unit="household", epsilon=1)
    pages = opened(data=("visits.csv",), ledgers=("odd.ledger", "no_column.ledger", "visits.ledger"))
    form = pages.look("/release/new?data=visits.csv&table=visits")
    assert "one <code>person</code>" in form and 'name="unit" value="person"' in form
    offered = re.findall(r"<option[^>]*>([^<]*)", re.findall('<select id="ledger".*?</select>', form, re.DOTALL)[0])
    assert offered == ["visits.ledger", "none: only plan"]
    plan = pages.post("/release/plan", asked(data="visits.csv", how__site="values", unit="person"))
    assert 'role="alert"' not in plan and "dc.release_counts" in plan


def test_rows_are_the_unit_where_the_ledger_says_so(folder: Path) -> None:
    Path("visits.ledger").unlink()
    dc.Ledger.create("rows.ledger", dataset="visits", unit="row", relation="substitution", epsilon=1)
    pages = opened(data=("visits.csv",), ledgers=("rows.ledger",))
    form = pages.look("/release/new?data=visits.csv&table=visits")
    assert "one row of" in form and "max_groups" not in form and 'value="substitution"' in form
    typed = asked(data="visits.csv", how__site="values", unit="row", relation="substitution", ledger="rows.ledger")
    assert "would be paid" in pages.post("/release/plan", typed)


def test_several_units_or_none_are_a_choice(folder: Path) -> None:
    dc.Ledger.create("rows.ledger", dataset="visits", unit="row", epsilon=1)
    dc.Ledger.create("odd.ledger", dataset="odd", unit="row", epsilon=1)
    for ledgers, units in (
        (("visits.ledger", "rows.ledger"), ["", "person", "row"]),
        (("odd.ledger",), ["", "row", "person", "site", "age", "smokes"]),
    ):
        form = opened(data=("visits.csv",), ledgers=ledgers).look("/release/new?data=visits.csv&table=visits")
        choice = re.findall('<select id="unit".*?</select>', form, re.DOTALL)[0]
        assert re.findall('<option value="([^"]*)"', choice) == units
        assert [name in form for name in ledgers] == [True] * len(ledgers)


# ------------------------------------------------------------------------------------------------ the data set's page


def test_the_page_of_a_dataset_has_what_show_and_check_say(pages: QuietPages) -> None:
    assert 'href="/datasets/1"' in pages.look("/")
    page = pages.look("/datasets/1")
    for words in ("one patient", "1..3", "encoding latin-1", "epsilon 10 is left of epsilon 10", "are as it declares"):
        assert words in page, words
    assert 'table=homes"' in page
    assert "visits.ledger" in pages.look("/ledgers")
    Path("visits.toml").write_text(TEXT.replace("site =", "sight ="), encoding="utf-8")  # it is read each time
    assert "sight" in pages.look("/datasets/1") and "are as it declares" not in pages.look("/datasets/1")
    Path("visits.toml").write_text("nothing of the kind")
    for path in ("/", "/release", "/datasets/1", "/release/new?data=visits.toml&table=visits"):
        assert "Traceback" not in pages.look(path) and pages.ask(path).status < 500
    assert pages.ask("/datasets/2").status == pages.ask("/datasets/x").status == 404


def test_a_ledger_that_is_missing_is_said_on_the_form_and_the_page(pages: QuietPages) -> None:
    Path("visits.ledger").unlink()
    for path in ("/release/new?data=visits.toml&table=visits", "/datasets/1"):
        assert "there is no ledger" in pages.look(path).lower()
    assert 'role="alert"' in pages.post("/release/plan", asked())


def test_without_a_ledger_it_can_only_be_planned(folder: Path) -> None:
    Path("visits.toml").write_text(TEXT.replace('ledger = "visits.ledger"', ""), encoding="utf-8")
    pages = opened("visits.toml")
    assert "No ledger is declared" in (plan := pages.post("/release/plan", asked()))
    assert re.search(r'id="look"[^>]* disabled', plan)
    assert 'role="alert"' in pages.post("/release/review", asked())


def test_hostile_names_of_a_declaration_are_text(folder: Path) -> None:
    values = ", ".join(json.dumps(text) for text in HOSTILE)
    Path("visits.toml").write_text(TEXT.replace('site = "1..3"', f"site = [{values}]"), encoding="utf-8")
    pages = opened("visits.toml")
    for path in ("/release/new?data=visits.toml&table=visits", "/datasets/1"):
        page = pages.look(path)
        assert "alert(2)" in page and HOSTILE[0] not in page and HOSTILE[1] not in page


# ------------------------------------------------------------------------------------------------ once for each request


@pytest.mark.parametrize("form", [asked(), asked(data="visits.csv", how__site="values", unit="person")])
def test_one_request_does_everything_once(folder: Path, monkeypatch: pytest.MonkeyPatch, form: dict[str, str]) -> None:
    """The release itself rehearses once more than nothing: immediately before it reserves."""
    pages = opened("visits.toml", data=("visits.csv",), ledgers=("visits.ledger",))
    form |= {"ledger": "" if form["data"].endswith(".toml") else "visits.ledger"}
    functions = (only_statement, read_question, plan_request, recorded_answer, counts._rehearse)
    calls = count_calls(monkeypatch, *functions)
    opening = count_calls(monkeypatch, open_source, counted=lambda data, *_, **__: not hasattr(data, "rehearse"))
    ledgers = count_ledgers(monkeypatch)

    def of_this_request() -> dict[str, int]:
        counted = {**calls, **opening, **ledgers}
        for counter in (calls, opening, ledgers):
            counter.clear()
        return counted

    once = {function.__name__: 1 for function in (*functions, open_source)} | {"Ledger.open": 1}
    pages.look(f"/release/new?data={form['data']}&table=visits")
    assert of_this_request() == {"open_source": 1, "Ledger.open": 1}
    pages.post("/release/plan", form)
    assert of_this_request() == once
    review = pages.post("/release/review", form)
    assert of_this_request() == once
    key = re.findall(r'"key": "([0-9a-f]+)"', review)[0]
    assert "hx-redirect" in pages.ask("/release/run", {**form, "key": key}).headers
    assert of_this_request() == once
    pages.post("/release/plan", form)  # the control: nothing is kept, and what is done twice is counted twice
    pages.post("/release/plan", form)
    twice = {name: 2 for name in once if name != "_rehearse"}  # a recorded answer needs no rehearsal
    assert of_this_request() == twice


def count_ledgers(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    calls: Counter[str] = Counter()
    original = Ledger.open

    def counting(path: str, **options: object) -> Ledger:
        calls["Ledger.open"] += 1
        return original(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "open", staticmethod(counting))
    return calls


# ------------------------------------------------------------------------------------------------ starting


def test_serve_hands_datasets_on_and_refuses_what_declares_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, ...]] = []
    monkeypatch.setattr("discreet.web.serve.serve", lambda *given: started.append(given))
    invoke("serve", "reports.db", "--dataset", "visits.toml", "--dataset", "other.toml")
    assert started[0][-1] == ("visits.toml", "other.toml")
    with refused(InvalidInput, "data", token="--dataset"):
        invoke("serve", "reports.db", "--dataset", "visits.toml", "--no-pages")
    Path("other.toml").write_text("x = 1")
    from discreet.collect.service.serve import Settings

    with refused(UnreadableFile, token="other.toml"):
        serve(Settings(store="reports.db"), datasets=("visits.toml", "other.toml"))


def test_serve_searches_for_no_dataset(folder: Path) -> None:
    assert "visits" not in opened().look("/release").replace("visits.csv", "").replace("visits.toml", "")
    assert "/datasets/" not in opened().look("/")


def test_a_ledger_of_a_dataset_that_is_named_too_is_one_ledger(folder: Path) -> None:
    pages = opened("visits.toml", ledgers=(str(folder / "visits.ledger"),))
    assert pages.look("/ledgers").count('href="/ledgers/') == 1
