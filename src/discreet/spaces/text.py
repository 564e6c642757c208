"""Spaces as people type them: the sizes or the box of a map, labels and values in a line or in a file."""

from __future__ import annotations

import re

from ..errors import ForeignValue, InvalidInput
from ..exact.rationals import as_fraction
from ..sources.encodings import read_text_file
from .base import Space
from .grid import Grid
from .labels import Labels

#: Notations of a map.
GRID_NOTATION = "ROWSxCOLSxCELL in metres, such as 30x30x150, or a box of degrees, SOUTH,WEST,NORTH,EASTxCELL"


def read_grid(text: str) -> Grid:
    """Return the map that a text describes.

    >>> read_grid("2x3x150")
    Grid(rows=2, cols=3, cell=Fraction(150, 1))
    """
    number = r"([-+]?[\d.]+)"
    box = re.fullmatch(rf"{number},{number},{number},{number}x([\d./]+)", text)
    if box is not None:
        return Grid.from_box(*(as_fraction(one, "grid") for one in box.groups()))  # type: ignore[arg-type]
    sizes = re.fullmatch(r"(\d+)x(\d+)x([\d./]+)", text)
    if sizes is None:
        raise InvalidInput.must_be("grid", GRID_NOTATION, text)
    return Grid(int(sizes[1]), int(sizes[2]), as_fraction(sizes[3], "cell"))  # type: ignore[arg-type]


def read_labels(text: str) -> Labels:
    """Return comma-separated labels, or the lines of the file after an @.

    >>> read_labels("yes, no")
    Labels(labels=('yes', 'no'))
    """
    return Labels(_labels_of_file(text[1:]) if text.startswith("@") else _labels_of_line(text))


def read_values(text: str, space: Space, argument: str) -> list[object]:
    """Return comma-separated values of a space, or the lines of the file after an @, as the space writes them.

    >>> from discreet.spaces import Range
    >>> read_values("0, 1.5", Range(0, 3, step="0.5"), "outputs")
    [0.0, 1.5]
    """
    if space.size is None:
        raise InvalidInput("values without an end cannot be listed.", "Choose a range first.", argument=argument)
    by_text: dict[str, object] = {str(value): value for value in (space.value(k) for k in range(space.size))}
    pieces = _labels_of_file(text[1:]) if text.startswith("@") else _labels_of_line(text)
    return [by_text[piece] if piece in by_text else _number(piece, space, argument) for piece in pieces]


def _number(text: str, space: Space, argument: str) -> object:
    """Return the value of a space that a number means, written otherwise: 2 for 2.0."""
    if space.has_numbers:
        return space.value(space.index(as_fraction(text, argument)))
    raise ForeignValue(f"{text!r} is not one of the {space.noun}s.", "Write them as the space does.", argument=argument)


def _labels_of_line(text: str) -> list[str]:
    labels = [label.strip() for label in text.split(",")]
    if "" in labels:
        raise InvalidInput.must_be("labels", "answers with one comma between two", text)
    return labels


def _labels_of_file(file: str) -> list[str]:
    labels = [line.strip() for line in read_text_file(file, "labels").splitlines()]
    empty = next((number for number, label in enumerate(labels, 1) if not label), None)
    if empty is not None:
        raise InvalidInput(f"{file} needs a label on every line; line {empty} is empty.", argument="labels")
    return labels
