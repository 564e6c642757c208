"""Metric spaces from files: a description, a matrix of distances, or a list of edges.

============  ==========================================================================================================
``.json``     a description: ``{"kind": "ring", "n": 24}``, ``{"kind": "tree", "parents": {"dog": "animal", ...}}``,
              ``{"kind": "graph", "edges": [["a", "b"], ["b", "c", "1/2"]]}``, ``{"kind": "metric", "labels": [...],
              "distance": [[...]]}``, ``{"kind": "range", "low": 0, "high": 20, "step": "0.5"}``,
              ``{"kind": "product", "parts": [...], "norm": "l1"}``, or what ``space.to_json()`` wrote
``.csv``      a matrix of distances with the labels in the first line and the first column, or a line for each edge:
              two labels and, if it is not 1, the length
============  ==========================================================================================================
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from .errors import DiscreetError, InvalidInput, UnreadableFile
from .sources.encodings import read_text_file
from .spaces import Graph, MetricSpace, Space, space_from
from .strict_json import read_json

#: A first line of one of these words is the heading of a list of edges.
_HEADINGS = ("from", "source")


def read_space(path: str | Path) -> Space:
    """Read a space from a JSON description, or from a CSV file of distances or edges.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "stops.csv"
    ...     _ = file.write_text("from,to,length\\nnorth,centre,1\\ncentre,east,2\\n")
    ...     read_space(file).distance("north", "east")
    3.0
    """
    file = Path(path)
    text = read_text_file(file, "space")
    if file.suffix.lower() == ".json":
        content = read_json(text, str(path))
        if not isinstance(content, Mapping):
            raise UnreadableFile(f"{path} does not describe a space.", argument="space")
        return space_from(content)
    try:
        return space_from_table(text)
    except DiscreetError as problem:
        raise InvalidInput.because(str(path), problem) from None


def space_from_table(text: str) -> Space:
    """Return a space from a matrix of distances, or from a list of edges, as text with separators.

    >>> space_from_table(",x,y\\nx,0,3\\ny,3,0").distance("x", "y")
    3.0
    """
    separator = next((mark for mark in ("\t", ";", ",") if mark in text), ",")
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=separator)]
    lines = [line for line in lines if any(line)]
    if not lines:
        raise UnreadableFile("the file is empty.", "Write a matrix of distances, or a line for each edge.")
    heading, *rows = lines
    if heading[0] == "" and len(heading) == len(lines):
        labels = heading[1:]
        if [row[0] for row in rows] != labels or any(len(row) != len(heading) for row in rows):
            raise UnreadableFile(
                "a matrix of distances needs the same labels in the first line and the first column.",
                "Sort both alike.",
            )
        return MetricSpace(labels, [row[1:] for row in rows])
    edges = rows if heading[0].lower() in _HEADINGS else lines
    if any(len(edge) not in (2, 3) for edge in edges):
        raise UnreadableFile("an edge is a line with two labels and its length.", "Separate them by commas.")
    return Graph([tuple(cell for cell in edge if cell) for edge in edges])
