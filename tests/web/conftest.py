"""The pages in a process of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.serving_pages import Entered, RunningPages, start_pages


@pytest.fixture(scope="package")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPages]:
    made = start_pages(tmp_path_factory.mktemp("pages"))
    yield made
    made.stop()


@pytest.fixture(scope="package")
def who(pages: RunningPages) -> Entered:
    return pages.enter()
