"""The verb of the curator: release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from ..errors import Mention, arg
from .dataset import find_dataset, plan_declared, release_declared, say_release, show_declared
from .output import Json, Page, decide, print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..datasets.declaration import Declaration
    from ..engines.sources import Source
    from ..release.dataset import BoundPlan
    from ..release.plan.plan import Plan
    from ..release.plan.request import ReleaseRequest, RequestFields
    from ..release.plan.request_file import RequestFile


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
    --edition may be given; they replace what the file says. One that names a dataset file fixes the ledger too.

    Example: `discreet release "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data data/doctor_visits.csv.gz
    --unit person --max-groups 1 --domain site=1..6 --epsilon 1 --ledger study.ledger -o by_site/`
    """
    from ..errors import InvalidInput

    if page is not None and not plan:
        raise InvalidInput(
            "--page goes with --plan.", "The page of a release is index.html in the folder of -o.", argument="page"
        )
    if write is not None and not plan:
        raise InvalidInput("--write goes with --plan.", "Look at the plan before it is run.", argument="write")
    with _words_of_a_file(questions):
        file = _request_file(context, questions)
        declared = find_dataset(questions, data, dataset) if file is None else _dataset_of(file)
    if declared is not None:
        with _words_of_a_file(questions):
            question_plan, out = _bound_plan(context, questions, declared, file)
        if not plan:
            release_declared(question_plan, out, yes, json)
            return
        refuse_unwritable(page, [".html"], "a page")
        verdict, missing = show_declared(question_plan, out, page, json), ""
    else:
        with _words_of_a_file(questions):
            asked = _asked(context, questions, file)
        if not plan:
            _release(questions, asked, json)
            return
        with _words_of_a_file(questions):
            planned, source = asked.plan()
        refuse_unwritable(page, [".html"], "a page")
        verdict, out = _show_plan(planned, asked, source, page, json), asked.out
        missing = "" if asked.ledger else " --ledger PATH"
    if write is not None:
        _write(context, write, questions, declared)
        places = f"{missing}{'' if out else ' -o FOLDER'}"
        released_by = "" if verdict == "refused" else f"; to release: discreet release {write}{places}"
        typer.echo(f"written to {write}{released_by}", err=json)
    if verdict is not None:
        decide(verdict != "refused")


class _Asked(NamedTuple):
    """What options or a request file ask: the request, and where the data, the ledger and the bundle are.

    ``names`` are the tables that a question may be about although its data has another name.
    """

    request: ReleaseRequest
    data: str
    ledger: str | None
    out: Path | None
    names: frozenset[str]

    def plan(self) -> tuple[Plan, Source | None]:
        """Return the plan, and the data if it is there; a plan can be made for data that is not."""
        from ..addresses import read_address
        from ..engines.sources import open_source
        from ..questions.question import asked_table
        from ..release.plan.planning import plan_request, refuse_unnamed_selection

        refuse_unnamed_selection(self.data, self.request.edition)
        address = read_address(self.data)
        if not address.may_be_opened:
            return plan_request(self.request, self.data), None
        source = open_source(address)
        table = asked_table(self.request.questions[0]) if self.names else ""
        if table.casefold() in self.names:
            source = source.call_table(table)
        return plan_request(self.request, source), source


def _release(questions: list[str], asked: _Asked, json: bool) -> None:
    """Release what is asked, and say what is left."""
    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..errors import InvalidInput
    from ..release.counts import open_ledger, release_plan, without_ledger

    ledger, out = asked.ledger, asked.out
    if ledger is None:
        raise without_ledger(str(read_address(asked.data)), asked.request.unit)
    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).", argument="out")
    with _words_of_a_file(questions):
        planned, source = asked.plan()
        source = open_source(asked.data) if source is None else source  # which says what is missing
        book = open_ledger(ledger, planned)
        released = release_plan(planned, source, book, out)
    say_release(released, source, asked.data, book, out, json)


def _request_file(context: typer.Context, questions: list[str]) -> RequestFile | None:
    """Return the request file that asks, if one does; it says what is asked, and is read once."""
    from ..errors import InvalidInput
    from ..release.plan.request_file import is_request_file, open_request

    if not is_request_file(questions):
        return None
    for name in _typed(context):
        if name != "edition":
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{questions[0]} says what is asked.", f"Leave {option} out, or change the file.")
    return open_request(questions[0])


def _dataset_of(file: RequestFile) -> Declaration | None:
    """Return the declaration that a request file asks; None where it says everything itself."""
    from ..datasets.declaration import Declaration

    return None if file.dataset is None else Declaration.open(file.dataset)


def _places(context: typer.Context, file: RequestFile | None) -> dict[str, str]:
    """Return where things are: by the options, else by the request file."""
    from ..release.plan.fields import PLACES

    given = {name: str(context.params[name]) for name in PLACES if context.params[name] is not None}
    return given if file is None else file.places | given


def _bound_plan(
    context: typer.Context, questions: list[str], declared: Declaration, file: RequestFile | None
) -> tuple[BoundPlan, Path | None]:
    """Return the plan of a question to a declared data set, and the folder of its bundle."""
    fields, places = dict(_fields(context)), _places(context, file)
    if file is not None:
        other = context.params["data"] is not None  # the edition of the file is not that of other data
        stated = {name: value for name, value in file.fields.items() if not (other and name == "edition")}
        fields = stated | fields
    asked = questions if file is None else file.questions
    plan = plan_declared(declared, asked, places.get("data"), places.get("ledger"), fields)
    return plan, Path(places["out"]) if "out" in places else None


def _asked(context: typer.Context, questions: list[str], file: RequestFile | None) -> _Asked:
    """Return what a file or the options ask."""
    from ..addresses import read_address
    from ..errors import InvalidInput
    from ..release.plan.request import read_request
    from ..release.protection import WHOSE

    given, places = _fields(context), _places(context, file)
    names = set()
    if file is not None:
        request = _of_this_edition(file, given.get("edition"), context.params["data"])
        if file.data is not None:
            names.add(read_address(file.data).dataset)
    else:
        if "unit" not in given:
            raise InvalidInput(WHOSE, argument="unit")
        request = read_request(questions, **given)
    if "data" not in places:
        raise InvalidInput(f"say which table is meant: {arg('data', 'FILE')}, or the address of a database.")
    # the file of another edition may be called by the data set, or as the file that a request was for
    called = {name.casefold() for name in (*names, request.dataset)} if request.dataset is not None else ()
    out = places.get("out")
    return _Asked(request, places["data"], places.get("ledger"), None if out is None else Path(out), frozenset(called))


def _of_this_edition(file: RequestFile, edition: str | None, data: str | None) -> ReleaseRequest:
    """Return the request of a file for this edition; for other data it names the people that the file's data has."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..errors import InvalidInput

    request = file.request if edition is None else replace(file.request, edition=edition)
    if data is None or file.data is None or read_address(data).dataset == read_address(file.data).dataset:
        return request
    if edition is None:
        raise InvalidInput(
            f"{read_address(data)} is not the file of {file.path}, so it is an edition of its own.",
            f"Name it: {arg('edition', '2026-Q2')}.",
            argument="edition",
        )
    return replace(request, dataset=request.dataset or read_address(file.data).dataset)


@contextmanager
def _words_of_a_file(questions: list[str]) -> Iterator[None]:
    """Where a request file asks, a mistake mentions its fields as the file writes them, and not as options."""
    from ..errors import InvalidInput
    from ..release.plan.request import RequestFields
    from ..release.plan.request_file import as_line, is_request_file

    def write(mention: Mention) -> str:
        if mention.kind == "call":
            return mention.name
        # an option, beside the file too
        if mention.name == "edition" or mention.name not in RequestFields.__annotations__:
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


def _write(context: typer.Context, file: Path, questions: list[str], declared: Declaration | None) -> None:
    """Write the request of this command line to a file, as it was typed, and the dataset file that it asks."""
    from ..errors import InvalidInput
    from ..release.plan.fields import PLACES
    from ..release.plan.request_file import is_request_file, write_request

    if is_request_file(questions):
        raise InvalidInput(f"{questions[0]} is a request file already.", f"Leave {arg('write')} out.")
    places = {name: context.params[name] for name in PLACES}
    fields = {name: value if name == "mechanism" else _read(name, value) for name, value in _typed(context).items()}
    if declared is not None:
        fields["dataset"] = str(declared.path)
    write_request(file, questions, **places, **cast("RequestFields", fields))


def _show_plan(plan: Plan, asked: _Asked, source: Source | None, page: Path | None, json: bool) -> str | None:
    """Show the plan, and with a ledger what it would decide; return that verdict."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..release.counts import foresee, open_ledger

    ledger, out, outlook = asked.ledger, asked.out, None
    if ledger is not None:
        data = open_source(asked.data) if source is None else source  # which says what is missing
        outlook = foresee(plan, data, open_ledger(ledger, plan), out)
    report, content = plan.report(), plan.to_json()
    if outlook is not None:
        report = replace(report, sections=(*report.sections, *outlook.report().sections))
        content |= {"left": outlook.left.to_json(), "decision": outlook.to_json()}
    elif source is None:
        missing = f"there is no file {read_address(asked.data)}: its columns could not be checked"
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
