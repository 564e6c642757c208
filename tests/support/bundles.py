"""Bundles to write, to tamper with and to check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.engines.base import Source
from discreet.exact.arrays import IntArray
from discreet.exact.bits import SeededBits
from discreet.ledger.ledger import Ledger
from discreet.release.bundle.verify import verify_bundle
from discreet.release.counts import _release
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready

BY_BOTH = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
DOMAIN = {"site": range(1, 4), "health": ["good", "poor"]}
ZEROS = [{"site": 1, "health": "poor"}]
FILES = {"counts.csv", "request.json", "release.json", "mechanism.json", "GUARANTEE.md", "index.html", "SHA256SUMS"}


class Made(Ready):
    """A source with made-up true counts."""

    def count(self, countings: Sequence[Any]) -> list[IntArray]:
        return [np.full((one.groups.size, len(one.question.aggregates)), 50) for one in countings]


def answered(book: Any, out: Path | None = None, questions: Any = BY_BOTH, **options: Any) -> Any:
    given: dict[str, Any] = {"data": "visits.csv", "unit": "person", "max_groups": 1, "domain": DOMAIN, "epsilon": 1}
    return _release(plan_release(questions, **(given | options)), cast("Source", Made()), book, out, SeededBits(1))


def seal(folder: Path) -> None:
    """Renew the checksums, in the order they had, as whoever tampers with a bundle would."""
    sums = folder / "SHA256SUMS"
    listed = [line.partition("  ")[2] for line in sums.read_text().splitlines()] if sums.is_file() else []
    there = {file.name for file in folder.iterdir() if file.is_file()} - {sums.name}
    names = [*(name for name in listed if name in there), *sorted(there - set(listed))]
    sums.write_text("".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names))


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    seal(folder)


def edit_json(folder: Path, name: str, change: Callable[[Any], object]) -> None:
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    change(content)
    (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seal(folder)


def failing(folder: Path, ledger: str | Path | Ledger | None = None) -> set[str]:
    return {check.name for check in verify_bundle(folder, ledger).checks if check.holds is False}
