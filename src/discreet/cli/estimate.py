"""The verb estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..addresses import read_address
from ..estimation.method_table import METHODS
from ..wording import listed
from .output import Json, Page, print_json, progress_bar, refuse_unwritable, say
from .perturb import Table, files_by_name

if TYPE_CHECKING:
    from ..estimation.groups import GroupEstimates
    from ..estimation.result import Estimate


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
    with progress_bar(f"counting {what}") as options["on_progress"]:
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
