"""The program: its verbs, its version, and its errors."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ..errors import DiscreetError, InvalidInput
from ..report import Refusal
from ..studies import load
from . import (
    collect,
    dataset,
    design,
    editions,
    estimate,
    ledger,
    perturb,
    release,
    serve,
    verify,
)
from .output import in_options, print_json, writer
from .requests import RequestCommand


def study() -> None:
    """Reproduce a paper: its figures and tables computed again, and a verdict for each of its claims.

    This verb is installed separately: `pip install discreet-studies`, or from a checkout `pip install -e studies`.
    """
    load("verb")


class _Verbs(TyperGroup):
    """The verbs of the program. The verb of the studies is looked up among the installed distributions."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name == "study":
            # missing or incompatible: our own verb raises the error when it is called
            with contextlib.suppress(ImportError):
                program = typer.Typer(rich_markup_mode="markdown")
                program.command(cmd_name, cls=_OnceCommand)(load("verb"))
                return typer.main.get_group(program).commands[cmd_name]
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    name="discreet",
    cls=_Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(is_given: bool) -> None:
    if is_given:
        from .. import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 success, 1 a claim does not hold or the budget is too small, 2 unusable input, "
    "70 an error of the program."
)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Private counts, from design to release: optimal mechanisms, exact proofs, exact noise."""


@app.command()
def demo(
    data: Annotated[Path, typer.Option(help="The table of doctor visits that ships with the project.")] = Path(
        "data/doctor_visits.csv.gz"
    ),
    epsilon: Annotated[str, typer.Option(help="The epsilon: smaller protects more.")] = "1",
    out: Annotated[Path | None, typer.Option(help="A new folder for the ledger and the bundle.")] = None,
) -> None:
    """Release counts from real data: the question, the plan, the counts, the proof, the budget, the page.

    Example: `discreet demo --epsilon 0.5`
    """
    from ..demonstration import show

    show(data, epsilon, out)


app.command()(design.design)
app.command()(verify.verify)
app.command()(verify.check)
app.command()(verify.explain)
app.command()(design.compare)
app.command()(design.calibrate)
app.command(cls=RequestCommand)(release.release)
app.command()(release.contributions)
app.command()(editions.editions)
app.command()(editions.export)
app.add_typer(dataset.app, name="dataset")
app.add_typer(ledger.app, name="ledger")
app.command()(perturb.perturb)
app.command()(estimate.estimate)
app.add_typer(collect.app, name="collect")
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(study)
app.command()(serve.serve)


class _OnceCommand(TyperCommand):
    """A verb that refuses a repeated option, unless it takes several values: the second would silently win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, parameters = self.make_parser(ctx).parse_args(args=list(args))
        options = [parameter for parameter in parameters if isinstance(parameter, TyperOption)]
        single = [option for option in options if not (option.multiple or option.count or option.is_flag)]
        for position, option in enumerate(single):
            if option in single[:position]:
                raise typer.BadParameter("it is given twice. Give it once.", ctx=ctx, param=option)
        return super().parse_args(ctx, args)


def _take_options_once(program: typer.Typer) -> None:
    for verb in program.registered_commands:
        base = verb.cls or TyperCommand
        verb.cls = _OnceCommand if base is TyperCommand else type("Command", (_OnceCommand, base), {})
    for group in program.registered_groups:
        if group.typer_instance is not None:
            _take_options_once(group.typer_instance)


_take_options_once(app)


def main() -> None:
    """Run the command line; an error of the user is a message and exit code 2, never a traceback."""
    try:
        _run()
    except (SystemExit, BrokenPipeError) as ending:
        if not _reader_left(ending):
            raise
    with contextlib.suppress(OSError):
        for stream in (1, 2):  # nobody reads the remaining output
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.exit(CLOSED_PIPE_CODE)


#: Exit code of a program whose reader left, as in ``discreet compare ... | head``. 0 would mean success.
CLOSED_PIPE_CODE = 141


def _reader_left(ending: BaseException | None) -> bool:
    """Return True if the program ends because its pipe was closed, for which the layers above set code 1."""
    while ending is not None:
        if isinstance(ending, BrokenPipeError):
            return True
        ending = ending.__context__
    return False


def _run() -> NoReturn:
    from ..errors import BudgetExceeded, NotAccepted

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that a terminal cannot show must not end a release
    try:
        # Typer prints a wrong command line for people, and exits; for programs it has to raise it
        code = app(standalone_mode=not _asks_for_json())
    except BrokenPipeError:
        raise
    except UsageError as problem:
        _print_error(_wrong_command_line(problem))
        sys.exit(2)
    except DiscreetError as problem:
        _print_error(problem)
        # 1 is an answer: the ledger or the acceptance criteria refused
        sys.exit(1 if isinstance(problem, BudgetExceeded | NotAccepted) else 2)
    except OSError as problem:
        _print_error(DiscreetError(f"{problem.filename or 'a file'}: {problem.strerror or problem}."))
        sys.exit(2)
    except Exception:  # a bug is neither an answer (1) nor an error of the user (2)
        traceback.print_exc()
        typer.echo("discreet: this should not have happened; please report it.", err=True)
        sys.exit(70)
    sys.exit(code or 0)


#: The class of errors for a wrong command line. Typer exports only a class derived from it.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


def _asks_for_json() -> bool:
    return "--json" in sys.argv[1:]


def _wrong_command_line(problem: typer.BadParameter) -> InvalidInput:
    """Return Typer's error for a wrong command line as an error of ours, with its parts."""
    message = problem.format_message()
    verb = "discreet" if problem.ctx is None else problem.ctx.command_path
    flag = getattr(problem, "option_name", None)
    argument = next((name for name, option in _options_of_the_verb().items() if option == flag), None)
    return InvalidInput(
        message if message.endswith((".", "?")) else f"{message}.",
        f"See: {verb} --help",
        argument=getattr(getattr(problem, "param", None), "name", argument),
    )


def _print_error(problem: DiscreetError) -> None:
    """Print an error in the words of the verb's options; with --json, also its parts."""
    options = _options_of_the_verb()
    typer.echo(f"discreet: {in_options(problem.message, options)}", err=True)
    if _asks_for_json():
        print_json(Refusal(problem, writer(options)).to_json())


#: Argument of Python -> argument of the option, where the names differ.
_ALIASES = {"likelihood_ratio": "ratio", "output": "counts"}


def _options_of_the_verb() -> dict[str, str]:
    """Return the arguments of the verb on this command line -> their options."""
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:]:
        inner = command.get_command(typer.Context(command), word) if isinstance(command, TyperGroup) else None
        if inner is None:
            break
        command = inner
    options = {
        parameter.name: next((flag for flag in parameter.opts if flag == "-n"), max(parameter.opts, key=len))
        for parameter in command.params
        if parameter.param_type_name == "option"
    }
    return options | {name: options[flag] for name, flag in _ALIASES.items() if flag in options and name not in options}
