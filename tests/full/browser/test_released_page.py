"""The page of a release, as the README shows it: the question of its first example, in a real browser."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.command_line import run
from support.pages import README, blocks, commands
from support.paths import ROOT

pytestmark = pytest.mark.xdist_group("browser")

#: Where the picture of the README is kept; nowhere unless somebody asks for it.
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


def test_the_released_page_is_accessible_and_fits_with_its_table_and_guarantee(
    chromium: Browser, released: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    complaints: list[str] = []
    context = chromium.new_context(viewport={"width": WIDE, "height": 800}, device_scale_factor=2)
    page = context.new_page()
    page.on("console", lambda one: complaints.append(one.text))
    page.on("pageerror", lambda one: complaints.append(str(one)))
    page.goto(released.as_uri())
    assert Axe().run(page).response["violations"] == [] and complaints == []
    expect(page.locator("main")).to_contain_text("This publication protects one person")
    counts = page.locator("table.cross tbody td strong").all_inner_texts()
    assert len(counts) == 24 and all(re.fullmatch(r"\d[\d,]*", count) for count in counts)
    for width in (PHONE, WIDE):
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, width
    if PICTURES:
        take_picture(page, Path(PICTURES) / "released-table.png")
    context.close()


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
