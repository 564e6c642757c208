"""The same release without the pages: a command line, Python, and a request file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...release.dataset import BoundPlan
from ...release.plan.request_file import request_text
from ...release.plan.toml_text import toml_text
from ...report import Json


@dataclass(frozen=True)
class Elsewhere:
    """What to type for the same release.

    Attributes
    ----------
    command, python
        Lines for a terminal, and for Python.
    file
        A request file.
    """

    command: str
    python: str
    file: str


def with_data(sql: str, fields: Mapping[str, Json], data: str, ledger: str, out: str) -> Elsewhere:
    """Return the lines of a release that says everything."""
    given = {**fields, "data": data, "ledger": ledger, "out": out}
    heading = ("Release with: discreet release request.toml (first with --plan).",)
    return Elsewhere(
        _command(sql, {"data": data, **fields, "ledger": ledger}, out),
        "\n".join(["import discreet as dc", "", "released = dc.release_counts(", *_arguments(sql, given), ")", ""]),
        toml_text({"questions": sql, "data": data, "ledger": ledger, "out": out, **fields}, heading),
    )


def with_dataset(sql: str, fields: Mapping[str, Json], bound: BoundPlan, out: str) -> Elsewhere:
    """Return the lines of a release from a data set that a file declares."""
    place = str(bound.dataset_object.declaration.path)
    lines = [
        "import discreet as dc", "", f"dataset = dc.Dataset.open({place!r})", "plan = dataset.plan(",
        *_arguments(sql, fields), ")", f"released = plan.release({out!r})", "",
    ]  # fmt: skip
    named = {"dataset": place, **fields}
    file = request_text(Path("request.toml"), sql, {**named, "out": out})
    return Elsewhere(_command(sql, named, out), "\n".join(lines), file)


def _command(sql: str, options: Mapping[str, Json], out: str) -> str:
    words = ["discreet", "release", sql]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
    return shlex.join([*words, "-o", out])


def _arguments(sql: str, given: Mapping[str, Json]) -> list[str]:
    return [f"    {sql!r},", *(f"    {name}={value!r}," for name, value in given.items())]
