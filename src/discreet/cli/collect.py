"""The verb collect: plan, and for a service token, repair, create and estimate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..optimise.families import FAMILIES
from .design import space_of
from .output import FormerTarget, Json, Page, hand_over, print_json, refuse_unwritable, say, target_option, waiting
from .serve import Store

if TYPE_CHECKING:
    from ..collect.collector import Collector

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
    former_target: FormerTarget = None,
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
    target_error = target_option(target_error, former_target)
    space = space_of(n, labels, grid)
    with waiting("simulating surveys"):
        result = plan_collection(
            space, target_error, epsilon=epsilon, people=people, mechanism=mechanism, guess=guess, notion=notion,
            level=level, surveys=surveys, seed=seed,
        )  # fmt: skip
    hand_over(result, page, json)


@app.command()
def token(
    store: Store = "reports.db",
    right: Annotated[
        str, typer.Option(help="manage (everything), read (estimates and counts) or report (to closed collections).")
    ] = "manage",
    collection: Annotated[str | None, typer.Option(help="The only collection it is valid for; by default all.")] = None,
    json: Json = False,
) -> None:
    """Make a token for a service. It is shown once; the store keeps a hash of it.

    A SQLite store must not be in use by a service meanwhile; a running service makes tokens at POST /v1/tokens.

    Example: `discreet collect token reports.db --right read --collection visits`
    """
    from ..collect.service.tokens import new_token
    from ..collect.stores.open import report_store

    text, record = new_token(right, collection)
    opened = report_store(store)
    opened.open()
    try:
        opened.add_token(record)
    finally:
        opened.close()
    if json:
        print_json({"name": record.name, "token": text})
    else:
        say(text)


@app.command()
def repair(
    store: Store = "reports.db",
    counted_until: Annotated[
        str | None,
        typer.Option(help="The last day on which reports were counted, such as 2026-11-16; by default today."),
    ] = None,
    json: Json = False,
) -> None:
    """Repair a store that refuses reports because the service once ran with its clock ahead.

    Keys of that day and of the next one stay refused, so that nothing is counted twice. A SQLite store must not be in
    use by a service meanwhile.

    Example: `discreet collect repair reports.db --counted-until 2026-11-16`
    """
    from ..collect.stores.repair import repair as repair_store

    result = repair_store(store, counted_until)
    if json:
        print_json({"before": str(result.before), "after": str(result.after)})
    else:
        say(result.describe())


Service = Annotated[str, typer.Option(help="The service's address.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="A file with the token; by default the environment variable DISCREET_TOKEN has it."),
]
CollectionName = Annotated[str, typer.Argument(help="The collection's name.")]

_LOCAL_SERVICE = "http://127.0.0.1:8571"

#: Seconds to wait for a service that is still starting.
START_TIMEOUT_SECONDS = 15.0


@app.command()
def create(
    name: CollectionName,
    mechanism: Annotated[
        list[str],
        typer.Option(help="The mechanism of the devices (.json); for several to choose from, NAME=FILE each."),
    ],
    question: Annotated[str, typer.Option(help="The question that people answer.")],
    title: Annotated[str | None, typer.Option(help="A title; by default the question.")] = None,
    target_error: Annotated[
        str | None, typer.Option(help='The error allowed: "±2 points", "mean ±0.5". +-2 is read as ±2.')
    ] = None,
    minimum_reports: Annotated[
        int | None, typer.Option(help="Instead of --target-error: estimates from fewer reports are not shown.")
    ] = None,
    former_target: FormerTarget = None,
    by_token: Annotated[bool, typer.Option("--by-token", help="Only holders of a token may report.")] = False,
    service: Service = _LOCAL_SERVICE,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Make a collection at a service.

    Example: `discreet collect create smoking --question "Do you smoke?" --mechanism m.json --target-error "±2 points"`
    """
    from ..collect.mechanism_files import open_mechanisms
    from ..files import load
    from .perturb import files_by_name

    mechanisms = load(mechanism[0]) if len(mechanism) == 1 else open_mechanisms(files_by_name(mechanism), "")
    description = _collector(service, token_file).create(
        name, mechanisms, question=question, title=title, target_error=target_option(target_error, former_target),
        minimum_reports=minimum_reports, reporting="token" if by_token else "open",
    )  # fmt: skip
    if json:
        print_json(description)
        return
    say(f"{name}: estimates are shown from {description['minimum_reports']:,} reports on.")
    for guarantee in description["mechanisms"]:  # type: ignore[union-attr]
        say(f"{guarantee['name']:<10}{' '.join(guarantee['guarantee'])}")  # type: ignore[index,arg-type,call-overload]
    say(f"{'answer':<10}{service.rstrip('/')}/collections/{name}/answer")


@app.command()
def estimate(
    name: CollectionName,
    level: Annotated[float, typer.Option(help="The coverage of the intervals.", min=0.5, max=0.9999)] = 0.95,
    service: Service = _LOCAL_SERVICE,
    token_file: TokenFile = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Estimate the distribution behind the reports of a collection, with intervals.

    Example: `discreet collect estimate smoking --page smoking.html`
    """
    refuse_unwritable(page, (".html",), "a page")
    result = _collector(service, token_file).estimate(name)
    if page is not None:
        result.save(page, level)
    if json:
        print_json(result.to_json(level))
        return
    say(result.describe(level))
    if page is not None:
        say(f"page      {page}")


def _collector(service: str, token_file: Path | None) -> Collector:
    from ..collect.collector import Collector
    from ..errors import InvalidInput

    if token_file is not None:
        try:
            text = token_file.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(
                f"there is no token in {token_file}.", "Make one: discreet collect token.", argument="token_file"
            ) from None
        return Collector(service, text, patience=START_TIMEOUT_SECONDS)
    text = os.environ.get("DISCREET_TOKEN", "")
    if not text:
        raise InvalidInput(
            "this needs a token of the service.",
            "Name the file that has it by --token-file, or set DISCREET_TOKEN; discreet collect token makes one.",
            argument="token_file",
        )
    return Collector(service, text, patience=START_TIMEOUT_SECONDS)
