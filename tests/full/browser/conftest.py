"""A real browser, and a service with surveys for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.chromium import ELSEWHERE
from support.running_service import RunningService
from support.service_fixtures import managed_service
from support.surveys import SURVEYS
from support.tabs import Tab, open_page

__all__ = ["ELSEWHERE"]


@dataclass(frozen=True)
class Site:
    """A service with surveys, and a token that manages it."""

    service: RunningService
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    def answer_page(self, name: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.service.port}/collections/{name}/answer"

    def counts(self, name: str) -> dict[str, dict[Any, int]]:
        return self.service.counts(self.token, name)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with managed_service(tmp_path_factory.mktemp("site")) as (service, token):
        for name, (texts, mechanisms) in SURVEYS.items():
            assert service.create(token, mechanisms, name, **texts).status == 201
        yield Site(service, token)


@pytest.fixture
def open_tab(chromium: Browser) -> Iterator[Callable[..., Tab]]:
    """Opens a page in a browser that remembers nothing."""
    tabs: list[Tab] = []

    def opened(url: str, seed: int | None = None, **options: Any) -> Tab:
        tabs.append(open_page(chromium, url, seed, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.page.context.close()
