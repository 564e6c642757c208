"""Bodies as batches, in a thread of their own: nothing is parsed on the event loop, on which all connections wait.

A batch is a flat thing: one object, one list, no more items than a batch may have. A body of another shape is refused
by counting brackets and commas, before anything is made of it: a megabyte of small lists would take a hundred times as
long to parse as the largest batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import DiscreetError
from ..keys import Key, body_digest
from ..stores.base import Batch
from .problems import Problem
from .registry import Served
from .writing import GroupThread

#: The most bodies that are parsed before the first of them is answered.
LARGEST_GROUP = 32

#: A string, or a sign that gives a body its shape. A string without an end goes to the end of the body.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|$)|[\[{,]', re.S)


class BatchBody(NamedTuple):
    """A body that was taken in, its key, and the collection that it is for."""

    served: Served
    text: str
    key: Key
    body: bytes


class Parser(GroupThread[BatchBody, Batch]):
    """Parses bodies.

    Parameters
    ----------
    most_reports
        Of one batch.
    most_waiting
        With more bodies waiting than this, new ones are refused for the moment.
    """

    def __init__(self, most_reports: int, most_waiting: int) -> None:
        self._most_reports = most_reports
        super().__init__(self._parse, "discreet-parser", most_waiting, LARGEST_GROUP)

    def _parse(self, bodies: Sequence[BatchBody]) -> Sequence[Batch | Exception]:
        batches: list[Batch | Exception] = []
        for one in bodies:
            try:
                batches.append(read_batch(one, self._most_reports))
            except Exception as problem:  # of this body alone
                batches.append(problem)
        return batches


def read_batch(one: BatchBody, most: int) -> Batch:
    """Return the batch of a body, with every report checked."""
    check_shape(one.body, most)
    content = read_json(one.body)
    if not isinstance(content, dict) or content.keys() != {"mechanism", "reports"}:
        raise Problem("invalid", 'A batch is {"mechanism": NAME, "reports": [...]}.')
    mechanism, reports = content["mechanism"], content["reports"]
    if not isinstance(mechanism, str):
        raise Problem("invalid", "The mechanism is given by its name.", more={"field": "mechanism"})
    if not isinstance(reports, list) or not 1 <= len(reports) <= most:
        raise _not_flat(most)
    number = one.served.numbers.get(mechanism)
    if number is None:
        raise Problem("invalid", "The collection has no mechanism of this name.", more={"field": "mechanism"})
    try:
        indices = one.served.collection.readers[mechanism](reports)
    except DiscreetError as problem:
        raise Problem("invalid", str(problem), more={"field": "reports"}) from None
    digest = body_digest(one.text, one.served.collection.name, one.body)
    return Batch(number, one.key.day, one.key.hash, digest, indices)


def check_shape(body: bytes, most: int) -> None:
    """Refuse a body that has more than one object, more than one list or more items than a batch, without parsing it.

    >>> check_shape(b'{"mechanism": "main", "reports": ["[a], {b}"]}', 10)
    >>> check_shape(b'{"mechanism": "main", "reports": [[1]]}', 10)
    Traceback (most recent call last):
    discreet.collect.service.problems.Problem: A batch has 1 to 10 reports, in a list of numbers or texts.
    """
    if body.count(b"[") <= 1 and body.count(b"{") <= 1 and body.count(b",") <= most:
        return  # whatever of that is in strings
    lists = objects = commas = strings = 0
    for token in _TOKEN.finditer(body):
        sign = body[token.start()]
        lists, objects = lists + (sign == 0x5B), objects + (sign == 0x7B)
        commas, strings = commas + (sign == 0x2C), strings + (sign == 0x22)
        if lists > 1 or objects > 1 or commas > most or strings > most + 3:
            raise _not_flat(most)


def _not_flat(most: int) -> Problem:
    return Problem(
        "invalid", f"A batch has 1 to {most:,} reports, in a list of numbers or texts.", more={"field": "reports"}
    )


def read_json(body: bytes) -> object:
    """Return a body as JSON: in UTF-8, and with each key of an object once (RFC 8259). Not for the event loop."""
    try:
        return _JSON.decode(body.decode())
    except (ValueError, RecursionError):
        raise Problem("bad-request", "The body is not JSON in UTF-8, or names a key of an object twice.") from None


def _keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_keys_once)
