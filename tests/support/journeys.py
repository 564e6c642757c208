"""The people, the secret and the small chores that the journeys in ``tests/journeys/`` share."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from support.command_line import run
from support.serving_pages import Entered, RunningPages
from support.waiting import wait_for

#: A row of the table of people.
Person = tuple[str, int, str, int]

#: The columns of the table of people.
COLUMNS = ("person", "site", "health", "age")

#: The one person whose health nobody else has. No declared group names it, so nothing published may.
SECRET_PERSON: Person = ("Winifred Wolfe", 2, "lycanthropy", 40)

#: Texts that identify the secret person and must not leave the table.
SECRETS = ("Winifred", "lycanthropy")


def everybody() -> list[Person]:
    """Return 601 people: 300, 180 and 120 at sites 1, 2 and 3, half of each in good health, and the secret person."""
    sites = [1] * 300 + [2] * 180 + [3] * 120
    health = ("good", "fair", "good", "poor")
    return [(f"p{k:03}", site, health[k % 4], 20 + k % 60) for k, site in enumerate(sites)] + [SECRET_PERSON]


#: True counts by site and health, without the secret person.
TRUE_COUNTS = {
    (site, health): people // (2 if health == "good" else 4)
    for site, people in ((1, 300), (2, 180), (3, 120))
    for health in ("good", "fair", "poor")
}


def write_csv(file: Path, people: list[Person]) -> Path:
    """Write people to a CSV file, as a spreadsheet would export them."""
    with open(file, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([COLUMNS, *people])
    return file


def run_json(*arguments: object, code: int = 0) -> dict[str, Any]:
    """Run a command for a program: return the JSON it prints. It never mentions the secret person."""
    ended = run(*arguments, "--json", code=code)
    assert_secret_stays(ended.stdout + ended.stderr)
    content: dict[str, Any] = json.loads(ended.stdout)
    return content


def assert_secret_stays(*places: str | Path) -> None:
    """Refuse texts, files and folders in which the secret person can be recognised."""
    for place in places:
        if isinstance(place, Path):
            files = [file for file in place.rglob("*") if file.is_file()] if place.is_dir() else [place]
            assert files, f"{place} is empty: nothing was looked at"
            content = b"\n".join(file.read_bytes() for file in files)
        else:
            content = place.encode()
        assert not [secret for secret in SECRETS if secret.encode() in content], place


def drop_file(pages: RunningPages, visitor: Entered, file: Path) -> str:
    """Drop a file on the page that verifies; return the piece of the page that appears."""
    boundary = "journey"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{file.name}"\r\n\r\n'
    body = head.encode() + file.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    headers = {
        "Cookie": visitor.cookie, "X-Discreet-Session": visitor.word, **pages.here(),
        "Content-Type": f"multipart/form-data; boundary={boundary}",
    }  # fmt: skip
    piece = pages.ask("POST", "/verify", body, headers=headers).body.decode()
    # until the verdict is there, the piece says where to ask for it again
    job = re.search(r'hx-get="([^"]+)"', piece)
    return piece if job is None else wait_for(lambda: _finished_piece(pages, visitor, job[1]))


def _finished_piece(pages: RunningPages, visitor: Entered, address: str) -> str:
    """Return the piece of a page at an address, or nothing while it only says that work is under way."""
    piece = pages.look(visitor, address).body.decode()
    return "" if "hx-get" in piece else piece
