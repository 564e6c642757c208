"""The verb of the curator: release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, print_json, say

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..ptables.table import PTable
    from ..release.plan import Plan


def release(
    questions: Annotated[
        list[str],
        typer.Argument(help="SQL: SELECT groups, COUNT(*) FROM table WHERE ... GROUP BY groups.", metavar="SQL..."),
    ],
    data: Annotated[
        Path, typer.Option(help="The table: .csv, .tsv (.gz), .parquet or .duckdb. Its name is the file's stem.")
    ],
    unit: Annotated[
        str, typer.Option(help="Whose data is protected: row, or the column that names the person. Required.")
    ],
    domain: Annotated[
        list[str] | None,
        typer.Option(help="Public values of a group column: site=1..6, health=good,poor, town=@towns.txt."),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="Instead of --domain: a CSV file with one row per public group.")
    ] = None,
    zeros: Annotated[
        Path | None, typer.Option(help="Structural zeros: a CSV file of groups that cannot exist.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy of the whole release, per unit.")] = None,
    delta: Annotated[str, typer.Option(help="The delta of the whole release, per unit.")] = "0",
    error: Annotated[
        int | None, typer.Option(help="Instead of --epsilon: how far off a count may be, with probability --level.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            help="geometric, discrete-gaussian, explicit-fair, randomized-response, rounded-laplace, or a file."
        ),
    ] = "geometric",
    properties: Annotated[
        str | None, typer.Option(help="Instead of --mechanism: design the best one that has these, such as WH+CM.")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="With a design: what to minimise, L0 (default), L1, L2.")] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            help="clamped (never negative, the default), signed (unbiased), or in-range (with a bound or sizes)."
        ),
    ] = None,
    bound: Annotated[int | None, typer.Option(help="The largest count of any cell, a public fact.")] = None,
    sizes: Annotated[
        Path | None, typer.Option(help="Public sizes of the groups: a CSV file with the group columns and size.")
    ] = None,
    relation: Annotated[str | None, typer.Option(help="add-remove, or substitution (as --sizes implies).")] = None,
    max_groups: Annotated[int, typer.Option(help="In how many groups one person counts at most.")] = 1,
    split: Annotated[
        str | None, typer.Option(help="For several questions: their parts of epsilon, such as 2,1.")
    ] = None,
    suppress_below: Annotated[int | None, typer.Option(help="Withhold noisy counts below this.")] = None,
    level: Annotated[str, typer.Option(help="The coverage of the intervals.")] = "0.95",
    edition: Annotated[str, typer.Option(help="Your name for the state of the data, such as 2026-11.")] = "",
    ledger: Annotated[Path | None, typer.Option(help="The ledger that pays; made by: discreet ledger init.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The folder to write the bundle into.")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show cells, noise, error and cost; read no row, spend nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Answer "how many?" from a table, privately, and write a bundle that can be published and re-checked.

    Example: `discreet release "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data data/doctor_visits.csv.gz
    --unit person --domain site=1..6 --epsilon 1 --ledger study.ledger -o by_site/`
    """
    from ..errors import InvalidInput
    from ..release.budget import short
    from ..release.counts import release_counts
    from ..release.ledger import Ledger
    from ..release.planning import plan_release

    options: dict[str, Any] = {
        "domain": domain, "groups": groups, "zeros": zeros, "epsilon": epsilon, "delta": delta, "error": error,
        "mechanism": _mechanism(mechanism), "properties": properties, "loss": loss,
        "counts": counts, "bound": bound, "sizes": sizes, "relation": relation,
        "max_groups": max_groups, "split": None if split is None else split.split(","),
        "suppress_below": suppress_below, "level": level, "edition": edition,
    }  # fmt: skip
    if plan:
        proposed = plan_release(questions, data=data, unit=unit, **options)
        _show_plan(proposed, ledger, json)
        return
    if ledger is None:
        raise InvalidInput(
            "a release needs the ledger that pays for it: --ledger PATH. Make one with: discreet ledger init PATH "
            f"--data {data} --unit {unit} --epsilon TOTAL. With --plan you see the cost first."
        )
    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).")
    book = Ledger.open(ledger) if ledger.exists() else None
    before = book.spent() if book is not None else None
    released = release_counts(questions, data=data, unit=unit, ledger=book or ledger, out=out, **options)
    assert book is not None and before is not None  # a missing ledger is refused
    free = book.spent() == before
    if json:
        print_json({**released.as_json(), "recorded": free, "left": book.left().describe()})
        return
    say(released.describe())
    for note in released.plan.notes:
        say(f"note: {note}")
    left = book.left()
    paid = (
        "the recorded answer: nothing was spent" if free else f"spent epsilon {short(released.cost.epsilon, up=True)}"
    )
    delta = f", delta {short(left.delta, up=False, digits=3)}" if left.delta else ""
    say(f"\n{paid}; left in {ledger}: epsilon {short(left.epsilon, up=False)}{delta}")
    if out is not None:
        say(f"written to {out}: open {out / 'index.html'}, re-check with: discreet verify {out}")


def _mechanism(name: str) -> str | Mechanism | PTable:
    """A mechanism by name, from its file, or a p-table from one."""
    if name.endswith(".json"):
        from ..files import load

        return load(name)
    if Path(name).suffix:
        from ..ptables.reading import read_ptable

        return read_ptable(name)
    return name


def _show_plan(plan: Plan, ledger: Path | None, json: bool) -> None:
    from ..release.budget import short
    from ..release.counts import open_ledger

    book = open_ledger(ledger, plan) if ledger is not None and ledger.exists() else None
    left = None if book is None else book.left()
    if json:
        content = plan.as_json()
        if left is not None:
            content["left"] = left.describe()
        print_json(content)
        return
    say(plan.describe())
    if left is not None:
        delta = f", delta {short(left.delta, up=False, digits=3)}" if left.delta else ""
        say(f"budget     epsilon {short(left.epsilon, up=False)}{delta} is left in {ledger}")
    elif ledger is not None:
        say(f"budget     there is no ledger {ledger} yet; a release needs one")
    say("no row was read and nothing was spent; to release, leave --plan out and give --ledger and -o")
