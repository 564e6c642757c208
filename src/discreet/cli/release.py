"""The verb of the curator: release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from ..errors import Mention, arg
from .datasets import find_dataset, plan_declared, release_declared, show_declared
from .output import Json, Page, decide, print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..engines.sources import Data
    from ..release.plan.plan import Plan
    from ..release.plan.request import ReleaseRequest, RequestFields


class RequestCommand(TyperCommand):
    """A verb whose options are the fields of a request, which state what their help says."""

    def get_params(self, ctx: Any) -> list[Any]:
        from ..release.plan.toml_text import FILE_WORDS

        for parameter in self.params:
            words = FILE_WORDS.get(str(parameter.name))
            if words is not None and isinstance(parameter, TyperOption | TyperArgument):
                parameter.help = words.written_help(_as_option)
        return super().get_params(ctx)


def _as_option(mention: Mention) -> str:
    """Write a field as its option."""
    return f"--{mention.name.replace('_', '-')} {mention.value}".rstrip()


def release(
    context: typer.Context,
    questions: Annotated[list[str], typer.Argument(metavar="SQL...|FILE.toml")],
    data: str | None = None,
    unit: str | None = None,
    unit_name: str | None = None,
    domain: list[str] | None = None,
    bands: list[str] | None = None,
    groups: Path | None = None,
    zeros: Path | None = None,
    discover: list[str] | None = None,
    one_row_each: Annotated[bool, typer.Option("--one-row-each")] = False,
    epsilon: str | None = None,
    delta: str = "0",
    error: int | None = None,
    mechanism: str = "geometric",
    properties: str | None = None,
    loss: str | None = None,
    counts: str | None = None,
    bound: int | None = None,
    sizes: Path | None = None,
    relation: str | None = None,
    max_groups: int | None = None,
    totals: str | None = None,
    split: str | None = None,
    suppress_below: int | None = None,
    level: str = "0.95",
    edition: str = "",
    dataset: str | None = None,
    ledger: str | None = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Show cells, noise and cost, and what --ledger would decide; read no row, spend nothing."
        ),
    ] = False,
    write: Annotated[
        Path | None, typer.Option(help="With --plan: write the request to a file that can be reviewed and run: .toml.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Release from a dataset without being asked.")] = False,
    page: Page = None,
    json: Json = False,
) -> None:
    """Answer "how many?" from a table, privately, and write a bundle that can be published and re-checked.

    A request file (.toml) holds all of it: `discreet release request.toml`. Beside it, only --data, --ledger, -o and
    --edition may be given; they replace what the file says.

    Example: `discreet release "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data data/doctor_visits.csv.gz
    --unit person --max-groups 1 --domain site=1..6 --epsilon 1 --ledger study.ledger -o by_site/`
    """
    from ..addresses import read_address
    from ..errors import InvalidInput
    from ..ledger.budget import amount_text
    from ..ledger.ledger import Ledger
    from ..release.counts import release_counts, without_ledger
    from ..release.plan.planning import plan_request

    declared = find_dataset(questions, data, dataset)
    if declared is not None:
        if (page is not None and not plan) or write is not None:
            raise InvalidInput("a question to a dataset has a page with --plan, and no request file.", argument="write")
        given = _fields(context)
        question_plan = plan_declared(declared, questions, data, ledger, given)
        if not plan:
            release_declared(question_plan, out, yes, json)
            return
        refuse_unwritable(page, [".html"], "a page")
        show_declared(question_plan, out, page, json)
    with _words_of_a_file(questions):
        request, data, ledger, out = _asked(context, questions)
        source = _called_as_asked(request, data, questions)
        planned = plan_request(request, source) if plan else None
    unit, edition = request.unit, request.edition
    if page is not None and not plan:
        raise InvalidInput(
            "--page goes with --plan.", "The page of a release is index.html in the folder of -o.", argument="page"
        )
    if write is not None and not plan:
        raise InvalidInput("--write goes with --plan.", "Look at the plan before it is run.", argument="write")
    if planned is not None:
        refuse_unwritable(page, [".html"], "a page")
        verdict = _show_plan(planned, data, source, ledger, out, page, json)
        if write is not None:
            _write(context, write, questions)
            places = f"{'' if ledger else ' --ledger PATH'}{'' if out else ' -o FOLDER'}"
            released_by = "" if verdict == "refused" else f"; to release: discreet release {write}{places}"
            typer.echo(f"written to {write}{released_by}", err=json)
        if verdict is not None:
            decide(verdict != "refused")
        return
    if ledger is None:
        raise without_ledger(str(read_address(data)), unit)
    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).", argument="out")
    with _words_of_a_file(questions):
        released = release_counts(request, data=source, ledger=ledger, out=out)
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
        say(f"written to {out}: open {out / 'index.html'}, re-check with: discreet verify {out} --ledger {ledger}")


def _asked(context: typer.Context, questions: list[str]) -> tuple[ReleaseRequest, str, str | None, Path | None]:
    """The request that a file or the options make, and where the data, the ledger and the bundle are."""
    from ..errors import InvalidInput
    from ..release.plan.fields import PLACES
    from ..release.plan.request import read_request
    from ..release.plan.request_file import is_request_file, open_request
    from ..release.protection import WHOSE

    given = _fields(context)
    places = {name: context.params[name] for name in PLACES if context.params[name] is not None}
    if is_request_file(questions):
        for name in given:
            if name != "edition":
                option = f"--{name.replace('_', '-')}"
                raise InvalidInput(f"{questions[0]} says what is asked.", f"Leave {option} out, or change the file.")
        file = open_request(questions[0], **_of_this_edition(questions[0], given, places))
        request, places = file.request, file.places | places
    else:
        if "unit" not in given:
            raise InvalidInput(WHOSE, argument="unit")
        request = read_request(questions, **given)
    if "data" not in places:
        raise InvalidInput(f"say which table is meant: {arg('data', 'FILE')}, or the address of a database.")
    out = places.get("out")
    return request, str(places["data"]), places.get("ledger"), None if out is None else Path(out)


def _of_this_edition(file: str, given: Mapping[str, object], places: Mapping[str, object]) -> Mapping[str, object]:
    """What changes in a request file whose data is another file: the same people pay, under the name of the edition."""
    from ..addresses import read_address
    from ..errors import InvalidInput
    from ..release.plan.request_file import open_request

    asked = open_request(file)
    other = None if places.get("data") is None else str(places["data"])
    if other is None or asked.data is None or read_address(other).dataset == read_address(asked.data).dataset:
        return given
    if "edition" not in given:
        raise InvalidInput(
            f"{read_address(other)} is not the file of {file}, so it is an edition of its own.",
            f"Name it: {arg('edition', '2026-Q2')}.",
            argument="edition",
        )
    return {"dataset": asked.request.dataset or read_address(asked.data).dataset, **given}


def _called_as_asked(request: ReleaseRequest, data: str, questions: list[str]) -> Data:
    """The data; the file of another edition may be called by the data set, or as the file that a request was for."""
    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..questions.question import asked_table
    from ..release.plan.request_file import is_request_file, open_request

    address = read_address(data)
    if request.dataset is None or not address.may_be_opened:
        return data
    names = {request.dataset.casefold()}
    if is_request_file(questions) and (own := open_request(questions[0]).data) is not None:
        names.add(read_address(own).dataset.casefold())
    table = asked_table(request.questions[0])
    return open_source(address).call_table(table) if table.casefold() in names else data


@contextmanager
def _words_of_a_file(questions: list[str]) -> Iterator[None]:
    """Where a request file asks, a mistake mentions its fields as the file writes them, and not as options."""
    from ..errors import InvalidInput
    from ..release.plan.request import RequestFields
    from ..release.plan.request_file import as_line, is_request_file

    def write(mention: Mention) -> str:
        if mention.kind == "call":
            return mention.name
        if mention.name not in RequestFields.__annotations__:  # an option, beside the file too
            return arg(mention.name, mention.value) if mention.value else arg(mention.name)
        return mention.name if mention.kind == "name" or not mention.value else as_line(mention.name, mention.value)

    try:
        yield
    except InvalidInput as problem:
        if not is_request_file(questions) or problem.argument not in RequestFields.__annotations__:
            raise
        raise type(problem)(problem.written(write), argument=problem.argument) from None


def _typed(context: typer.Context) -> dict[str, object]:
    """Return the fields of a request as they were typed: every option that is called as a field is."""
    from ..release.plan.request import WORDS

    source = context.get_parameter_source
    return {
        name: value
        for name, value in context.params.items()
        if name != "questions" and name in WORDS and getattr(source(name), "name", "") == "COMMANDLINE"
    }


def _fields(context: typer.Context) -> RequestFields:
    """Return the fields of a request that were given, as they take them."""
    return cast("RequestFields", {name: _read(name, value) for name, value in _typed(context).items()})


def _read(name: str, value: object) -> object:
    """An option as its field takes it."""
    from ..release.plan.request_file import mechanism_named

    if name == "mechanism" and isinstance(value, str):
        return mechanism_named(value)
    return value.split(",") if name == "split" and isinstance(value, str) else value


def _write(context: typer.Context, file: Path, questions: list[str]) -> None:
    """Write the request of this command line to a file, as it was typed."""
    from ..errors import InvalidInput
    from ..release.plan.fields import PLACES
    from ..release.plan.request_file import is_request_file, write_request

    if is_request_file(questions):
        raise InvalidInput(f"{questions[0]} is a request file already.", f"Leave {arg('write')} out.")
    places = {name: context.params[name] for name in PLACES}
    fields = {name: value if name == "mechanism" else _read(name, value) for name, value in _typed(context).items()}
    write_request(file, questions, **places, **cast("RequestFields", fields))


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


def _show_plan(
    plan: Plan, data: str, source: Data, ledger: str | None, out: Path | None, page: Path | None, json: bool
) -> str | None:
    """The plan, and with a ledger what it would decide: the verdict."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..release.counts import foresee, open_ledger

    outlook = None if ledger is None else foresee(plan, open_source(source), open_ledger(ledger, plan), out)
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
        wanted = [option for option, given in (("--ledger", ledger), ("-o", out)) if given is None]
        missing = f" and give {' and '.join(wanted)}" if wanted else ""
        refused = outlook is not None and outlook.verdict == "refused"
        say(f"no row was read and nothing was spent{'' if refused else f'; to release, leave --plan out{missing}'}")
        if page is not None:
            say(f"written to {page}")
    return None if outlook is None else outlook.verdict
