"""Comparing editions: the change of every count between releases of the same question, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from ...errors import InvalidInput, WrongType
from ...pages.pictures import chart_of
from ...plots.chart import Chart
from ...plots.counts import MAX_DRAWN_CELLS
from ...report import Json, Report, Result, stamped
from ...wording import find_name, listed
from ..bundle.open import open_bundle
from ..bundle.released import Release
from ..noise.accuracy import NO_END, read_level
from ..noise.changes import Changes
from ..noise.margins import Combined
from ..tables.aligned import Aligned
from .aligning import aligned, edition_names
from .describing import comparison_report, editions_picture

#: What a change may be counted from.
AGAINST = ("previous", "first")

Row = dict[str, Json]


@dataclass(frozen=True, eq=False)
class EditionComparison(Result):
    """What changed between editions: :func:`compare_editions` makes it.

    Attributes
    ----------
    releases
        The editions, in the order they were given.
    names
        What each is called.
    level
        How often each interval covers, at least, whatever the true counts are.
    against
        ``"previous"``: each edition is held against the one before; ``"first"``: against the first.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> asked = dict(data=folder / "visits.csv", unit="row", epsilon=1, ledger=folder / "visits.ledger")
    >>> editions = [dc.release_counts("SELECT COUNT(*) FROM visits", edition=name, **asked) for name in ("a", "b")]
    >>> dc.compare_editions(editions).names
    ('a', 'b')
    """

    releases: tuple[Release, ...]
    names: tuple[str, ...]
    level: Fraction
    against: str

    @property
    def title(self) -> str:
        first = self.releases[0]
        datasets = dict.fromkeys(release.plan.dataset for release in self.releases)
        by = first.tables[0].groups.columns if len(first.tables) == 1 else ()
        grouped = f" by {listed(by)}" if by else ""
        return f"Counts of {listed(list(datasets))}{grouped}, {len(self.names)} editions"

    @cached_property
    def tables(self) -> list[list[Aligned]]:
        """For each table, that table of every edition in one order of the groups."""
        return aligned(self.releases, self.names)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The numbers of the editions that are held against each other: earlier, later."""
        return [(0 if self.against == "first" else k - 1, k) for k in range(1, len(self.names))]

    @cached_property
    def changes(self) -> list[list[Changes]]:
        """For each table, the changes of every pair of editions."""
        return [[editions[a].changes(editions[b], self.level) for a, b in self.pairs] for editions in self.tables]

    def keys(self, table: int = 0) -> list[str]:
        """What tells the counts of a table apart: its group columns, and the measure where there are several."""
        first = self.tables[table][0].table
        return [*first.by, *(["measure"] if len(first.measures) > 1 else [])]

    def total(self, earlier: int, later: int, table: int = 0, measure: int = 0) -> Combined | None:
        """The change of all counts of a table together, between two editions by their numbers.

        None where a count is suppressed: the sum is not known then. A table with totals has it among its counts, and
        None here.
        """
        editions = self.tables[table]
        return editions[earlier].total_change(editions[later], measure, self.level)

    def rows(self, table: int = 0, most: int | None = None) -> list[Row]:
        """A mapping for each count and pair of editions: the group, both counts, the difference and the growth.

        An end that does not exist is None, and so is everything about a suppressed count. Growth is in percent, and
        None where it is undetermined: where the earlier count may be less than half of the released one.
        """
        editions = self.tables[table]
        named = editions[0].table.rows(most)
        keys = self.keys(table)
        found: list[Row] = []
        for (a, b), change in zip(self.pairs, self.changes[table], strict=True):
            for k, row in enumerate(named):
                pair: Row = {"group": {name: row[name] for name in keys}}
                pair |= {"from": self.names[a], "to": self.names[b]}
                found.append(pair | _figures(editions[a], editions[b], change, k))
        return found

    def series(self, table: int = 0, most: int | None = None) -> list[Row]:
        """A mapping for each count and edition: the group, the edition, the count, its status and its interval."""
        editions = self.tables[table]
        named = editions[0].table.rows(most)
        keys = self.keys(table)
        found: list[Row] = []
        for name, one in zip(self.names, editions, strict=True):
            low, high = (one.table.errors[end][one.order] for end in ("low", "high"))
            for k, row in enumerate(named):
                seen = one.status[k] != "Q"
                cell: Row = {"group": {key: row[key] for key in keys}, "edition": name}
                cell |= {"count": one.counts[k].item() if seen else None, "status": str(one.status[k])}
                ends = (int(low[k]), None if high[k] == NO_END else int(high[k])) if seen else (None, None)
                found.append(cell | {"low": ends[0], "high": ends[1]})
        return found

    def chart(self, table: int = 0) -> Chart:
        """The counts of every edition with their intervals, a line for each group."""
        return chart_of(editions_picture(self, table))

    def report(self, most: int = MAX_DRAWN_CELLS) -> Report:
        """The picture of the editions, and the changes of every pair with their intervals."""
        return comparison_report(self, min(most, MAX_DRAWN_CELLS))

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values: every edition, and every change with its interval."""
        content: dict[str, Json] = {
            "title": self.title,
            "level": str(self.level),
            "against": self.against,
            "editions": [
                {"name": name, "dataset": release.plan.dataset, "edition": release.edition, **release.cost.to_json()}
                for name, release in zip(self.names, self.releases, strict=True)
            ],
            "tables": [
                {"title": editions[0].table.title, "changes": self.rows(k), "totals": self._totals(k)}
                for k, editions in enumerate(self.tables)
            ],
        }
        return stamped("editions", 1, content)

    def _totals(self, table: int) -> list[Json]:
        measures = self.tables[table][0].totaled_measures
        found: list[Json] = []
        for a, b in self.pairs:
            for k, measure in enumerate(measures):
                total = self.total(a, b, table, k)
                said: dict[str, Json] = {"measure": measure, "from": self.names[a], "to": self.names[b]}
                ends = (None, None, None) if total is None else (total.estimate, total.low, total.high)
                found.append(said | dict(zip(("difference", "low", "high"), ends, strict=True)))
        return found

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"<EditionComparison: {self.title}>"


def _figures(earlier: Aligned, later: Aligned, change: Changes, k: int) -> Row:
    names = ("earlier", "later", "difference", "low", "high", "growth", "growth_low", "growth_high")
    if not change.comparable[k]:
        counts = (one.counts[k].item() if one.status[k] != "Q" else None for one in (earlier, later))
        return dict(zip(names, (*counts, *(None,) * 6), strict=True))
    low, high = int(change.low[k]), int(change.high[k])
    growth = [float(values[k]) for values in (change.growth, change.growth_low, change.growth_high)]
    figures = (
        earlier.counts[k].item(), later.counts[k].item(), change.difference[k].item(),
        None if low == -NO_END else low, None if high == NO_END else high,
        *(None if not math.isfinite(value) else value for value in growth),
    )  # fmt: skip
    return dict(zip(names, figures, strict=True))


def compare_editions(
    editions: Sequence[Release | str | Path], *, against: str = "previous", level: object = None
) -> EditionComparison:
    """What changed between editions of the same counts, with intervals that hold whatever the true counts are.

    The noises of two releases are independent, so the noise of a difference is their convolution. Growth in percent is
    said where the earlier count is known well enough; elsewhere it is undetermined.

    Parameters
    ----------
    editions
        Releases, or the folders of their bundles (which are re-checked), in order of time. They ask the same of the
        same groups; the table may be called otherwise in each.
    against
        ``"previous"``: each is held against the one before it. ``"first"``: against the first.
    level
        How often each interval covers, at least; by default as in the first release.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=10)
    >>> releases = []
    >>> for quarter, people in (("q1", 400), ("q2", 500)):
    ...     _ = (folder / f"visits_{quarter}.csv").write_text("site\\n" + "1\\n" * people)
    ...     releases.append(dc.release_counts(
    ...         f"SELECT COUNT(*) FROM visits_{quarter}", data=folder / f"visits_{quarter}.csv", unit="row", epsilon=4,
    ...         dataset="visits", edition=quarter, ledger=folder / "visits.ledger",
    ...     ))
    >>> row = dc.compare_editions(releases).rows()[0]
    >>> row["from"], row["to"], row["low"] < row["difference"] < row["high"], row["growth_low"] < row["growth"]
    ('q1', 'q2', True, True)
    """
    if isinstance(editions, str | Path | Release):
        raise WrongType("give a list of editions: two releases at least, or their folders.", argument="editions")
    given = list(editions)
    if len(given) < 2:
        edition_names([])
    if not all(isinstance(one, Release | str | Path) for one in given):
        raise WrongType("an edition is a release, or the folder of its bundle.", argument="editions")
    chosen = find_name(against, AGAINST, "what changes are counted from", argument="against")
    releases = tuple(one if isinstance(one, Release) else open_bundle(one) for one in given)
    share = releases[0].plan.level if level is None else read_level(level)
    found = EditionComparison(releases, edition_names(releases), share, chosen)
    if not found.tables:
        raise InvalidInput("these releases have no tables.", "Give others.", argument="editions")
    return found
