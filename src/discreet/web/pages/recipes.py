"""The same release without the pages: as a command, as Python, and as a request file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...release.bound_plan import BoundPlan
from ...release.plan.request_file import request_text
from ...release.plan.toml_text import toml_text
from ...report import Json


@dataclass(frozen=True)
class Recipe:
    """Ways to make the same release without the pages.

    Attributes
    ----------
    command, python
        Lines for a terminal and for Python.
    file
        A request file.
    """

    command: str
    python: str
    file: str


def recipe_for_data(sql: str, options: Mapping[str, Json], data: str, ledger: str, out: str) -> Recipe:
    """Return the recipe of a release that names its data and ledger."""
    arguments = {**options, "data": data, "ledger": ledger, "out": out}
    heading = ("Release with: discreet release request.toml (first with --plan).",)
    return Recipe(
        _command(sql, {"data": data, **options, "ledger": ledger}, out),
        "\n".join(["import discreet as dc", "", "released = dc.release_counts(", *_arguments(sql, arguments), ")", ""]),
        toml_text({"questions": sql, "data": data, "ledger": ledger, "out": out, **options}, heading),
    )


def recipe_for_dataset(sql: str, options: Mapping[str, Json], bound: BoundPlan, out: str) -> Recipe:
    """Return the recipe of a release from a dataset that a file declares."""
    path = str(bound.dataset_object.declaration.path)
    lines = [
        "import discreet as dc", "", f"dataset = dc.Dataset.open({path!r})", "plan = dataset.plan(",
        *_arguments(sql, options), ")", f"released = plan.release({out!r})", "",
    ]  # fmt: skip
    arguments = {"dataset": path, **options}
    file = request_text(Path("request.toml"), sql, {**arguments, "out": out})
    return Recipe(_command(sql, arguments, out), "\n".join(lines), file)


def _command(sql: str, options: Mapping[str, Json], out: str) -> str:
    words = ["discreet", "release", sql]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", *([] if item is True else [str(item)])]
    return shlex.join([*words, "-o", out])


def _arguments(sql: str, arguments: Mapping[str, Json]) -> list[str]:
    return [f"    {sql!r},", *(f"    {name}={value!r}," for name, value in arguments.items())]
