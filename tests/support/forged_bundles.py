"""Bundles of every kind for a forger, and the forgeries that are consistent: a change with all that follows from it."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

import discreet as dc
from discreet.datasets.publication import Publication
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, UnreadableFile
from discreet.exact.bits import SeededBits
from discreet.ledger.budget import Cost
from discreet.pages.html import page, pictures_of
from discreet.pages.pictures import NOT_DRAWN
from discreet.release.bundle.contents import MALFORMED, bundle_files
from discreet.release.bundle.released import Release
from discreet.release.bundle.verify import verify_bundle
from discreet.release.counts import _release
from discreet.release.plan.plan import Plan, plan_from_request
from discreet.release.plan.planning import plan_release
from support.bundles import seal
from support.forging import Change, Files, json_changes

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
BY_BOTH = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
SITES: dict[str, Any] = {"site": range(1, 4)}
BOTH: dict[str, Any] = {**SITES, "health": ["good", "poor"]}

#: What is asked for each kind of bundle, beside the data, the unit and the bound on contributions.
KINDS: Mapping[str, Callable[[], tuple[str | list[str], dict[str, Any]]]] = {
    "plain": lambda: (
        BY_BOTH,
        {"domain": BOTH, "zeros": [{"site": 1, "health": "poor"}], "suppress_below": 30, "counts": "clamped"},
    ),
    "totals": lambda: ("SELECT site, health, COUNT(*) FROM visits GROUP BY ROLLUP (site, health)", {"domain": BOTH}),
    "overlapping totals": lambda: (
        "SELECT site, health, COUNT(*) FROM visits GROUP BY CUBE (site, health)",
        {"domain": BOTH, "mechanism": "discrete-gaussian", "delta": "1e-6"},
    ),
    "discovery": lambda: (
        "SELECT job, COUNT(*) FROM visits GROUP BY job", {"discover": "job", "delta": "1e-6"},
    ),
    "discovery beside a domain": lambda: (
        "SELECT site, job, COUNT(*) FROM visits GROUP BY site, job",
        {"discover": "job", "domain": SITES, "delta": "1e-6", "epsilon": 3},
    ),
    "bands and the rest": lambda: (
        "SELECT age, health, COUNT(*) FROM visits GROUP BY age, health",
        {"bands": {"age": "..18,30,65,NULL,*"}, "domain": {"health": ["good", ...]}},
    ),
    "p-table": lambda: (
        BY_SITE, {"domain": SITES, "mechanism": dc.design_ptable(epsilon=2, reach=3, stay="1/2", keys=256),
                  "epsilon": 2},
    ),
    "several questions": lambda: (
        [BY_BOTH, "SELECT COUNT(*) FROM visits"], {"domain": BOTH, "split": [2, 1], "counts": "signed"},
    ),
    "several measures": lambda: (
        "SELECT site, COUNT(*) AS n, COUNT_IF(health = 'poor') AS poor FROM visits GROUP BY site", {"domain": SITES},
    ),
    "zcdp": lambda: (
        BY_SITE, {"domain": SITES, "mechanism": "discrete-gaussian", "delta": "1e-6", "edition": "Q2", "level": 0.9},
    ),
    "designed": lambda: (BY_SITE, {"domain": SITES, "bound": 40, "properties": "WH+CM", "loss": "L1", "epsilon": 2}),
    "sizes": lambda: (
        BY_SITE, {"domain": SITES, "sizes": [{"site": 1, "size": 12}, {"site": 2, "size": 12}, {"site": 3, "size": 15}],
                  "properties": "F", "epsilon": 2},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Original:
    """An honest bundle, its files, and the ledger that paid for it."""

    release: Release
    files: Files
    ledger: dc.Ledger
    folder: Path

    def outcome(self, files: Files) -> tuple[str, str]:
        """Check other files in its place, their checksums renewed: what is noticed without the ledger, and with it."""
        for file in self.folder.iterdir():
            if file.name not in {*files, "SHA256SUMS"}:
                file.unlink()
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        (self.folder / "SHA256SUMS").write_text("".join(f"-  {name}\n" for name in self.files))
        seal(self.folder)
        try:
            report = verify_bundle(self.folder, self.ledger)
        except UnreadableFile:  # no bundle at all
            return "noticed", "noticed"
        alone = [check.holds for check in report.checks if check.name != "ledger"]
        return _noticed(alone), _noticed([check.holds for check in report.checks])


@cache
def original(kind: str) -> Original:
    """Return a bundle of a kind; the same one each time."""
    home = Path(mkdtemp(prefix="discreet-forged-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    data = home / "visits.csv"
    jobs = ["baker", "=nurse", "smith, iron"]
    rows = [f"{k},{k % 3 + 1},{('good', 'poor')[k % 2]},{k % 90},{jobs[k // 3 % 3]}" for k in range(270)]
    data.write_text("\n".join(["person,site,health,age,job", *rows, ""]))
    question, options = KINDS[kind]()
    source = open_source(data)
    plan = plan_release(question, data=source, **{"unit": "person", "max_groups": 1, "epsilon": 1, **options})
    book = dc.Ledger.create(
        home / "v.ledger", dataset="visits", unit="person", epsilon=100, delta="1/10",
        relation=plan.protection.relation, filter="zcdp" if kind == "zcdp" else "sum",
    )  # fmt: skip
    release = _release(plan, source, book, home / "out", SeededBits(1))
    names = [file.name for file in (home / "out").iterdir()]
    files = dict(bundle_files(release))
    assert {*files, "SHA256SUMS"} == set(names)
    return Original(release, files, book, home / "out")


def _noticed(verdicts: list[bool | None]) -> str:
    return "noticed" if False in verdicts else "open" if None in verdicts else "not noticed"


# ------------------------------------------------------------------------------------------------ consistent forgeries


def consistent_changes(known: Original) -> Iterator[Change]:
    """Yield other bundles that this version could have written: one thing is changed with all that follows from it."""
    release = known.release

    def change(what: str, how: str, other: Release) -> Change:
        return Change("everything", what, how, dict(bundle_files(other)))

    for number, table in enumerate(release.tables):
        live = np.argwhere(table.status == "A")
        for place in map(tuple, (live[0], live[-1])):
            counts = table.counts.copy()
            counts[place] += 1
            tables = [replace(table, counts=counts) if k == number else one for k, one in enumerate(release.tables)]
            yield change("counts", "altered", replace(release, tables=tuple(tables)))
    for field, value in {
        "ledger": "0" * 32, "entry": 99, "head": "0" * 64, "time": "2020-01-01T00:00:00Z",
    }.items():  # fmt: skip
        yield change(f"receipt: {field}", "altered", replace(release, ledger={**release.ledger, field: value}))
    budget = Cost(release.cost.epsilon + 10**6, release.cost.delta, None)
    yield change("budget", "altered", replace(release, budget=budget))
    titled = replace(release.plan, publication=Publication(title="Another title"))
    yield change("publication", "altered", with_plan(release, titled))
    yield change("version of the program", "altered", replace(release, version="9.9.9"))
    yield change("level of the intervals", "altered", with_plan(release, replace(release.plan, level=Fraction(1, 2))))
    for altered in json_changes({"request.json": json.dumps(release.request).encode()}, "request.json"):
        plan = _plan_of(altered.files["request.json"])
        if plan is not None and plan.request != release.request:
            try:
                yield change(f"request: {altered.field}", altered.how, with_plan(release, plan))
            except (DiscreetError, *MALFORMED):
                pass  # the counts do not fit that request


def relabelled_changes(known: Original) -> Iterator[Change]:
    """Yield bundles that claim to be of another version, whose words this version cannot compare."""
    files = dict(bundle_files(replace(known.release, version="9.9.9")))
    for name, old, new in (
        ("GUARANTEE.md", "\n", "\nEverything here is exact.\n"),
        ("index.html", "<main>", "<main><p>Everything here is exact.</p>"),
        ("index.html", "</main>", "<script>alert(1)</script></main>"),
        ("release.json", '"guarantee": [\n', '"guarantee": [\n  "Everything here is exact.",\n'),
        ("release.json", "\n}", "\n\n}"),
        ("request.json", "\n}", "\n\n}"),
    ):
        text = files[name].decode()
        assert old in text
        yield Change("words", name, "altered", {**files, name: text.replace(old, new, 1).encode()})


def harmless_changes(known: Original) -> Iterator[Change]:
    """Yield what an honest bundle of the same counts could be, written elsewhere."""
    report = known.release.report()
    bare = page(report, [NOT_DRAWN] * len(pictures_of(report)))
    yield Change("index.html", "pictures", "taken out", {**known.files, "index.html": bare.encode()})
    name = next(iter(known.files))
    headings, *lines = known.files[name].decode().split("\n")
    columns = [column.name for column in known.release.tables[0].columns if column.rounding is not None]
    place = headings.split(",").index(columns[0])
    for number, line in enumerate(lines[:-1]):
        cells = line.split(",")
        digit = cells[place][-1:]
        if "." in cells[place] and digit in "2345678" and len(cells[place].strip("0.").replace(".", "")) == 6:
            cells[place] = f"{cells[place][:-1]}{int(digit) + 1}"
            altered = "\n".join([headings, *lines[:number], ",".join(cells), *lines[number + 1 :]])
            yield Change("a table", "last digits of errors", "altered", {**known.files, name: altered.encode()})
            return


def _plan_of(text: bytes) -> Plan | None:
    try:
        return plan_from_request(json.loads(text))
    except (DiscreetError, *MALFORMED):
        return None


def with_plan(release: Release, plan: Plan) -> Release:
    """Return a release that claims to answer another plan."""
    tables = []
    for own, other in zip(release.tables, plan.tables, strict=True):
        table = replace(other, groups=own.groups) if other.known_cells is None else other
        tables.append(replace(own, plan=table, level=plan.level, edition=plan.edition))
    return replace(release, plan=plan, tables=tuple(tables))
