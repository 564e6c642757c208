"""A forger alters, removes, adds and repeats everything in a bundle and renews the checksums.

``docs/howto_audit.md`` lists what is not noticed without the ledger. Here it is held to that list, both ways.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import pytest

import discreet as dc
from discreet.release.bundle.verify import verify_bundle
from support.bundles import failing, seal
from support.forged_bundles import (
    KINDS,
    Original,
    consistent_changes,
    harmless_changes,
    original,
    relabelled_changes,
)
from support.forging import Change, every_change, json_changes
from support.paths import DOCS, PUBLISHED
from support.tiers import full

#: Lines of a page from one that is altered to the next, in the full tier: most of them are cells of one table.
PAGE_STEP = 5


class Unprotected(NamedTuple):
    """A change that the documentation lists, and what is noticed of it without the ledger and with it."""

    pattern: str
    outcome: tuple[str, str]


@cache
def listed() -> tuple[Unprotected, ...]:
    """Read the table of the documentation."""
    text = (DOCS / "howto_audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([a-z ]+) \| ([a-z ]+) \|$", text, re.MULTILINE)
    return tuple(Unprotected(pattern, (alone, with_ledger)) for pattern, alone, with_ledger in rows)


def row_of(change: Change) -> Unprotected | None:
    """Return the row of the documentation that lists a change."""
    return next(
        (row for row in listed() if fnmatchcase(f"{change.file}: {change.field}", row.pattern.replace("[]", "[[]]"))),
        None,
    )


def unnoticed(known: Original, changes: Iterable[Change]) -> tuple[set[Unprotected], list[str]]:
    """Return the rows of the documentation that changes show, and the unnoticed changes that it does not list."""
    shown, surprises = set(), []
    for change in changes:
        outcome = known.outcome(change.files)
        row = row_of(change)
        if row is not None and outcome == row.outcome:
            shown.add(row)
        elif outcome != ("noticed", "noticed"):
            surprises.append(f"{change}: {outcome}")
    return shown, surprises


def some(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield one change of each file, one of each way to change it, and one of each row of the documentation."""
    seen: set[object] = set()
    for change in changes:
        for what in (change.file, change.how, row_of(change)):
            if what not in seen:
                seen |= {change.file, change.how, row_of(change)}
                yield change


def test_what_a_forger_does_to_a_bundle_is_noticed_or_listed() -> None:
    """Both ways: each row of the documentation is shown too, so the list is no wider than what is tried here."""
    known = original("plain")
    assert known.outcome(known.files) == ("not noticed", "not noticed")
    consistent = islice(consistent_changes(known), 12)
    single = chain(every_change(known.files, 40), relabelled_changes(known), harmless_changes(known))
    shown, surprises = unnoticed(known, chain(some(single), some(consistent)))
    assert surprises == []
    # the range of a design is in its mechanism: what stands beside it changes nothing else
    design = original("designed")
    ranges = [one for one in json_changes(design.files, "request.json") if one.field == "tables[].noise.high"]
    shown |= unnoticed(design, ranges[:1])[0]
    assert shown == set(listed()) and len(shown) >= 9 and all(row.outcome[0] != "noticed" for row in shown)


def test_other_checksums_are_noticed(tmp_path: Path) -> None:
    """The list itself: each line once, for each file, in the order in which this version writes them."""
    folder = Path(shutil.copytree(original("plain").folder, tmp_path / "out"))
    for name, data in original("plain").files.items():
        (folder / name).write_bytes(data)
    seal(folder)
    assert not failing(folder)
    sums = folder / "SHA256SUMS"
    text = sums.read_text()
    first, *rest = text.splitlines(keepends=True)
    for other in (
        "", first, text + first, "".join([*rest, first]), text[:-1], text + "\n", text.replace("\n", "\r\n"),
        text.replace("  ", " *", 1), text.upper(), text + f"{'0' * 64}  exact.csv\n", text.replace("  ", "  ./", 1),
    ):  # fmt: skip
        sums.write_bytes(other.encode())
        assert failing(folder) & {"checksums", "words"}, other


@full
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_forger_does_to_any_kind_of_bundle_is_noticed_or_listed(kind: str) -> None:
    known = original(kind)
    assert known.outcome(known.files) == ("not noticed", "not noticed")
    changes = chain(every_change(known.files, PAGE_STEP), consistent_changes(known), relabelled_changes(known))
    _, surprises = unnoticed(known, chain(changes, harmless_changes(known)))
    assert surprises == []


#: What an older bundle may have otherwise: this version cannot compare it letter for letter, and says so.
OPEN_IN_OLDER = (
    "GUARANTEE.md", "index.html", "release.json: guarantee*", "release.json: status_meaning*",
    "release.json: column_meaning*", "release.json: label_marks*",
)  # fmt: skip
REWRITTEN = ("fields in another order", "written ", "without its last line end", "with a blank", "with other line ends",
             "with a letter written")  # fmt: skip


@pytest.mark.parametrize("layout", [pytest.param("format_1", marks=full), "format_2"])
def test_what_a_forger_does_to_a_bundle_of_an_earlier_version_is_noticed_or_open(layout: str, tmp_path: Path) -> None:
    """The ledger shows the rest: a receipt or a version that is not its own."""
    folder = Path(shutil.copytree(PUBLISHED / layout / "by_site", tmp_path / "out"))
    book = dc.Ledger.open(shutil.copy(PUBLISHED / layout / "ledger.sqlite", tmp_path / "ledger.sqlite"))
    names = [line.partition("  ")[2] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    known = Original(
        verify_bundle(folder).release, {name: (folder / name).read_bytes() for name in names}, book, folder
    )
    assert known.outcome(known.files) == ("open", "open")
    changes = list(every_change(known.files, 40))
    for change in changes if layout == "format_1" else some(changes):
        outcome = known.outcome(change.files)
        place = f"{change.file}: {change.field}" if change.field else change.file
        may_differ = any(fnmatchcase(place, pattern) or change.file == pattern for pattern in OPEN_IN_OLDER)
        may_differ |= change.file.endswith(".json") and change.how.startswith(REWRITTEN)
        expected = {"noticed", "open"} if may_differ else {"noticed"}
        assert outcome[1] in expected, f"{change}: {outcome}"
