"""The verbs perturb and estimate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..estimation.method_table import METHODS
from ..wording import listed
from .output import Json, Page, print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..explanation import LocalGuarantee
    from ..mechanism import Mechanism

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
    from ..collect.opening import open_column, write_reports
    from ..errors import InvalidInput
    from ..explanation import local_guarantee
    from ..wording import plural

    if by is not None and group is not None:
        raise InvalidInput(
            "the column of --group is already written next to the reports.", "Leave --by out.", argument="by"
        )
    made = _mechanisms(mechanism, group)
    words = {name: local_guarantee(one) for name, one in made.items()}
    source = open_column(data, columns, table, group=group or by, values=next(iter(made.values())).inputs)
    if by is not None:
        made = dict.fromkeys(source.group_names(), made[""])
    with _progress(f"reading {_short(data)}") as on_progress:
        total = write_reports(made, source, output, on_progress)
    if json:
        content: dict[str, Any] = {"reports": total, "output": output}
        if group is None:
            content |= _guarantee(words[""])
        else:
            content["groups"] = {name: _guarantee(one) for name, one in words.items()}
        print_json(content)
        return
    say(f"{plural(total, 'report')} in {output}; the true values were not written")
    for name, one in words.items():
        for sentence in one.sentences:
            say(f"privacy   {f'{name}: ' if group is not None else ''}{sentence}")
    if by is not None:
        say(f"in clear  column {by}: it is written unchanged and is not protected")


def _guarantee(words: LocalGuarantee) -> dict[str, Any]:
    local = words.epsilon
    shown = None if local is None else ("infinity" if local == float("inf") else local)
    return {"epsilon_between_any_two_values": shown, "sentences": list(words.sentences)}


def _mechanisms(given: list[str], group: str | None) -> dict[str, Mechanism]:
    """Return one mechanism, without a name, or one for each group, by name."""
    from ..errors import InvalidInput

    if group is None:
        if len(given) > 1:
            raise InvalidInput(
                "one --mechanism is used for everybody.",
                "For several, name their column with --group, and give --mechanism NAME=FILE for each.",
                argument="mechanism",
            )
        return {"": _one_column(given[0])}
    return named_mechanisms(given, "NAME=FILE for each with --group")


def named_mechanisms(given: list[str], allowed: str = "NAME=FILE for each") -> dict[str, Mechanism]:
    """Return the mechanisms of files, by the names they were given."""
    from ..errors import InvalidInput

    made: dict[str, Mechanism] = {}
    for text in given:
        name, sign, file = text.partition("=")
        if not sign or not name or not file:
            raise InvalidInput.must_be("mechanism", allowed, text)
        if name in made:
            raise InvalidInput(f"{name!r} has two mechanisms.", "Give one for each name.", argument="mechanism")
        made[name] = _one_column(file)
    return made


def _one_column(file: str) -> Mechanism:
    """Return the mechanism of a file; one for tuples of answers is refused, because a column holds one answer."""
    from ..errors import Unsupported
    from ..files import load

    mechanism = load(file)
    if mechanism.factors:
        raise Unsupported(
            f"{file} is for {len(mechanism.factors)} answers of each person, and files are read one column at a time.",
            "In Python: m.release(table) and dc.estimate(reports=table, mechanism=m), with a column for each answer.",
            argument="mechanism",
        )
    return mechanism


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
    from ..errors import InvalidInput
    from ..estimation.describing.reporting import Origin
    from ..estimation.methods import estimate as reconstruct
    from ..estimation.statistics import read_share
    from ..spaces import Counts
    from ..wording import find_name

    if html is not None:
        raise InvalidInput(
            f"there is no --html; a page is written by --report {html.with_suffix('.html')}", argument="html"
        )
    refuse_unwritable(report, (".html", ".png", ".svg", ".json"), "a report", (".png", ".svg"))
    refuse_unwritable(page, (".html",), "a page")
    read_share(level, "level", inside=True)
    options: dict[str, Any] = {"method": find_name(method, METHODS, "a method", argument="method")}
    if iterations is not None:
        options["iterations"] = iterations
    if over is not None:
        options["over"] = Counts(over)
    if by is not None and (group is not None or len(mechanism) > 1):
        raise InvalidInput(
            "--by compares people who used one mechanism.", "Give one --mechanism, and no --group.", argument="by"
        )
    made = _of_files(mechanism, len(reports)) if group is None else _mechanisms(mechanism, group)
    for one in made.values():
        _refuse_range(one, over)
    files = {"report": report, "page": page}
    if by is not None:
        _estimate_by(reports, next(iter(made.values())), column, table, by, options, level, files, json)
        return
    groups, names = (
        _in_files(reports, list(made.values()), column, table)
        if group is None
        else _in_groups(reports, made, column, table, group)
    )
    result = reconstruct(*groups[0], **options) if len(groups) == 1 else reconstruct(groups, **options)
    for file in filter(None, files.values()):
        result.save(file, level, origin=Origin(tuple(map(_short, reports)), tuple(names)))
    if json:
        print_json(result.to_json(level))
        return
    say(result.describe(level))
    _say_written(files)


def _say_written(files: Mapping[str, Path | None]) -> None:
    lines = [f"{what:<10}{path}" for what, path in files.items() if path is not None]
    if lines:
        say("\n" + "\n".join(lines))


def _estimate_by(
    files: list[str],
    mechanism: Mechanism,
    column: str | None,
    table: str | None,
    by: str,
    options: dict[str, Any],
    level: float,
    outputs: Mapping[str, Path | None],
    json: bool,
) -> None:
    """Estimate each group that a column names, and compare them."""
    from ..collect.opening import open_column
    from ..estimation.groups import estimate_by

    opened = [open_column(file, column, table, group=by) for file in files]
    names = sorted({name for one in opened for name in one.group_names()})
    totals = {name: dict[object, int]() for name in names}
    for file, one in zip(files, opened, strict=True):
        with _progress(f"counting {_short(file)}") as on_progress:
            groups = one.counts_by_group([mechanism.outputs] * len(names), names, on_progress)
        for name, counts in zip(names, groups, strict=True):
            _add(totals[name], counts)
    made = estimate_by(totals, mechanism, column=by, **options)
    for path in filter(None, outputs.values()):
        made.save(path, level)
    if json:
        print_json(made.to_json(level))
        return
    say(made.describe(level))
    _say_written(outputs)


def _refuse_range(mechanism: Mechanism, over: int | None) -> None:
    """Refuse a wrong range before a large file is read."""
    from ..errors import InvalidInput
    from ..optimise.families import FAMILIES

    family = FAMILIES.title(mechanism.family)
    if mechanism.inputs.size is None and over is None:
        raise InvalidInput(
            f"the range of true counts is missing: {family} has no largest count.",
            "Add --over N for counts from 0 to N.",
            argument="over",
        )
    if mechanism.inputs.size is not None and over not in (None, mechanism.inputs.size - 1):
        raise InvalidInput(
            f"--over does not fit this mechanism: {family} has {mechanism.inputs.size:,} true values already.",
            "Leave --over out.",
            argument="over",
        )


Counted = tuple[dict[Any, int], "Mechanism"]


def _of_files(given: list[str], files: int) -> dict[str, Mechanism]:
    """Return the mechanism of all files, or that of each, by number."""
    from ..errors import InvalidInput

    if len(given) not in (1, files):
        raise InvalidInput(
            f"give one --mechanism, or one for each of the {files} files of reports; got {len(given)}.",
            "For several mechanisms in one file, name their column with --group.",
            argument="mechanism",
        )
    return {str(number): _one_column(file) for number, file in enumerate(given)}


def _in_files(
    files: list[str], made: list[Mechanism], column: str | None, table: str | None
) -> tuple[list[Counted], list[str]]:
    """Return a group for each file, and its name; files of the same mechanism are added up."""
    from ..collect.opening import open_column

    groups: list[Counted] = []
    for k, file in enumerate(files):
        one = made[min(k, len(made) - 1)]
        with _progress(f"counting {_short(file)}") as on_progress:
            counts = open_column(file, column, table).counts(one.outputs, on_progress)
        if len(made) == 1 and groups:
            _add(groups[0][0], counts)
        else:
            groups.append((counts, one))
    return groups, [_short(file) for file in files[: len(groups)]]


def _in_groups(
    files: list[str], made: dict[str, Mechanism], column: str | None, table: str | None, group: str
) -> tuple[list[Counted], list[str]]:
    """Return the groups named by a column of the files, and their names, without empty groups."""
    from ..collect.opening import open_column

    outputs, totals = [one.outputs for one in made.values()], [dict[Any, int]() for _ in made]
    for file in files:
        with _progress(f"counting {_short(file)}") as on_progress:
            groups = open_column(file, column, table, group=group).counts_by_group(outputs, list(made), on_progress)
        for total, counts in zip(totals, groups, strict=True):
            _add(total, counts)
    some = [name for name, total in zip(made, totals, strict=True) if total] or list(made)[:1]
    counted = dict(zip(made, totals, strict=True))
    return [(counted[name], made[name]) for name in some], some


def _short(data: str) -> str:
    """Return the short name of a file, or of a table elsewhere."""
    from ..addresses import read_address

    address = read_address(data)
    return Path(data).name if address.in_files else address.dataset


def _add(total: dict[object, int], counts: dict[object, int]) -> None:
    for value, count in counts.items():
        total[value] = total.get(value, 0) + count


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
