"""The published groups among very many declared ones: made from their numbers, and read back from a CSV file."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np

from ....exact.arrays import IntArray
from ....questions.groups import Groups
from ..csv_lines import Refuted
from ..csv_text import csv_label


def published_groups(declared: Groups, numbers: IntArray) -> Groups:
    """Return some of the declared groups, by their numbers.

    >>> from ....questions.groups import read_domain
    >>> published_groups(read_domain(["site=1..6"], ["site"]), np.array([1, 4])).labels(0)
    [2, 5]
    """
    codes = declared.codes_of(numbers)
    if not numbers.size:
        return Groups(declared.columns, declared.kinds, ((),) * len(declared.columns), codes)
    return replace(declared, cells=codes, zeros=frozenset())


def read_published(text: str, name: str, declared: Groups, measures: int, has_edition: bool) -> IntArray:
    """Read the numbers of the groups of a CSV file: declared ones that can exist, each once and in order.

    Only labels are read here. The caller compares every line with the one that follows from the groups and counts.
    """
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1::measures]
    except csv.Error as problem:
        raise Refuted(f"{name} is not a CSV file: {problem}.") from None
    codes = np.zeros((len(lines), len(declared.columns)), dtype=np.int64)
    for column, values in enumerate(declared.values):
        labels = {_plain(csv_label(value)): code for code, value in enumerate(values)}
        place = column + has_edition
        codes[:, column] = [labels.get(line[place], -1) for line in lines]
    numbers = declared.index(codes)
    if (numbers < 0).any():
        line = int(np.argmax(numbers < 0))
        raise Refuted(f"{name}: line {line * measures + 2} is not a declared group.")
    if (np.diff(numbers) <= 0).any():
        raise Refuted(f"{name} does not list its groups once each, in their order.")
    if declared.zeros and not declared.zeros.isdisjoint(numbers.tolist()):
        raise Refuted(f"{name} has a count of a group that cannot exist.")
    return numbers


def _plain(field: str) -> str:
    """Return the text of a CSV field without its quotes."""
    return field[1:-1].replace('""', '"') if field.startswith('"') else field
