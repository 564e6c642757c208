"""The page of claims in the documentation: every claim of every study is there, with its verdict."""

from __future__ import annotations

import os
import re

import pytest

import discreet as dc
from discreet_studies.registry import STUDIES
from support.paths import DOCS

PAGE = DOCS / "claims.md"
DATA = os.environ.get("DISCREET_DATA")


def rows(page: str) -> dict[tuple[str, str], str]:
    """Verdicts by place and statement."""
    lines = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in page.splitlines() if line.startswith("| [")]
    return {(line[0], line[1]): line[3] for line in lines if len(line) == 5 and not line[0].startswith("[!")}


def escaped(text: str) -> str:
    return re.sub(r"([|$*_])", r"\\\1", text).replace("\n", " ")


@pytest.mark.full
@pytest.mark.skipif(DATA is None and "CI" not in os.environ, reason="DISCREET_DATA names no folder")
@pytest.mark.parametrize("name", [study.name for study in STUDIES])
def test_every_claim_is_on_the_page_with_the_verdict_of_a_full_run(name: str) -> None:
    """A quick run has wide error bars; nearly all of its verdicts are those of the page all the same."""
    written, found = rows(PAGE.read_text(encoding="utf-8")), dc.study(name, quick=True).claims
    verdicts = [written[escaped(claim.place), escaped(claim.statement)] == claim.verdict.value for claim in found]
    assert len(found) > 3 and sum(verdicts) >= 0.85 * len(found)


def test_the_page_has_its_pictures_and_none_of_people_cell_by_cell() -> None:
    page = PAGE.read_text(encoding="utf-8")
    pictures = re.findall(r"\]\(_static/studies/([\w/]+\.png)\)", page)
    folder = PAGE.parent / "_static" / "studies"
    assert len(pictures) > 30 and all((folder / name).is_file() for name in pictures)
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*.png")} == set(pictures)
    for study in STUDIES:
        by_cell = [exhibit.file("") for exhibit in study.exhibits if exhibit.by_cell]
        assert not [name for name in pictures for stem in by_cell if name.startswith(f"{study.name}/{stem}")]


def test_every_paper_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"(study-{study.name})=" in page and f"[{study.letter}] {study.paper}" in page for study in STUDIES)
