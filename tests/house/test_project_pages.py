"""What a project says about itself: limits, changes, versions and how to cite it."""

from __future__ import annotations

import math
import re
import tomllib

import yaml

import discreet as dc
from discreet import mechanism
from discreet.collect.reporting import diary
from discreet.collect.stores import postgres as reports_server
from discreet.collect.stores import sqlite as reports_file
from discreet.ledger.stores import postgres as ledger_server
from discreet.ledger.stores import sqlite as ledger_file
from discreet.release.plan import plan
from discreet.release.tables import columns
from support.paths import DOCS, ROOT

CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def slugs(level: int, text: str) -> set[str]:
    headings = re.findall(rf"^{'#' * level} (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_known_limit_is_linked_from_the_summary() -> None:
    details = slugs(3, (DOCS / "limits_details.md").read_text(encoding="utf-8"))
    summary = (ROOT / "KNOWN_LIMITS.md").read_text(encoding="utf-8")
    assert details - set(re.findall(r"docs/limits_details\.md#([\w-]+)", summary)) == set()
    assert len(details) > 50


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    first = re.findall(r"^## (\d+\.\d+\.\d+)", CHANGES, flags=re.M)[0]
    studies = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == citation["version"] == first == dc.__version__ == studies["version"]
    assert studies["dependencies"] == [f"discreet=={project['version']}"]


def test_the_table_of_formats_has_the_versions_that_are_written() -> None:
    table = (DOCS / "versions.md").read_text(encoding="utf-8").split("| file | formats until now | this version |")[1]
    rows = dict(re.findall(r"^\| (.*?) \| (?:.*?)(\d+)[^|\d]*\|", table, flags=re.M))
    written = {
        "mechanism": mechanism.VERSION, "{term}`bundle`": columns.LAYOUT, "{term}`ledger`, SQLite": ledger_file.FORMAT,
        "ledger, PostgreSQL": ledger_server.FORMAT, "request": plan.VERSION,
        "store of reports, SQLite": reports_file.FORMAT, "store of reports, PostgreSQL": reports_server.FORMAT,
        "a device's diary": diary.LAYOUT_VERSION,
    }  # fmt: skip
    assert {name: next(int(last) for row, last in rows.items() if row.startswith(name)) for name in written} == written


def test_the_citation_has_the_required_keys_of_its_format() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0" and all(set(author) == {"name"} for author in citation["authors"])


def test_the_privacy_promise_has_the_odds_and_beliefs_of_its_epsilons() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+)-fold \| ([\d.]+)% \|$", (DOCS / "promise.md").read_text("utf-8"), re.M)
    assert len(rows) == 4
    for epsilon, odds, belief in rows:
        odds_ratio = math.exp(float(epsilon))
        assert odds == f"{odds_ratio:.2f}"
        assert 0 <= float(belief) - 100 * odds_ratio / (1 + odds_ratio) < 0.1  # rounded up


def unproved_cells(text: str) -> list[str]:
    """Return the cells of a comparison that neither link to evidence nor say that there is none."""
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"^\| [^-].*\|$", text, re.M)]
    cells = [cell for row in rows if row[0] not in ("tool", "discreet") for cell in row[1:]]
    assert len(cells) > 50
    return [cell for cell in cells if not re.search(r"\]\[[a-z]+-[a-z]+\]|not found|not looked up", cell)]


def test_every_cell_of_the_comparison_has_evidence_or_says_that_there_is_none() -> None:
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    assert unproved_cells(text) == []
    assert unproved_cells(text + "| OtherDP | exact, they say | not found |\n") == ["exact, they say"]
    used, defined = (re.findall(pattern, text, re.M) for pattern in (r"\]\[([a-z-]+)\]", r"^\[([a-z-]+)\]: https://"))
    assert set(used) == set(defined) and len(defined) == len(set(defined))


def test_changes_are_listed_by_version_and_kind() -> None:
    kinds = set(re.findall(r"^### (.*)$", CHANGES, flags=re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed"} and {"Added", "Fixed"} <= kinds
    entries = CHANGES.split("\n## ")[1:]
    assert len(entries) >= 3 and all("\n### " in entry for entry in entries)
