"""What every Excel workbook has: its formats, names of sheets, and cells that hold texts as texts.

Excel reads no label as a formula, a link or a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeAlias

from ...errors import MissingExtra
from ...plots.chart import printable

#: Limits of Excel: characters of a cell, characters of a sheet's name.
MAX_CELL_CHARACTERS, _MAX_NAME_CHARACTERS = 32_000, 31

#: Widths of the two columns of a sheet of sentences, and of a line of their text, in characters.
_NAME_WIDTH, _TEXT_WIDTH = 24, 110
_NAME_LINE, _TEXT_LINE = 22, 108

#: Height of a line of such a sheet, in points.
_PROSE_LINE = 15

#: Name of a format -> its properties.
_FORMATS: Mapping[str, Mapping[str, object]] = {
    "title": {"bold": True, "font_size": 14},
    "lead": {"font_size": 11},
    "note": {"font_color": "#555555", "text_wrap": True, "valign": "top"},
    "heading": {"bold": True, "bottom": 1, "valign": "top"},
    "right heading": {"bold": True, "bottom": 1, "align": "right", "valign": "top"},
    "centre heading": {"bold": True, "bottom": 1, "align": "center", "valign": "top"},
    "over": {"bold": True, "align": "center"},
    "across": {"bold": True, "align": "center"},
    "meaning": {"italic": True, "font_size": 9, "font_color": "#555555", "text_wrap": True, "valign": "top"},
    "integer": {"num_format": "#,##0"},
    "code": {"num_format": "0"},
    "number": {"num_format": "#,##0.######"},
    "percent": {"num_format": '+0.0"%";-0.0"%"'},
    "change": {"num_format": "+#,##0;-#,##0;0"},
    "text": {},
    "interval": {"font_color": "#555555", "font_size": 9, "align": "right"},
    "total text": {"bold": True, "top": 1},
    "total": {"bold": True, "num_format": "#,##0", "top": 1},
    "total interval": {"font_color": "#555555", "font_size": 9, "align": "right", "top": 1},
    "side total": {"bold": True, "num_format": "#,##0"},
    "answer": {"align": "center"},
    "marked answer": {"bold": True, "bg_color": "#FFE699", "align": "center"},
    "prose": {"text_wrap": True, "valign": "top"},
    "marked text": {"bold": True, "bg_color": "#FFE699"},
    "marked integer": {"bold": True, "bg_color": "#FFE699", "num_format": "#,##0"},
    "marked change": {"bold": True, "bg_color": "#FFE699", "num_format": "+#,##0;-#,##0;0"},
    "marked percent": {"bold": True, "bg_color": "#FFE699", "num_format": '+0.0"%";-0.0"%"'},
}

#: Objects of XlsxWriter, which is imported when it is needed: a workbook, a sheet, a format.
Book: TypeAlias = Any
Sheet: TypeAlias = Any
Format: TypeAlias = Any

#: The formats of a workbook by name.
Formats = Mapping[str, Format]


@contextmanager
def workbook(path: Path, title: str, time: str) -> Iterator[tuple[Book, Formats]]:
    """Open a new workbook with its formats; it is written at the end. The same content gives the same file."""
    try:
        writer = import_module("xlsxwriter")
    except ImportError:
        raise MissingExtra("XlsxWriter", "excel") from None
    as_text = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with writer.Workbook(str(path), as_text) as book:
        created = datetime.fromisoformat(time).replace(tzinfo=None)
        book.set_properties({"title": printable(title)[:200], "created": created})
        yield book, {name: book.add_format(dict(look)) for name, look in _FORMATS.items()}


def sheet_names(titles: Sequence[str], taken: Sequence[str] = ("Guarantee",)) -> list[str]:
    """Return distinct sheet names that Excel accepts and that are not taken: short, and without reserved characters.

    >>> sheet_names(["Counts of visits by site and health", "Counts of visits by site and helpers", "History"])
    ['Counts of visits by site and he', 'Counts of visits by site an (2)', 'History (2)']
    """
    used = {"history", *(name.casefold() for name in taken)}
    names = []
    for title in titles:
        base = re.sub(r"[\[\]:*?/\\]", " ", printable(title)).strip().strip("'") or "Counts"
        name, number = base[:_MAX_NAME_CHARACTERS].rstrip().rstrip("'"), 2
        while name.casefold() in used:
            suffix = f" ({number})"
            name, number = base[: _MAX_NAME_CHARACTERS - len(suffix)].rstrip() + suffix, number + 1
        used.add(name.casefold())
        names.append(name)
    return names


def cell_text(text: str) -> str:
    """Return a text without control characters, cut to the limit of a cell."""
    return printable(text)[:MAX_CELL_CHARACTERS]


def prose(text: str) -> str:
    """Return a sentence for a cell: backticks around words are left out.

    >>> prose("one `person` (all rows)")
    'one person (all rows)'
    """
    return cell_text(re.sub(r"`([^`]+)`", r"\1", text))


def set_sentence_columns(sheet: Sheet) -> None:
    """Set the widths of the two columns of a sheet of sentences."""
    sheet.set_column(0, 0, _NAME_WIDTH)
    sheet.set_column(1, 1, _TEXT_WIDTH)


def write_sentence(sheet: Sheet, line: int, name: str, text: str, formats: Formats) -> None:
    """Write a name and a sentence on a line that is as high as both need; without a sentence, the name is a heading."""
    sheet.write_string(line, 0, prose(name), formats["prose" if text else "heading"])
    if not text:
        return
    sheet.write_string(line, 1, prose(text), formats["prose"])
    height = max(len(wrap(prose(name), _NAME_LINE)), len(wrap(prose(text), _TEXT_LINE)))
    if height > 1:  # LibreOffice keeps the height of one line unless the file states another
        sheet.set_row(line, _PROSE_LINE * height)


def print_on_wide_pages(sheet: Sheet, repeated_lines: tuple[int, int], pages: int = 1) -> None:
    """Print a sheet this many pages wide, with these lines and the first column on every page."""
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    sheet.fit_to_pages(pages, 0)
    if pages > 1:
        sheet.repeat_columns(0)
    sheet.repeat_rows(*repeated_lines)
