"""An Excel workbook: a sheet for the guarantee and a sheet for each table.

Every text is stored as text: Excel reads no label as a formula, a link or a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import MissingExtra, Unsupported
from ...ledger.budget import short
from ...plots.chart import printable
from ...plots.counts import label
from ...wording import percent
from ..bundle.contents import COLUMN_MEANING
from ..bundle.released import Release
from ..bundle.report import columns_in_words, not_guaranteed
from ..tables.columns import STATUS_MEANING
from ..tables.typed_columns import Column

#: Limits of Excel: rows of a sheet under its heading, characters of a cell, characters of a sheet's name.
MAX_ROWS, _MAX_CELL_CHARACTERS, _MAX_NAME_CHARACTERS = 1_048_575, 32_000, 31


def write_excel(release: Release, path: Path) -> Path:
    """Write a release as a workbook; the same release gives the same file."""
    for table in release.tables:
        if table.counts.size > MAX_ROWS:
            raise Unsupported(
                f"{table.title} has {table.counts.size:,} counts, and a sheet has {MAX_ROWS:,} lines.",
                "Write .parquet, or take the CSV files of the bundle.",
            )
    try:
        writer = import_module("xlsxwriter")
    except ImportError:
        raise MissingExtra("XlsxWriter", "excel") from None
    as_text = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with writer.Workbook(str(path), as_text) as book:
        time = datetime.fromisoformat(str(release.ledger["time"])).replace(tzinfo=None)
        book.set_properties({"title": printable(release.title)[:200], "created": time})
        names = sheet_names([table.title for table in release.tables])
        quantiles = [one for k in range(len(release.tables)) if (one := release.quantile_table(k)) is not None]
        formats = {
            "heading": book.add_format({"bold": True, "bottom": 1, "valign": "top"}),
            "integer": book.add_format({"num_format": "#,##0"}),
            "number": book.add_format({"num_format": "#,##0.######"}),
            "text": book.add_format(),
            "prose": book.add_format({"text_wrap": True, "valign": "top"}),
        }
        _guarantee(book.add_worksheet("Guarantee"), release, formats)
        for name, table in zip(names, release.tables, strict=True):
            _table(book.add_worksheet(name), table.typed_columns(), formats)
        for name, found in zip(sheet_names([found.title for found in quantiles], names), quantiles, strict=True):
            _table(book.add_worksheet(name), found.typed_columns(), formats)
    return path


def sheet_names(titles: list[str], other_names: Sequence[str] = ()) -> list[str]:
    """Return distinct sheet names that Excel accepts, and that other sheets do not have: short, without its reserved
    characters.

    >>> sheet_names(["Counts of visits by site and health", "Counts of visits by site and helpers", "History"])
    ['Counts of visits by site and he', 'Counts of visits by site an (2)', 'History (2)']
    """
    taken = {"guarantee", "history", *map(str.casefold, other_names)}
    names = []
    for title in titles:
        base = re.sub(r"[\[\]:*?/\\]", " ", printable(title)).strip().strip("'") or "Counts"
        name, number = base[:_MAX_NAME_CHARACTERS].rstrip().rstrip("'"), 2
        while name.casefold() in taken:
            suffix = f" ({number})"
            name, number = base[: _MAX_NAME_CHARACTERS - len(suffix)].rstrip() + suffix, number + 1
        taken.add(name.casefold())
        names.append(name)
    return names


def _table(sheet: Any, columns: list[Column], formats: dict[str, Any]) -> None:
    for k, column in enumerate(columns):
        cell_format = formats[column.type]
        sheet.write_string(0, k, _text(column.name), formats["heading"])
        longest = max([len(column.name) + 3, *(len(str(value)) + 2 for value in column.values[:500])])
        sheet.set_column(k, k, min(40, longest))
        group = column.name not in COLUMN_MEANING
        for line, value in enumerate(column.values, 1):
            if isinstance(value, str) or (value is None and group and column.type == "text"):
                sheet.write_string(line, k, _text(label(value, _MAX_CELL_CHARACTERS)), cell_format)
            elif value is not None:
                sheet.write_number(line, k, value, cell_format)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(columns[0].values), len(columns) - 1)


def _guarantee(sheet: Any, release: Release, formats: dict[str, Any]) -> None:
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 110)
    for line, (name, text) in enumerate(_lines(release)):
        sheet.write_string(line, 0, _text(name), formats["heading"] if not text else formats["prose"])
        if text:
            sheet.write_string(line, 1, _text(text), formats["prose"])


def _lines(release: Release) -> Iterator[tuple[str, str]]:
    plan = release.plan
    delta = f", delta = {short(plan.cost.delta, up=True, digits=3)}" if plan.cost.delta else ""
    yield release.title, ""
    yield "data set", plan.dataset
    if plan.edition:
        yield "edition", plan.edition
    yield "privacy", f"epsilon = {short(plan.cost.epsilon, up=True)}{delta}, for all tables together"
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


def _text(text: str) -> str:
    """Return a text without control characters, cut to the limit of a cell."""
    return printable(text)[:_MAX_CELL_CHARACTERS]
