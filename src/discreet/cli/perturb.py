"""The verb perturb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..addresses import read_address
from .output import Json, print_json, progress_bar, say

if TYPE_CHECKING:
    from ..explanation import LocalGuarantee

Table = Annotated[str | None, typer.Option(help="For DuckDB files with several tables: the table.")]


def perturb(
    columns: Annotated[
        list[str],
        typer.Argument(
            help="The column with people's true values; for a map, the cell number, or two columns: how far east and "
            "how far north of the map's south-west corner, in metres; for a map of a box of degrees, latitude and "
            "longitude.",
            metavar="COLUMN",
        ),
    ],
    data: Annotated[
        str,
        typer.Option(help="The people: a .csv or .tsv (.gz), .parquet or .duckdb file, or spark:local[*]?parquet=DIR."),
    ],
    mechanism: Annotated[
        list[str], typer.Option(help="The mechanism of the devices (.json); with --group, NAME=FILE for each.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            help="Where the reports go: .parquet, .csv or .tsv (.gz), .duckdb; from Spark a new folder.",
        ),
    ],
    group: Annotated[
        str | None, typer.Option(help="The column that names each person's mechanism; it is written too.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A column of groups, such as sex, that is also written, unprotected.")
    ] = None,
    table: Table = None,
    json: Json = False,
) -> None:
    """Replace people's true values by noisy reports, as each person's own device would.

    Only the reports are written, in one column, `report` (and the column of `--group` or `--by`); the true column is
    not. Files may be larger than memory. An empty cell, a number out of range or an unknown label stops it, and nothing
    is written.

    Examples: `discreet perturb visits --data people.csv --mechanism m.json -o reports.parquet` ·
    `discreet perturb visits --data people.csv --group choice --mechanism careful=a.json --mechanism bold=b.json
    -o reports.csv`
    """
    from ..collect.perturb_file import perturb_file
    from ..wording import plural

    with progress_bar(f"reading {read_address(data).short_name}") as on_progress:
        made = perturb_file(
            data, columns, _by_name(mechanism, group), output, group=group, by=by, table=table, on_progress=on_progress
        )
    if json:
        content: dict[str, Any] = {"reports": made.reports, "output": output}
        if group is None:
            content |= _guarantee(made.guarantees[""])
        else:
            content["groups"] = {name: _guarantee(one) for name, one in made.guarantees.items()}
        print_json(content)
        return
    say(f"{plural(made.reports, 'report')} in {output}; the true values were not written")
    for name, one in made.guarantees.items():
        for sentence in one.sentences:
            say(f"privacy   {f'{name}: ' if group is not None else ''}{sentence}")
    if made.in_clear is not None:
        say(f"in clear  column {made.in_clear}: it is written unchanged and is not protected")


def _guarantee(words: LocalGuarantee) -> dict[str, Any]:
    local = words.epsilon
    shown = None if local is None else ("infinity" if local == float("inf") else local)
    return {"epsilon_between_any_two_values": shown, "sentences": list(words.sentences)}


def _by_name(given: list[str], group: str | None) -> str | dict[str, str]:
    """Return one mechanism file, or those of the groups by name."""
    from ..errors import InvalidInput

    if group is not None:
        return files_by_name(given, "NAME=FILE for each with --group")
    if len(given) > 1:
        raise InvalidInput(
            "one --mechanism is used for everybody.",
            "For several, name their column with --group, and give --mechanism NAME=FILE for each.",
            argument="mechanism",
        )
    return given[0]


def files_by_name(given: list[str], allowed: str = "NAME=FILE for each") -> dict[str, str]:
    """Return mechanism files by the names they were given."""
    from ..errors import InvalidInput

    files: dict[str, str] = {}
    for text in given:
        name, sign, file = text.partition("=")
        if not sign or not name or not file:
            raise InvalidInput.must_be("mechanism", allowed, text)
        if name in files:
            raise InvalidInput(f"{name!r} has two mechanisms.", "Give one for each name.", argument="mechanism")
        files[name] = file
    return files
