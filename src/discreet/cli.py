"""The command line. Each verb calls the same functions a Python user calls; nothing is computed here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="discreet",
    help="Private counts, from design to release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Private counts, from design to release."""


@app.command()
def demo(
    data: Annotated[Path, typer.Option(help="The table of doctor visits that ships with the project.")] = Path(
        "data/doctor_visits.csv.gz"
    ),
    epsilon: Annotated[str, typer.Option(help="The privacy to give: smaller protects more.")] = "1",
) -> None:
    """Design a mechanism, prove it, and apply it to real data. True counts are never shown."""
    from .demonstration import show

    show(data, epsilon)


def main() -> None:
    """Run the command line; a user's mistake is a message and exit code 2, never a traceback."""
    from .errors import DiscreetError

    try:
        app()
    except DiscreetError as problem:
        typer.echo(f"discreet: {problem}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
