"""A report for a terminal: labelled lines, tables with bars, wrapped sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import fill

from ..plots.chart import printable
from ..report import Bar, Bullets, Code, Part, Picture, Prose, Report, Section, Table, Terms

#: Labels are at least so wide, with the blanks behind them.
_LABEL = 10

_BAR = 28
_EIGHTHS: tuple[str, ...] = ("", *"▏▎▍▌▋▊▉")


def text(report: Report, width: int = 100, most: int = 40) -> str:
    """The report, without what is for pages only."""
    shown = [section for section in report.sections if section.depth == "everywhere"]
    label = _label_width(shown, bool(report.notes))
    blocks = [block for section in shown if (block := "\n".join(_section(section, label, width, most)))]
    notes = "\n".join(_note(note, label, width) for note in report.notes)
    if notes and blocks and shown[-1].parts and isinstance(shown[-1].parts[-1], Terms):
        blocks[-1] += "\n" + notes  # labelled as the lines before them
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
    return max([_LABEL, *(len(label) + 2 for label in labels), 6 * notes])


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
        yield from (f"{printable(name):<{label}}{printable(said)}".rstrip() for name, said in part.pairs)
    elif isinstance(part, Table):
        yield from _table(_crossed(part, width) if part.over else part, width, most)
    elif isinstance(part, Code):
        yield from (f"    {printable(line)}" for line in part.text.splitlines())
    else:
        assert isinstance(part, Picture)  # there is nothing to draw on


def _crossed(table: Table, width: int) -> Table:
    """A cross-table for a terminal: what is known of a figure beside it where there is room, else under it."""
    columns = [[cell.partition("\n") for cell in column] for column in zip(*table.rows, strict=True)]
    beside = [[figure for figure, _, _ in columns[0]], *map(_beside, columns[1:])]
    headings = (f"{table.headings[0]} \\ {table.over}", *table.headings[1:])
    room = sum(max(map(len, (heading, *cells))) + 2 for heading, cells in zip(headings, beside, strict=True)) - 2
    if room > width:
        return replace(table, headings=headings)
    return replace(table, headings=headings, rows=tuple(zip(*beside, strict=True)), over="")


def _beside(column: list[tuple[str, str, str]]) -> list[str]:
    """Figures under figures, and what is known of them under each other."""
    wide, known = (max(len(cell[k]) for cell in column) for k in (0, 2))
    return [f"{figure:>{wide}}  {interval:>{known}}".rstrip() for figure, _, interval in column]


def _table(table: Table, width: int, most: int) -> Iterator[str]:
    """The cells under their headings, and a bar for each row: solid up to the interval, shaded within it."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    drawn = Grid(box=None, pad_edge=False, header_style="bold")
    for k, heading in enumerate(table.headings):
        justify = "right" if k in table.numbers else "left"
        drawn.add_column(Text(printable(heading)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    if table.bars:
        drawn.add_column("", no_wrap=True)
    scale = table.scale
    for k, row in enumerate(table.rows[:most]):
        cells = [Text("\n".join(map(printable, cell.split("\n") if table.over else [cell]))) for cell in row]
        drawn.add_row(*cells, *([Text(_bar(table.bars[k], *scale))] if table.bars else []))
    page = StringIO()
    # not as in a notebook: there it would show the table by itself and leave the text without it
    Console(
        file=page, width=width, highlight=False, color_system=None, force_terminal=False, force_jupyter=False
    ).print(drawn)
    yield from (line.rstrip() for line in page.getvalue().rstrip("\n").splitlines())
    total = len(table.rows) if table.total is None else table.total
    if total > most:
        yield f"... the first {most:,} of {total:,}."


def _bar(bar: Bar | str, left: float, right: float) -> str:
    if isinstance(bar, str):
        return printable(bar)
    scale = _BAR / (right - left)
    start, value = (0 - left) * scale, (bar.value - left) * scale
    first = value if bar.low is None else (bar.low - left) * scale
    last = value if bar.low is None else _BAR if bar.high is None else (bar.high - left) * scale
    if last - first < 2 and left == 0:  # too short to be shaded: the end of the bar says more
        return "█" * int(value) + _EIGHTHS[int(value % 1 * 8)]
    spans = (first, last), (min(start, value), max(start, value))
    return "".join(_shade(k + 0.5, *spans) for k in range(_BAR)).rstrip()


def _shade(place: float, interval: tuple[float, float], filled: tuple[float, float]) -> str:
    inside = filled[0] <= place < filled[1]
    if interval[0] <= place < interval[1]:
        return "▓" if inside else "░"
    return "█" if inside else " "
