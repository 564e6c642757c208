"""A report for a terminal: labelled lines, tables with bars, wrapped sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import fill

from ..plots.chart import printable
from ..report import Bar, Bullets, Code, Part, Picture, Prose, Report, Section, Terms, TextTable

#: Minimum width of labels in characters, with the blanks behind them.
_MIN_LABEL_WIDTH = 10

_BAR_WIDTH = 28
_EIGHTHS: tuple[str, ...] = ("", *"▏▎▍▌▋▊▉")


def text(report: Report, width: int = 100, most: int = 40) -> str:
    """Render the report, without the parts for pages only."""
    sections = [section for section in report.sections if section.depth == "everywhere"]
    label = _label_width(sections, bool(report.notes))
    blocks = [block for section in sections if (block := "\n".join(_section(section, label, width, most)))]
    notes = "\n".join(_note(note, label, width) for note in report.notes)
    if notes and blocks and sections[-1].parts and isinstance(sections[-1].parts[-1], Terms):
        blocks[-1] += "\n" + notes  # aligned with the lines before them
    elif notes:
        blocks.append(notes)
    title = [printable(report.title)] if report.title else []
    return "\n".join([*title, "\n\n".join(blocks)]).rstrip("\n")


def _note(note: str, label: int, width: int) -> str:
    return fill(
        printable(note), width, initial_indent=f"{'note':<{label}}", subsequent_indent=" " * label,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _label_width(sections: list[Section], notes: bool) -> int:
    labels = [
        label for section in sections for part in section.parts if isinstance(part, Terms) for label, _ in part.pairs
    ]
    return max([_MIN_LABEL_WIDTH, *(len(label) + 2 for label in labels), 6 * notes])


def _section(section: Section, label: int, width: int, most: int) -> Iterator[str]:
    if section.title:
        yield printable(section.title)
    for part in section.parts:
        yield from _part(part, label, width, most)


def _part(part: Part, label: int, width: int, most: int) -> Iterator[str]:
    if isinstance(part, Prose):
        yield fill(printable(f"{part.first} {part.text}".strip()), width)
    elif isinstance(part, Bullets):
        yield from (fill(printable(item), width, subsequent_indent="  ") for item in part.items)
    elif isinstance(part, Terms):
        yield from (f"{printable(name):<{label}}{printable(description)}".rstrip() for name, description in part.pairs)
    elif isinstance(part, TextTable):
        yield from _table(_cross_table(part, width) if part.over else part, width, most)
    elif isinstance(part, Code):
        yield from (f"    {printable(line)}" for line in part.text.splitlines())
    else:
        assert isinstance(part, Picture)  # a terminal shows no pictures


def _cross_table(table: TextTable, width: int) -> TextTable:
    """Prepare a cross-table for a terminal: intervals next to their figures if there is room, else below."""
    columns = [[cell.partition("\n") for cell in column] for column in zip(*table.rows, strict=True)]
    merged = [[figure for figure, _, _ in columns[0]], *map(_joined_cells, columns[1:])]
    headings = (f"{table.headings[0]} \\ {table.over}", *table.headings[1:])
    room = sum(max(map(len, (heading, *cells))) + 2 for heading, cells in zip(headings, merged, strict=True)) - 2
    if room > width:
        return replace(table, headings=headings)
    return replace(table, headings=headings, rows=tuple(zip(*merged, strict=True)), over="")


def _joined_cells(column: list[tuple[str, str, str]]) -> list[str]:
    """Align figures, and their intervals."""
    figure_width, interval_width = (max(len(cell[k]) for cell in column) for k in (0, 2))
    return [f"{figure:>{figure_width}}  {interval:>{interval_width}}".rstrip() for figure, _, interval in column]


def _table(table: TextTable, width: int, most: int) -> Iterator[str]:
    """Render the cells under their headings, with a bar for each row: solid up to the interval, shaded within it."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    draw_picture = Grid(box=None, pad_edge=False, header_style="bold")
    for k, heading in enumerate(table.headings):
        justify = "right" if k in table.numbers else "left"
        draw_picture.add_column(Text(printable(heading)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    if table.bars:
        draw_picture.add_column("", no_wrap=True)
    scale = table.scale
    for k, row in enumerate(table.rows[:most]):
        cells = [Text("\n".join(map(printable, cell.split("\n") if table.over else [cell]))) for cell in row]
        draw_picture.add_row(*cells, *([Text(_bar(table.bars[k], *scale))] if table.bars else []))
    page = StringIO()
    # in a notebook Rich would show the table itself, and the text would lack it
    Console(
        file=page, width=width, highlight=False, color_system=None, force_terminal=False, force_jupyter=False
    ).print(draw_picture)
    yield from (line.rstrip() for line in page.getvalue().rstrip("\n").splitlines())
    total = len(table.rows) if table.total is None else table.total
    if total > most:
        yield f"... the first {most:,} of {total:,}."


def _bar(bar: Bar | str, left: float, right: float) -> str:
    if isinstance(bar, str):
        return printable(bar)
    scale = _BAR_WIDTH / (right - left)
    start, value = (0 - left) * scale, (bar.value - left) * scale
    first = value if bar.low is None else (bar.low - left) * scale
    last = value if bar.low is None else _BAR_WIDTH if bar.high is None else (bar.high - left) * scale
    if last - first < 2 and left == 0:  # too short to be shaded: the end of the bar says more
        return "█" * int(value) + _EIGHTHS[int(value % 1 * 8)]
    spans = (first, last), (min(start, value), max(start, value))
    return "".join(_shade(k + 0.5, *spans) for k in range(_BAR_WIDTH)).rstrip()


def _shade(position: float, interval: tuple[float, float], bar: tuple[float, float]) -> str:
    inside = bar[0] <= position < bar[1]
    if interval[0] <= position < interval[1]:
        return "▓" if inside else "░"
    return "█" if inside else " "
