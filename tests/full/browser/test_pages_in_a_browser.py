"""The pages in a real browser: nothing leaves the computer, nothing is complained of, and anybody can use them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import discreet as dc
from support.serving_pages import HOSTILE, RunningPages, start_pages

pytestmark = pytest.mark.xdist_group("browser")

#: Where pictures of the pages are kept for the documentation; nowhere unless somebody asks for them.
PICTURES = os.environ.get("DISCREET_SCREENSHOTS")

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 860}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 860}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "has_touch": True},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPages]:
    made = start_pages(tmp_path_factory.mktemp("pages"))
    counts, places = dc.geometric(12, epsilon=1), dc.planar_geometric(dc.Grid(6, 8, cell=100.0), epsilon="1/100")
    votes = dc.randomized_response(HOSTILE, epsilon=1)
    for name, mechanism, title, question in (
        ("visits", counts, "Visits", "How often did you see a doctor this year?"),
        ("homes", places, "Homes", "Where do you live?"),
        ("votes", votes, HOSTILE[0], HOSTILE[1]),
    ):
        assert made.create(made.token, {"main": mechanism}, name, title=title, question=question).status == 201
    assert made.report(counts.simulate([k % 7 for k in range(600)], seed=1).tolist(), name="visits").status == 201
    assert made.report(places.simulate([k % 20 for k in range(900)], seed=2).tolist(), name="homes").status == 201
    reports = [str(one) for one in votes.simulate([HOSTILE[k % 3] for k in range(300)], seed=3)]
    assert made.report(reports, name="votes").status == 201
    yield made
    made.stop()


class Visitor:
    """A browser that came in by the link, with all that left it and all that it complained of."""

    def __init__(self, browser: Browser, pages: RunningPages, **options: Any) -> None:
        self.pages, self.complaints, self.away = pages, [], []
        self.context: BrowserContext = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda one: self.complaints.append(one.text))
        self.page.on("pageerror", lambda one: self.complaints.append(str(one)))
        self.page.on("dialog", lambda one: (self.complaints.append(one.message), one.dismiss()))
        self.page.on("request", lambda one: None if one.url.startswith(pages.origin) else self.away.append(one.url))
        self.page.goto(pages.link())
        self.page.get_by_role("navigation").wait_for()

    def go(self, path: str) -> Page:
        self.page.goto(self.pages.origin + path)
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until every chart is drawn."""
        for place in self.page.locator("[data-chart]").all():
            place.locator("canvas").first.wait_for(state="attached")

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.away if not url.startswith(("data:", "blob:"))] == []


@pytest.fixture
def visitor(chromium: Browser, pages: RunningPages) -> Iterator[Visitor]:
    made = Visitor(chromium, pages)
    yield made
    made.close()


def plan_a_release(page: Page, folder: str) -> None:
    page.get_by_label("site text").check()
    page.get_by_label("Groups of site", exact=True).fill("1..3")
    page.get_by_label("Groups per person").fill("1")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Edition").fill(folder)
    page.get_by_label("Name of the bundle").fill(folder)
    expect(page.locator("#plan")).to_contain_text("would be paid")
    expect(page.locator("#command")).to_contain_text(f"-o {folder}")


def plan_from_the_dataset(page: Page, folder: str) -> None:
    """Nothing that is declared is typed: not the unit, not the groups, not the ledger."""
    page.get_by_label("site 1..3").check()
    page.get_by_label("Groups per person").fill("1")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Name of the bundle").fill(folder)
    expect(page.locator("#plan")).to_contain_text("would be paid")
    expect(page.locator("#command")).to_contain_text(f"-o {folder}")


def press_tab_until(page: Page, selector: str) -> None:
    """Move the focus by the tab key to an element."""
    for _ in range(80):
        if page.evaluate("(one) => document.activeElement.matches(one)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached")


def look_again(page: Page, reach: Callable[[str], None]) -> None:
    """Press the button of the plan, once more if the plan was brought up to date meanwhile and took the answer away."""
    for _ in range(3):
        reach("#look")
        page.keyboard.press("Enter")
        with suppress(AssertionError):
            expect(page.locator("#sure")).to_be_focused(timeout=15_000)
            return
    expect(page.locator("#sure")).to_be_focused()


def form_of(_: RunningPages) -> str:
    return "/release/new?data=visits.csv&table=visits"


#: Name of the picture -> path, and what is done before it is taken.
SHOWN: dict[str, str] = {
    "home": "/", "release": "", "release-dataset": "/release/new?data=clinic.toml&table=clinic",
    "release-preview": "/release/new?data=clinic.toml&table=clinic&by=age&how:age=bands&values:age=20,30,45,70&by=site"
    "&how:site=declared&totals=all&max_groups=1&epsilon=0.5&total=2000",
    "dataset": "/datasets/1", "releases": "/release", "design": "/design?n=8&epsilon=1&properties=F",
    "p-table": "/design/p-table", "verify": "/verify",
    "trade-off": "/trade-off", "collections": "/collections", "collection": "/collections/visits",
    "map": "/collections/homes", "ledgers": "/ledgers", "ledger": "/ledgers/1",
}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible_and_quiet(chromium: Browser, pages: RunningPages, look: str) -> None:
    """axe finds nothing (names, roles, contrast), the page fits its width, and nothing is complained of."""
    from axe_playwright_python.sync_playwright import Axe

    visitor = Visitor(chromium, pages, **LOOKS[look])
    for name, path in SHOWN.items():
        page = visitor.go(path or form_of(pages))
        if name == "release":
            plan_a_release(page, f"shown-{look}")
            visitor.settled()
        if name == "release-dataset":
            plan_from_the_dataset(page, f"clinic-{look}")
            visitor.settled()
        if name == "release-preview":
            expect(page.locator(".simulated .watermark")).to_be_visible()
            visitor.settled()
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == [], name
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, (name, look, wide)
        if PICTURES:
            page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
            for one in page.locator(".work > form").all():
                one.evaluate("(form) => form.scrollTo(0, 0)")
            if name == "release-preview":
                page.evaluate("() => document.getElementById('preview-title').scrollIntoView()")
            page.screenshot(path=Path(PICTURES) / f"{name}-{look}.png")
    visitor.close()


def test_a_used_link_says_where_the_next_one_is(chromium: Browser, pages: RunningPages) -> None:
    used = pages.link()
    Visitor(chromium, pages).close()
    page = chromium.new_page()
    page.goto(used)
    expect(page.get_by_text("This link was already used")).to_be_visible()
    page.close()


def test_whoever_logs_out_or_is_logged_out_sees_the_entrance(visitor: Visitor) -> None:
    """Also where a page of a session that ended asks for a piece of itself."""
    page = visitor.go("/design")
    other = visitor.context.new_page()
    other.goto(f"{visitor.pages.origin}/trade-off")
    other.get_by_role("button", name="Log out").click()
    entrance = "Open the link from the terminal"
    expect(other.get_by_role("heading", name=entrance)).to_be_visible()
    other.goto(f"{visitor.pages.origin}/design")
    expect(other.get_by_role("heading", name=entrance)).to_be_visible()
    page.locator("input[name=n]").first.fill("7")
    expect(page.get_by_role("heading", name=entrance)).to_be_visible()
    visitor.complaints.clear()  # of the two answers with status 403


def test_all_tables_at_once_from_ticked_columns(visitor: Visitor) -> None:
    """Tick columns, choose all tables: fields of one table disappear; the plan has the error of each table."""
    page = visitor.go(form_of(visitor.pages))
    for column, way, groups in (("site", "values", "1..3"), ("age", "bands", "20,30,45,70")):
        page.get_by_label(f"{column} text").check()
        page.get_by_label(f"How the groups of {column} are declared").select_option(way)
        page.get_by_label(f"Groups of {column}", exact=True).fill(groups)
    expect(page.get_by_label("Groups per person")).to_be_visible()
    page.get_by_label("Tables").select_option("2")
    expect(page.get_by_label("Groups per person")).to_be_hidden()
    expect(page.locator("#command")).to_contain_text("--tables 2")
    expect(page.locator("#plan")).to_contain_text("by site and age: standard deviation")


def test_a_release_by_keyboard_alone(visitor: Visitor) -> None:
    """Tab, space, letters and Enter lead from the empty form to the bundle's page."""
    page, pages = visitor.go(form_of(visitor.pages)), visitor.pages
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"

    reach = partial(press_tab_until, page)
    reach('input[name="by"][value="site"]')
    page.keyboard.press("Space")
    reach('textarea[name="values:site"]')
    page.keyboard.type("1..3")
    reach("#max_groups")
    page.keyboard.type("1")
    reach("#ledger")  # which is chosen already, as it is bound to this data
    expect(page.locator("#look")).to_be_enabled()
    look_again(page, reach)
    reach("#confirm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/release/bundles/**")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Counts of visits by site")
    visitor.settled()
    name = page.url.rstrip("/").rpartition("/")[2]
    assert dc.verify(pages.folder / "released" / name, ledger=pages.folder / "visits.ledger").holds


def test_a_release_from_a_dataset_by_keyboard_alone(visitor: Visitor) -> None:
    """The page of the data set leads to the form; Space ticks a declared column, and its groups are not typed."""
    page, pages = visitor.go("/"), visitor.pages

    reach = partial(press_tab_until, page)
    reach('a[href="/datasets/1"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/1")
    reach('main a[href^="/release/new"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/release/new**")
    expect(page.locator("form .fixed")).to_contain_text("This protects one person")
    reach('input[name="by"][value="site"]')
    page.keyboard.press("Space")
    expect(page.get_by_label("Groups of site", exact=True)).to_be_hidden()
    reach("#max_groups")
    page.keyboard.type("1")
    expect(page.locator("#look")).to_be_enabled()
    look_again(page, reach)
    reach("#confirm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/release/bundles/**")
    expect(page.locator("#left")).to_contain_text("epsilon 3 is left of epsilon 4")
    visitor.settled()
    name = page.url.rstrip("/").rpartition("/")[2]
    assert dc.verify(pages.folder / "released" / name, ledger=pages.folder / "clinic.ledger").holds


def test_the_release_form_says_nothing_before_it_is_asked_and_has_one_scroll_bar(visitor: Visitor) -> None:
    page = visitor.go("/release/new?data=clinic.toml&table=clinic")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#plan")).to_contain_text("Tick the columns")
    for name in ("max_groups", "delta"):
        expect(page.locator(f"#{name}")).to_be_hidden()
    page.get_by_label("site 1..3").check()
    expect(page.locator("#max_groups")).to_have_value("")
    expect(page.locator("#plan [role=status]")).to_contain_text("Say in how many groups one person is counted")
    expect(page.locator("#plan [role=alert]")).to_have_count(0)
    page.locator("#max_groups").fill("1")
    expect(page.locator("#command")).to_contain_text("--max-groups 1")
    scrolling = page.evaluate(
        """() => [...document.querySelectorAll(".work, .work *")]
           .filter((one) => one.scrollHeight > one.clientHeight + 1)
           .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowY)).map((one) => one.className)"""
    )
    assert scrolling == []


def test_the_preview_is_watermarked_and_follows_the_form(visitor: Visitor) -> None:
    page = visitor.go("/release/new?data=clinic.toml&table=clinic")
    page.get_by_label("site 1..3").check()
    page.locator("#max_groups").fill("1")
    expect(page.locator(".simulated .watermark")).to_be_visible()
    visitor.settled()
    page.get_by_text("The made-up sizes behind it").click()
    page.get_by_role("button", name="Edit them").click()
    expect(page.locator("#sizes")).to_be_focused()
    page.locator("#sizes").fill("site,size\n1,123456\n2,5\n3,0\n")
    expect(page.locator(".simulated")).to_contain_text("123,4")
    page.locator("#sizes").fill("site,size\n1,123456\n")
    expect(page.locator("#sizes")).to_have_attribute("aria-invalid", "true")
    visitor.settled()


def test_a_refusal_opens_and_focuses_its_field_when_somebody_asks(visitor: Visitor) -> None:
    """While somebody types, the keyboard stays; Enter leads to the field."""
    page = visitor.go("/release/new?data=clinic.toml&table=clinic")
    page.get_by_label("site 1..3").check()
    page.locator("#max_groups").fill("1")
    more = page.locator("summary", has_text=re.compile("^More$"))
    more.click()
    page.locator("#level").fill("7")
    more.click()
    expect(page.locator("#level")).to_be_visible()  # the refusal has opened what hid it
    expect(page.locator("#level")).to_have_attribute("aria-invalid", "true")
    page.locator("#where").fill("site = 1")
    expect(page.locator("#plan [role=alert]")).to_contain_text("Coverage of intervals")
    expect(page.locator("#where")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#level")).to_be_focused()
    page.locator("#level").fill("0.9")
    expect(page.locator("#command")).to_contain_text("--level 0.9")
    expect(page.locator("#level")).not_to_have_attribute("aria-invalid", "true")
    page.locator("#where").fill("nothing = 1")
    page.get_by_role("button", name="Go to the field").click()
    expect(page.locator("#where")).to_be_focused()
    page.locator("#where").fill("")
    expect(page.locator("#look")).to_be_enabled()
    page.locator("#folder").fill("no/folder")
    expect(page.locator("#command")).to_contain_text("no/folder")
    more.click()
    page.locator("#look").click()
    expect(page.locator("#folder")).to_be_focused()
    visitor.settled()


def test_a_form_is_kept_when_it_is_reloaded_and_after_a_release(visitor: Visitor) -> None:
    page = visitor.go("/release/new?data=clinic.toml&table=clinic")
    page.get_by_label("site 1..3").check()
    page.locator("#max_groups").fill("1")
    page.select_option('select[name="how:site"]', "values")
    page.locator('[name="values:site"]').fill("1\n2")
    page.locator("#where").fill("age > 20")
    page.wait_for_url("**age*20**")
    page.reload()
    expect(page.locator("#where")).to_have_value("age > 20")
    expect(page.locator('[name="values:site"]')).to_have_value("1\n2\n")
    page.locator("#epsilon").fill("0.25")
    expect(page.locator("#command")).to_contain_text("--epsilon 0.25")
    page.locator("#look").click()
    page.locator("#confirm").click()
    page.wait_for_url("**/release/bundles/**")
    with page.expect_download() as workbook:
        page.get_by_role("link", name="Excel").click()
    assert workbook.value.suggested_filename.endswith(".xlsx")
    page.get_by_role("link", name="Ask something else").click()
    expect(page.locator("#epsilon")).to_have_value("0.25")
    expect(page.locator("#plan")).to_contain_text("recorded already")
    visitor.settled()


@pytest.mark.parametrize(("media", "width"), [("screen", 1300), ("print", 1050)])
def test_a_wide_table_is_whole_on_a_screen_and_on_paper(
    chromium: Browser, tmp_path: Path, media: Literal["screen", "print"], width: int
) -> None:
    """Twelve columns and a total, with long names, on A4 across: no column is cut off."""
    sectors = [
        "Agriculture, forestry and fishing", "Mining and quarrying", "Manufacturing", "Electricity, gas and steam",
        "Water supply and sewerage", "Construction", "Wholesale and retail trade", "Transportation and storage",
        "Accommodation and food", "Information and communication", "Finance and insurance", "Real estate activities",
    ]  # fmt: skip
    domain = {"region": [f"West-Vlaanderen {k}" for k in range(11)], "sector": sectors}
    sql = "SELECT region, sector, COUNT(*) FROM jobs GROUP BY region, sector"
    plan = dc.plan_release(sql, data="jobs", unit="row", domain=domain, epsilon=1, totals="all")
    file = dc.simulate_release(plan, 200_000).report().save(tmp_path / "wide.html")
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.emulate_media(media=media)
    page.goto(file.as_uri())
    table = page.locator(".broad").first
    assert table.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 1
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.close()


def test_dragging_redraws_a_closed_form_and_the_address_follows(visitor: Visitor) -> None:
    page = visitor.go("/design?n=8&epsilon=1")
    first = page.locator(".chart").first.get_attribute("data-chart")
    page.locator("#n-slider").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#n")).to_have_value("12")
    page.wait_for_url("**/design?n=12&**")
    visitor.settled()
    assert page.locator(".chart").first.get_attribute("data-chart") != first
    expect(page.locator("#command")).to_contain_text("design -n 12")
    expect(page.get_by_text("What these mechanisms and columns are")).to_be_visible()
    again = visitor.page.url
    page.goto(again)
    expect(page.locator("#n")).to_have_value("12")
    expect(page.locator("#epsilon-words")).to_contain_text("alpha = 0.368")


def test_a_linear_program_shows_progress_and_is_cancelled(visitor: Visitor) -> None:
    page = visitor.go("/design?n=150&epsilon=0.05&loss=L1&properties=WH,CM")
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("Cancelled")
    page.goto(f"{visitor.pages.origin}/design?n=5&epsilon=1&loss=L1&properties=WH")
    expect(page.get_by_role("heading", name="Which properties it has")).to_be_visible(timeout=30_000)
    visitor.settled()


def test_a_file_that_is_dropped_is_judged(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.go("/verify")
    file = tmp_path / f"{HOSTILE[2]}.csv"
    file.write_text("0.9,0.1\n0.1,0.9\n")
    page.locator("#files").set_input_files(file)
    expect(page.locator("#verdict")).to_contain_text("a matrix of 2 truths by 2 reports")
    expect(page.locator("#verdict")).to_contain_text("{{ 7 * 7 }}")
    visitor.settled()
    assert page.locator("[data-chart]").count() == 2  # the table with its witness, and delta for every epsilon


def test_a_collection_is_brought_up_to_date_as_reports_arrive(visitor: Visitor) -> None:
    page = visitor.go("/collections/visits")
    shown = page.locator("#now")
    before = int(re.findall(r"([\d,]+)\s*reports", shown.inner_text())[0].replace(",", ""))
    assert visitor.pages.report([3] * 400, name="visits").status == 201
    expect(shown).to_contain_text(f"{before + 400:,}", timeout=25_000)
    visitor.settled()


def test_a_map_can_be_moved_and_enlarged(visitor: Visitor) -> None:
    page = visitor.go("/collections/homes")
    chart = page.locator("[data-chart]").first
    chart.scroll_into_view_if_needed()
    before = chart.locator("canvas").evaluate("(one) => one.toDataURL()")
    box = chart.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(400)
    enlarged = chart.locator("canvas").evaluate("(one) => one.toDataURL()")
    assert enlarged != before
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4 + 40, box["y"] + box["height"] / 4 + 10)
    page.mouse.up()
    page.wait_for_timeout(300)
    assert chart.locator("canvas").evaluate("(one) => one.toDataURL()") != enlarged


def test_hostile_labels_run_nowhere(visitor: Visitor) -> None:
    for path in ("/collections", "/collections/votes", "/release/new?data=odd.csv&table=odd"):
        page = visitor.go(path)
        assert page.locator("img[src=x]").count() == 0
        assert "49" not in page.title()
    page.get_by_role("checkbox", name=HOSTILE[1]).check()
    page.wait_for_timeout(600)
