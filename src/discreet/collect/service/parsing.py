"""Parsing of bodies as batches in a thread of its own, so that the event loop never waits for it.

A batch is flat: one object, one list, and a limited number of items. A body of another shape is refused by counting
brackets and commas before it is parsed: a megabyte of small lists would take a hundred times as long to parse as the
largest batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import DiscreetError
from ..keys import Key, body_digest
from ..stores.base import Batch
from .group_commit import GroupThread
from .problems import ApiError
from .registry import ActiveCollection

#: Maximum number of bodies that are parsed before the first of them is answered.
MAX_GROUP_BODIES = 32

#: A string, or a character that determines the shape. An unterminated string extends to the end of the body.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|$)|[\[{,]', re.S)


class BatchBody(NamedTuple):
    """A received body, its key, and its collection."""

    active: ActiveCollection
    text: str
    key: Key
    body: bytes


class Parser(GroupThread[BatchBody, Batch]):
    """The thread that parses bodies.

    Parameters
    ----------
    most_reports
        Maximum number of reports in a batch.
    most_waiting
        Maximum number of waiting bodies, beyond which new ones are refused.
    """

    def __init__(self, most_reports: int, most_waiting: int) -> None:
        self._most_reports = most_reports
        super().__init__(self._parse, "discreet-parser", most_waiting, MAX_GROUP_BODIES)

    def _parse(self, bodies: Sequence[BatchBody]) -> Sequence[Batch | Exception]:
        batches: list[Batch | Exception] = []
        for one in bodies:
            try:
                batches.append(read_batch(one, self._most_reports))
            except Exception as problem:  # concerns this body only
                batches.append(problem)
        return batches


def read_batch(one: BatchBody, most: int) -> Batch:
    """Return the batch of a body, with every report checked."""
    check_shape(one.body, most)
    content = read_json(one.body)
    if not isinstance(content, dict) or content.keys() != {"mechanism", "reports"}:
        raise ApiError("invalid", 'A batch is {"mechanism": NAME, "reports": [...]}.')
    mechanism, reports = content["mechanism"], content["reports"]
    if not isinstance(mechanism, str):
        raise ApiError("invalid", "The mechanism is given by its name.", more={"field": "mechanism"})
    if not isinstance(reports, list) or not 1 <= len(reports) <= most:
        raise _not_flat(most)
    number = one.active.numbers.get(mechanism)
    if number is None:
        raise ApiError("invalid", "The collection has no mechanism of this name.", more={"field": "mechanism"})
    try:
        indices = one.active.collection.readers[mechanism](reports)
    except DiscreetError as problem:
        raise ApiError("invalid", str(problem), more={"field": "reports"}) from None
    digest = body_digest(one.text, one.active.collection.name, one.body)
    return Batch(number, one.key.day, one.key.hash, digest, indices)


def check_shape(body: bytes, most: int) -> None:
    """Refuse a body that has more than one object, more than one list or more items than a batch, without parsing it.

    >>> check_shape(b'{"mechanism": "main", "reports": ["[a], {b}"]}', 10)
    >>> check_shape(b'{"mechanism": "main", "reports": [[1]]}', 10)
    Traceback (most recent call last):
    discreet.collect.service.problems.ApiError: A batch has 1 to 10 reports, in a list of numbers or texts.
    """
    if body.count(b"[") <= 1 and body.count(b"{") <= 1 and body.count(b",") <= most:
        return  # even counting those in strings
    lists = objects = commas = strings = 0
    for token in _TOKEN.finditer(body):
        sign = body[token.start()]
        lists, objects = lists + (sign == 0x5B), objects + (sign == 0x7B)
        commas, strings = commas + (sign == 0x2C), strings + (sign == 0x22)
        if lists > 1 or objects > 1 or commas > most or strings > most + 3:
            raise _not_flat(most)


def _not_flat(most: int) -> ApiError:
    return ApiError(
        "invalid", f"A batch has 1 to {most:,} reports, in a list of numbers or texts.", more={"field": "reports"}
    )


def read_json(body: bytes) -> object:
    """Return a body as JSON: in UTF-8, and with each key of an object once (RFC 8259). Not for the event loop."""
    try:
        return _JSON.decode(body.decode())
    except (ValueError, RecursionError):
        raise ApiError("bad-request", "The body is not JSON in UTF-8, or names a key of an object twice.") from None


def _keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError
    return content


_JSON = json.JSONDecoder(object_pairs_hook=_keys_once)
