"""Somebody who would rather look than type does it all in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet as dc
from support.journeys import drop_file, run_json
from support.serving_pages import RunningPages, release_form, start_pages

#: True counts of the table of the pages, by site.
TRUE_COUNTS = {1: 137, 2: 89, 3: 85}


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[RunningPages]:
    """The pages in a process, started as a person starts them."""
    running = start_pages(tmp_path)
    yield running
    running.stop()


def test_a_release_is_planned_confirmed_and_verified_in_the_browser(pages: RunningPages, tmp_path: Path) -> None:
    # The terminal printed a link, which lets one browser in. Nobody else sees anything.
    visitor = pages.enter()
    assert pages.look(visitor, "/release").status == 200
    assert pages.ask("GET", "/release").status == 403
    ledger = pages.folder / "visits.ledger"

    # The form shows the plan while it is filled in. Nothing is spent by looking.
    form = release_form(pages, "by_site", epsilon="3")
    plan = pages.post(visitor, "/release/plan", form)
    assert plan.status == 200 and b'role="alert"' not in plan.body
    assert dc.Ledger.open(ledger).left().epsilon == 4

    # "Release" shows what is about to be spent and asks once more. Then the bundle is there.
    review = pages.post(visitor, "/release/review", form).body.decode().replace("&#34;", '"')
    confirmation = re.findall(r'"key": "([0-9a-f]+)"', review)[0]
    outcome = pages.post(visitor, "/release/run", [*form, ("key", confirmation)])
    assert pages.look(visitor, outcome.headers["hx-redirect"]).status == 200
    assert dc.Ledger.open(ledger).left().epsilon == 1

    # What is on the disk is what the command line would have written: it holds, and its counts are near the truth.
    bundle = pages.folder / "released" / "by_site"
    assert run_json("verify", bundle, "--ledger", ledger)["holds"] is True
    counts = {row["site"]: row["count"] for row in dc.open_bundle(bundle, ledger).rows()}
    assert counts.keys() == TRUE_COUNTS.keys()
    assert all(abs(counts[site] - truth) < 15 for site, truth in TRUE_COUNTS.items())  # else: probability 1e-18

    # What the budget cannot pay for is not released, whatever the browser sends.
    expensive = release_form(pages, "again", epsilon="2")
    assert b'role="alert"' in pages.post(visitor, "/release/review", expensive).body
    refusal = pages.post(visitor, "/release/run", [*expensive, ("key", confirmation)])
    assert "hx-redirect" not in refusal.headers and not (pages.folder / "released" / "again").exists()

    # On another page a mechanism from a colleague is proved again: its epsilon is log 2.
    file = tmp_path / "mechanism.json"
    dc.geometric(4, alpha="1/2").save(file)
    assert "0.6931" in drop_file(pages, visitor, file)
    # One that somebody altered on the way gets a verdict too, but no epsilon.
    text = file.read_text()
    file.write_text(text.replace('"n": 4', '"n": 5'))
    verdict = drop_file(pages, visitor, file)
    assert file.read_text() != text and 'id="verdict"' in verdict and "0.6931" not in verdict
