"""The verbs release and contributions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from ..errors import Mention, arg
from .dataset import (
    find_dataset,
    plan_with_dataset,
    release_with_dataset,
    say_release,
    show_plan_with_dataset,
    verdict_of,
    with_results,
)
from .output import Json, Page, decide, print_json, refuse_unwritable, say
from .requests import (
    as_option,
    dataset_of,
    file_field_names,
    of_this_edition,
    paths_of,
    request_fields,
    request_file,
    write_typed,
)

if TYPE_CHECKING:
    from ..datasets.declaration import Declaration
    from ..engines.sources import Source
    from ..errors import InvalidInput
    from ..release.bound_plan import BoundPlan
    from ..release.plan.plan import Plan
    from ..release.plan.request import ReleaseRequest, RequestFields
    from ..release.plan.request_file import RequestFile


def release(
    context: typer.Context,
    questions: Annotated[list[str] | None, typer.Argument(metavar="SQL...|FILE.toml")] = None,
    data: str | None = None,
    unit: str | None = None,
    unit_name: str | None = None,
    per: str | None = None,
    domain: list[str] | None = None,
    bands: list[str] | None = None,
    groups: Path | None = None,
    zeros: Path | None = None,
    discover: list[str] | None = None,
    one_row_each: Annotated[bool, typer.Option("--one-row-each")] = False,
    epsilon: str | None = None,
    delta: str = "0",
    error: Annotated[str | None, typer.Option(metavar="INTEGER")] = None,
    mechanism: str = "geometric",
    properties: str | None = None,
    loss: str | None = None,
    counts: str | None = None,
    bound: int | None = None,
    sizes: Path | None = None,
    relation: str | None = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    totals: str | None = None,
    quantile: list[str] | None = None,
    tables: Annotated[str | None, typer.Option(metavar="N|TABLE,...")] = None,
    of: Annotated[
        list[str] | None, typer.Option(help="With --tables: the columns of the tables, instead of SQL: sex,age,job.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Instead of SQL, for a dataset or a file with one table: the columns to group by: sex,age."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="With --by: a condition in SQL on the rows that are counted: year = 1.")
    ] = None,
    split: str | None = None,
    suppress_below: int | None = None,
    level: str = "0.95",
    edition: str = "",
    title: str = "",
    publisher: str = "",
    source: str = "",
    contact: str = "",
    dataset: str | None = None,
    ledger: str | None = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Show cells, noise and cost, and what --ledger would decide; read no row, spend nothing."
        ),
    ] = False,
    simulate: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE.csv",
            help="Show the table for made-up counts: how many there are in all, or a CSV file with the group columns "
            "and size. Reads no row, spends nothing.",
        ),
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="With --plan: write the request to a file that can be reviewed and run: .toml.")
    ] = None,
    because: Annotated[
        str | None, typer.Option(help="The reason, which the ledger keeps with your user name; never published.")
    ] = None,
    accept: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Acceptance criteria: the largest error, interval width and risks. A plan that does not meet them is "
            "not released, and costs nothing.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Release from a dataset without confirmation.")] = False,
    page: Page = None,
    json: Json = False,
) -> None:
    """Answer "how many?" from a table, privately, and write a bundle that can be published and re-checked.

    A request file (.toml) can hold all of it: `discreet release request.toml`. With it, only --data, --ledger, -o and
    --edition may be given, which replace its fields. A dataset file named in it fixes the ledger too.

    Example: `discreet release "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data data/doctor_visits.csv.gz
    --unit person --max-groups 1 --domain site=1..6 --epsilon 1 --ledger study.ledger -o by_site/`
    """
    from ..errors import InvalidInput

    if simulate is not None and plan:
        raise InvalidInput(
            "--plan shows the plan, and --simulate a table.", f"Leave {arg('simulate')} out.", argument="simulate"
        )
    if page is not None and not plan and simulate is None:
        raise InvalidInput(
            "--page goes with --plan or --simulate.",
            "The page of a release is index.html in the folder of -o.",
            argument="page",
        )
    if accept is not None and simulate is not None:
        raise InvalidInput("--accept goes with a release or --plan.", f"Leave {arg('accept')} out.", argument="accept")
    if write is not None and not plan:
        raise InvalidInput("--write goes with --plan.", "Look at the plan before it is run.", argument="write")
    questions = _questions(questions, _columns_of_tables(questions, tables, of, by), where, quantile, data, dataset)
    with file_field_names(questions):
        file = request_file(context, questions)
        declaration = find_dataset(questions, data, dataset) if file is None else dataset_of(file)
    if declaration is not None:
        with file_field_names(questions):
            question_plan, out = _bound_plan(context, questions, declaration, file)
        if simulate is not None:
            _simulate(question_plan.plan, simulate, page, json)
            return
        if not plan:
            release_with_dataset(question_plan, out, yes, json, because, accept)
            return
        refuse_unwritable(page, [".html"], "a page")
        verdict, ledger_option = show_plan_with_dataset(question_plan, out, page, json, accept), ""
    else:
        with file_field_names(questions):
            command = _command_line(context, questions, file)
        if simulate is not None:
            with file_field_names(questions):
                _simulate(command.plan()[0], simulate, page, json)
            return
        if not plan:
            _release(questions, command, json, because, accept)
            return
        with file_field_names(questions):
            pure_plan, table = command.plan()
        refuse_unwritable(page, [".html"], "a page")
        verdict, out = _show_plan(pure_plan, command, table, page, json, accept), command.out
        ledger_option = "" if command.ledger else " --ledger PATH"
    if write is not None:
        write_typed(context, write, questions, declaration)
        options = f"{ledger_option}{'' if out else ' -o FOLDER'}"
        next_step = "" if verdict == "refused" else f"; to release: discreet release {write}{options}"
        typer.echo(f"written to {write}{next_step}", err=json)
    if verdict is not None:
        decide(verdict != "refused")


class _Command(NamedTuple):
    """A command line or request file: the request, and the paths of the data, the ledger and the bundle.

    ``names`` are other names by which a question may call the table.
    """

    request: ReleaseRequest
    data: str
    ledger: str | None
    out: Path | None
    names: frozenset[str]

    def plan(self) -> tuple[Plan, Source | None]:
        """Return the plan, and the data if it exists; missing data can be planned for too."""
        from ..addresses import read_address
        from ..engines.sources import open_source
        from ..questions.question import table_of_question
        from ..release.plan.planning import plan_request, refuse_unnamed_selection

        refuse_unnamed_selection(self.data, self.request.edition)
        address = read_address(self.data)
        if not address.may_be_opened:
            return plan_request(self.request, self.data), None
        source = open_source(address)
        table = table_of_question(self.request.questions[0]) if self.names else ""
        if table.casefold() in self.names:
            source = source.call_table(table)
        return plan_request(self.request, source), source


def _columns_of_tables(
    questions: list[str] | None, tables: str | None, of: list[str] | None, by: list[str] | None
) -> list[str] | None:
    """Return the columns to group by: those of --by or --of, or those that --tables names."""
    from ..errors import InvalidInput
    from ..release.tables.margins.wanted import columns_of_tables, read_tables

    if of and (questions or by or tables is None):
        raise InvalidInput(
            "--of goes with --tables, instead of SQL and --by.", f"Leave {arg('of')} out.", argument="of"
        )
    if tables is None or questions or by:
        return by
    columns = of or columns_of_tables(read_tables(tables))
    if not columns:
        raise InvalidInput("say which columns the tables have.", f"Add {arg('of', 'sex,age,job')}.", argument="of")
    return columns


def _questions(
    questions: list[str] | None, by: list[str] | None, where: str | None, quantile: list[str] | None,
    data: str | None, dataset: str | None,
) -> list[str]:  # fmt: skip
    """Return the questions, or the one that --by, --where and --quantile ask."""
    from ..addresses import read_address
    from ..datasets.declaration import Declaration
    from ..datasets.search import declarations_in, is_declaration
    from ..errors import InvalidInput, arg, named
    from ..release.dataset import counting_sql

    if questions:
        if by:
            raise InvalidInput("the question says what to group by.", f"Leave {arg('by')} out.", argument="by")
        if where is not None:
            raise InvalidInput("the question has its own condition.", f"Leave {arg('where')} out.", argument="where")
        return questions
    if not by and not quantile and where is None:
        raise InvalidInput(
            'say what to count: SQL, such as "SELECT site, COUNT(*) FROM visits GROUP BY site", or '
            f"{arg('by', 'site')}.",
            argument="questions",
        )
    columns = [name.strip() for text in by or () for name in text.split(",") if name.strip()]
    if data is not None and dataset is None:
        return [counting_sql(read_address(data).dataset, columns, where)]
    declared = [Declaration.open(dataset)] if dataset and is_declaration(dataset) else declarations_in(Path())
    tables = [table for one in declared for table in one.tables]
    if len(tables) != 1:
        raise InvalidInput(
            f"{named('by')} needs a dataset with one table, and {len(tables) or 'none'} declared here.",
            f"Say which: {arg('data', 'FILE')}, or {arg('dataset', 'FILE.toml')}.",
            argument="by",
        )
    return [counting_sql(tables[0], columns, where)]


def _release(questions: list[str], command: _Command, json: bool, because: str | None, accept: Path | None) -> None:
    """Make the release, and print the remaining budget."""
    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..errors import InvalidInput
    from ..release.counts import missing_ledger, open_ledger, release_plan

    ledger, out = command.ledger, command.out
    if ledger is None:
        raise missing_ledger(str(read_address(command.data)), command.request.unit, command.request.per)
    if out is None and not json:
        raise InvalidInput("say where the bundle goes: -o FOLDER (or --json to print the counts).", argument="out")
    with file_field_names(questions):
        plan, source = command.plan()
        source = open_source(command.data) if source is None else source  # raises the error for missing data
        paying_ledger = open_ledger(ledger, plan)
        result = release_plan(plan, source, paying_ledger, out, because=because, accept=accept)
    say_release(result, source, command.data, paying_ledger, out, json)


def _simulate(plan: Plan, sizes: str, page: Path | None, json: bool) -> None:
    """Show the table of a plan for made-up counts."""
    from ..errors import InvalidInput
    from ..release.simulate import simulate_release

    def write(mention: Mention) -> str:
        return as_option(mention._replace(name="simulate") if mention.name == "sizes" else mention)

    refuse_unwritable(page, [".html"], "a page")
    try:
        simulated = simulate_release(plan, int(sizes) if sizes.isdecimal() and sizes.isascii() else sizes)
    except InvalidInput as problem:
        raise type(problem)(problem.written(write), argument="simulate") from None
    if page is not None:
        simulated.report().save(page)
    if json:
        print_json(simulated.to_json())
    else:
        say(simulated.describe())
        if page is not None:
            say(f"written to {page}")


def _bound_plan(
    context: typer.Context, questions: list[str], declaration: Declaration, file: RequestFile | None
) -> tuple[BoundPlan, Path | None]:
    """Return the plan of a question to a declared dataset, and the folder of its bundle."""
    fields, paths = dict(request_fields(context)), paths_of(context, file)
    if file is not None:
        has_other_data = context.params["data"] is not None  # other data is another edition than the file's
        file_fields = {name: value for name, value in file.fields.items() if not (has_other_data and name == "edition")}
        fields = file_fields | fields
    command = questions if file is None else file.questions
    plan = plan_with_dataset(declaration, command, paths.get("data"), paths.get("ledger"), fields)
    return plan, Path(paths["out"]) if "out" in paths else None


def _command_line(context: typer.Context, questions: list[str], file: RequestFile | None) -> _Command:
    """Read a request file or the options."""
    from ..addresses import read_address
    from ..errors import InvalidInput
    from ..release.plan.request import read_request
    from ..release.protection import WHOSE

    fields, paths = request_fields(context), paths_of(context, file)
    names = set()
    if file is not None:
        request = of_this_edition(file, fields.get("edition"), context.params["data"])
        if file.data is not None:
            names.add(read_address(file.data).dataset)
    else:
        if "unit" not in fields:
            raise InvalidInput(WHOSE, argument="unit")
        request = read_request(questions, **fields)
    if "data" not in paths:
        raise _missing_data()
    # the table of another edition may have the name of the dataset, or of the file's own data
    tables = {name.casefold() for name in (*names, request.dataset)} if request.dataset is not None else ()
    out = paths.get("out")
    return _Command(request, paths["data"], paths.get("ledger"), None if out is None else Path(out), frozenset(tables))


def _missing_data() -> InvalidInput:
    from ..errors import InvalidInput

    return InvalidInput(f"say where the table is: {arg('data', 'FILE')}, or the address of a database.")


def _show_plan(
    plan: Plan, command: _Command, source: Source | None, page: Path | None, json: bool, accept: Path | None
) -> str | None:
    """Show the plan, the outcome of criteria and, with a ledger, its decision; return the verdict."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..engines.sources import open_source
    from ..release.counts import open_ledger, preview_release

    ledger, out, outlook = command.ledger, command.out, None
    acceptance = None if accept is None else plan.acceptance(accept)
    if ledger is not None:
        data = open_source(command.data) if source is None else source  # raises the error for missing data
        outlook = preview_release(plan, data, open_ledger(ledger, plan), out)
    report, content = with_results(plan.report(), acceptance, outlook), plan.to_json()
    if acceptance is not None:
        content["acceptance"] = acceptance.to_json()
    if outlook is not None:
        content |= {"left": outlook.left.to_json(), "decision": outlook.to_json()}
    elif source is None:
        note = f"there is no file {read_address(command.data)}: its columns could not be checked"
        report = replace(report, notes=(*report.notes, note))
    if page is not None:
        report.save(page)
    verdict = verdict_of(outlook, acceptance)
    is_refused = verdict == "refused"
    if json:
        print_json(content)
    else:
        say(report.text())
        options = [option for option, value in (("--ledger", ledger), ("-o", out)) if value is None]
        note = f" and give {' and '.join(options)}" if options else ""
        say(f"no row was read and nothing was spent{'' if is_refused else f'; to release, leave --plan out{note}'}")
        if page is not None:
            say(f"written to {page}")
    return verdict


def contributions(
    question: Annotated[str, typer.Argument(help="SQL: SELECT groups, COUNT(*) FROM table GROUP BY groups.")],
    epsilon: Annotated[str, typer.Option(help="What the histogram costs.")],
    data: Annotated[str | None, typer.Option(help="The table: a file, or the address of a database.")] = None,
    unit: Annotated[str | None, typer.Option(help="The column that names the person.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that pays.")] = None,
    of: Annotated[
        str, typer.Option(help="groups: in how many groups people are. rows: their largest number of rows in a group.")
    ] = "groups",
    top: Annotated[
        int, typer.Option(help="Number of counts: of people with 1, with 2, and so on; the last has all with more too.")
    ] = 10,
    leave_out: Annotated[str, typer.Option(help="The share of people that the suggested bound may affect.")] = "0.05",
    domain: Annotated[list[str] | None, typer.Option(help="Public values of a group column: site=1..6.")] = None,
    bands: Annotated[list[str] | None, typer.Option(help="Edges of a group column: age=18,30,65.")] = None,
    groups: Annotated[Path | None, typer.Option(help="A CSV file with one row per public group.")] = None,
    zeros: Annotated[Path | None, typer.Option(help="A CSV file of groups that cannot exist.")] = None,
    relation: Annotated[str | None, typer.Option(help="add-remove or substitution.")] = None,
    unit_name: Annotated[str | None, typer.Option(help="What texts call the unit: person, household.")] = None,
    per: Annotated[str | None, typer.Option(help="One period of each is protected: month:visit_date.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset file; without it and --data, the one in this folder. Or a name.")
    ] = None,
    edition: Annotated[str, typer.Option(help="Your name for the state of the data.")] = "",
    level: Annotated[str, typer.Option(help="The coverage of the intervals.")] = "0.95",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The folder to write the bundle into, to publish and re-check.")
    ] = None,
    because: Annotated[str | None, typer.Option(help="Your reason, for the ledger; it is never published.")] = None,
    accept: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Acceptance criteria: unmet, nothing is released or paid.")
    ] = None,
    simulate: Annotated[
        str | None, typer.Option(metavar="N", help="Show the table for N made-up people; nothing is read or spent.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the cost, the error and what the ledger would decide; spend nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Count privately how many groups or rows people have, to choose --max-groups or --max-rows.

    It is a release of its own, paid from the ledger. Each person is in one count, so it costs little. A dataset file
    declares the data, the unit, public values and the ledger; --plan shows the cost and the error first.

    Example: `discreet contributions "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site" --data
    data/doctor_visits.csv.gz --unit person --domain site=1..6 --epsilon 0.1 --ledger study.ledger`
    """
    from ..errors import InvalidInput
    from ..release.contributions import contributions_of, plan_contributions
    from ..release.counts import missing_ledger
    from ..release.plan.request import read_request
    from ..release.protection import WHOSE

    given = {
        "unit": unit, "epsilon": epsilon, "domain": domain, "bands": bands, "groups": groups, "zeros": zeros,
        "relation": relation, "unit_name": unit_name, "per": per, "edition": edition or None, "level": level,
        "dataset": dataset, "max_groups": 1,
    }  # fmt: skip
    fields = {name: value for name, value in given.items() if value is not None}
    declaration = find_dataset([question], data, dataset)
    if declaration is not None:
        bound = plan_with_dataset(declaration, question, data, ledger, fields)
        planned = contributions_of(bound, of=of, top=top, leave_out=leave_out)
    else:
        if unit is None:
            raise InvalidInput(WHOSE, argument="unit")
        if data is None:
            raise _missing_data()
        request = read_request(question, **cast("RequestFields", fields))
        if ledger is None and not plan and simulate is None:
            raise missing_ledger(data, unit, request.per)
        planned = plan_contributions(request, data=data, ledger=ledger, of=of, top=top, leave_out=leave_out)
    if simulate is not None:
        _simulate(planned.plan, simulate, None, json)
        return
    if not plan:
        histogram = planned.release(out, because=because, accept=accept)
        print_json(histogram.to_json()) if json else say(histogram.report().text())
        if out is not None and not json:
            say(f"written to {out}: open {out / 'index.html'}, re-check with: discreet verify {out}")
        return
    outlook = planned.preview(out) if planned.has_ledger else None
    acceptance = None if accept is None else planned.plan.acceptance(accept)
    if json:
        criteria = {} if acceptance is None else {"acceptance": acceptance.to_json()}
        print_json({**planned.to_json(outlook), **criteria})
    else:
        say(with_results(planned.report(outlook), acceptance).text())
        say("no row was read and nothing was spent; to release, leave --plan out")
    decide(verdict_of(outlook, acceptance) != "refused")
