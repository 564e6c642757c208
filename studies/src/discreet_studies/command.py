"""The verb of the papers: study."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from discreet.cli.output import Json, print_json, refuse_no_folder, say

T = TypeVar("T")


def study(
    name: Annotated[
        str,
        typer.Argument(
            help="The paper: reconstruction [F], bounded [S], places [A], constrained [C]; or results (new); or all."
        ),
    ],
    figure: Annotated[str | None, typer.Option(help="One figure or table only, such as 3.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for charts, data, claims and the page.")] = Path("studies"),
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="A few repetitions, or at least as many as in the papers.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The seed of all random numbers.", min=0)] = 2026,
    data: Annotated[
        Path | None, typer.Option(help="A folder with Adult and Gowalla; by default what DISCREET_DATA names.")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download Adult into the folder of --data first, and verify it.")
    ] = False,
    formats: Annotated[str, typer.Option(help="Formats of the charts, comma separated: png, svg, pdf, html, json.")] = (
        "png,svg,pdf,html"
    ),
    list_: Annotated[bool, typer.Option("--list", help="List the figures and tables, and draw none.")] = False,
    json: Json = False,
) -> None:
    """Reproduce a paper: its figures and tables computed again, and a verdict for each of its claims.

    Examples: `discreet study bounded --quick` · `discreet study constrained --figure 8 --out figures` ·
    `discreet study all --full --data FOLDER`
    """
    from discreet.errors import InvalidInput
    from discreet.plots.chart import refuse_undrawable

    from . import running
    from .datasets import download_adult
    from .registry import STUDIES

    studies = STUDIES if name == "all" else (running.find_study(name),)
    if list_:
        _list(running.listing(studies), json)
        return
    if name == "all" and figure is not None:
        raise InvalidInput("a figure belongs to one paper.", "Name the paper instead of all.", argument="figure")
    endings = running.read_formats(formats)
    if set(endings) - {"json"}:  # specifications need no drawing program
        refuse_undrawable()
    refuse_no_folder(out)
    if download:
        if data is None:
            raise InvalidInput("there is no folder to fetch Adult into.", "Name one: --data FOLDER.", argument="data")
        download_adult(data)
    results = []
    for entry in studies:
        result = running.study(entry.name, figure, quick=quick, seed=seed, data=data, progress=_track)
        page = result.save(out / entry.name, endings)
        results.append(result)
        if not json:
            say(result.describe())
            say(f"page      {page}")
    if json:
        print_json({"studies": [result.to_json() for result in results]} if name == "all" else results[0].to_json())


def _list(rows: Sequence[tuple[str, str, str]], as_json: bool) -> None:
    if as_json:
        print_json({"exhibits": [{"study": study, "figure": key, "title": title} for study, key, title in rows]})
        return
    for study, key, title in rows:
        say(f"{study:15} {key:20} {title}")


def _track(steps: Sequence[T], words: str) -> Iterable[T]:
    """Show a progress bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        return steps
    from rich.console import Console
    from rich.progress import track

    return track(steps, words, console=Console(stderr=True), transient=True)
