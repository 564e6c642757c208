"""The program: its verbs, its version, and what happens to a mistake."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from . import collector, design, judge, ledger, release

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
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
app.command()(judge.verify)
app.command()(judge.check)
app.command()(judge.explain)
app.command()(design.compare)
app.command()(design.calibrate)
app.command()(release.release)
app.add_typer(ledger.app, name="ledger")
app.command()(collector.perturb)
app.command()(collector.estimate)


def main() -> None:
    """Run the command line; a user's mistake is a message and exit code 2, never a traceback."""
    from ..errors import BudgetExceeded, DiscreetError

    try:
        app()
    except BrokenPipeError:  # the reader of a pipe left early
        sys.stderr.close()
        sys.exit(0)
    except BudgetExceeded as problem:  # an answer: the ledger says no
        typer.echo(f"discreet: {problem}", err=True)
        sys.exit(1)
    except DiscreetError as problem:
        typer.echo(f"discreet: {problem}", err=True)
        sys.exit(2)
    except OSError as problem:
        typer.echo(f"discreet: {problem.filename or 'a file'}: {problem.strerror or problem}.", err=True)
        sys.exit(2)
    except Exception:  # not a user's mistake, and not an answer: neither 1 nor 2
        traceback.print_exc()
        typer.echo("discreet: this should not have happened; please report it.", err=True)
        sys.exit(70)
