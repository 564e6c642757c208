"""P-tables on the command line: the design of one, and what the judge says about one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import print_json, refuse_unwritable, say

if TYPE_CHECKING:
    from ..privacy.verify import Verdict
    from ..ptables.table import PTable

#: Where delta is told of a table that has no finite epsilon.
CURVE = ("0.5", "1", "2", "3", "5")

#: What happens to the counts up to this one is told of a table that was designed.
SMALL_COUNTS = 2

_SKIPPED = (
    "programs that leave empty cells alone (tau-ARGUS, cellKey, ONS) do not apply the block of 0; the guarantee holds "
    "only where it is applied"
)


def design_table(given: dict[str, Any], output: Path | None, layout: str | None, json: bool) -> None:
    """Design a p-table, have it proved on its keys, and write it."""
    import sys

    from ..errors import InvalidInput
    from ..optimise.noise.ptable import design_ptable
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
    certificate = table.mechanism(given["epsilon"]).certificate
    if output is not None:
        table.write(output, layout)
    if json:
        print_json(
            {
                **table.about,
                "keys": table.keys,
                "reach": table.reach,
                "published_as": _published_as(table),
                "notes": list(table.notes),
                "certificate": certificate.to_json(),
            }
        )
        return
    from ..exact.rationals import as_fraction, text_down, text_up

    about = table.about
    best = (
        "no table on these keys is better"
        if about["proved_best"]
        else f"the best that the search found; no table has less than {text_down(as_fraction(about['lower_bound']))}"
    )
    say(str(table))
    for count in range(1, SMALL_COUNTS + 1):
        say(f"{'small' if count == 1 else '':10}{table.describe_count(count)}")
    say(f"proved    {certificate}")
    say(f"keys      {table.keys}: delta {text_up(about['delta'])}, {best}")
    say(
        f"          without keys it could be {text_up(about['delta_unrounded'])}; on {table.keys} keys never less than "
        f"1/{table.keys} = {text_up(about['key_floor'])}"
    )
    for note in table.notes:
        say(f"note      {note.replace('stay=...', '--stay')}")
    if output is not None:
        say(f"saved     {output}, and what the format has no place for in {output}.json (discreet verify {output})")
    say(f"note      {_SKIPPED}")


def _published_as(table: PTable) -> dict[str, dict[str, float]]:
    """For each small count, how often it is published as what."""
    return {
        str(count): {str(report): float(probability) for report, probability in table.outcomes(count)}
        for count in range(SMALL_COUNTS + 1)
    }


def claim_beside(table: PTable) -> tuple[str, str] | None:
    """The epsilon and delta that the file beside a table states, as text."""
    epsilon, delta = table.about.get("epsilon"), table.about.get("delta")
    return None if epsilon is None or delta is None else (str(epsilon), str(delta))


def tell_table(name: str, table: PTable, verdict: Verdict) -> None:
    """What a p-table is, and its delta at some epsilons."""
    from ..exact.rationals import text_down, text_up

    say(f"{name}: {table}")
    told = ", ".join(f"{text_up(verdict.delta(epsilon), 4)} at {epsilon}" for epsilon in CURVE)
    say(f"delta     {told} (epsilon)")
    cells = table.cell_keys()
    say(
        f"keys      judged with a fresh key for every cell; with record keys two cells of the same contributors have a "
        f"joint delta of at least {text_down(cells.joint_delta, 4)}, and no ledger prices that"
    )


def table_as_json(table: PTable, verdict: Verdict) -> dict[str, Any]:
    """The same for programs."""
    return {
        "kind": "p-table",
        "layout": table.layout,
        "keys": table.keys,
        "blocks": len(table.blocks),
        "reach": table.reach,
        "bias": float(table.bias),
        "variance": float(table.variance),
        "untouched_zeros": table.untouched_zeros,
        "delta": {epsilon: verdict.delta(epsilon) for epsilon in CURVE},
        "record_keys": {"composes": False, "joint_delta_at_least": float(table.cell_keys().joint_delta)},
        "about": dict(table.about),
    }
