"""What every verb prints: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs instead.")]


def print_json(content: Any) -> None:
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False))


def print_table(headings: Sequence[str], cells: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()) -> None:
    """A plain table; the columns numbered in ``numbers`` are aligned to the right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    right = set(numbers)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="right" if k in right else "left", overflow="fold")
    for line in cells:
        table.add_row(*(escape(cell) for cell in line))
    Console(highlight=False).print(table)


def say(text: str = "") -> None:
    """A line for people, as it stands."""
    typer.echo(text)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A moving sign on a terminal while something takes long; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


def decide(holds: bool) -> NoReturn:
    """Leave with 0 when it holds and 1 when it does not."""
    raise typer.Exit(0 if holds else 1)
