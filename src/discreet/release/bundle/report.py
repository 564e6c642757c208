"""The report of a release, shown as text on a terminal and as its page.

It shows the first cells of each table, and never iterates over all: a release may have a million.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...engines.base import ROW
from ...plots.counts import MAX_DRAWN_CELLS, invisible_half_width, label
from ...report import Bar, Bullets, Code, Picture, Prose, Report, Section, Terms, TextTable
from ...wording import percent, plural
from ..plan.report import learning, plan_facts, question_in_words
from ..quantile_rows import QuantileTable
from ..tables.columns import IMPOSSIBLE, NORMAL, STATUS_MEANING, SUPPRESSED, error_meanings
from ..tables.csv_text import rounded_file, table_files
from ..tables.released import ReleasedTable
from .cross import count_and_interval, cross_table
from .introduction import opening

if TYPE_CHECKING:
    from ..plan.plan import Plan
    from .released import Release

#: Largest number of tables in a report; the CSV files have all.
MAX_TABLES = 12

#: Characters after which labels are cut.
_MAX_LABEL = 200

#: Hint for a release whose counts are all within noise of zero.
NEAR_ZERO = (
    "All counts are within noise of zero. If you expected people here, check the spelling of the declared values, the "
    "encoding of the file, and that it is the right file."
)


def release_report(release: Release, most: int = MAX_DRAWN_CELLS) -> Report:
    """Return the report of a release, with at most ``most`` cells of each table."""
    edition = f", edition {release.edition}" if release.edition else ""
    return Report(
        f"{release.title}{edition}",
        kind=f"Private counts of {release.plan.dataset}",
        facts=plan_facts(release.plan),
        sections=(
            *opening(release),
            *_tables(release, min(most, MAX_DRAWN_CELLS)),
            Section("What is guaranteed", (Bullets(release.guarantee),)),
            *learning(release.plan),
            Section("What is not guaranteed", (Bullets(not_guaranteed(release.plan)),), "pages"),
            *_reading(release),
            *_checking(release),
        ),
        notes=near_zero_notes(release),
    )


# ------------------------------------------------------------------------------------------------ tables


def _tables(release: Release, most: int) -> Iterator[Section]:
    parts = [part for table in release.tables for part in table.parts]
    many = len(parts) > 1
    files = [file for table, name in zip(release.tables, table_files(len(release.tables)), strict=True)
             for file in table.part_files(name)]  # fmt: skip
    for number, (file, table) in enumerate(zip(files[:MAX_TABLES], parts[:MAX_TABLES], strict=True)):
        rounding = table.rounding_in_words(f"`{file}`", f"`{rounded_file(file)}`")
        notes = (Prose(rounding, tone="note"),) if rounding else ()
        first_of_plan = number == 0 or table.plan is not parts[number - 1].plan
        question = (Prose(question_in_words(release.plan, table.plan), tone="lead"),) if first_of_plan else ()
        first, *others = table_sections(table, _quantiles_of(release, number), most)
        yield replace(first, title=table.title if many else "", parts=(*question, *first.parts, *notes))
        yield from others
        if first_of_plan:
            yield Section("The question in SQL", (Code(table.question.text),), "folded")
    if len(parts) > MAX_TABLES:
        more = plural(len(parts) - MAX_TABLES, "more table")
        yield Section(parts=(Prose(f"The CSV files have {more}."),))


def _quantiles_of(release: Release, number: int) -> QuantileTable | None:
    """Return the quantiles of a table by its number; tables released at once have none."""
    return release.quantile_table(number) if number < len(release.tables) else None


def table_sections(
    table: ReleasedTable, quantiles: QuantileTable | None, most: int, what: str = "The released counts."
) -> Iterator[Section]:
    """Yield a table with its picture of ``what``, the list of its counts if it is crossed, and its quantiles."""
    crossed = cross_table(table) if table.counts.size <= most else None
    with_each = f"With each count: its {percent(table.level, 6)} interval. " if crossed is not None else ""
    note = Prose(f"{with_each}{table.error_sentence}", tone="note")
    yield Section(parts=(_picture(table, what), crossed or _cells(table, most), note))
    if crossed is not None:
        yield Section("One count on each line, with bars", (_cells(table, most),), "folded")
    if quantiles is not None:
        yield Section(quantiles.title, (_quantiles(quantiles, most), Prose(quantiles.sentence, tone="note")))


def _picture(table: ReleasedTable, what: str) -> Picture:
    level = percent(table.level, 6)
    marks = {IMPOSSIBLE: " A cross marks a cell that cannot exist.", SUPPRESSED: " A question mark: suppressed."}
    numbers = table.chart_data
    flags = {row["status"] for row in numbers["rows"]}
    half_width = invisible_half_width(numbers["rows"])
    lines = (
        f"Lines are {level} intervals: each contains the count without noise at least {level} of the time."
        if half_width is None
        else f"The {level} intervals, at most ± {half_width:,}, are too short to see at this scale; the table has them."
    )
    remarks = "".join(remark for flag, remark in marks.items() if flag in flags)
    return Picture("counts", numbers, f"{what} {lines}{remarks}")


def _cells(table: ReleasedTable, most: int) -> TextTable:
    rows = table.rows_for_people(most)
    names = [*table.by, *(["measure"] if len(table.measures) > 1 else [])]
    cells = [(*(label(row[name], _MAX_LABEL) for name in names), *count_and_interval(row)) for row in rows]
    return TextTable(
        (*names, "count", f"{percent(table.level, 6)} interval"),
        tuple(cells),
        numbers=(len(names), len(names) + 1),
        strong=(len(names),),
        bars=tuple(map(_bar, rows)),
        total=int(table.counts.size),
    )


def _quantiles(quantiles: QuantileTable, most: int) -> TextTable:
    """Return the quantiles as a table: groups, column, share, value and interval."""
    shares = {share for _, share in quantiles.requests}
    columns = {column for column, _ in quantiles.requests}
    names = [*quantiles.group_headings, *(["measure"] if quantiles.has_measures else [])]
    names += ["column"] if len(columns) > 1 else []
    names += ["share"] if len(shares) > 1 else []
    all_rows = quantiles.rows()
    cells = [
        (
            *(label(row[name], _MAX_LABEL) for name in names),
            label(row["value"], _MAX_LABEL),
            f"{label(row['low'], _MAX_LABEL)} to {label(row['high'], _MAX_LABEL)}",
        )
        for row in all_rows[:most]
    ]
    heading = quantiles.title.partition(" by ")[0].casefold() if len(columns) == 1 else "value"
    return TextTable(
        (*names, heading, f"{percent(quantiles.table.level, 6)} interval"),
        tuple(cells),
        strong=(len(names),),
        total=len(all_rows) if len(all_rows) > most else None,
        compact=True,
    )


def _bar(row: Mapping[str, Any]) -> Bar | str:
    if row["status"] == NORMAL:
        return Bar(row["count"], row["low"], row["high"])
    return "cannot exist" if row["status"] == IMPOSSIBLE else "suppressed"


# ------------------------------------------------------------------------------------------------ all tables

NOT_GUARANTEED = (
    "Facts about whole groups are published. They say something about everyone in a group, in the table or not.",
    "Every other release from the same data adds to what can be learned. The ledger keeps the sum within its budget, "
    "and cannot count a release made without it.",
)


def not_guaranteed(plan: Plan) -> tuple[str, ...]:
    """Return sentences on what no release guarantees, and on what is public in this one."""
    return (*NOT_GUARANTEED, *plan.lead.public_facts)


CHECKING = "sha256sum -c SHA256SUMS\ndiscreet verify ."

CHECKED = (
    "The second line reads the question again, proves the noise again and recomputes the cost and the error of every "
    "count. Only the ledger can show that these are the counts that were drawn: add `--ledger FILE`."
)


def _counts_in_words(release: Release) -> str:
    """Return sentences on the meaning of a count, and on what is not a mistake."""
    bounded = "" if release.plan.protection.unit == ROW else ", after the contribution bound"
    negative = any(table.plan.noise.output == "signed" for table in release.tables)
    return f"{_explaining_table(release).counts_in_words(bounded, negative)} The CSV files have these columns:"


def _explaining_table(release: Release) -> ReleasedTable:
    """Return the table whose wording covers all tables."""
    return max(release.tables, key=lambda table: table.rank)


def columns_in_words(release: Release) -> Iterator[tuple[str, str]]:
    """Yield the columns of the published tables that are not group columns, with their meaning."""
    meanings = {"count": "the noisy count"}
    for table in release.tables:
        meanings |= table.extra_meanings
    yield from sorted(meanings.items(), key=lambda pair: pair[0] == "count")
    columns = (column for table in release.tables for column in table.columns)
    yield from error_meanings(columns, release.plan.protection.unit).items()


def _reading(release: Release) -> Iterator[Section]:
    flags = [flag for flag in STATUS_MEANING if any(bool((table.status == flag).any()) for table in release.tables)]
    yield Section(
        "How to read the numbers",
        (
            Prose(_counts_in_words(release)),
            Terms(tuple(columns_in_words(release))),
            Prose("The column `status` has these flags (SDMX, CL_OBS_STATUS):"),
            Terms(tuple((flag, STATUS_MEANING[flag]) for flag in flags)),
            Prose(_explaining_table(release).sums_in_words),
        ),
        "pages",
    )


def _checking(release: Release) -> Iterator[Section]:
    plan = release.plan
    terms = [("data set", plan.dataset), *([("edition", plan.edition)] if plan.edition else [])]
    terms += [(str(name), str(value)) for name, value in release.ledger.items()]
    yield Section(
        "How to re-check it",
        (
            Prose("In the folder of this page:"),
            Code(CHECKING),
            Prose(CHECKED),
            Terms((*terms, ("program", f"discreet {release.version}"))),
        ),
        "pages",
    )


def near_zero_notes(release: Release) -> tuple[str, ...]:
    """Return the hint if every count of declared groups has an interval that contains zero, and nothing otherwise.

    It is a function of the noisy counts and public numbers, so it reveals nothing more.
    """
    cells = 0
    for table in release.tables:
        noisy, errors = table.flags == NORMAL, table.errors
        if (errors["low"][noisy] > 0).any() or (errors["high"][noisy] < 0).any():
            return ()
        cells += int(noisy.sum())
    return (NEAR_ZERO,) if cells else ()
