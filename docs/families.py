"""The table of families in the reference, made from the registry each time these pages are built."""

from __future__ import annotations

from discreet.mechanisms.families import Family
from discreet.optimise.families import FAMILIES

#: Kinds of laws, in words.
KINDS = {
    "noise": "adds noise to a count",
    "table": "has a table of probabilities",
    "response": "keeps the value or reports any other",
    "map": "adds noise on a map",
    "points": "reports points of a projective space",
}

#: Where names are taken.
VERBS = {
    "design": "`design`",
    "compare": "`compare`",
    "calibrate": "`calibrate`",
    "release": "`release`",
    "plan": "`collect plan`",
}


def table() -> str:
    """Markdown: a row for each family, with its names, what it does, and the verbs that take it by name."""
    headings = ("family", "name", "also", "what it does", "verbs that take the name")
    rows = [headings, ("---",) * len(headings), *map(_row, FAMILIES.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(family: Family) -> tuple[str, ...]:
    return (
        family.title.replace("|", r"\|"),
        f"`{family.cli_name}`",
        ", ".join(f"`{name}`" for name in family.names[1:]),
        KINDS[family.kind],
        ", ".join(verb for use, verb in VERBS.items() if use in family.uses),
    )
