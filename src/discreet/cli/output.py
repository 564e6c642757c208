"""What every verb prints: tables and sentences for people, JSON for programs, mistakes in the words of its options."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
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


def refuse_unwritable(path: Path | None, endings: Sequence[str], what: str, drawn: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written, before the work that would fill it.

    Parameters
    ----------
    path
        The file, if one was asked for.
    endings
        What its name may end in; anything if empty.
    what
        It is, for messages.
    drawn
        Endings of files that need the program that draws.
    """
    from ..errors import InvalidInput
    from ..wording import listed

    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise InvalidInput(f"{what} ends in {listed(endings, 'or')}; got {str(path)!r}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent} to write {path.name} to; make it first.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file for {what}.")
    if path.suffix.lower() in drawn:
        from ..plots.chart import refuse_undrawable

        refuse_undrawable()


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


#: An argument as messages name it (see ``errors``): ``epsilon=...``, ``kind='optimal'``, ``domain=['site=1..6']``,
#: ``over=Counts(n)``, ``worst_case=True``, ``max_groups=3``, or only ``reports=``. A domain such as ``level=1..6`` or
#: ``level=a,b`` that somebody wrote is none of these.
_ARGUMENT = re.compile(
    r"(?<![\w.'\"(-])(?P<name>[a-z][a-z0-9_]*)="
    r"(?:(?P<open>\.\.\.)|(?P<yes>True\b)|Counts\((?P<largest>\w+)\)|\['(?P<item>[^']*)'\]|'(?P<text>[^']*)'"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:e-?\d+)?)(?!\.\.|,\S|[\w/-])|(?=[\s,;)]|$))"
)

_UNDERSCORED = re.compile(r"(?<![\w.'\"(/-])[a-z]+(?:_[a-z0-9]+)+(?![\w'\"(/=-]|\.\w)")

#: What can be done in Python only, or by a verb -> how the command line says it.
_PHRASES = {
    "m.on(Counts(n), clamp=True)": "m.on(Counts(n), clamp=True) in Python",
    "m.save(path)": "discreet design -o FILE",
    "dc.calibrate": "discreet calibrate",
}


def in_options(message: str, options: Mapping[str, str]) -> str:
    """A message with the arguments it names written as the options of a verb; other arguments stay as they are.

    >>> in_options("give exactly one of epsilon=... and alpha=...; got none.", {"epsilon": "-e", "alpha": "--alpha"})
    'give exactly one of -e and --alpha; got none.'
    >>> in_options("ask for notion='local', or over=Counts(n)", {"notion": "--notion", "over": "--over"})
    'ask for --notion local, or --over n'
    """

    def option(found: re.Match[str]) -> str:
        flag = options.get(found["name"])
        if flag is None:
            return found[0]
        given = [found[kind] for kind in ("largest", "item", "text", "number") if found[kind] is not None]
        words = [flag, *(text if re.fullmatch(r"[\w.,=/:@%+-]+", text) else shlex.quote(text) for text in given)]
        return " ".join(words) + "." * (found["open"] is not None and found.end() == len(message))

    for phrase, instead in _PHRASES.items():
        message = message.replace(phrase, instead)
    # a name with an underscore is an argument's, also where no sign follows it
    return _UNDERSCORED.sub(lambda found: options.get(found[0], found[0]), _ARGUMENT.sub(option, message))


def decide(holds: bool) -> NoReturn:
    """Leave with 0 when it holds and 1 when it does not."""
    raise typer.Exit(0 if holds else 1)
