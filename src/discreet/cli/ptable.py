"""The design of p-tables on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .output import hand_over, refuse_unwritable, say


def design_table(given: dict[str, Any], output: Path | None, layout: str | None, page: Path | None, json: bool) -> None:
    """Design a p-table, prove it on its keys, and write it."""
    import sys

    from ..errors import InvalidInput
    from ..optimise.noise.ptable import DesignedTable, design_ptable
    from ..ptables.writing import read_layout

    allowed_options = ("epsilon", "reach", "variance", "js", "stay", "keys")
    for option, value in given.items():
        if value is not None and option not in allowed_options:
            flag = "-n" if option == "n" else f"--{option}"
            raise InvalidInput(
                f"--ptable does not take {flag}; it takes {', '.join('--' + name for name in allowed_options)}.",
                argument=option,
            )
    for required in ("epsilon", "reach"):
        if given[required] is None:
            raise InvalidInput(f"--ptable needs --{required}.", argument=required)
    if output is None and layout is not None:
        raise InvalidInput("--layout is the format of the table, and goes with -o FILE.", argument="layout")
    if output is not None:
        refuse_unwritable(output, (), "a p-table")
        read_layout(output, layout)
    options = {name: given[name] for name in ("variance", "js", "stay", "keys") if given[name] is not None}
    if sys.stderr.isatty():
        options["progress"] = lambda words: print(f"searching {words} ...", file=sys.stderr)
    table = design_ptable(given["epsilon"], given["reach"], **options)
    if output is not None:
        table.write(output, layout)
    hand_over(DesignedTable(table), page, json)
    if output is not None and not json:
        say(f"saved     {output}, with the rest of its claim in {output}.json (discreet verify {output})")
