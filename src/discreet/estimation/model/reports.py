"""Reports as people give them: raw, counted, or as a mapping from values to counts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import InvalidInput, InWords, WrongType, arg
from ...exact.arrays import Array, IntArray
from ...exact.integers import read_integers
from ...spaces import ProductSpace, Space


def ambiguity_notes(data: object, outputs: Space, people: int) -> tuple[str, ...]:
    """Say how a list was read that could be counts or raw reports: a number for each output, each of them an output.

    Parameters
    ----------
    data, outputs
        What was read as counts, and the reports there are.
    people
        How many people these counts are.
    """
    if not isinstance(data, Mapping) and not _has_labels(data) and np.asarray(data).shape == (outputs.size,):
        with suppress(InvalidInput):
            outputs.indices(data)
            return (
                f"The {outputs.size:,} numbers were read as counts, one for each output: {people:,} people in all. If "
                f"they are the raw reports of {outputs.size:,} people, give them as reports=...",
            )
    return ()


def raw_reports(data: object, outputs: Space) -> tuple[IntArray, IntArray]:
    """Return the indices of the reports that occurred, and how often each did, from one report of each person."""
    if not isinstance(outputs, ProductSpace):  # whose reports may be a table with a column for each part
        _refuse_table(data)
    if isinstance(data, Mapping):
        raise WrongType(
            f"{arg('reports')} takes the raw reports, one for each person; a mapping of counts is given as counts."
        )
    indices = np.asarray(outputs.indices(data)).ravel()
    places, counts = np.unique(indices, return_counts=True)
    return places.astype(np.int64), counts.astype(np.int64)


def _refuse_table(data: object) -> None:
    """Refuse a whole table, whose columns would be read as one, ids and counts together."""
    if hasattr(data, "columns") and not isinstance(data, Mapping):
        raise WrongType(
            f"one column is needed; got a whole {type(data).__name__}.",
            "Give the raw reports as reports=df['report'], or counts as dict(zip(df['value'], df['count'])).",
        )


def counted_reports(data: object, outputs: Space) -> tuple[IntArray, IntArray]:
    """Return the indices of the outputs, and how often each was reported, from counts or a mapping to counts."""
    _refuse_table(data)
    if isinstance(data, Mapping):
        return _mapped(data, outputs)
    if _has_labels(data):
        return _mapped(_labelled(data), outputs)
    counts = read_integers(data, "counts of reports")
    if isinstance(outputs, ProductSpace) and counts.shape == outputs.shape:
        counts = counts.ravel()
    if outputs.size is None:
        raise InvalidInput(
            "counts need their values, because reports are unbounded: give a mapping {value: count}, or the raw "
            f"reports as {arg('reports')}"
        )
    if counts.shape != (outputs.size,):
        raise InvalidInput.must_be(
            "counts",
            f"{outputs.size} numbers, how often each output was reported",
            InWords(f"shape {counts.shape}"),
            f"Raw reports, one for each person, are given as {arg('reports')}",
        )
    return np.arange(outputs.size), _not_negative(counts)


def _has_labels(data: object) -> bool:
    """Return whether this is a pandas series whose index names the values."""
    index = getattr(data, "index", None)
    return hasattr(data, "items") and index is not None and type(index).__name__ != "RangeIndex"


def _labelled(series: Any) -> dict[Any, Any]:
    """Read a pandas series with labels by label: ``value_counts()`` sorts by frequency, not by place."""
    labels = series.index.tolist()
    if len(set(labels)) < len(labels):
        raise InvalidInput("counts name a value twice in their index.", "Add them up first.", argument="counts")
    return dict(zip(labels, series.tolist(), strict=True))


def _mapped(data: Mapping[object, object], outputs: Space) -> tuple[IntArray, IntArray]:
    keys = list(data)
    places = np.array([outputs.index(value) for value in keys], np.int64)
    counts = _not_negative(read_integers([data[value] for value in keys], "counts of reports"))
    order = np.argsort(places, kind="stable")
    return places[order], counts[order]


def _not_negative(counts: Array) -> IntArray:
    if counts.size and int(counts.min()) < 0:
        place = int(np.flatnonzero(counts < 0)[0])
        raise InvalidInput(f"counts must not be negative; number {place} is {int(counts[place])}.", argument="counts")
    if float(counts.sum(dtype=float)) >= 2**62:
        raise InvalidInput(
            "there are more than 2**62 reports in all; that is not a sample of people.", argument="counts"
        )
    return counts.astype(np.int64)
