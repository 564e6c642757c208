"""The form of a release: what it shows and keeps, where its refusals belong, and the preview that opens nothing."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import urllib.parse
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import InvalidInput
from discreet.web.frame.settings import PageSettings
from discreet.web.pages.release_form import DEFAULTS, ReleaseForm
from support.serving_pages import HOSTILE, QuietPages

TOWNS = [f"town {k}" for k in range(60)]
TEXT = f"""format = "discreet dataset"
dataset = "visits"
unit = "person"
unit_name = "patient"
ledger = "visits.ledger"
publisher = "Office"

[tables.visits]
data = "visits.csv"

[columns]
site = "1..3"
age = {{ bands = [20, 30, 45, 70] }}
sex = ["f", "m"]
town = {json.dumps([*TOWNS, "Aalst, east", "*"])}
"""
NEW = "/release/new?data=visits.toml&table=visits"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{k},{1 + k % 3},{20 + k % 50},{'fm'[k % 2]},town {k % 60},{k}\n" for k in range(311))
    Path("visits.csv").write_text(f"person,site,age,sex,town,income\n{rows}")
    Path("visits.toml").write_text(TEXT)
    dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=10)
    return tmp_path


@pytest.fixture
def pages(folder: Path) -> QuietPages:
    return QuietPages(PageSettings(("127.0.0.1:1",), (), (), "out", datasets=("visits.toml",)))


def asked(**changed: str) -> dict[str, str]:
    form = {
        "data": "visits.toml", "table": "visits", "by": "site", "how:site": "declared", "values:site": "1..3",
        "max_groups": "1", "epsilon": "1", "folder": "first", "unit_word": "patient", "total": "5000",
    }  # fmt: skip
    return form | {name.replace("__", ":"): value for name, value in changed.items()}


def command(plan: str) -> str:
    return re.findall(r'<code id="command">\n?(.*?)</code>', plan, re.DOTALL)[0]


# ------------------------------------------------------------------------------------------------ the first look


def test_nothing_is_refused_or_planned_before_the_first_input(pages: QuietPages) -> None:
    form = pages.look(NEW)
    assert 'role="alert"' not in form and "Tick the columns" in form
    assert re.findall('hx-trigger="([^"]*)"', form)[0].startswith("input")  # and not: load


def test_long_lists_are_shown_by_their_number_and_typed_one_on_each_line(pages: QuietPages) -> None:
    form = pages.look(NEW)
    assert "62 values: town 0, town 1" in form
    area = html.unescape(re.findall('<textarea name="values:town".*?\n(.*?)</textarea>', form, re.DOTALL)[0])
    assert area.splitlines() == [*TOWNS, "Aalst, east", "*"]
    keys = [
        re.findall('"key": "([0-9a-f]{64})', pages.post("/release/review", asked(by="town", **fields)))[0]
        for fields in ({"how__town": "declared"}, {"how__town": "values", "values__town": area})
    ]
    assert keys[0] == keys[1]  # the lines ask for the groups as they are declared
    plan = pages.post("/release/plan", asked(by="town", how__town="values", values__town="town 1\nAalst, east\n*\n"))
    assert "town=town 1," in command(plan) and "Aalst, east" in command(plan)
    assert re.search("3 town: 'town 1', 'Aalst, east'", plan)


def test_some_of_the_declared_values_are_ticked(pages: QuietPages) -> None:
    form = pages.look(NEW)
    assert form.count('name="pick:town"') == 62 and 'name="pick:sex"' not in form  # two values need no choice
    ticked = [("pick:town", "'town 1'"), ("pick:town", "'Aalst, east'")]
    plan = pages.post("/release/plan", [*asked(by="town", how__town="some").items(), *ticked])
    assert "(2 town: 'town 1', 'Aalst, east')" in plan
    assert "Declare the groups of" in pages.post("/release/plan", asked(by="town", how__town="some"))


# ------------------------------------------------------------------------------------------------ what matters


@pytest.mark.parametrize(
    ("changed", "unit", "left_out"),
    [
        ({"by": ""}, "person", {"max_groups", "totals", "one_row_each"}),
        ({}, "row", {"max_groups", "max_rows", "one_row_each"}),
        ({"how:site": "discover"}, "person", {"totals"}),
        ({"quantile:site": "0.5"}, "person", {"max_groups", "one_row_each"}),
        ({}, "person", {"one_row_each"}),
    ],
)
def test_fields_that_do_not_matter_are_not_asked(changed: dict[str, str], unit: str, left_out: set[str]) -> None:
    from starlette.datastructures import QueryParams

    typed = asked(totals="all", one_row_each="yes", max_groups="2", max_rows="4", delta="1e-6") | changed
    fields = ReleaseForm.read(QueryParams({name: value for name, value in typed.items() if value})).fields(unit)
    assert {"max_groups", "max_rows", "totals", "one_row_each"} - set(fields) == left_out


def test_the_groups_per_person_have_no_default_and_nothing_is_planned_without_them(pages: QuietPages) -> None:
    field = re.findall('<input id="max_groups"[^>]*>', pages.look(NEW))[0]
    assert 'value=""' in field
    for step in ("plan", "review"):
        answer = pages.post(f"/release/{step}", asked(max_groups=""))
        assert 'data-field="max_groups"' in answer and 'role="status"' in answer and "“Groups per patient”" in answer
        assert 'id="command"' not in answer and '"key"' not in answer
    median = asked(max_groups="", by="age", how__age="declared", quantile__age="0.5")
    one_count = {name: value for name, value in asked(max_groups="").items() if name != "by"}
    for form in (median, one_count):  # where it does not matter
        assert 'id="command"' in pages.post("/release/plan", form)


def test_rows_are_counted_where_their_number_is_typed(pages: QuietPages) -> None:
    field = re.findall('<input id="max_rows"[^>]*>', pages.look(NEW))[0]
    assert 'value=""' in field
    people, rows = (pages.post("/release/plan", asked(max_rows=most)) for most in ("", "3"))
    assert "--max-rows" not in command(people) and "--max-rows 3" in command(rows)
    assert "max_rows=3" in rows and "max_rows = 3" in html.unescape(rows)  # in Python, and in the request file
    assert "3 rows" in rows and "3 rows" not in people
    one_count = {name: value for name, value in asked(max_rows="3").items() if name not in ("by", "max_groups")}
    assert "3 rows" in pages.post("/release/plan", one_count)
    pages.release(asked(max_rows="3"))
    released = dc.open_bundle("out/first")
    assert released.plan.protection.max_rows == 3
    assert dc.verify("out/first", ledger="visits.ledger").holds


def test_rho_is_not_shown_to_somebody_who_asked_for_an_epsilon(pages: QuietPages) -> None:
    for changed in ({}, {"totals": "all"}, {"delta": "1e-7"}):
        assert not re.search(r"\brho\b", pages.post("/release/plan", asked(**changed)))
    gaussian = pages.post("/release/plan", asked(mechanism="discrete-gaussian", delta="1e-7"))
    assert re.search(r"\brho\b", gaussian)


def test_statements_and_quantiles_reach_the_bundle(pages: QuietPages) -> None:
    assert 'placeholder="Office"' in pages.look(NEW)
    form = asked(
        by="age", how__age="declared", quantile__age="0.25,0.5,0.75", title="Visits 2026", contact="info@office.example"
    )
    plan = pages.post("/release/plan", form)
    assert "--quantile age:0.5" in command(plan) and "--title" in command(plan)
    assert "quantiles of age" in plan and "Quantiles of age" in plan
    page = pages.release(form)
    assert "Visits 2026" in page and "info@office.example" in page and "quantiles.csv" in page
    released = dc.open_bundle("out/first")
    assert released.plan.publication.publisher == "Office" and len(released.quantiles()) == 3
    assert dc.verify("out/first", ledger="visits.ledger").holds


# ------------------------------------------------------------------------------------------------ all tables at once

MANY = [("by", "site"), ("by", "sex"), ("by", "age"), ("how:sex", "declared"), ("how:age", "declared")]


def many(**changed: str) -> list[tuple[str, str]]:
    form = asked(tables="2", max_groups="", **changed)
    return [*((name, value) for name, value in form.items() if name != "by"), *MANY]


def test_the_ticked_columns_become_all_tables_at_once(pages: QuietPages) -> None:
    form = pages.look(NEW)
    choices = re.findall('<select id="tables".*?</select>', form, re.DOTALL)[0]
    assert re.findall('value="([^"]*)"', choices) == ["", "1", "2", "3"]
    plan = pages.post("/release/plan", many())
    assert "site, sex, age" in command(plan) and "--tables 2" in command(plan) and "--max-groups" not in command(plan)
    assert "tables=2" in plan and "tables = 2" in html.unescape(plan)  # in Python, and in the request file
    for table in ("the total", "by site", "by sex", "by age", "by site and sex", "by site and age", "by sex and age"):
        assert re.search(rf"{table}: standard deviation [0-9.]+", plan)


def test_the_three_recipes_of_many_tables_are_the_same_request(pages: QuietPages) -> None:
    plan = pages.post("/release/plan", many())
    key = re.findall('"key": "([0-9a-f]{64})', pages.post("/release/review", many()))[0]
    words = shlex.split(html.unescape(command(plan)))
    python = html.unescape(re.findall(r'<code id="python">\n?(.*?)</code>', plan, re.DOTALL)[0])
    file = html.unescape(re.findall(r'<code id="file">\n?(.*?)</code>', plan, re.DOTALL)[0])
    names: dict[str, dc.BoundPlan] = {}
    exec(python.partition("released =")[0], names)
    assert names["plan"].key == key
    Path("request.toml").write_text(file)
    for arguments in (words[1:], ["release", "request.toml"]):
        answer = CliRunner().invoke(app, [*arguments, "--plan", "--json"])
        assert answer.exit_code == 0 and json.loads(answer.stdout)["key"] == key


def test_many_tables_are_released_and_shown_with_their_list(pages: QuietPages) -> None:
    page = pages.release(many())
    released = dc.open_bundle("out/first")
    assert len(released.plan.lead.margins.tables) == 7
    assert dc.verify("out/first", ledger="visits.ledger").holds
    contents = re.findall('<nav class="contents".*?</nav>', page, re.DOTALL)[0]
    targets = re.findall('href="#([^"]*)"', contents)
    assert len(targets) >= 7 and all(f'id="{target}"' in page for target in targets)
    again = html.unescape(re.findall('id="again" href="([^"]*)"', page)[0])
    assert '<option value="2" selected>' in pages.look(again)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"tables": "4"}, "tables"),
        ({"tables": "many"}, "tables"),
        ({"mechanism": "rounded-laplace"}, "mechanism"),
        ({"how:site": "discover", "delta": "1e-6"}, "values:site"),
        ({"how:site": "values", "values:site": "1"}, "tables"),
    ],
)
def test_a_refusal_of_many_tables_names_its_field(pages: QuietPages, changed: dict[str, str], field: str) -> None:
    form = [(name, value) for name, value in many() if name not in changed]
    plan = pages.post("/release/plan", [*form, *changed.items()])
    assert re.findall('data-field="([^"]*)"', plan) == [field]


def test_many_tables_need_their_columns(pages: QuietPages) -> None:
    plan = pages.post("/release/plan", [(name, value) for name, value in many() if name != "by"])
    assert re.findall('data-field="([^"]*)"', plan) == ["tables"] and 'role="status"' in plan


def test_fields_that_many_tables_do_not_have_are_not_asked(pages: QuietPages) -> None:
    typed = many(totals="all", max_rows="4", quantile__site="0.5", counts="signed")
    plan = pages.post("/release/plan", typed)
    assert not re.search("--(totals|max-rows|max-groups|quantile|counts)", command(plan))


# ------------------------------------------------------------------------------------------------ a period of the unit


@pytest.fixture
def dated(folder: Path) -> QuietPages:
    rows = "".join(f"p{k % 100},{1 + k % 3},2025-0{1 + k % 9}-03\n" for k in range(311))
    for name in ("months", "free"):
        Path(f"{name}.csv").write_text(f"person,site,seen\n{rows}")
    dc.Ledger.create("months.ledger", dataset="months", unit="person", epsilon=2, per="month")
    return QuietPages(PageSettings(("127.0.0.1:1",), ("months.ledger",), ("months.csv", "free.csv"), "out"))


def dated_form(table: str, **changed: str) -> dict[str, str]:
    form = {
        "data": f"{table}.csv", "table": table, "unit": "person", "by": "site", "how:site": "values",
        "values:site": "1..3", "max_groups": "1", "epsilon": "1", "folder": "first", "per": "month",
        "per_column": "seen",
    }  # fmt: skip
    return form | changed


def test_one_period_of_each_person_can_be_protected(dated: QuietPages) -> None:
    form = dated.look("/release/new?data=free.csv&table=free")
    choices = re.findall('<select id="per".*?</select>', form, re.DOTALL)[0]
    assert re.findall('value="([^"]*)"', choices) == ["", "day", "week", "month", "quarter", "year"]
    plan = dated.post("/release/plan", dated_form("free"))
    assert "--per month:seen" in command(plan) and 'per = "month:seen"' in plan
    assert "--per" not in command(dated.post("/release/plan", dated_form("free", per="")))
    assert "--per" not in command(dated.post("/release/plan", dated_form("free", unit="row")))


def test_a_ledger_by_month_fixes_the_granularity(dated: QuietPages) -> None:
    form = dated.look("/release/new?data=months.csv&table=months")
    assert '<input type="hidden" name="per" value="month">' in form and 'id="per_column"' in form
    assert "one month of one" in form
    chosen = dated_form(
        "months", ledger="months.ledger", where="seen >= DATE '2025-02-01' AND seen < DATE '2025-03-01'"
    )
    page = dated.release(chosen)
    assert dc.open_bundle("out/first").plan.protection.who.per.text == "month:seen"
    ledger = dc.Ledger.open("months.ledger")
    assert (ledger.left("2025-02").epsilon, ledger.left("2025-03").epsilon) == (1, 2) and "first" in page


def test_a_period_without_its_date_column_names_its_field(dated: QuietPages) -> None:
    plan = dated.post("/release/plan", dated_form("free", per_column=""))
    assert re.findall('data-field="([^"]*)"', plan) == ["per_column"]
    assert 'role="status"' in plan  # not typed yet, so no mistake


def test_a_declared_period_is_stated_and_not_asked(folder: Path, dated: QuietPages) -> None:
    Path("months.toml").write_text(
        'format = "discreet dataset"\ndataset = "months"\nunit = "person"\nunit_name = "patient"\n'
        'per = "month:seen"\nledger = "months.ledger"\n\n[tables.months]\ndata = "months.csv"\n'
    )
    declared = QuietPages(PageSettings(("127.0.0.1:1",), (), (), "out", datasets=("months.toml",)))
    form = declared.look("/release/new?data=months.toml&table=months")
    assert "month of one patient" in form and 'name="per' not in form


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"epsilon": "-1"}, "epsilon"),
        ({"max_groups": "x"}, "max_groups"),
        ({"max_rows": "x"}, "max_rows"),
        ({"max_rows": "0"}, "max_rows"),
        ({"max_rows": "2", "by": "age", "how:age": "declared", "quantile:age": "0.5"}, "max_rows"),
        ({"level": "7"}, "level"),
        ({"delta": "2"}, "delta"),
        ({"edition": "\u0007"}, "edition"),
        ({"where": "age >>> 3"}, "where"),
        ({"where": "nothing = 3"}, "where"),
        ({"how:site": "values", "values:site": ""}, "values:site"),
        ({"how:site": "values", "values:site": "1,1"}, "values:site"),
        ({"by": "income", "how:income": "declared"}, "values:income"),
        ({"by": "age", "how:age": "declared", "quantile:age": "2"}, "quantile:age"),
        ({"by": "income", "how:income": "discover"}, "delta"),
        ({"sizes": "site,size\n1,5\n2\n"}, "sizes"),
        ({"sizes": "site,size\n1,5\n"}, "sizes"),
        ({"total": "many"}, "total"),
        ({"title": "x" * 400}, "title"),
    ],
)
def test_a_refusal_names_its_field(pages: QuietPages, changed: dict[str, str], field: str) -> None:
    plan = pages.post("/release/plan", asked() | changed)
    assert re.findall('data-field="([^"]*)"', plan) == [field]
    form = pages.look(NEW)
    assert f'name="{field}"' in form  # which the form has


def test_a_refusal_of_the_bundles_name_names_its_field(pages: QuietPages) -> None:
    assert 'data-field="folder"' in pages.post("/release/review", asked(folder="a/b"))
    assert 'data-field="epsilon"' in pages.post("/release/review", asked(epsilon="99"))


def test_what_is_not_typed_yet_is_no_mistake(pages: QuietPages) -> None:
    plan = pages.post("/release/plan", asked(by="income", how__income="values"))
    assert 'role="status"' in plan and 'role="alert"' not in plan
    wrong = pages.post("/release/plan", asked(by="income", how__income="values", values__income="1,1"))
    assert 'role="alert"' in wrong


def test_a_large_epsilon_is_named_weak(pages: QuietPages) -> None:
    assert "protects weakly" in pages.post("/release/plan", asked(epsilon="8"))
    assert "protects weakly" not in pages.post("/release/plan", asked(epsilon="2"))


# ------------------------------------------------------------------------------------------------ the preview


def test_the_preview_is_marked_and_moves_with_the_form(pages: QuietPages) -> None:
    plan = pages.post("/release/plan", asked())
    assert plan.count('data-word="SIMULATED"') > 100 and "made up" in plan
    sizes = "site,size\n1,4000\n2,70\n3,0\n"
    typed = pages.post("/release/plan", asked(sizes=sizes, epsilon="60", by="site"))
    assert ">4,000<" in typed and ">70<" in typed
    assert "SIMULATED" not in pages.post("/release/plan", asked(total="many"))


def test_the_preview_opens_neither_data_nor_ledger(pages: QuietPages, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.release.dataset import Dataset
    from discreet.web.pages import release_preview

    bound = Dataset.open("visits.toml").plan(by=["site"], max_groups=1, epsilon=1)
    form = ReleaseForm.read(_query(asked()))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("opened")

    for method in ("open", "answer", "quote", "recorded", "spent", "left"):
        monkeypatch.setattr(dc.Ledger, method, refuse)
    for method in ("count", "rehearse", "table"):
        monkeypatch.setattr(type(bound.source), method, refuse)
    monkeypatch.setattr("builtins.open", refuse)
    preview = release_preview.preview_of(bound.plan, form)
    monkeypatch.undo()
    assert preview.simulated is not None and preview.problem is None
    assert (
        preview.sizes.startswith("site,size\n1,")
        and sum(int(line.split(",")[1]) for line in preview.sizes.split()[1:]) == 5000
    )


def _query(form: dict[str, str]):  # type: ignore[no-untyped-def]
    from starlette.datastructures import QueryParams

    return QueryParams(form)


def test_a_preview_spends_nothing(pages: QuietPages) -> None:
    for draw in range(3):
        pages.post("/release/plan", asked(draw=str(draw)))
    assert not dc.Ledger.open("visits.ledger").entries() and not Path("out").exists()


def test_other_noise_is_another_draw(pages: QuietPages) -> None:
    tables = {
        re.findall("SIMULATED.*?</section>", pages.post("/release/plan", asked(draw=draw)), re.DOTALL)[0]
        for draw in "0123"
    }
    assert len(tables) > 1


# ------------------------------------------------------------------------------------------------ after the release


def test_after_a_release_the_form_is_kept(pages: QuietPages) -> None:
    form = asked(where="age > 30", how__site="values", values__site="1\n2", epsilon="2", title="Two sites")
    page = pages.release(form)
    assert re.search("epsilon 8 is left", page)
    again = html.unescape(re.findall('id="again" href="([^"]*)"', page)[0])
    kept = pages.look(again)
    for name, value in (("where", "age > 30"), ("title", "Two sites"), ("epsilon", "2")):
        assert html.unescape(re.findall(f'name="{name}" value="([^"]*)"', kept)[0]) == value
    assert re.search('name="by" value="site" checked', kept) and 'hx-trigger="load' in kept
    assert (
        html.unescape(re.findall('<textarea name="values:site".*?\n(.*?)</textarea>', kept, re.DOTALL)[0]) == "1\n2\n"
    )
    assert 'name="folder" value="visits_1"' in kept  # another bundle
    address = pages.ask("/release/plan", form).headers["hx-replace-url"]
    assert address == again and "person" not in address


def test_a_kept_form_asks_the_same(pages: QuietPages) -> None:
    form = asked(by="age", how__age="declared", quantile__age="0.5", delta="0", counts="signed", level="0.9")
    first = command(pages.post("/release/plan", form))
    address = pages.ask("/release/plan", form).headers["hx-replace-url"].partition("?")[2]
    again = dict(urllib.parse.parse_qsl(address)) | {"folder": "first"}
    assert command(pages.post("/release/plan", again)) == first


def test_the_workbook_of_a_bundle(pages: QuietPages) -> None:
    page = pages.release(asked())
    link = re.findall('href="([^"]*[.]xlsx)"', page)[0]
    answer = pages.ask(link)
    assert answer.status == 200 and "first.xlsx" in answer.headers["content-disposition"]
    assert "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(answer.body)).namelist()
    assert pages.ask("/release/bundles/none.xlsx").status == 404
    assert sorted(file.name for file in Path("out/first").iterdir() if file.suffix == ".xlsx") == []


def test_hostile_texts_in_an_address_are_escaped(pages: QuietPages) -> None:
    for text in HOSTILE:
        query = urllib.parse.urlencode(
            {"where": text, "title": text, "by": "site", "values:site": text, "sizes": text, "how:site": text}
        )
        page = pages.look(f"{NEW}&{query}")
        assert "<img src=x" not in page and "<script>alert" not in page and "Traceback" not in page
        assert "49" not in re.findall('id="where"[^>]*', page)[0]


def test_every_field_of_the_form_is_one_of_a_request(pages: QuietPages) -> None:
    form = pages.look(NEW)
    unknown = {name for name in DEFAULTS if f'name="{name}"' not in form} - {"error", "relation", "one_row_each"}
    assert not unknown


def test_a_form_that_is_too_long_for_an_address_keeps_its_table(pages: QuietPages) -> None:
    long = "\n".join(f"town {k}" for k in range(3000))
    form = ReleaseForm.read(_query(asked(by="town", how__town="values", values__town=long)))
    assert form.query == "data=visits.toml&table=visits"
    with pytest.raises(InvalidInput):
        ReleaseForm.read(_query(asked(how__site="nonsense"))).fields("person")
