"""An Excel workbook to forward: for each table a sheet to read, then a sheet with all data, and the guarantee.

The first sheet has whole numbers, each with its interval; the data sheet has what programs read, explained over its
headings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...errors import Unsupported
from ...ledger.budget import short
from ...plots.counts import label
from ...wording import percent
from ..bundle.contents import COLUMN_MEANING
from ..bundle.cross import Crossing, crossing, figure
from ..bundle.released import Release
from ..bundle.report import columns_in_words, not_guaranteed
from ..plan.report import question_in_words
from ..quantile_rows import QUANTILE_MEANING
from ..tables.columns import STATUS_MEANING
from ..tables.levelled_counts import ROUNDED_COLUMN, ROUNDED_MEANING
from ..tables.released import ReleasedTable
from ..tables.typed_columns import Column
from .workbook import (
    MAX_CELL_CHARACTERS,
    Format,
    Formats,
    Sheet,
    cell_text,
    print_on_wide_pages,
    prose,
    set_sentence_columns,
    sheet_names,
    workbook,
    write_sentence,
)

#: Limit of Excel: rows of a sheet, less those over the data.
MAX_ROWS = 1_048_574

#: Largest number of counts of a sheet to read; the data sheet has all.
_MAX_LISTED = 10_000

#: Number of columns above which a table is printed two pages wide.
_WIDE_COLUMNS = 18

#: Height of a line of the meanings over the headings of a data sheet, in points.
_MEANING_LINE = 12

#: Least number of columns that a note spans.
_NOTE_COLUMNS = 8


def write_excel(release: Release, path: Path) -> Path:
    """Write a release as a workbook; the same release gives the same file."""
    for table in release.tables:
        if table.counts.size > MAX_ROWS:
            raise Unsupported(
                f"{table.title} has {table.counts.size:,} counts, and a sheet has {MAX_ROWS:,} lines.",
                "Write .parquet, or take the CSV files of the bundle.",
            )
    single = len(release.tables) == 1
    titles = [table.title for table in release.tables]
    names = sheet_names(["Table"] if single else titles)
    data_names = sheet_names(["Data"] if single else [f"Data {k}" for k in range(1, len(titles) + 1)], [*names])
    quantiles = [one for k in range(len(titles)) if (one := release.quantile_table(k)) is not None]
    quantile_names = sheet_names([one.title for one in quantiles], ["Guarantee", *names, *data_names])
    flags = "; ".join(f"{flag}: {meaning}" for flag, meaning in STATUS_MEANING.items())
    meanings = dict(columns_in_words(release)) | {ROUNDED_COLUMN: ROUNDED_MEANING, "status": flags}
    with workbook(path, release.title, str(release.ledger["time"])) as (book, formats):
        for name, data_name, table in zip(names, data_names, release.tables, strict=True):
            _front(book.add_worksheet(name), release, table, data_name, formats)
        for name, table in zip(data_names, release.tables, strict=True):
            _data(book.add_worksheet(name), table.columns_with_rounded(), meanings, formats)
        for name, table_quantiles in zip(quantile_names, quantiles, strict=True):
            _data(book.add_worksheet(name), table_quantiles.typed_columns(), meanings | QUANTILE_MEANING, formats)
        _guarantee(book.add_worksheet("Guarantee"), release, formats)
    return path


# ------------------------------------------------------------------------------------------------ the table to read


def _front(sheet: Sheet, release: Release, table: ReleasedTable, data_name: str, formats: Formats) -> None:
    """Write the table as people read it: title, question, edition, the counts, source and privacy."""
    title = release.title if len(release.tables) == 1 else table.title
    sheet.write_string(0, 0, cell_text(title), formats["title"])
    sheet.write_string(1, 0, prose(question_in_words(release.plan, table.plan)), formats["lead"])
    if release.edition:
        sheet.write_string(2, 0, cell_text(f"Edition: {release.edition}"), formats["lead"])
    crossed = crossing(table)
    top = 4
    if crossed is not None:
        line, width = _cross(sheet, crossed, top, formats)
    else:
        line, width = _list(sheet, table, top, formats)
    for note in _notes(release, table, data_name):
        line += 1
        sheet.merge_range(line, 0, line, max(width, _NOTE_COLUMNS) - 1, "", formats["note"])
        sheet.write_string(line, 0, prose(note), formats["note"])
        sheet.set_row(line, 15 * (1 + len(note) // 90))
    pages = 2 if width > _WIDE_COLUMNS else 1
    print_on_wide_pages(sheet, (0, top + (2 if crossed is not None else 0)), pages)
    sheet.freeze_panes(top + (3 if crossed is not None else 1), 1)
    sheet.hide_gridlines(2)


def _cross(sheet: Sheet, crossed: Crossing, top: int, formats: Formats) -> tuple[int, int]:
    """Write a cross-table, each count with its interval in the next column; return the line and the width after it."""
    width = 1 + 2 * len(crossed.columns)
    sheet.merge_range(top, 1, top, width - 1, "", formats["over"])
    sheet.write_string(top, 1, crossed.over, formats["over"])
    sheet.write_string(top + 2, 0, crossed.down, formats["heading"])
    for k, name in enumerate(crossed.columns):
        sheet.merge_range(top + 1, 1 + 2 * k, top + 1, 2 + 2 * k, "", formats["across"])
        sheet.write_string(top + 1, 1 + 2 * k, name, formats["across"])
        sheet.write_string(top + 2, 1 + 2 * k, "count", formats["right heading"])
        sheet.write_string(top + 2, 2 + 2 * k, "low to high", formats["right heading"])
    widest = [8, 12] * len(crossed.columns)
    for number, (name, cells) in enumerate(zip(crossed.lines, crossed.cells, strict=True)):
        line = top + 3 + number
        total_line = number >= len(crossed.lines) - crossed.total_lines
        sheet.write_string(line, 0, name, formats["total text" if total_line else "text"])
        for k, row in enumerate(cells):
            total = k >= len(crossed.columns) - crossed.total_columns
            look = "total" if total_line else "side total" if total else "integer"
            length = _count(
                sheet, line, 1 + 2 * k, row, formats[look], formats["total interval" if total_line else "interval"]
            )
            widest[2 * k + 1] = max(widest[2 * k + 1], length)
    sheet.set_column(0, 0, min(40, max(10, *(len(name) + 2 for name in (crossed.down, *crossed.lines)))))
    for k, characters in enumerate(widest, 1):
        sheet.set_column(k, k, characters)
    return top + 3 + len(crossed.lines), width


def _list(sheet: Sheet, table: ReleasedTable, top: int, formats: Formats) -> tuple[int, int]:
    """Write one count on each line with its interval; return the line and the width after the list."""
    names = [*table.by, *(["measure"] if len(table.measures) > 1 else [])]
    rows = table.rows_for_people(_MAX_LISTED)
    for k, name in enumerate([*names, "count", "low to high"]):
        sheet.write_string(top, k, cell_text(name), formats["heading" if k < len(names) else "right heading"])
    widths = [max(10, len(name) + 2) for name in names]
    longest = 14
    for line, row in enumerate(rows, top + 1):
        total = any(table.is_summed_over(row, k) for k in range(len(table.by)))
        for k, name in enumerate(names):
            text = label(row[name])
            sheet.write_string(line, k, text, formats["side total" if total else "text"])
            widths[k] = max(widths[k], min(40, len(text) + 2))
        look = formats["side total" if total else "integer"]
        longest = max(longest, _count(sheet, line, len(names), row, look, formats["interval"]))
    for k, characters in enumerate([*widths, 12, longest]):
        sheet.set_column(k, k, characters)
    return top + 1 + len(rows), len(names) + 2


def _count(
    sheet: Sheet, line: int, column: int, row: Mapping[str, object] | None, number: Format, interval: Format
) -> int:
    """Write a count and its interval, or the remark on a count without noise; return the length of the interval."""
    count, _, ends = ("", "", "") if row is None else figure(row).partition("\n")
    value = None if row is None else row["count"]
    if isinstance(value, int):
        sheet.write_number(line, column, value, number)
    else:
        sheet.write_string(line, column, count, number)
    sheet.write_string(line, column + 1, ends, interval)
    return len(ends) + 2


def _notes(release: Release, table: ReleasedTable, data_name: str) -> Iterator[str]:
    """Yield the notes under a table: the interval, the rounding, the source, the privacy."""
    rounding = table.rounding_in_words(f"sheet {data_name}")
    yield f"low to high: the {percent(table.level, 6)} interval{' of the combined count' if rounding else ''}."
    if rounding:
        yield rounding
    if table.counts.size > _MAX_LISTED:
        yield f"The first {_MAX_LISTED:,} of {table.counts.size:,} counts; sheet {data_name} has all."
    publication, edition = release.plan.publication, f", edition {release.edition}" if release.edition else ""
    yield f"Source: {publication.source or f'{release.plan.dataset}{edition}'}."
    for name, text in (("Publisher", publication.publisher), ("Contact", publication.contact)):
        if text:
            yield f"{name}: {text}"
    yield (
        f"Privacy: random noise protects {release.plan.protection.who.protected}, {_privacy(release)}; "
        "see the sheet Guarantee."
    )


def _privacy(release: Release) -> str:
    cost = release.plan.cost
    delta = f", delta = {short(cost.delta, up=True, digits=3)}" if cost.delta else ""
    return f"epsilon = {short(cost.epsilon, up=True)}{delta}"


# ------------------------------------------------------------------------------------------------ data and guarantee


def _data(sheet: Sheet, columns: list[Column], meanings: Mapping[str, str], formats: Formats) -> None:
    """Write all columns of a table, the meaning of each over its heading."""
    lines = 1
    for k, column in enumerate(columns):
        is_centred = _is_beside_another_kind(columns, k)
        group = column.name not in COLUMN_MEANING
        # a year or the number of a site, without commas
        is_code = group and column.name not in meanings and column.type == "integer"
        cell_format = formats["answer" if is_centred else "code" if is_code else column.type]
        heading = "centre heading" if is_centred else "heading" if column.type == "text" else "right heading"
        meaning = meanings.get(column.name, COLUMN_MEANING.get(column.name, "a column of the groups"))
        sheet.write_string(0, k, prose(meaning), formats["meaning"])
        sheet.write_string(1, k, cell_text(column.name), formats[heading])
        longest = max([len(column.name) + 3, *(len(str(value)) + 2 for value in column.values[:500])])
        width = min(40, max(18, longest))
        sheet.set_column(k, k, width)
        lines = max(lines, 2 + len(meaning) // width)
        for line, value in enumerate(column.values, 2):
            if isinstance(value, str) or (value is None and group and column.type == "text"):
                sheet.write_string(line, k, cell_text(label(value, MAX_CELL_CHARACTERS)), cell_format)
            elif value is not None:
                sheet.write_number(line, k, value, cell_format)
    sheet.set_row(0, min(_MEANING_LINE * lines, 400))
    sheet.freeze_panes(2, 0)
    sheet.autofilter(1, 0, 1 + len(columns[0].values), len(columns) - 1)
    print_on_wide_pages(sheet, (0, 1))


def _is_beside_another_kind(columns: Sequence[Column], k: int) -> bool:
    """Return whether a column needs a distance: the flag right of counts, or numbers left of a text."""
    if columns[k].name == "status":
        return True
    following = columns[k + 1] if k + 1 < len(columns) else None
    return (
        columns[k].type != "text" and following is not None and following.type == "text" and following.name != "status"
    )


def _guarantee(sheet: Sheet, release: Release, formats: Formats) -> None:
    set_sentence_columns(sheet)
    for line, (name, text) in enumerate(_lines(release)):
        write_sentence(sheet, line, name, text, formats)
    print_on_wide_pages(sheet, (0, 0))


def _lines(release: Release) -> Iterator[tuple[str, str]]:
    plan = release.plan
    yield release.title, ""
    yield "data set", plan.dataset
    if plan.edition:
        yield "edition", plan.edition
    yield "privacy", f"{_privacy(release)}, for all tables together"
    yield from (("guarantee" if k == 0 else "", sentence) for k, sentence in enumerate(release.guarantee))
    yield from (("not guaranteed" if k == 0 else "", sentence) for k, sentence in enumerate(not_guaranteed(plan)))
    yield "The tables", ""
    for table in release.tables:
        yield table.title, f"{table.question.text}. {table.error_sentence}"
    yield "The columns", ""
    yield from columns_in_words(release)
    yield "level", f"of the intervals: {percent(plan.level, 6)}"
    yield "The flags in status", ""
    yield from STATUS_MEANING.items()
    yield "The ledger's receipt", ""
    yield from ((str(name), str(value)) for name, value in release.ledger.items())
    yield "program", f"discreet {release.version}"
