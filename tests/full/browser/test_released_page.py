"""Pages that are handed on, in a real browser: of the README's release, and of the editions of the tutorial."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from playwright.sync_api import Browser, Page, expect

import discreet as dc
from support.command_line import run
from support.pages import README, blocks, commands
from support.paths import ROOT

pytestmark = pytest.mark.xdist_group("browser")

#: Where pictures are kept for the documentation; nowhere unless somebody asks for it.
PICTURES = os.environ.get("DISCREET_SCREENSHOTS")

WIDE, PHONE = 920, 390


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle that the first commands of the README write."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "data").symlink_to(ROOT / "data")
    first = next(block for kind, block, _ in blocks(README) if kind == "console")
    for command, code, _ in commands(first):
        program, *arguments = shlex.split(command)
        assert program == "discreet"
        run(*arguments, code=code, cwd=folder)
    (page,) = folder.glob("*/index.html")
    return page


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of four editions, as in the tutorial on four quarters."""
    folder = tmp_path_factory.mktemp("quarters")
    ledger = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=4)
    bundles = []
    for year in range(1, 5):
        table = folder / f"quarter_{year}.csv"
        rows = f"SELECT person, site, health FROM '{ROOT / 'data' / 'doctor_visits.csv.gz'}' WHERE year = {year}"
        duckdb.sql(f"COPY ({rows}) TO '{table}' (HEADER)")
        bundles.append(folder / f"2026-Q{year}")
        dc.release_counts(
            f"SELECT site, health, COUNT(*) FROM {table.stem} GROUP BY site, health", data=table, dataset="visits",
            edition=f"2026-Q{year}", unit="person", max_groups=1, epsilon=0.5, ledger=ledger, out=bundles[-1],
            domain={"site": [*range(1, 7)], "health": ["excellent", "good", "fair", "poor"]},
        )  # fmt: skip
    page = folder / "year.html"
    dc.compare_editions(bundles).report().save(page)
    return page


@contextmanager
def opened(chromium: Browser, file: Path) -> Iterator[Page]:
    """A page that is accessible, quiet, and no wider than a phone or a desk."""
    from axe_playwright_python.sync_playwright import Axe

    complaints: list[str] = []
    context = chromium.new_context(viewport={"width": WIDE, "height": 800}, device_scale_factor=2)
    page = context.new_page()
    page.on("console", lambda one: complaints.append(one.text))
    page.on("pageerror", lambda one: complaints.append(str(one)))
    page.goto(file.as_uri())
    assert "`" not in page.locator("header").inner_text()
    for width in (PHONE, WIDE):  # on a phone, tables and pictures scroll, also by keys
        page.set_viewport_size({"width": width, "height": 800})
        assert Axe().run(page).response["violations"] == [] and complaints == []
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, width
    yield page
    context.close()


def test_the_released_page_is_accessible_and_fits_with_its_table_and_guarantee(
    chromium: Browser, released: Path
) -> None:
    with opened(chromium, released) as page:
        expect(page.locator("main")).to_contain_text("This publication protects one person")
        counts = page.locator("table.cross tbody td strong").all_inner_texts()
        assert len(counts) == 24 and all(re.fullmatch(r"\d[\d,]*", count) for count in counts)
        if PICTURES:
            take_picture(page, Path(PICTURES) / "released-table.png")


def test_the_page_of_editions_is_accessible_and_fits_with_its_chart(chromium: Browser, editions: Path) -> None:
    with opened(chromium, editions) as page:
        charts = page.locator("main figure svg")
        assert charts.count() >= 2  # of the counts, and of their growth
        if PICTURES:
            end = charts.first.bounding_box()
            assert end is not None
            page.set_viewport_size({"width": WIDE, "height": round(end["y"] + end["height"]) + 30})
            page.screenshot(path=Path(PICTURES) / "editions.png")


def take_picture(page: Page, path: Path) -> None:
    """Save the page down to its table, without the chart above it."""
    page.add_style_tag(
        content="figure, .note, details { display: none } header { padding-top: 1rem } h1 { margin-bottom: 0.8rem }"
        "section { margin-block: 0.8rem }"
    )
    table = page.locator("table.cross").first.bounding_box()
    assert table is not None
    height = round(table["y"] + table["height"]) + 16
    page.set_viewport_size({"width": WIDE, "height": height})
    page.screenshot(path=path)
