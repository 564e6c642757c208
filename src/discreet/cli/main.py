"""The program: its verbs, its version, and what happens to a mistake."""

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
from . import collect, dataset, design, editions, estimate, ledger, perturb, release, serve, study, verify
from .output import in_options, print_json, writer


class _Verbs(TyperGroup):
    """The verbs of the program. That of the studies is looked up when it is needed, among what is installed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name == "study" and (installed := study.verb()) is not None:
            program = typer.Typer(rich_markup_mode="markdown")
            program.command(cmd_name, cls=_OnceCommand)(installed)
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
    epilog="Exit codes: 0 it holds, 1 it does not hold or the budget does not pay, 2 the input cannot be used, "
    "70 an error of the program."
)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Private counts, from design to release: optimal mechanisms, exact proofs, exact noise."""


@app.command()
def demo(
    data: Annotated[Path, typer.Option(help="The table of doctor visits that ships with the project.")] = Path(
        "data/doctor_visits.csv.gz"
    ),
    epsilon: Annotated[str, typer.Option(help="The privacy to give: smaller protects more.")] = "1",
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
app.command(cls=release.RequestCommand)(release.release)
app.command()(editions.editions)
app.command()(editions.export)
app.add_typer(dataset.app, name="dataset")
app.add_typer(ledger.app, name="ledger")
app.command()(perturb.perturb)
app.command()(estimate.estimate)
app.add_typer(collect.app, name="collect")
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(study.study)
app.command()(serve.serve)


class _OnceCommand(TyperCommand):
    """A verb whose options are given once, unless one takes several: a second would replace the first unseen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        once = [one for one in given if isinstance(one, TyperOption) and not (one.multiple or one.count or one.is_flag)]
        for place, one in enumerate(once):
            if one in once[:place]:
                raise typer.BadParameter("it is given twice. Give it once.", ctx=ctx, param=one)
        return super().parse_args(ctx, args)


def _take_options_once(program: typer.Typer) -> None:
    for verb in program.registered_commands:
        own = verb.cls or TyperCommand
        verb.cls = _OnceCommand if own is TyperCommand else type("Command", (_OnceCommand, own), {})
    for group in program.registered_groups:
        if group.typer_instance is not None:
            _take_options_once(group.typer_instance)


_take_options_once(app)


def main() -> None:
    """Run the command line; a user's mistake is a message and exit code 2, never a traceback."""
    try:
        _run()
    except (SystemExit, BrokenPipeError) as leaving:
        if not _reader_left(leaving):
            raise
    with contextlib.suppress(OSError):
        for stream in (1, 2):  # what is still to be written has nobody to read it
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.exit(CLOSED_PIPE)


#: What a shell says of a program whose reader left, as in ``discreet compare ... | head``. 0 would say that it holds.
CLOSED_PIPE = 141


def _reader_left(leaving: BaseException | None) -> bool:
    """Whether a program that leaves does so because its pipe was closed; the layers above say 1 to that."""
    while leaving is not None:
        if isinstance(leaving, BrokenPipeError):
            return True
        leaving = leaving.__context__
    return False


def _run() -> NoReturn:
    from ..errors import BudgetExceeded

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a bar that a terminal cannot show must not end a release
    try:
        # on its own Typer shows a wrong command line to people, and leaves; for a program it is to be raised
        code = app(standalone_mode=not _asks_for_json())
    except BrokenPipeError:
        raise
    except UsageError as problem:
        _tell(_wrong_command_line(problem))
        sys.exit(2)
    except DiscreetError as problem:
        _tell(problem)
        sys.exit(1 if isinstance(problem, BudgetExceeded) else 2)  # 1 is an answer: the ledger says no
    except OSError as problem:
        _tell(DiscreetError(f"{problem.filename or 'a file'}: {problem.strerror or problem}."))
        sys.exit(2)
    except Exception:  # not a user's mistake, and not an answer: neither 1 nor 2
        traceback.print_exc()
        typer.echo("discreet: this should not have happened; please report it.", err=True)
        sys.exit(70)
    sys.exit(code or 0)


#: What Typer raises at a wrong command line. Of these classes it exports one that is derived from it, and no other.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


def _asks_for_json() -> bool:
    return "--json" in sys.argv[1:]


def _wrong_command_line(problem: typer.BadParameter) -> InvalidInput:
    """What Typer says of a wrong command line, as an error with its parts."""
    said = problem.format_message()
    verb = "discreet" if problem.ctx is None else problem.ctx.command_path
    flag = getattr(problem, "option_name", None)
    own = next((name for name, option in _options_of_the_verb().items() if option == flag), None)
    return InvalidInput(
        said if said.endswith((".", "?")) else f"{said}.",
        f"See: {verb} --help",
        argument=getattr(getattr(problem, "param", None), "name", own),
    )


def _tell(problem: DiscreetError) -> None:
    """A mistake, in the words of the verb's options; for programs that asked for JSON its parts too."""
    options = _options_of_the_verb()
    typer.echo(f"discreet: {in_options(problem.message, options)}", err=True)
    if _asks_for_json():
        print_json(Refusal(problem, writer(options)).to_json())


#: Arguments whose option has another name.
_RENAMED = {"likelihood_ratio": "ratio", "output": "counts"}


def _options_of_the_verb() -> dict[str, str]:
    """The arguments of what was asked for on this command line -> their options."""
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:]:
        inner = command.get_command(typer.Context(command), word) if isinstance(command, TyperGroup) else None
        if inner is None:
            break
        command = inner
    found = {
        parameter.name: next((flag for flag in parameter.opts if flag == "-n"), max(parameter.opts, key=len))
        for parameter in command.params
        if parameter.param_type_name == "option"
    }
    return found | {name: found[own] for name, own in _RENAMED.items() if own in found and name not in found}
