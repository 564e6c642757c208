"""``discreet demo``: the main job on real data, from design to noisy counts, in half a minute of reading."""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Console
from rich.table import Table as TextTable

from . import properties, utility
from .errors import InvalidInput, UnreadableFile
from .exact.rationals import as_fraction
from .mechanism import Mechanism
from .mechanisms.fair import explicit_fair

#: A public bound, chosen before looking at the data: no site has more than this many people in poor health.
LARGEST_COUNT = 100

#: More than this would print true counts in all but name.
LARGEST_EPSILON = 5

_NO_FILE = "there is no file {}. Run the demo from the project's folder, or give --data PATH."


def show(data: Path, epsilon: str) -> None:
    """Print the whole path: the question, the mechanism, its proof, its error, and the noisy counts."""
    if as_fraction(epsilon, "epsilon") > LARGEST_EPSILON:
        raise InvalidInput(
            f"the demo takes an epsilon of at most {LARGEST_EPSILON}; got {epsilon!r}. Beyond it hardly any noise is "
            "left."
        )
    mechanism = explicit_fair(LARGEST_COUNT, epsilon=epsilon)
    if not data.is_file():
        raise UnreadableFile(_NO_FILE.format(data))
    console = Console(highlight=False)
    rule = console.rule
    rule("[bold]The question")
    console.print(
        "RAND Health Insurance Experiment, first year, real people: how many were in poor health at each of the six "
        "sites?\nEach person is counted at one site at most, so one person moves one count by one."
    )

    rule("[bold]The mechanism")
    console.print(f"explicit fair mechanism on the counts 0..{LARGEST_COUNT}, epsilon = {epsilon} asked for")
    console.print(
        "it is " + ", ".join(r.name for r in properties.check(mechanism).values() if r.holds) + " (checked exactly)"
    )

    rule("[bold]The proof")
    certificate = mechanism.certificate
    assert certificate.ratio is not None
    odds = float(certificate.ratio)
    console.print(f"the largest ratio of two probabilities is exactly {certificate.ratio}")
    console.print(
        f"epsilon = log of that = {certificate.epsilon:.12f}, decided in integers, on the numbers that are sampled"
    )
    console.print(
        f"in odds: whatever someone believed about one person's being counted, say even odds (50%), after seeing the "
        f"counts it is at most {odds / (1 + odds):.0%} ({odds:.2f} times the odds)"
    )

    rule("[bold]The error, known before any data is read")
    for distance in (0, 2, 5):
        within = 1 - float(max(utility.tail(mechanism, distance)))
        words = "exactly right" if distance == 0 else f"within {distance}"
        console.print(f"{words:>14} with probability at least {within:.1%}, whatever the true count is")

    rule("[bold]The noisy counts")
    _print_counts(console, _noisy_counts(data, mechanism))
    console.print(
        "Run it again for other numbers: the noise is secure and cannot be repeated. Every run costs epsilon again."
    )


def _noisy_counts(data: Path, mechanism: Mechanism) -> list[int]:
    """The released counts. The true ones exist only inside this function."""
    import duckdb

    query = """
        SELECT COUNT(person) FILTER (health = 'poor') FROM (SELECT UNNEST(range(1, 7)) AS site)
        LEFT JOIN (SELECT DISTINCT person, site, health FROM read_csv(?) WHERE year = 1) USING (site)
        GROUP BY site ORDER BY site
    """
    try:
        with duckdb.connect() as connection:
            counts = [row[0] for row in connection.execute(query, [str(data)]).fetchall()]
    except duckdb.Error:
        raise UnreadableFile(
            f"{data} is not the table of doctor visits (columns person, site, year, health)."
        ) from None
    reports: list[int] = mechanism.release([min(count, LARGEST_COUNT) for count in counts]).tolist()
    return reports


def _print_counts(console: Console, reports: list[int]) -> None:
    table = TextTable(box=None, pad_edge=False)
    table.add_column("site")
    table.add_column("reported", justify="right")
    table.add_column("")
    scale = 40 / max(*reports, 1)
    for site, report in enumerate(reports, 1):
        table.add_row(str(site), str(report), "█" * math.ceil(report * scale))
    console.print(table)
