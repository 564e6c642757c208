"""The verb contributions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import Json, print_json, say


def contributions(
    question: Annotated[str, typer.Argument(help="SQL: SELECT groups, COUNT(*) FROM table GROUP BY groups.")],
    data: Annotated[str, typer.Option(help="The table: a file, or the address of a database.")],
    unit: Annotated[str, typer.Option(help="The column that names the person.")],
    epsilon: Annotated[str, typer.Option(help="What the histogram costs.")],
    ledger: Annotated[str, typer.Option(help="The ledger that pays.")],
    of: Annotated[
        str, typer.Option(help="groups: in how many groups people are. rows: their largest number of rows in a group.")
    ] = "groups",
    top: Annotated[int, typer.Option(help="Number of cells; the last is for so many or more.")] = 10,
    leave_out: Annotated[str, typer.Option(help="The share of people that the suggested bound may affect.")] = "0.05",
    domain: Annotated[list[str] | None, typer.Option(help="Public values of a group column: site=1..6.")] = None,
    bands: Annotated[list[str] | None, typer.Option(help="Edges of a group column: age=18,30,65.")] = None,
    groups: Annotated[Path | None, typer.Option(help="A CSV file with one row per public group.")] = None,
    zeros: Annotated[Path | None, typer.Option(help="A CSV file of groups that cannot exist.")] = None,
    relation: Annotated[str | None, typer.Option(help="add-remove or substitution.")] = None,
    unit_name: Annotated[str | None, typer.Option(help="What texts call the unit: person, household.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set these people belong to.")] = None,
    edition: Annotated[str, typer.Option(help="Your name for the state of the data.")] = "",
    level: Annotated[str, typer.Option(help="The coverage of the intervals.")] = "0.95",
    json: Json = False,
) -> None:
    """Count privately how many groups or rows people have, to choose --max-groups or --max-rows.

    It is a release of its own, paid from the ledger. Each person is in one count, so it costs little.

    Example: `discreet contributions "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data
    data/doctor_visits.csv.gz --unit person --domain site=1..6 --epsilon 0.1 --ledger study.ledger`
    """
    from ..release.contributions import contributions as released

    fields: dict[str, Any] = {
        "domain": domain, "bands": bands, "groups": groups, "zeros": zeros, "relation": relation,
        "unit_name": unit_name, "dataset": dataset,
    }  # fmt: skip
    histogram = released(
        question, data=data, ledger=ledger, of=of, top=top, leave_out=leave_out, unit=unit, epsilon=epsilon,
        edition=edition, level=level, **{name: value for name, value in fields.items() if value is not None},
    )  # fmt: skip
    if json:
        print_json(histogram.to_json())
    else:
        say(histogram.report().text())
