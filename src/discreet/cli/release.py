"""The verb of the curator: release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..optimise.families import FAMILIES
from .output import Json, Page, decide, print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..ptables.table import PTable
    from ..release.plan.plan import Plan


def release(
    questions: Annotated[
        list[str],
        typer.Argument(help="SQL: SELECT groups, COUNT(*) FROM table WHERE ... GROUP BY groups.", metavar="SQL..."),
    ],
    data: Annotated[
        str, typer.Option(help="The table: .csv, .tsv (.gz), .parquet or .duckdb. Its name is the file's stem.")
    ],
    unit: Annotated[
        str | None, typer.Option(help="Whose data is protected: row, or the column that names the person. Required.")
    ] = None,
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
    discover: Annotated[
        list[str] | None,
        typer.Option(
            help="A group column whose values are found in the data; only groups whose noisy count passes are named. "
            "Needs --delta."
        ),
    ] = None,
    one_row_each: Annotated[
        bool, typer.Option("--one-row-each", help="With --discover and --unit row: each person has one row.")
    ] = False,
    epsilon: Annotated[str | None, typer.Option(help="The privacy of the whole release, per unit.")] = None,
    delta: Annotated[str, typer.Option(help="The delta of the whole release, per unit.")] = "0",
    error: Annotated[
        int | None, typer.Option(help="Instead of --epsilon: how far off a count may be, with probability --level.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(help=f"{', '.join(FAMILIES.written('release'))}, or a file."),
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
    max_groups: Annotated[
        int | None,
        typer.Option(help="In how many groups one person is counted at most. Required with a unit that is a person."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="For several questions: their parts of epsilon, such as 2,1.")
    ] = None,
    suppress_below: Annotated[int | None, typer.Option(help="Withhold noisy counts below this.")] = None,
    level: Annotated[str, typer.Option(help="The coverage of the intervals.")] = "0.95",
    edition: Annotated[str, typer.Option(help="Your name for the state of the data, such as 2026-11.")] = "",
    dataset: Annotated[
        str | None,
        typer.Option(help="The data set these people belong to, where the file has another name. Needs --edition."),
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that pays; made by: discreet ledger init.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The folder to write the bundle into.")] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Show cells, noise and cost, and what --ledger would decide; read no row, spend nothing."
        ),
    ] = False,
    page: Page = None,
    json: Json = False,
) -> None:
    """Answer "how many?" from a table, privately, and write a bundle that can be published and re-checked.

    Example: `discreet release "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data data/doctor_visits.csv.gz
    --unit person --max-groups 1 --domain site=1..6 --epsilon 1 --ledger study.ledger -o by_site/`
    """
    from ..addresses import read_address
    from ..errors import InvalidInput
    from ..ledger.budget import amount_text
    from ..ledger.ledger import Ledger
    from ..release.counts import release_counts, without_ledger
    from ..release.plan.planning import plan_request
    from ..release.plan.protection import WHOSE
    from ..release.plan.request import read_request

    if unit is None:
        raise InvalidInput(WHOSE, argument="unit")
    request = read_request(
        questions, unit=unit, domain=domain, groups=groups, zeros=zeros,
        discover=None if discover is None else ",".join(discover), one_row_each=one_row_each,
        epsilon=epsilon, delta=delta, error=error,
        mechanism=_mechanism(mechanism), properties=properties, loss=loss, counts=counts, bound=bound, sizes=sizes,
        relation=relation, max_groups=max_groups, split=None if split is None else split.split(","),
        suppress_below=suppress_below, level=level, edition=edition, dataset=dataset,
    )  # fmt: skip
    if page is not None and not plan:
        raise InvalidInput(
            "--page goes with --plan.", "The page of a release is index.html in the folder of -o.", argument="page"
        )
    if plan:
        refuse_unwritable(page, [".html"], "a page")
        _show_plan(plan_request(request, data), data, ledger, out, page, json)
        return
    if ledger is None:
        raise without_ledger(str(read_address(data)), unit)
    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).", argument="out")
    released = release_counts(request, data=data, ledger=ledger, out=out)
    left = Ledger.open(ledger).left()
    if not released.fresh:
        _warn_of_later_changes(data, str(released.ledger["time"]))
    if json:
        print_json({**released.to_json(), "left": left.to_json()})
        return
    say(released.describe())
    for note in released.plan.notes:
        say(f"note: {note}")
    anew = ". To ask anew, and pay, name the state of the data: --edition " + ("ANOTHER" if edition else "NAME")
    say(f"\n{released.payment}{'' if released.fresh else anew}; left in {ledger}: {amount_text(left)}")
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


def _warn_of_later_changes(data: str, recorded: str) -> None:
    """Say on the terminal, and nowhere else, that the data was written to after the answer was recorded."""
    from datetime import UTC, datetime

    from ..addresses import read_address
    from ..engines.sources import open_source

    written = open_source(data).last_changed()
    if written is not None and written > datetime.fromisoformat(recorded).timestamp() + 1:
        changed = datetime.fromtimestamp(written, UTC)
        typer.echo(
            f"warning: {read_address(data)} was changed on {changed:%Y-%m-%d %H:%M:%S} UTC, after this answer was "
            "recorded. It is the answer for the earlier state; name the new one by --edition to count it.",
            err=True,
        )


def _show_plan(plan: Plan, data: str, ledger: str | None, out: Path | None, page: Path | None, json: bool) -> None:
    """The plan, and with a ledger what it would decide, with the exit code of the release itself."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..release.counts import foresee, open_ledger

    outlook = None if ledger is None else foresee(plan, open_source(data), open_ledger(ledger, plan), out)
    report, content = plan.report(), plan.to_json()
    if outlook is not None:
        report = replace(report, sections=(*report.sections, *outlook.report().sections))
        content |= {"left": outlook.left.to_json(), "decision": outlook.to_json()}
    elif not read_address(data).may_be_opened:
        missing = f"there is no file {read_address(data)}: whether it has these columns was not looked at"
        report = replace(report, notes=(*report.notes, missing))
    if page is not None:
        report.save(page)
    if json:
        print_json(content)
    else:
        say(report.text())
        how = {None: "; to release, leave --plan out and give --ledger and -o", "refused": ""}
        verdict = None if outlook is None else outlook.verdict
        say(f"no row was read and nothing was spent{how.get(verdict, '; to release, leave --plan out and give -o')}")
        if page is not None:
            say(f"written to {page}")
    if outlook is not None:
        decide(outlook.verdict != "refused")
