"""A workbook of editions compared: the changes, those that noise does not explain highlighted, and a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...errors import InvalidInput, Unsupported
from ...plots.counts import label
from ...report import Bullets, Json
from ...wording import percent, plural
from ..editions.compare import EditionComparison
from ..tables.columns import SUPPRESSED
from ..tables.released import ReleasedTable
from .excel import MAX_ROWS
from .target import refuse_folder_of
from .workbook import (
    Book,
    Formats,
    Sheet,
    cell_text,
    print_on_wide_pages,
    set_sentence_columns,
    sheet_names,
    workbook,
    write_sentence,
)

#: Largest number of lines of the chart; the sheet has the counts of all groups.
MAX_CHART_LINES = 8

#: First line with figures in each sheet: title and notes are above.
_TOP = 4

#: Line of a sheet: a value for each column, and the name of its format.
_Cell = tuple[Json, str]


def export_editions(comparison: EditionComparison, path: str | Path) -> Path:
    """Write compared editions as an Excel workbook, which is replaced if it exists.

    A sheet has every change, those that noise does not explain highlighted; one has the counts of all editions side by
    side, with a chart; one has the guarantee. The same releases give the same file.

    Parameters
    ----------
    comparison
        The editions, as :func:`discreet.compare_editions` compares them.
    path
        The file, ending in .xlsx. It must not be in the folder of a bundle.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> fields = dict(data=folder / "visits.csv", unit="row", epsilon=1, ledger=folder / "visits.ledger")
    >>> editions = [dc.release_counts("SELECT COUNT(*) FROM visits", edition=name, **fields) for name in ("a", "b")]
    >>> dc.export_editions(dc.compare_editions(editions), folder / "year.xlsx").name
    'year.xlsx'
    """
    file = Path(path)
    if file.suffix.lower() != ".xlsx":
        raise InvalidInput.must_be("path", "a file whose name ends in .xlsx", file.name)
    refuse_folder_of(file)
    for editions in comparison.tables:
        lines = editions[0].counts.size * len(comparison.pairs)
        if lines > MAX_ROWS - _TOP:
            raise Unsupported(f"{lines:,} changes do not fit in a sheet.", "Take the JSON: discreet editions --json")
    many = len(comparison.tables) > 1
    suffixes = [f" {k}" if many else "" for k in range(1, len(comparison.tables) + 1)]
    time = str(comparison.releases[-1].ledger["time"])
    with workbook(file, comparison.title, time) as (book, formats):
        names = sheet_names([f"{what}{suffix}" for suffix in suffixes for what in ("Changes", "Counts")])
        for k in range(len(suffixes)):
            _changes(book.add_worksheet(names[2 * k]), comparison, k, formats)
            _counts(book, book.add_worksheet(names[2 * k + 1]), comparison, k, formats)
        _guarantee(book.add_worksheet("Guarantee"), comparison, formats)
    return file


def _changes(sheet: Sheet, comparison: EditionComparison, table: int, formats: Formats) -> None:
    """Write every change with its interval, and highlight those that noise does not explain."""
    keys, level = comparison.keys(table), percent(comparison.level, 6)
    lines = list(_change_lines(comparison, table))
    marked = sum(is_marked for _, is_marked in lines)
    sheet.write_string(0, 0, cell_text(comparison.title), formats["title"])
    sheet.write_string(
        1, 0,
        f"Highlighted: {marked:,} of {plural(len(lines), 'change')} that noise does not explain, judged together at "
        f"{level}.",
        formats["lead"],
    )  # fmt: skip
    headings = [*keys, "from", "to", "before", "after", "change", "low", "high", "growth", "growth low", "growth high"]
    for k, name in enumerate([*headings, "noise explains it"]):
        heading = "heading" if k < len(keys) + 2 else "right heading"
        sheet.write_string(_TOP - 1, k, cell_text(name), formats[heading])
    widths = [max(11, len(name) + 2) for name in [*headings, "noise explains it"]]
    for line, (cells, is_marked) in enumerate(lines, _TOP):
        _write_line(sheet, line, cells, is_marked, formats)
        widths = [max(width, min(40, len(str(value)) + 2)) if kind == "text" else width
                  for width, (value, kind) in zip(widths, cells, strict=True)]  # fmt: skip
    for k, width in enumerate(widths):
        sheet.set_column(k, k, width)
    sheet.freeze_panes(_TOP, len(keys))
    sheet.autofilter(_TOP - 1, 0, _TOP - 1 + len(lines), len(headings))
    print_on_wide_pages(sheet, (_TOP - 1, _TOP - 1))


def _change_lines(comparison: EditionComparison, table: int) -> Iterator[tuple[list[_Cell], bool]]:
    """Yield the cells of each change, and True if noise does not explain it."""
    keys = comparison.keys(table)
    for row in comparison.rows_for_people(table):
        is_marked = row["beyond_noise"] is True
        group = row["group"]
        assert isinstance(group, Mapping)
        explained = "" if row["difference"] is None else "no" if is_marked else "yes"
        cells: list[_Cell] = [(label(group[key]), "text") for key in keys]
        cells += [(row["from"], "text"), (row["to"], "text"), (row["earlier"], "integer"), (row["later"], "integer")]
        cells += [(row[name], "change") for name in ("difference", "low", "high")]
        cells += [(row["growth"], "percent"), (row["growth_low"], "percent")]
        has_end = row["growth_low"] is None or row["growth_high"] is not None
        cells += [(row["growth_high"] if has_end else "no end", "percent")]
        yield [*cells, (explained, "answer")], is_marked


def _write_line(sheet: Sheet, line: int, cells: Sequence[_Cell], is_marked: bool, formats: Formats) -> None:
    for k, (value, kind) in enumerate(cells):
        look = formats[f"marked {kind}" if is_marked else kind]
        if isinstance(value, int | float):
            sheet.write_number(line, k, value, look)
        elif isinstance(value, str):
            sheet.write_string(line, k, cell_text(value), look)
        else:
            sheet.write_blank(line, k, None, look)


def _counts(book: Book, sheet: Sheet, comparison: EditionComparison, table: int, formats: Formats) -> None:
    """Write the counts of every edition side by side, and chart those of the first groups."""
    keys, editions = comparison.keys(table), comparison.tables[table]
    first = editions[0].table
    rows = first.rows_for_people()
    sheet.write_string(0, 0, cell_text(first.title), formats["title"])
    sheet.write_string(
        1, 0, "The released counts of every edition, as people see them: whole numbers.", formats["lead"]
    )
    for k, name in enumerate([*keys, *comparison.names]):
        sheet.write_string(_TOP - 1, k, cell_text(name), formats["heading" if k < len(keys) else "right heading"])
        sheet.set_column(k, k, max(12, min(40, len(name) + 2)))
    for line, row in enumerate(rows, _TOP):
        total = any(first.is_summed_over(row, k) for k in range(len(first.by)))
        for k, key in enumerate(keys):
            sheet.write_string(line, k, cell_text(label(row[key])), formats["side total" if total else "text"])
        for k, edition in enumerate(editions, len(keys)):
            if edition.status[line - _TOP] != SUPPRESSED:
                value = edition.counts_for_people[line - _TOP].item()
                sheet.write_number(line, k, value, formats["side total" if total else "integer"])
    _chart(book, sheet, comparison, table, _chart_lines(first))
    sheet.freeze_panes(_TOP, len(keys))
    print_on_wide_pages(sheet, (_TOP - 1, _TOP - 1))


def _chart_lines(table: ReleasedTable) -> list[int]:
    """Return the numbers of the rows to chart: the level with the most lines that fit, else the first groups."""
    rows, columns = table.rows_for_people(), range(len(table.by))
    levels: dict[tuple[bool, ...], list[int]] = {}
    for k, row in enumerate(rows):
        levels.setdefault(tuple(table.is_summed_over(row, column) for column in columns), []).append(k)
    fitting = [lines for lines in levels.values() if len(lines) <= MAX_CHART_LINES]
    return max(fitting, key=len) if fitting else list(range(min(MAX_CHART_LINES, len(rows))))


def _chart(book: Book, sheet: Sheet, comparison: EditionComparison, table: int, lines: Sequence[int]) -> None:
    """Chart the counts of these lines over the editions, next to the table."""
    width = len(comparison.keys(table))
    last = width + len(comparison.names) - 1
    first = comparison.tables[table][0].table
    rows = first.rows_for_people()
    chart = book.add_chart({"type": "line"})
    for k in lines:
        summed = {heading for column, heading in enumerate(first.by) if first.is_summed_over(rows[k], column)}
        name = " · ".join(label(rows[k][key], 24) for key in comparison.keys(table) if key not in summed) or "all"
        chart.add_series({
            "name": cell_text(name),
            "categories": [sheet.get_name(), _TOP - 1, width, _TOP - 1, last],
            "values": [sheet.get_name(), _TOP + k, width, _TOP + k, last],
            "marker": {"type": "circle", "size": 6},
        })  # fmt: skip
    cut = f" ({len(lines)} of {len(rows):,} lines)" if len(lines) < len(rows) else ""
    chart.set_title({"name": f"Counts by edition{cut}", "name_font": {"size": 12}})
    chart.set_y_axis({"num_format": "#,##0", "major_gridlines": {"visible": True, "line": {"color": "#DDDDDD"}}})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 720, "height": 380})
    sheet.insert_chart(_TOP, last + 2, chart)


def _guarantee(sheet: Sheet, comparison: EditionComparison, formats: Formats) -> None:
    """Write how to read the changes, and the guarantee of each edition."""
    set_sentence_columns(sheet)
    line = 0
    for section in comparison.report(0).sections:
        for part in section.parts:
            for k, sentence in enumerate(part.items if isinstance(part, Bullets) else ()):
                write_sentence(sheet, line, section.title if k == 0 else "", sentence, formats)
                line += 1
    for name, release in zip(comparison.names, comparison.releases, strict=True):
        for k, sentence in enumerate(release.guarantee):
            write_sentence(sheet, line, f"Edition {name}" if k == 0 else "", sentence, formats)
            line += 1
    print_on_wide_pages(sheet, (0, 0))
