"""A real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from support.needs import need

#: A name that the browser takes for another computer: the page is not safe there without TLS.
ELSEWHERE = "survey.test"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    program = need("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(program), args=["--no-sandbox", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
        )
        yield browser
        browser.close()
