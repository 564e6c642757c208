"""Verbs of a dataset: new, show, check, add-column; and releases from a declared one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import Json, decide, print_json, say

if TYPE_CHECKING:
    from ..datasets.columns import DeclaredColumn
    from ..datasets.declaration import Declaration
    from ..engines.sources import Source
    from ..ledger.ledger import Cost, Ledger
    from ..release.acceptance import Acceptance
    from ..release.bound_plan import BoundPlan
    from ..release.bundle.released import Release
    from ..release.counts import LedgerDecision
    from ..report import Report, Result

app = typer.Typer(
    no_args_is_help=True,
    help="Declare a data set once: who is protected, which values are public, which ledger pays.",
    rich_markup_mode="markdown",
)

File = Annotated[Path, typer.Argument(help="The dataset file: FILE.toml.", metavar="FILE.toml")]
Domains = Annotated[
    list[str] | None,
    typer.Option(help="Public values of a column: site=1..6, health=good,poor, town=@towns.txt; * adds all others."),
]
BandEdges = Annotated[list[str] | None, typer.Option(help="Edges of a column that is counted in bands: age=18,30,65.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


@app.command()
def new(
    data: Annotated[str, typer.Argument(help="The data: its file, or the address of a database.")],
    unit: Annotated[str, typer.Option(help="Who is protected: the column that tells people apart, or row.")],
    unit_name: Annotated[
        str | None,
        typer.Option(help="What texts call it: person, household; by default the column, if it is a word."),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(help="Protect one period of each unit, by a date column: month:visit_date."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="The epsilon for everything that will ever be released from the data.")
    ] = None,
    delta: Annotated[str, typer.Option(help="The delta of the budget.")] = "0",
    domain: Domains = None,
    bands: BandEdges = None,
    ledger: Annotated[
        str | None, typer.Option(help="Instead of --budget: a ledger that exists, of the same data set and unit.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of a CSV file that is not UTF-8: latin-1, windows-1252, utf-16.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the dataset; by default that of the data.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file to write; default NAME.toml, here.")] = None,
    has_heading: Annotated[
        bool, typer.Option("--has-heading", help="The first line names the columns, although it looks like values.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Declare a data set: write its file, and make the ledger that pays. Column names are read, and no row.

    Example: `discreet dataset new data/doctor_visits.csv.gz --unit person --budget 3 --domain site=1..6`
    """
    from ..addresses import read_address
    from ..datasets.create import draft_declaration, refuse_other_terms, refuse_second_budget, write_dataset
    from ..datasets.declaration import refuse_existing
    from ..errors import InvalidInput
    from ..ledger.ledger import Ledger
    from ..ledger.terms import LedgerTerms

    if (budget is None) == (ledger is None):
        raise InvalidInput(
            "a dataset needs a budget: --budget EPSILON for a new ledger, or --ledger FILE for one that exists.",
            argument="budget",
        )
    if not read_address(data).may_be_opened:
        raise InvalidInput(f"there is no file {read_address(data)}.", "Name the data's file.", argument="data")
    folder = Path() if out is None else out.parent
    columns = _columns(domain, bands, folder)
    draft = draft_declaration(
        data,
        unit=unit,
        unit_name=unit_name,
        columns=columns,
        ledger=ledger,
        name=name,
        file=out,
        encoding=encoding,
        per=per,
    )
    declaration = draft.declaration
    assert declaration.path is not None
    refuse_existing(declaration.path)
    if budget is not None:
        LedgerTerms.new(
            declaration.dataset, declaration.unit, "add-remove", budget, delta, "sum", per=declaration.granularity
        )
        refuse_second_budget(declaration)
    else:
        assert declaration.ledger_address is not None
        refuse_other_terms(Ledger.open(declaration.ledger_address), declaration)
    if draft.name_warnings and not has_heading:
        for line in draft.name_warnings:
            typer.echo(f"warning: {line}.", err=True)
        _ask(
            "Are these names of columns, not a person's values?",
            "nothing was written, because the first line may be a person's row",
            "Add a heading to the data, or give --has-heading if it has one.",
        )
    if not yes:
        if not json:
            say(f"{declaration.path}:\n")
            say(draft.text)
        ledger_note = (
            ""
            if budget is None
            else f" and make {declaration.ledger} with epsilon {budget} in total, which cannot be changed"
        )
        _ask(f"Write it{ledger_note}?", "nothing was written", "Give --yes to write it without being asked.")
    new_ledger = write_dataset(draft, budget=budget, delta=delta, adopt=ledger is not None)
    if json:
        print_json({"file": str(declaration.path), **declaration.to_json(), "left": new_ledger.left().to_json()})
        return
    width = max(len(str(declaration.path)), len(str(declaration.ledger)))
    say(f"{declaration.path!s:{width}}   who is protected, and which values are public (commit this file)")
    keep = "never copy it: a copy is a second budget"
    say(f"{declaration.ledger!s:{width}}   {_budget(new_ledger)} ({keep})")


@app.command()
def show(file: File, json: Json = False) -> None:
    """Show what is declared, and what is left of the budget.

    Example: `discreet dataset show doctor_visits.toml`
    """
    from ..datasets.declaration import Declaration

    declaration = Declaration.open(file)
    ledger = _ledger(declaration)
    if json:
        print_json({**declaration.to_json(), "left": None if ledger is None else ledger.left().to_json()})
        return
    say(declaration.describe())
    _say_budget(ledger)


@app.command()
def check(file: File, json: Json = False) -> None:
    """Check the declaration against the columns of its data, its look-ups and the terms of its ledger.

    No row of the data is read; the rows of look-ups, which are public, are.

    Example: `discreet dataset check doctor_visits.toml`
    """
    from ..datasets.create import check_dataset
    from ..datasets.declaration import Declaration
    from ..errors import DiscreetError

    declaration = Declaration.open(file)
    problems = check_dataset(declaration)
    try:
        ledger = _ledger(declaration)
    except DiscreetError:  # it is one of the problems
        ledger = None
    if json:
        left = None if ledger is None else ledger.left().to_json()
        print_json({"file": str(file), "holds": not problems, "problems": list(problems), "left": left})
    else:
        for problem in problems:
            say(f"problem   {problem}")
        if not problems:
            lookups = ", its look-ups" if declaration.lookups else ""
            say(f"holds     its data{lookups} and its ledger match the declaration")
        _say_budget(ledger)
    decide(not problems)


@app.command("add-column")
def add_column(
    file: File,
    domain: Domains = None,
    bands: BandEdges = None,
    json: Json = False,
) -> None:
    """Add the public values of a column to a dataset file; everything else in it stays as it is.

    Example: `discreet dataset add-column doctor_visits.toml --domain health=excellent,good,fair,poor`
    """
    from ..datasets.create import add_columns
    from ..errors import InvalidInput, arg

    columns = _columns(domain, bands, file.parent)
    if not columns:
        raise InvalidInput(f"say which values are public: {arg('domain', 'site=1..6')}, or {arg('bands')}.")
    declaration = add_columns(file, columns)
    ledger = _ledger(declaration)
    if json:
        print_json({**declaration.to_json(), "left": None if ledger is None else ledger.left().to_json()})
        return
    for column in columns:
        say(f"added     {column.name} to {file}")
    _say_budget(ledger)


# ------------------------------------------------------------------------------------------------ parts


def on_terminal() -> bool:
    """Return True if a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: str, otherwise: str, advice: str) -> None:
    """Continue if a person confirms; refuse without a terminal."""
    from ..errors import InvalidInput

    if not on_terminal():
        raise InvalidInput(
            f"{otherwise}, and this is not a terminal, where you could be asked.", advice, argument="yes"
        )
    if not typer.confirm(question):
        say("nothing was written")
        raise typer.Exit(0)


def _columns(domain: list[str] | None, bands: list[str] | None, folder: Path) -> list[DeclaredColumn]:
    from ..datasets.columns import DeclaredColumn

    listed_columns = [DeclaredColumn.parse_domain(text, folder) for text in domain or ()]
    return [*listed_columns, *(DeclaredColumn.parse_bands(text) for text in bands or ())]


def _ledger(declaration: Declaration) -> Ledger | None:
    from ..ledger.ledger import Ledger

    hint = {"dataset": declaration.dataset, "unit": declaration.unit, "per": declaration.granularity}
    return None if declaration.ledger_address is None else Ledger.open(declaration.ledger_address, hint=hint)


def _budget(ledger: Ledger) -> str:
    from ..ledger.budget import amount_text

    left, total = ledger.left(), _total(ledger)
    text = amount_text(total)
    return f"{text} in total, nothing spent" if left == total else f"{amount_text(left)} left of {text}"


def _total(ledger: Ledger) -> Cost:
    from ..ledger.budget import Cost

    return Cost(ledger.terms.epsilon, ledger.terms.delta, ledger.terms.rho)


def _say_budget(ledger: Ledger | None) -> None:
    say("budget    no ledger is declared" if ledger is None else f"budget    {_budget(ledger)}")


# ------------------------------------------------------------------------------------------------ releasing


def find_dataset(questions: list[str], data: str | None, dataset: str | None) -> Declaration | None:
    """Return the declaration that a question refers to, or None if the options replace it."""
    from ..datasets.declaration import ENDING, Declaration
    from ..datasets.search import find_declaration, is_declaration
    from ..errors import InvalidInput, arg, named
    from ..questions.question import table_of_question

    if dataset is not None:
        if is_declaration(dataset):
            return Declaration.open(dataset)
        file = f"{dataset}{ENDING}"
        if data is None and Path(file).is_file():
            raise InvalidInput(
                f"{named('dataset')} {dataset} is a name, which goes with {arg('data', 'FILE')}.",
                f"For the dataset file write: {arg('dataset', file)}.",
            )
        return None
    return None if data is not None else find_declaration(table_of_question(questions[0]), Path())


def plan_with_dataset(
    declaration: Declaration, questions: str | Sequence[str], data: str | None, ledger: str | None,
    fields: Mapping[str, object],
) -> BoundPlan:  # fmt: skip
    """Return the plan of questions to a declared dataset; refuse options that the declaration fixes."""
    from ..release.dataset import Dataset

    if ledger is not None:
        raise declaration.fixed_field_error("ledger")
    options = {name: value for name, value in fields.items() if name != "dataset"}
    dataset = Dataset.of(declaration)
    if data is not None:
        dataset = dataset.with_data(data, edition=str(options.pop("edition", "")))
    return dataset.plan(questions, **options)  # type: ignore[arg-type]  # the plan reads every field


def verdict_of(outlook: LedgerDecision | None, acceptance: Acceptance | None) -> str | None:
    """Return the verdict on a plan: "refused" where it does not meet the criteria, else that of the ledger."""
    if acceptance is not None and not acceptance.passed:
        return "refused"
    return None if outlook is None else outlook.verdict


def with_results(report: Report, *results: Result | None) -> Report:
    """Return a report with the sections of further results."""
    return replace(report, sections=(*report.sections, *(s for one in results if one for s in one.report().sections)))


def show_plan_with_dataset(
    plan: BoundPlan, out: Path | None, page: Path | None, json: bool, accept: Path | None = None
) -> str | None:
    """Show the plan, the outcome of criteria and the decision of the ledger; return the verdict."""
    acceptance = None if accept is None else plan.plan.acceptance(accept)
    outlook = plan.preview(out) if plan.is_open else None
    verdict = verdict_of(outlook, acceptance)
    report = with_results(plan.report(outlook=outlook), acceptance)
    if page is not None:
        report.save(page)
    if json:
        decision = {} if outlook is None else {"left": outlook.left.to_json(), "decision": outlook.to_json()}
        criteria = {} if acceptance is None else {"acceptance": acceptance.to_json()}
        print_json({**plan.to_json(), **criteria, **decision})
    else:
        say(report.text())
        if outlook is None:
            _say_budget(_ledger(plan.dataset_object.declaration))
        next_step = (
            "" if verdict == "refused" else f"; to release, leave --plan out{' and give -o' if out is None else ''}"
        )
        say(f"no row was read and nothing was spent{next_step}")
    return verdict


def _spending(outlook: LedgerDecision, plan: BoundPlan) -> str:
    from ..ledger.budget import amount_text

    return (
        f", and spend {amount_text(plan.cost.as_counted_by(outlook.left), up=True)}"
        if outlook.verdict == "paid"
        else ""
    )


def release_with_dataset(
    plan: BoundPlan, out: Path | None, yes: bool, json: bool, because: str | None = None, accept: Path | None = None
) -> None:
    """Release a plan; on a terminal, show it and ask for confirmation first, unless the ledger would refuse."""
    from ..errors import InvalidInput
    from ..release.acceptance import accept_plan

    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).", argument="out")
    if not yes and not json and on_terminal():
        accept_plan(plan.plan, accept)
        outlook = plan.preview(out)
        say(plan.report(outlook=outlook).text())
        if outlook.verdict != "refused" and not typer.confirm(f"Release{_spending(outlook, plan)}?"):
            say("nothing was released and nothing was spent")
            raise typer.Exit(0)
    release = plan.release(out, because=because, accept=accept)
    say_release(release, plan.source, plan.place, plan.dataset_object.ledger, out, json, plan.origin)


def say_release(
    release: Release, source: Source, data: str | None, ledger: Ledger, out: Path | None, json: bool,
    notes: Sequence[str] = (),
) -> None:  # fmt: skip
    """Print the release, its cost and the remaining budget."""
    from ..ledger.budget import amount_text

    budget = ledger.left()
    if not release.fresh and data is not None:
        _warn_of_later_changes(source, data, str(release.ledger["time"]))
    if json:
        print_json({**release.to_json(), "left": budget.to_json()})
        return
    say(release.describe())
    for note in (*release.plan.notes, *notes):
        say(f"note: {note}")
    edition = "ANOTHER" if release.plan.edition else "NAME"
    new_edition_hint = f". To ask anew, and pay, name the state of the data: --edition {edition}"
    say(f"\n{release.payment}{'' if release.fresh else new_edition_hint}; left in {ledger.name}: {amount_text(budget)}")
    if out is not None:
        say(f"written to {out}: open {out / 'index.html'}, re-check with: discreet verify {out} --ledger {ledger.name}")


def _warn_of_later_changes(source: Source, data: str, recorded_time: str) -> None:
    """Warn, on the terminal only, that the data was changed after the answer was recorded."""
    from datetime import UTC, datetime

    from ..addresses import read_address

    modified = source.last_changed()
    if modified is not None and modified > datetime.fromisoformat(recorded_time).timestamp() + 1:
        time = datetime.fromtimestamp(modified, UTC)
        typer.echo(
            f"warning: {read_address(data)} was changed on {time:%Y-%m-%d %H:%M:%S} UTC, after this answer was "
            "recorded. It is the answer for the earlier state; name the new one by --edition to count it.",
            err=True,
        )
