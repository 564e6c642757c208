"""The verb collect: its plan, and the verbs of a service."""

from __future__ import annotations

from typing import Annotated

import typer

from ..optimise.families import FAMILIES
from .design import space_of
from .output import FormerTarget, Json, Page, hand_over, refuse_unwritable, target_option, waiting
from .serving import create, estimate, repair, token

app = typer.Typer(no_args_is_help=True, help="Plan and run a survey in which people's own devices add the noise.")


@app.callback()
def _collect() -> None:
    """Plan and run a survey in which people's own devices add the noise."""


@app.command()
def plan(
    target_error: Annotated[
        str | None,
        typer.Option(
            help='The error allowed: "±2 points" (the share of every value), "share of yes ±2 points", "mean ±0.5", '
            '"map 200 m". +-2 is read as ±2.'
        ),
    ] = None,
    wanted: FormerTarget = None,
    n: Annotated[int | None, typer.Option("-n", "--n", "--largest", help="For counts: the largest one.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="The answers, comma separated, or @FILE with one on each line.")
    ] = None,
    grid: Annotated[str | None, typer.Option(help="For places: ROWSxCOLSxCELL, such as 30x30x150.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy; the number of people is computed.")] = None,
    people: Annotated[int | None, typer.Option(help="The number of people; the smallest epsilon is computed.")] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help=f"A family by name, by default the best one: {', '.join(FAMILIES.cli_names('plan'))}."),
    ] = None,
    guess: Annotated[
        str | None,
        typer.Option(help="The assumed truth: uniform, or a .csv or .json file of shares or of an earlier estimate."),
    ] = None,
    notion: Annotated[
        str | None, typer.Option(help="The notion of privacy: central (adjacent counts), local (any two), metric.")
    ] = None,
    level: Annotated[float, typer.Option(help="The coverage of the intervals: 0.95 for 95%.")] = 0.95,
    surveys: Annotated[int | None, typer.Option(help="Number of simulated surveys for the check.", min=2)] = None,
    seed: Annotated[int, typer.Option(help="The seed of the simulation.", min=0)] = 0,
    page: Page = None,
    json: Json = False,
) -> None:
    """Compute how many people a survey needs at an epsilon, or the smallest epsilon for the people there are.

    The Fisher information gives a first answer; simulated surveys, estimated as `discreet estimate` does, correct and
    check it.

    Examples: `discreet collect plan -n 100 --target-error "mean ±0.5" --epsilon 0.5 --mechanism geometric` ·
    `discreet collect plan --labels yes,no --target-error "±2 points" --people 20000` ·
    `discreet collect plan --grid 20x20x150 --target-error "map 200 m" --epsilon 0.005 --page plan.html`
    """
    from ..collect.planning.planner import plan_collection

    refuse_unwritable(page, (".html",), "a page")
    target_error = target_option(target_error, wanted)
    space = space_of(n, labels, grid)
    with waiting("simulating surveys"):
        result = plan_collection(
            space, target_error, epsilon=epsilon, people=people, mechanism=mechanism, guess=guess, notion=notion,
            level=level, surveys=surveys, seed=seed,
        )  # fmt: skip
    hand_over(result, page, json)


app.command()(token)
app.command()(repair)
app.command()(create)
app.command()(estimate)
