"""The verbs perturb and estimate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..addresses import read_address
from ..estimation.method_table import METHODS
from ..wording import listed
from .output import Json, Page, print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..estimation.groups import GroupEstimates
    from ..estimation.result import Estimate
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

    with _progress(f"reading {read_address(data).short_name}") as on_progress:
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


def estimate(
    reports: Annotated[
        list[str],
        typer.Argument(
            help="Files of reports: .csv or .tsv (.gz), .parquet or .duckdb; or on Spark, spark:local[*]?parquet=DIR."
        ),
    ],
    mechanism: Annotated[
        list[str],
        typer.Option(help="The mechanism that made them; one, or one for each file; with --group, NAME=FILE for each."),
    ],
    column: Annotated[str | None, typer.Option(help="The column of reports, where there are several.")] = None,
    group: Annotated[str | None, typer.Option(help="The column that names the mechanism of each report.")] = None,
    by: Annotated[
        str | None,
        typer.Option(help="A column of groups to estimate one by one and compare, such as sex. It is in clear."),
    ] = None,
    table: Table = None,
    over: Annotated[int | None, typer.Option(help="For unbounded noise: the largest true count.", min=1)] = None,
    method: Annotated[str, typer.Option(help=f"{listed(list(METHODS), 'or')}.")] = "auto",
    iterations: Annotated[int | None, typer.Option(help="For ibu: the number of updates.", min=1)] = None,
    level: Annotated[float, typer.Option(help="The coverage of the intervals: 0.95 for 95%.")] = 0.95,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", "-o", "--output", help="Write a page, its chart or its numbers: .html, .png, .svg or .json."
        ),
    ] = None,
    page: Page = None,
    html: Annotated[Path | None, typer.Option(hidden=True)] = None,
    json: Json = False,
) -> None:
    """Estimate the distribution of true values from noisy reports, with error bars.

    People who used different mechanisms are given as one file and one `--mechanism` for each group, in the same order;
    or in one file with a column that names the mechanism of each report, `--group`. Groups of people who used one
    mechanism are compared by `--by`.

    Examples: `discreet estimate reports.parquet --mechanism m.json` ·
    `discreet estimate a.csv b.csv --mechanism a.json --mechanism b.json --report page.html` ·
    `discreet estimate reports.csv --group choice --mechanism careful=a.json --mechanism bold=b.json` ·
    `discreet estimate reports.csv --by sex --mechanism m.json`
    """
    from ..collect.estimate_files import estimate_files, estimate_files_by
    from ..errors import InvalidInput
    from ..estimation.statistics import read_share
    from ..spaces import Counts
    from ..wording import find_name, plural

    if html is not None:
        raise InvalidInput(
            f"there is no --html; a page is written by --report {html.with_suffix('.html')}", argument="html"
        )
    refuse_unwritable(report, (".html", ".png", ".svg", ".json"), "a report", (".png", ".svg"))
    refuse_unwritable(page, (".html",), "a page")
    read_share(level, "level", inside=True)
    options: dict[str, Any] = {
        "column": column, "table": table, "over": None if over is None else Counts(over),
        "method": find_name(method, METHODS, "a method", argument="method"),
    }  # fmt: skip
    if iterations is not None:
        options["iterations"] = iterations
    if by is not None and (group is not None or len(mechanism) > 1):
        raise InvalidInput(
            "--by compares people who used one mechanism.", "Give one --mechanism, and no --group.", argument="by"
        )
    what = read_address(reports[0]).short_name if len(reports) == 1 else plural(len(reports), "file")
    result: Estimate | GroupEstimates
    with _progress(f"counting {what}") as options["on_progress"]:
        if by is not None:
            result = estimate_files_by(reports, mechanism[0], by, **options)
        elif group is not None:
            result = estimate_files(
                reports, files_by_name(mechanism, "NAME=FILE for each with --group"), group=group, **options
            )
        else:
            result = estimate_files(reports, mechanism, **options)
    outputs = {"report": report, "page": page}
    for file in filter(None, outputs.values()):
        result.save(file, level)
    if json:
        print_json(result.to_json(level))
        return
    say(result.describe(level))
    lines = [f"{name:<10}{path}" for name, path in outputs.items() if path is not None]
    if lines:
        say("\n" + "\n".join(lines))


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal and yield its callback; yield None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=min(share, 1.0))
