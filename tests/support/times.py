"""``--times=FILE``: a table of the slowest tests, files and fixtures of a run, for ``make test-times``."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

#: Rows of each table.
MOST = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", metavar="FILE", help="write the slowest tests, files and fixtures to FILE")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--times"):
        config.pluginmanager.register(Times(config), "times")


class Times:
    """Seconds by test, by file and by fixture. Workers measure fixtures and send them along with their reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.file = None if hasattr(config, "workerinput") else Path(str(config.getoption("--times")))
        self.tests: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Generator[None, object, object]:
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            name = f"{fixturedef.baseid or 'conftest.py'}::{fixturedef.argname}"
            request._pyfuncitem.user_properties.append((f"fixture {name}", time.perf_counter() - start))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += report.duration
        if report.when == "teardown":  # a report repeats what the ones before it had
            for kind, value in report.user_properties:
                if kind.startswith("fixture ") and isinstance(value, float):
                    self.fixtures[kind.removeprefix("fixture ")] += value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.file is None:
            return
        files: dict[str, float] = defaultdict(float)
        for test, seconds in self.tests.items():
            files[test.partition("::")[0]] += seconds
        parts = [
            f"{len(self.tests)} tests, {sum(self.tests.values()):.0f} seconds of work.",
            _table("file", files.items()),
            _table("test", self.tests.items()),
            _table("fixture", self.fixtures.items()),
        ]
        self.file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        terminalreporter.write_line(f"wrote {self.file}")


def _table(title: str, seconds: Iterable[tuple[str, float]]) -> str:
    slowest = sorted(seconds, key=lambda row: -row[1])[:MOST]
    rows = [f"| {spent:.1f} | `{name.replace('|', chr(92) + '|')}` |" for name, spent in slowest]
    return "\n".join([f"| seconds | {title} |", "| ---: | --- |", *rows])
