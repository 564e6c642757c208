"""P-tables on the command line: the design of one, and what the judge says about one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..privacy.verify import Verdict
    from ..ptables.table import PTable


def design_table(given: dict[str, Any], output: Path | None, layout: str | None, page: Path | None, json: bool) -> None:
    """Design a p-table, have it proved on its keys, and write it."""
    import sys

    from ..errors import InvalidInput
    from ..optimise.noise.ptable import design_ptable, json_of_ptable, report_of_ptable
    from ..ptables.writing import read_layout

    allowed = ("epsilon", "reach", "variance", "js", "stay", "keys")
    for option, value in given.items():
        if value is not None and option not in allowed:
            flag = "-n" if option == "n" else f"--{option}"
            raise InvalidInput(f"--ptable does not take {flag}; it takes {', '.join('--' + name for name in allowed)}.")
    for needed in ("epsilon", "reach"):
        if given[needed] is None:
            raise InvalidInput(f"--ptable needs --{needed}.")
    if output is None and layout is not None:
        raise InvalidInput("--layout says how the table is written, and goes with -o FILE.")
    if output is not None:
        refuse_unwritable(output, (), "a p-table")
        read_layout(output, layout)
    options = {name: given[name] for name in ("variance", "js", "stay", "keys") if given[name] is not None}
    if sys.stderr.isatty():
        options["progress"] = lambda words: print(f"searching {words} ...", file=sys.stderr)
    table = design_ptable(given["epsilon"], given["reach"], **options)
    if output is not None:
        table.write(output, layout)
    report = report_of_ptable(table)
    if page is not None:
        report.save(page)
    if json:
        print_json(json_of_ptable(table))
        return
    say(report.text())
    if output is not None:
        say(f"saved     {output}, and what the format has no place for in {output}.json (discreet verify {output})")
    if page is not None:
        say(f"page      {page}")


def claim_beside(table: PTable) -> tuple[str, str] | None:
    """The epsilon and delta that the file beside a table states, as text."""
    return table.claim


def tell_table(name: str, table: PTable, verdict: Verdict) -> None:
    """What a p-table is, and its delta at some epsilons; what has to be noted comes with the verdict."""
    report = table.report()
    say(replace(report, title=f"{name}: {report.title}", notes=()).text())


def table_as_json(table: PTable, verdict: Verdict) -> dict[str, Any]:
    """The same for programs."""
    content = table.to_json()
    return {"kind": "p-table", **content, "delta": content["delta_at"]}
