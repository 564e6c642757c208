"""Compare editions: the change of every count between releases of the same question, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from ...errors import InvalidInput, WrongType
from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...lists import read_list
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
from .align import align_tables, edition_names
from .report import comparison_report, editions_picture, growth_picture
from .significance import changes_beyond_noise

#: Edition from which a change is counted: the one before, or the first.
AGAINST = ("previous", "first")

Row = dict[str, Json]


@dataclass(frozen=True, eq=False)
class EditionComparison(Result):
    """The changes between editions, as :func:`compare_editions` computes them.

    Attributes
    ----------
    releases
        The editions, in order of time.
    names
        The name of each edition.
    level
        The coverage of each interval, for any true counts.
    against
        ``"previous"`` compares each edition with the one before it, ``"first"`` with the first.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> fields = dict(data=folder / "visits.csv", unit="row", epsilon=1, ledger=folder / "visits.ledger")
    >>> editions = [dc.release_counts("SELECT COUNT(*) FROM visits", edition=name, **fields) for name in ("a", "b")]
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
        by_columns = f" by {listed(by)}" if by else ""
        return f"Counts of {listed(list(datasets))}{by_columns}, {len(self.names)} editions"

    @cached_property
    def tables(self) -> list[list[Aligned]]:
        """Each table in every edition, with groups in one order."""
        return align_tables(self.releases, self.names)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of editions to compare, as numbers: earlier, later."""
        return [(0 if self.against == "first" else k - 1, k) for k in range(1, len(self.names))]

    @cached_property
    def beyond_noise(self) -> list[list[BoolArray]]:
        """Masks of the changes that noise does not explain, for each table and pair of editions, judged together.

        With probability ``level`` at least, none of the changes of a table that this marks is noise alone, whatever
        the true counts are.
        """
        return [changes_beyond_noise(editions, self.pairs, self.level) for editions in self.tables]

    @cached_property
    def changes(self) -> list[list[Changes]]:
        """The changes of each table, for every pair of editions."""
        return [[editions[a].changes(editions[b], self.level) for a, b in self.pairs] for editions in self.tables]

    def keys(self, table: int = 0) -> list[str]:
        """Return the columns that identify a count: the group columns, and the measure of a table with several."""
        first = self.tables[table][0].table
        return [*first.by, *(["measure"] if len(first.measures) > 1 else [])]

    def total(self, earlier: int, later: int, table: int = 0, measure: int = 0) -> Combined | None:
        """Return the change of the sum of all counts of a table, between two editions by their numbers.

        None where a count is suppressed, since the sum is unknown, and for a table with totals, whose counts contain
        the sum.
        """
        editions = self.tables[table]
        return editions[earlier].total_change(editions[later], measure, self.level)

    def rows(self, table: int = 0, most: int | None = None) -> list[Row]:
        """Return a mapping for each count and pair of editions: the group, both counts, the difference and the growth.

        An end that does not exist is None, and so are all values of a suppressed count. Growth is in percent and has an
        interval for every count, endless where the earlier count may be zero; its estimate is None where the earlier
        released count is not positive. "beyond_noise" marks the changes that noise does not explain, judged together.
        The counts are those for programs: unrounded in a table with totals.
        """
        return self._rows(table, most, for_people=False)

    def rows_for_people(self, table: int = 0, most: int | None = None) -> list[Row]:
        """Return the same mappings with the counts, differences and growth that people see.

        In a table with totals they are of the rounded counts; the intervals are those of the combined ones.
        """
        return self._rows(table, most, for_people=True)

    def _rows(self, table: int, most: int | None, *, for_people: bool) -> list[Row]:
        """Return a mapping for each count and pair of editions."""
        editions = self.tables[table]
        counts = editions[0].table.rows(most)
        keys = self.keys(table)
        rows: list[Row] = []
        for (a, b), change, marks in zip(self.pairs, self.changes[table], self.beyond_noise[table], strict=True):
            for k, row in enumerate(counts):
                pair: Row = {"group": {name: row[name] for name in keys}}
                pair |= {"from": self.names[a], "to": self.names[b]}
                figures = _figures(editions[a], editions[b], change, k)
                if for_people:
                    figures |= _figures_for_people(editions[a], editions[b], figures, k)
                rows.append(pair | figures | {"beyond_noise": bool(marks[k]) if change.comparable[k] else None})
        return rows

    def series(self, table: int = 0, most: int | None = None) -> list[Row]:
        """Return a mapping for each count and edition: group, edition, count, status and interval."""
        return self._series(table, most, [one.counts for one in self.tables[table]])

    def series_for_people(self, table: int = 0, most: int | None = None) -> list[Row]:
        """Return the same mappings with the counts that people see: rounded ones in a table with totals."""
        return self._series(table, most, [one.counts_for_people for one in self.tables[table]])

    def _series(self, table: int, most: int | None, figures: Sequence[IntArray | FloatArray]) -> list[Row]:
        """Return a mapping for each of these counts and its edition."""
        editions = self.tables[table]
        counts = editions[0].table.rows(most)
        keys = self.keys(table)
        rows: list[Row] = []
        for name, one, shown in zip(self.names, editions, figures, strict=True):
            low, high = (one.table.errors[end][one.order] for end in ("low", "high"))
            for k, row in enumerate(counts):
                published = one.status[k] != "Q"
                cell: Row = {"group": {key: row[key] for key in keys}, "edition": name}
                cell |= {"count": shown[k].item() if published else None, "status": str(one.status[k])}
                ends = (int(low[k]), None if high[k] == NO_END else int(high[k])) if published else (None, None)
                rows.append(cell | {"low": ends[0], "high": ends[1]})
        return rows

    def chart(self, table: int = 0) -> Chart:
        """Chart the counts of every edition with their intervals, a line for each group."""
        return chart_of(editions_picture(self, table))

    def growth_chart(self, table: int = 0) -> Chart:
        """Chart the growth of every count between editions, with its intervals."""
        return chart_of(growth_picture(self, table))

    def report(self, most: int = MAX_DRAWN_CELLS) -> Report:
        """Report the editions in a picture, and the changes of every pair with their intervals."""
        return comparison_report(self, min(most, MAX_DRAWN_CELLS))

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values: every edition, and every change with its interval."""
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
        rows: list[Json] = []
        for a, b in self.pairs:
            for k, measure in enumerate(measures):
                total = self.total(a, b, table, k)
                row: dict[str, Json] = {"measure": measure, "from": self.names[a], "to": self.names[b]}
                ends = (None, None, None) if total is None else (total.estimate, total.low, total.high)
                rows.append(row | dict(zip(("difference", "low", "high"), ends, strict=True)))
        return rows

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


def _figures_for_people(earlier: Aligned, later: Aligned, figures: Row, k: int) -> Row:
    """Return the figures that are worked out from the counts people see, where both are released."""
    before, after = (one.counts_for_people[k].item() if one.status[k] != "Q" else None for one in (earlier, later))
    if figures["difference"] is None or before is None or after is None:
        return {"earlier": before, "later": after}
    growth = None if figures["growth"] is None or before <= 0 else 100.0 * after / before - 100.0
    return {"earlier": before, "later": after, "difference": after - before, "growth": growth}


def compare_editions(
    editions: Sequence[Release | str | Path], *, against: str = "previous", level: object = None
) -> EditionComparison:
    """Compare editions of the same counts; the intervals of the changes hold for any true counts.

    The noises of two releases are independent, so the noise of a difference is their convolution. Growth is given in
    percent where the earlier count is known well enough; elsewhere it is undetermined.

    Parameters
    ----------
    editions
        Releases, or the folders of their bundles (which are re-checked), in order of time. They have the same question
        and the same groups; the name of the table may differ.
    against
        ``"previous"`` compares each with the one before it, ``"first"`` with the first.
    level
        The coverage of each interval; by default that of the first release.

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
    editions_in_order = read_list(editions, "editions", "releases, or of their folders")
    if len(editions_in_order) < 2:
        edition_names([])
    if not all(isinstance(one, Release | str | Path) for one in editions_in_order):
        raise WrongType("an edition is a release, or the folder of its bundle.", argument="editions")
    baseline = find_name(against, AGAINST, "what changes are counted from", argument="against")
    releases = tuple(one if isinstance(one, Release) else open_bundle(one) for one in editions_in_order)
    coverage = releases[0].plan.level if level is None else read_level(level)
    comparison = EditionComparison(releases, edition_names(releases), coverage, baseline)
    if not comparison.tables:
        raise InvalidInput("these releases have no tables.", "Give others.", argument="editions")
    return comparison
