"""Verbs of the collector: perturb, estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, print_json, print_table, say

if TYPE_CHECKING:
    from ..estimation.result import Estimate, Interval
    from ..mechanism import Mechanism

Table = Annotated[str | None, typer.Option(help="For DuckDB files with several tables: which one.")]


def perturb(
    column: Annotated[str, typer.Argument(help="The column with people's true values.")],
    data: Annotated[Path, typer.Option(help="The people: a .csv, .parquet or .duckdb file.")],
    mechanism: Annotated[Path, typer.Option(help="What each device uses: a mechanism (.json).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the reports go: .parquet, .csv or .duckdb.")],
    table: Table = None,
    json: Json = False,
) -> None:
    """Replace people's true values by noisy reports, as each person's own device would.

    Only the reports are written, in one column, `report`; the true column is not. Files may be larger than memory.

    Example: `discreet perturb visits --data people.csv --mechanism m.json -o reports.parquet`
    """
    from ..collect.tables import Source, perturb_column
    from ..explanation import local_guarantee
    from ..files import load

    made = load(mechanism)
    words = local_guarantee(made)
    source = Source(data, column, table)
    total = perturb_column(made, source, output)
    if json:
        local = words.epsilon
        shown = None if local is None else ("infinity" if local == float("inf") else local)
        content = {"reports": total, "output": str(output), "epsilon_between_any_two_values": shown}
        print_json({**content, "sentences": list(words.sentences)})
        return
    say(f"{total:,} reports in {output}; the true values were not written")
    for sentence in words.sentences:
        say(f"privacy   {sentence}")


def estimate(
    reports: Annotated[list[Path], typer.Argument(help="Files of reports: .csv, .parquet or .duckdb.")],
    mechanism: Annotated[list[Path], typer.Option(help="The mechanism that made them; one, or one for each file.")],
    column: Annotated[str | None, typer.Option(help="The column of reports, where there are several.")] = None,
    table: Table = None,
    over: Annotated[int | None, typer.Option(help="For noise without end: the largest true count.")] = None,
    method: Annotated[str, typer.Option(help="mle, smoothed, ibu or inverse.")] = "mle",
    iterations: Annotated[int | None, typer.Option(help="For ibu: how many updates.")] = None,
    level: Annotated[float, typer.Option(help="The level of intervals.")] = 0.95,
    report: Annotated[Path | None, typer.Option(help="Write a report: .html, .png, .svg or .json.")] = None,
    json: Json = False,
) -> None:
    """Estimate the distribution of true values from noisy reports, with error bars.

    People who used different mechanisms are given as one file and one `--mechanism` for each group, in the same order.

    Examples: `discreet estimate reports.parquet --mechanism m.json` ·
    `discreet estimate a.csv b.csv --mechanism a.json --mechanism b.json --report page.html`
    """
    from ..errors import InvalidInput
    from ..estimation.methods import estimate as reconstruct
    from ..estimation.statistics import read_share
    from ..files import load
    from ..spaces import Counts

    if report is not None and report.suffix not in (".html", ".png", ".svg", ".json"):
        raise InvalidInput(f"a report ends in .html, .png, .svg or .json; got {report.name!r}.")
    read_share(level, "level", inside=True)
    if len(mechanism) not in (1, len(reports)):
        raise InvalidInput(
            f"give one --mechanism, or one for each of the {len(reports)} files of reports; got {len(mechanism)}."
        )
    made = [load(file) for file in mechanism]
    groups = _groups(reports, made, column, table)
    options: dict[str, Any] = {} if iterations is None else {"iterations": iterations}
    if over is not None:
        options["over"] = Counts(over)
    found = (
        reconstruct(groups[0][0], groups[0][1], method=method, **options)  # type: ignore[arg-type]
        if len(groups) == 1
        else reconstruct(groups, method=method, **options)  # type: ignore[arg-type]
    )
    if report is not None:
        found.save(report, level)
    if json:
        print_json(_as_json(found, level))
        return
    _tell(found, level)
    if report is not None:
        say(f"report          {report}")


def _groups(
    files: list[Path], made: list[Mechanism], column: str | None, table: str | None
) -> list[tuple[dict[Any, int], Mechanism]]:
    """The counts of each group; files of one mechanism are added up."""
    from ..collect.tables import Source

    groups: list[tuple[dict[Any, int], Mechanism]] = []
    for k, file in enumerate(files):
        mechanism = made[min(k, len(made) - 1)]
        source = Source(file, column, table)
        counts = source.counts(mechanism.outputs)
        source.close()
        if len(made) == 1 and groups:
            for value, count in counts.items():
                groups[0][0][value] = groups[0][0].get(value, 0) + count
        else:
            groups.append((counts, mechanism))
    return groups


def _answers(found: Estimate, level: float) -> list[tuple[Any, Interval]]:
    """What is told with intervals: the estimate's own value (intervals are around the maximum, whatever the method)."""
    import numpy as np

    from ..spaces import Counts

    if isinstance(found.space, Counts):
        quantiles = [(found.quantile(q), found.interval(("quantile", q), level)) for q in (0.25, 0.5, 0.75)]
        return [(found.mean(), found.interval("mean", level)), *quantiles]
    likeliest = np.argsort(-found.distribution, kind="stable")[:5].tolist()
    return [(float(found.distribution[k]), found.interval(("cell", found.space.value(k)), level)) for k in likeliest]


def _as_json(found: Estimate, level: float) -> dict[str, Any]:
    content = found.to_json()
    content["level"] = level
    content["intervals"] = [
        {"statistic": i.statistic, "estimate": value, "low": i.low, "high": i.high}
        for value, i in _answers(found, level)
    ]
    if len(found.problem.groups) > 1:
        test = found.homogeneity()
        content["homogeneity"] = {"p_value": test.p_value, "simulations": test.simulations}
        content["stratified"] = found.stratified.distribution.tolist()
    return content


def _tell(found: Estimate, level: float) -> None:
    from ..estimation.result import COVERS

    for line in found.header():
        say(line)
    say()
    shown = _answers(found, level)
    cells = [[i.statistic, f"{value:.4g}", f"{i.low:.4g}", f"{i.high:.4g}"] for value, i in shown]
    print_table(["", "estimate", f"low ({level:g})", f"high ({level:g})"], cells, numbers=(1, 2, 3))
    say()
    headings, rows = found.table(level=level)
    print_table(headings, rows, numbers=range(1, len(headings)))
    say()
    say(f"intervals       {COVERS}")
    if len(found.problem.groups) > 1:
        say(f"groups          {found.homogeneity()}")
    for note in found.notes:
        say(f"note            {note}")
