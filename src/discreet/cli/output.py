"""The output of all verbs: tables and sentences for people, JSON for programs, errors in terms of options."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ..errors import Mention, Writer, in_python, write_mentions
from ..report import Result

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs instead.")]
Page = Annotated[Path | None, typer.Option("--page", help="Also write a page for people: FILE.html.")]
FormerTarget = Annotated[str | None, typer.Option("--wanted", hidden=True)]


def print_json(content: object) -> None:
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False))


def hand_over(result: Result, page: Path | None, as_json: bool) -> None:
    """Print a result as text or JSON, and write its page if requested."""
    if page is not None:
        result.report().save(page)
    if as_json:
        print_json(result.to_json())
        return
    say(result.describe())
    if page is not None:
        say(f"page      {page}")


def refuse_unwritable(path: Path | None, endings: Sequence[str], what: str, pictures: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written, before the work that would fill it.

    Parameters
    ----------
    path
        The file, or None.
    endings
        Allowed endings of its name; any if empty.
    what
        The kind of file, for messages.
    pictures
        Endings of files that need the drawing program.
    """
    from ..errors import InvalidInput
    from ..wording import listed

    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise InvalidInput.must_be(what, f"a file whose name ends in {listed(endings, 'or')}", str(path))
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent} to write {path.name} to.", "Make it first.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder.", f"Name a file for {what}.")
    if path.suffix.lower() in pictures:
        from ..plots.chart import refuse_undrawable

        refuse_undrawable()


def refuse_no_folder(path: Path) -> None:
    """Refuse a folder that could not be made or written into, before the work that would fill it."""
    from ..errors import InvalidInput

    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not existing.is_dir():
        raise InvalidInput(f"{existing} is a file, and {path} should be a folder.", "Name another one.", argument="out")
    if not os.access(existing, os.W_OK):
        raise InvalidInput(f"nothing can be written into {existing}.", "Name another folder.", argument="out")


def say(text: str = "") -> None:
    """Print a line for people."""
    typer.echo(text)


def target_option(target_error: str | None, former_target: str | None) -> str | None:
    """Return the target error; accept its former option ``--wanted`` with a warning."""
    if former_target is not None:
        typer.echo("--wanted is now --target-error; the next version removes --wanted.", err=True)
    return former_target if target_error is None else target_error


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a spinner on a terminal while something takes long; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal and yield its callback; yield None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=min(share, 1.0))


def writer(options: Mapping[str, str]) -> Writer:
    """Return a writer of the arguments in a message as the options of a verb; others stay as in Python."""

    def write(mention: Mention) -> str:
        if mention.kind == "call":
            return mention.name
        flag = options.get(mention.name)
        if flag is None:
            return mention.python
        is_plain = re.fullmatch(r"[\w.,=/:@%+-]*", mention.value)
        return f"{flag} {mention.value if is_plain else shlex.quote(mention.value)}".strip()

    return write


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Return a text with its arguments written as the options of a verb; others stay as in Python.

    >>> from discreet.errors import arg, named
    >>> options = {"epsilon": "-e", "alpha": "--alpha", "notion": "--notion", "over": "--over"}
    >>> in_options(f"give exactly one of {arg('epsilon')} and {arg('alpha')}; got none.", options)
    'give exactly one of -e and --alpha; got none.'
    >>> in_options(f"ask for {arg('notion', 'local')}, or {arg('over', 'Counts(n)', 'n')}", options)
    'ask for --notion local, or --over n'
    """
    sentence = write_mentions(text, writer(options))
    # three dots at the end of a sentence replaced its full stop
    return sentence + "." if in_python(text).endswith("=...") and not sentence.endswith(".") else sentence


def decide(holds: bool) -> NoReturn:
    """Exit with 0 if the claim holds, else with 1."""
    raise typer.Exit(0 if holds else 1)
