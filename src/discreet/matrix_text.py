"""Reading matrices of probabilities from text files."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from fractions import Fraction

from .errors import InvalidInput, UnreadableFile
from .exact.tables import Table
from .privacy.matrices import ROW_TOLERANCE, Names, are_consecutive, read_matrix


def matrix_from_text(text: str, path: str) -> tuple[Table, tuple[str, ...]]:
    """Read a matrix of probabilities exactly: a line for each truth, a column for each report.

    Decimals ("0.25", "1e-9") and fractions ("1/3") are exact. A first line without any number, or with consecutive
    numbers of the reports after a word or an empty cell, is a heading; names of truths in the first column need such a
    heading, and may be numbers; names other than consecutive numbers are labels. Commas, semicolons and tabs separate,
    or blanks in a file without these. Any other cell that is not a number is refused.

    Parameters
    ----------
    text
        The text of the file.
    path
        Its name in errors.

    Returns
    -------
    table, notes
        The exact table, and notes about it: a heading left out, normalised rows.
    """
    lines = _cells(text)
    numbered = [(number, line) for number, line in enumerate(lines, 1) if any(line)]
    if not numbered:
        raise UnreadableFile(f"{path} is empty; a matrix has a line of probabilities for each true value.")
    notes = []
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    heading = numbered[0][1]
    numbers_reports = not _is_number(heading[0]) and len(heading) > 2 and are_consecutive(heading[1:])
    if not any(map(_is_number, heading)) or numbers_reports:
        notes.append(f"line {numbered[0][0]} was taken as a heading")
        numbered = numbered[1:]
        if numbers_reports or _names_truths(heading, [line for _, line in numbered]):
            notes.append("the first column was taken as names")
            rows = tuple(line[0] for _, line in numbered)
            numbered = [(number, line[1:]) for number, line in numbered]
    elif heading == [str(k) for k in range(len(heading))]:
        notes.append("line 1 reads 0, 1, ...: it was taken as a row of probabilities; if it is a heading, delete it")
    width = len(numbered[0][1]) if numbered else 0
    for number, line in numbered:
        wrong = next((k for k, cell in enumerate(line, 1) if not _is_number(cell)), None)
        if wrong is not None or len(line) != width:
            what = f"{len(line)} cells instead of {width}"
            if wrong is not None:
                comma = re.fullmatch(r"-?\d*,\d+", line[wrong - 1])
                what = f"cell {wrong} {'has a decimal comma: write a point' if comma else 'is not a number'}"
            raise UnreadableFile(f"{path}, line {number}: {what}; a matrix has a line of probabilities for each truth.")
    try:
        table, more = read_matrix([line for _, line in numbered])
    except InvalidInput as problem:
        raise UnreadableFile.because(str(path), problem) from None
    if rows and len(heading) in (width, width + 1):  # without a cell above the names, or with one
        columns = tuple(heading[-width:])
    return replace(table, names=Names(rows, columns)), (*notes, *more)


def _names_truths(heading: list[str], lines: list[list[str]]) -> bool:
    """Return whether the first column names the truths, below a heading in words.

    Names may be numbers: then the cell above them is empty or missing, or lines add up to 1 only without them.
    """
    if not any(_is_number(line[0]) for line in lines):
        return True
    if not heading[0] or all(len(line) == len(heading) + 1 for line in lines):
        return True
    return all(_adds_up(line[1:]) for line in lines) and not all(map(_adds_up, lines))


def _adds_up(cells: list[str]) -> bool:
    return all(map(_is_number, cells)) and abs(sum(map(Fraction, cells), Fraction(-1))) <= ROW_TOLERANCE


#: Maximum number of letters of a probability.
MAX_NUMBER_LETTERS = 4000


def _cells(text: str) -> list[list[str]]:
    """Return the cells of each line, separated by tabs, semicolons or commas, or by blanks in a text without these."""
    separator = next((mark for mark in ("\t", ";", ",") if mark in text), None)
    if separator is None:
        return [line.split() for line in text.splitlines()]
    try:
        return [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=separator)]
    except csv.Error:
        raise UnreadableFile("a cell is too long to be a probability.", "Write numbers alone.") from None


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number of sensible size, unlike 1e99999999."""
    if len(cell) > MAX_NUMBER_LETTERS or re.search(r"[eE][+-]?0*\d{4,}\s*$", cell):
        return False
    try:
        Fraction(cell)
    except (ValueError, ZeroDivisionError):
        return False
    return True
