"""The verb ledger: init, show, release, verify, plan, copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import Json, decide, print_json, say

app = typer.Typer(
    no_args_is_help=True, help="The budget of a data set: create, show and check it.", rich_markup_mode="markdown"
)

File = Annotated[str, typer.Argument(help="The ledger: its file, or its address.")]


@app.command()
def init(
    path: Annotated[str, typer.Argument(help="The file to make, or an address; one that exists is refused.")],
    data: Annotated[str, typer.Option(help="The data set: its file, or its name.")],
    unit: Annotated[str, typer.Option(help="The privacy unit: row, or the column that identifies a person.")],
    epsilon: Annotated[str, typer.Option(help="The budget for everything that will ever be released from the data.")],
    delta: Annotated[str, typer.Option(help="The delta of the budget.")] = "0",
    relation: Annotated[
        str, typer.Option(help="add-remove, or substitution when the sizes of groups are public.")
    ] = "add-remove",
    filter: Annotated[
        str,
        typer.Option(
            help="How costs add up: sum (epsilon and delta), zcdp (rho; needs a delta), or either (paid while the sum "
            "of epsilons or the sum of rho is within the budget; needs a delta)."
        ),
    ] = "sum",
    own_delta: Annotated[
        str,
        typer.Option(help="With the filter either: the part of delta for releases with a delta of their own."),
    ] = "0",
    per: Annotated[
        str | None,
        typer.Option(help="Protect one period of each unit, with a budget each: day, week, month, quarter or year."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="The name of the data set, if several files share its people; by default the file's."),
    ] = None,
    json: Json = False,
) -> None:
    """Make the ledger of a data set, with a budget that cannot be changed.

    Example: `discreet ledger init study.ledger --data visits.csv --unit person --epsilon 3`
    """
    from ..ledger.create import create_ledger, other_ledgers
    from ..ledger.statement import terms_in_words
    from ..report import Report, Section, Terms

    ledger = create_ledger(
        path, data, unit, dataset=dataset, relation=relation, epsilon=epsilon, delta=delta, filter=filter, per=per,
        own_delta=own_delta,
    )  # fmt: skip
    for other in other_ledgers(ledger):
        typer.echo(
            f"warning: {other} is a ledger of {ledger.terms.dataset} already, and another ledger is a second budget.",
            err=True,
        )
    if json:
        print_json({"file": str(path), **ledger.terms.to_json()})
        return
    keep = "one ledger for one data set, in a safe place: it is the only record of the budget spent"
    lines = Terms((("made", str(path)), *terms_in_words(ledger.terms), ("keep", keep)))
    say(Report("", sections=(Section(parts=(lines,)),)).text())


@app.command()
def show(path: File, json: Json = False) -> None:
    """Show the budget, each expense, and what to do about reservations without an answer.

    Example: `discreet ledger show study.ledger`
    """
    from ..ledger.ledger import Ledger

    statement = Ledger.open(path).statement()
    if json:
        print_json(statement.to_json())
    else:
        say(statement.describe())


@app.command("release")
def release_reservation(
    path: File,
    number: Annotated[int, typer.Argument(help="The number of the reservation, as in ledger show.")],
    because: Annotated[str, typer.Option(help="The reason, which the ledger keeps.")],
    json: Json = False,
) -> None:
    """Give back a reservation for which no row was read, because its program was stopped.

    It can never be used afterwards, not even by a program that was only paused. A reservation whose rows may have been
    read (state opened) stays spent.

    Example: `discreet ledger release study.ledger 4 --because "power cut before the table was opened"`
    """
    from ..ledger.budget import short
    from ..ledger.ledger import Ledger

    ledger = Ledger.open(path)
    cost = ledger.release(number, because=because)
    left = ledger.left()
    if json:
        print_json({"file": str(path), "number": number, "given_back": cost.to_json(), "left": left.to_json()})
        return
    say(f"given back  reservation {number}, epsilon = {short(cost.epsilon, up=False)}; it can never be used now")
    say(f"left        epsilon = {short(left.epsilon, up=False)}")


@app.command()
def verify(
    path: File,
    bundle: Annotated[
        list[Path] | None, typer.Option(help="A published bundle whose entry must be in the ledger; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the chain of events, the sums, and that published bundles are known.

    This reads every event; a release reads only those since the last checkpoint.

    A restored old copy passes this check although it lacks later releases: only their bundles reveal that.

    Example: `discreet ledger verify study.ledger --bundle health_by_site`
    """
    from ..errors import UnreadableFile
    from ..ledger.books import verify_store
    from ..ledger.stores.open import open_store
    from ..release.bundle.read import ledger_head

    store = open_store(path)
    if not store.exists():
        raise UnreadableFile(f"there is no ledger {path}.", "Make one with: discreet ledger init.")
    heads = {folder: ledger_head(folder) for folder in bundle or []}
    report = verify_store(store, list(heads.values()))
    if json:
        print_json({**report.to_json(), "bundles": {str(folder): head for folder, head in heads.items()}})
    else:
        say(report.describe())
    decide(report.holds)


@app.command()
def plan(
    path: Annotated[str, typer.Argument(metavar="PLAN.toml", help="The budget plan: a file that lists releases.")],
    ledger: Annotated[str | None, typer.Option(help="Another ledger than that of the file.")] = None,
    json: Json = False,
) -> None:
    """Add up several planned releases and compare them with what is left. No row is read and nothing is spent.

    Exit code 1 means that the budget does not pay for all of them together.

    Example: `discreet ledger plan year.toml`
    """
    from ..release.budget_plan import plan_budget

    budget = plan_budget(path, ledger=ledger)
    if json:
        print_json(budget.to_json())
    else:
        say(budget.describe())
    decide(budget.fits)


@app.command()
def copy(
    path: File,
    to: Annotated[str, typer.Argument(help="The new place: a file, or postgresql://user@host/database.")],
    json: Json = False,
) -> None:
    """Move a ledger to another place, and close the old one for good.

    Expenses, answers and published bundles are copied too. The two can never both be spent from: the old one is closed
    first. If this is interrupted, repeat the same command.

    Example: `discreet ledger copy study.ledger postgresql://ann@db/study`
    """
    from ..ledger.budget import short
    from ..ledger.ledger import Ledger

    new_ledger = Ledger.open(path).copy_to(to)
    left = new_ledger.left()
    if json:
        print_json({"from": path, "to": new_ledger.name, "left": left.to_json()})
        return
    say(f"closed    {path}")
    say(f"copied    to {new_ledger.name}; left: epsilon = {short(left.epsilon, up=False)}")
