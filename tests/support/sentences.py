"""What refusals say in full: ``house/sentences.toml``, where each call stands beside its sentence.

``python -m support.sentences``, run in this folder's parent, writes the sentences anew, to be read in the diff.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import discreet as dc
from support.command_line import run
from support.paths import TESTS, VISITS

FILE = TESTS / "house" / "sentences.toml"


class Sentence(NamedTuple):
    """A call in Python or a line of the command line, and what it says when it refuses."""

    does: str
    says: str


def pinned() -> list[Sentence]:
    return [Sentence(**entry) for entry in tomllib.loads(FILE.read_text(encoding="utf-8"))["refusal"]]


def study(folder: Path) -> dc.Dataset:
    """A data set of two tables of the same people, with public look-ups, without a ledger."""
    tables = {
        "visits": pa.table({"person": ["ann"], "site": [1], "year": [1]}),
        "people": pa.table({"id": ["ann"], "sex": ["f"], "county": [1]}),
        "numbers": pa.table({"id": [7], "sex": ["f"]}),
    }
    files = {
        "regions": "county,region\n1,North\n", "twice": "county,zone\n1,North\n01,South\n",
        "missing": "county,place\n1,North\n,South\n", "private": "site,person\n1,ann\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    lookups = {
        name: {"data": str(folder / f"{name}.csv"), "key": "site" if name == "private" else "county"} for name in files
    }
    units = {"visits": "person", "people": "id", "numbers": "id"}
    return dc.Dataset(name="study", data=tables, unit=units, lookups=lookups, columns={"sex": ["f", "m"]})


def spoken(does: str, folder: Path) -> str:
    """What a call refuses with; a line that begins with ``$`` is of the command line."""
    if does.startswith("$ discreet "):
        ended = run(*does.removeprefix("$ discreet ").split(), code=None, cwd=folder)
        assert ended.returncode in (1, 2), f"{does} is not refused"
        return ended.stderr.strip().replace(str(folder), "FOLDER")
    try:
        known = {"dc": dc, "np": np, "visits": str(VISITS)}
        eval(does, {**known, "study": study(folder)} if "study" in does else known)
    except dc.errors.DiscreetError as problem:
        kind = type(problem).__name__
        return f"{kind}: {problem}".replace(str(VISITS), "visits.csv").replace(str(folder), "FOLDER")
    raise AssertionError(f"{does} is not refused")


def written(sentences: list[Sentence]) -> Iterator[str]:
    yield "# What refusals say, in full. `python -m support.sentences` in tests/ writes the sentences anew.\n"
    for sentence in sentences:
        yield f"[[refusal]]\ndoes = '''{sentence.does}'''\nsays = '''{sentence.says}'''\n"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as new:
        now = [Sentence(one.does, spoken(one.does, Path(new))) for one in pinned()]
    FILE.write_text("\n".join(written(now)), encoding="utf-8")
