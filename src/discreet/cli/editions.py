"""The verbs editions and export: releases compared, and written for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import Json, Page, hand_over, print_json, refuse_unwritable, say


def editions(
    folders: Annotated[
        list[Path], typer.Argument(help="The folders of the bundles, in order of time.", metavar="FOLDER...")
    ],
    against: Annotated[
        str, typer.Option(help="The baseline of changes: previous (the edition before), or first.")
    ] = "previous",
    level: Annotated[
        str | None, typer.Option(help="The coverage of the intervals; default: the first bundle's.")
    ] = None,
    to: Annotated[
        list[Path] | None, typer.Option(help="A workbook to write: .xlsx, with a sheet for each table, and a chart.")
    ] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Compare editions of the same counts: differences and growth, each with an interval, and a chart.

    Example: `discreet editions 2026-Q1/ 2026-Q2/ 2026-Q3/ 2026-Q4/ --page year.html`
    """
    from ..release.editions.compare import compare_editions
    from ..release.outputs.editions_excel import export_editions

    refuse_unwritable(page, (".html",), "a page")
    for file in to or []:
        refuse_unwritable(file, (".xlsx",), "a workbook")
    comparison = compare_editions(folders, against=against, level=level)
    files = [export_editions(comparison, file) for file in to or []]
    hand_over(comparison, page, json)
    for file in [] if json else files:
        say(f"written to {file}")


def export(
    folder: Annotated[Path, typer.Argument(help="The folder of a bundle; it is re-checked first.")],
    to: Annotated[
        list[Path],
        typer.Option(
            help="The file to write; its ending is the format: .xlsx, .parquet, counts.csv-metadata.json (W3C CSVW, "
            "with the CSV files), .yaml (the public registry of deployments). Several may be given."
        ),
    ],
    ledger: Annotated[str | None, typer.Option(help="The ledger, to check that it recorded these counts.")] = None,
    table: Annotated[int, typer.Option(help="For .parquet: which table, from 1.", min=1)] = 1,
    json: Json = False,
) -> None:
    """Write a bundle for other programs: Excel, Parquet, metadata of the web, the registry of deployments.

    Example: `discreet export by_site/ --to by_site.xlsx --to registry.yaml`
    """
    from ..release.bundle.open import open_bundle
    from ..release.outputs.export import export as write

    release = open_bundle(folder, ledger)
    files = [str(file) for target in to for file in write(release, target, table=table - 1)]
    if json:
        print_json({"bundle": str(folder), "written": files})
        return
    for file in files:
        say(f"written to {file}")
