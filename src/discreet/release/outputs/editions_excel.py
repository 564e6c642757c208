"""A workbook of editions: a sheet for each table, in bold the changes that noise does not explain, and a chart.

Every text is stored as text: Excel reads no label as a formula, a link or a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Protocol

from ...errors import InvalidInput, MissingExtra, Unsupported
from ...plots.chart import printable
from ...plots.counts import label
from ...wording import percent
from ..editions.compare import EditionComparison, Row
from ..editions.describing import reading_sentences
from .excel import MAX_ROWS, sheet_names

#: Maximum number of lines in a chart.
_MAX_CHARTED = 12

#: Figures of a change -> heading of its column.
_FIGURES = {
    "earlier": "before", "later": "after", "difference": "change", "low": "change, low", "high": "change, high",
    "growth": "growth %", "growth_low": "growth %, low", "growth_high": "growth %, high",
}  # fmt: skip


class _Chart(Protocol):
    """A chart of the workbook, as far as it is used here."""

    def add_series(self, options: Mapping[str, object]) -> object: ...
    def set_title(self, options: Mapping[str, object]) -> object: ...
    def set_y_axis(self, options: Mapping[str, object]) -> object: ...
    def set_size(self, options: Mapping[str, object]) -> object: ...


class _Sheet(Protocol):
    """A sheet of the workbook, as far as it is used here."""

    def write_string(self, row: int, column: int, text: str, cell_format: object) -> object: ...
    def write_number(self, row: int, column: int, number: float, cell_format: object) -> object: ...
    def set_column(self, first: int, last: int, width: int) -> object: ...
    def freeze_panes(self, row: int, column: int) -> object: ...
    def autofilter(self, row: int, column: int, last_row: int, last_column: int) -> object: ...
    def insert_chart(self, row: int, column: int, chart: _Chart) -> object: ...


class _Book(Protocol):
    """The workbook, as far as charts use it."""

    def add_chart(self, options: Mapping[str, object]) -> _Chart: ...


def export_editions(comparison: EditionComparison, path: str | Path) -> Path:
    """Write the changes between editions as an Excel workbook, which is replaced if it exists.

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
    if not file.parent.is_dir() or (file.parent / "SHA256SUMS").exists():
        raise InvalidInput(f"{file.name} cannot be written to {file.parent}.", "Choose another folder.")
    sizes = [editions[0].counts.size * len(comparison.pairs) for editions in comparison.tables]
    if max(sizes) > MAX_ROWS:
        raise Unsupported(f"a sheet has {MAX_ROWS:,} lines, and a table has {max(sizes):,} changes.", "Use --json.")
    try:
        writer = import_module("xlsxwriter")
    except ImportError:
        raise MissingExtra("XlsxWriter", "excel") from None
    as_text = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with writer.Workbook(str(file), as_text) as book:
        times = [str(release.ledger["time"]) for release in comparison.releases]
        created = datetime.fromisoformat(max(times)).replace(tzinfo=None)
        book.set_properties({"title": printable(comparison.title)[:200], "created": created})
        formats = {
            "heading": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
            "plain": book.add_format({"num_format": "#,##0.###"}),
            "bold": book.add_format({"num_format": "#,##0.###", "bold": True, "bg_color": "#FFF2CC"}),
            "prose": book.add_format({"text_wrap": True, "valign": "top"}),
        }
        names = sheet_names([editions[0].table.title for editions in comparison.tables])
        for number, name in enumerate(names):
            sheet = book.add_worksheet(name)
            _changes(sheet, comparison, number, formats)
            _charts(book, sheet, comparison, number, name)
        _reading(book.add_worksheet("How to read"), comparison, formats)
    return file


def _changes(sheet: _Sheet, comparison: EditionComparison, number: int, formats: Mapping[str, object]) -> None:
    keys = comparison.keys(number)
    headings = [*keys, "from", "to", *_FIGURES.values(), "beyond noise"]
    for k, heading in enumerate(headings):
        sheet.write_string(0, k, printable(heading)[:200], formats["heading"])
    for line, row in enumerate(comparison.rows(number), 1):
        cell = formats["bold" if row["beyond_noise"] else "plain"]
        for k, text in enumerate([*_labels(row, keys), label(row["from"]), label(row["to"])]):
            sheet.write_string(line, k, text, cell)
        for k, name in enumerate(_FIGURES, len(keys) + 2):
            value = row[name]
            if isinstance(value, int | float):
                sheet.write_number(line, k, value, cell)
            elif name == "growth_high" and row["growth_low"] is not None:
                sheet.write_string(line, k, "no end", cell)
        sheet.write_string(line, len(headings) - 1, "yes" if row["beyond_noise"] else "", cell)
    sheet.set_column(0, len(headings) - 1, 13)
    sheet.freeze_panes(1, len(keys))
    sheet.autofilter(0, 0, len(comparison.rows(number)), len(headings) - 1)


def _labels(row: Row, keys: list[str]) -> list[str]:
    group = row["group"]
    assert isinstance(group, dict)
    return [label(group[key]) for key in keys]


def _charts(book: _Book, sheet: _Sheet, comparison: EditionComparison, number: int, name: str) -> None:
    """Chart the growth between the first two editions of the first groups, with the ends of its intervals as bars."""
    keys = comparison.keys(number)
    first = comparison.rows(number)[: min(_MAX_CHARTED, comparison.tables[number][0].counts.size)]
    lines = [line for line, row in enumerate(first, 1) if isinstance(row["growth"], int | float)]
    if not lines:
        return
    place = len(keys) + 2 + list(_FIGURES).index("growth")
    chart = book.add_chart({"type": "bar"})
    last = lines[-1]
    below, above = (
        [max(0.0, sign * (_end(row, end) - _number(row["growth"]))) for row in first[:last]]
        for end, sign in (("growth_low", -1), ("growth_high", 1))
    )
    chart.add_series({
        "name": f"{label(first[0]['from'])} to {label(first[0]['to'])}",
        "categories": [name, 1, 0, last, max(len(keys) - 1, 0)],
        "values": [name, 1, place, last, place],
        "x_error_bars": {"type": "custom", "plus_values": above, "minus_values": below},
    })  # fmt: skip
    chart.set_title({"name": "Growth in percent, with intervals", "overlay": False})
    chart.set_y_axis({"reverse": True, "label_position": "low"})
    chart.set_size({"width": 640, "height": 120 + 36 * last})
    sheet.insert_chart(1, len(keys) + len(_FIGURES) + 4, chart)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _end(row: Row, end: str) -> float:
    """Return the end of an interval of growth; one that is missing is cut beyond twice the growth."""
    value, growth = row[end], _number(row["growth"])
    return float(value) if isinstance(value, int | float) else 2 * abs(growth) + 100.0


def _reading(sheet: _Sheet, comparison: EditionComparison, formats: Mapping[str, object]) -> None:
    sheet.set_column(0, 0, 120)
    level = percent(comparison.level, 6)
    bold = "Noise does not explain the changes in bold. The chart cuts an interval that has no end."
    for line, sentence in enumerate([comparison.title, *reading_sentences(comparison, level), bold]):
        sheet.write_string(line, 0, printable(sentence), formats["prose"])
