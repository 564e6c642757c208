"""The hash chain of a ledger, the same in every store: numbered events, each naming the hash of the one before it.

An event is canonical JSON (sorted keys, no spaces, no floats) that names the hash of the event before it; its own hash
is the SHA-256 of its text. A changed, missing, added or reordered event therefore breaks the chain. Events removed from
the end do not: only a published hash, a *head*, shows that they were there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DiscreetError, InvalidInput, WrongType
from ..strict_json import read_json

#: The ``previous`` hash of the first event.
NO_EVENT = "0" * 64


def canonical_json(content: object, *, floats: bool = False) -> str:
    """Return JSON text that is equal for equal content: sorted keys, no spaces, ASCII, and no floats unless allowed.

    >>> canonical_json({"b": [1, None], "a": "1/3"})
    '{"a":"1/3","b":[1,null]}'
    """
    _refuse_ambiguous(content, floats)
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise WrongType(
            "a ledger keeps text, whole numbers, booleans, None, lists and mappings only.", argument="content"
        ) from None


def _refuse_ambiguous(content: object, floats: bool, depth: int = 0) -> None:
    """Refuse floats, which programs write differently, and names that are not text, which JSON would convert."""
    if depth > 50:
        raise InvalidInput("what a ledger keeps may be nested at most 50 deep.", argument="content")
    if isinstance(content, float) and not floats:
        raise WrongType(
            "the events of a ledger have no floats.", "Write the number as text, such as '1/10'.", argument="content"
        )
    if content is None or isinstance(content, str | int):
        return
    if isinstance(content, dict):
        if not all(isinstance(name, str) for name in content):
            raise WrongType("the names in what a ledger keeps must be text.", argument="content")
        content = content.values()
    elif not isinstance(content, list | tuple):
        return
    for value in content:
        _refuse_ambiguous(value, floats, depth + 1)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def time_text(time: str) -> str:
    """Return the time of an event for people.

    >>> time_text("2026-11-16T03:07:05Z")
    '2026-11-16 03:07:05 UTC'
    """
    return time.replace("T", " ").removesuffix("Z") + " UTC"


@dataclass(frozen=True)
class EventRow:
    """A stored event: its number, its text, and the hash it claims."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True)
class Event:
    """An event of a ledger, such as "init", "reserve", "opened", "commit" or "release".

    Attributes
    ----------
    number
        Its place in the ledger, from 1.
    kind, time, content
        The kind of event, its time (UTC), and its details; fractions are text.
    previous, hash
        The links of the chain: the hash of the event before it, and its own.
    """

    number: int
    kind: str
    time: str
    content: Mapping[str, Any]
    previous: str
    hash: str

    @property
    def row(self) -> EventRow:
        return EventRow(self.number, self._body(), self.hash)

    def _body(self) -> str:
        return canonical_json(
            {
                "number": self.number,
                "kind": self.kind,
                "time": self.time,
                "content": self.content,
                "previous": self.previous,
            }
        )


def next_event(events: Sequence[Event], kind: str, time: str, content: Mapping[str, object]) -> Event:
    """Return the event that follows these; they may be the end of a chain."""
    number, previous = (events[-1].number + 1, events[-1].hash) if events else (1, NO_EVENT)
    event = Event(number, kind, time, content, previous, "")
    return Event(number, kind, time, content, previous, digest_of(event._body().encode()))


def read_chain(rows: Sequence[EventRow], first: int = 1) -> tuple[list[Event], list[str]]:
    """Return the valid events at the beginning of a chain, and the problem that ends them, if any, as a sentence.

    A chain that is read from a later event on (``first`` above 1) does not check the ``previous`` hash of that event.
    """
    events: list[Event] = []
    for place, row in enumerate(rows, start=first):
        if row.number != place:
            return events, [f"event {place} is missing; the next one there is has number {row.number}."]
        if not isinstance(row.body, str) or digest_of(row.body.encode("utf-8", "replace")) != row.hash:
            return events, [f"event {place} was altered: its hash is not that of its text."]
        event = _read_event(row)
        if event is None:
            return events, [f"event {place} is not written as this program writes events."]
        if place > 1 and not events:
            pass  # the caller has proof of what came before
        elif event.previous != (events[-1].hash if events else NO_EVENT):
            return events, [f"event {place} does not follow event {place - 1}: one of them was replaced or moved."]
        events.append(event)
    return events, []


def _read_event(row: EventRow) -> Event | None:
    """Return the event of a row, or None if it is not exactly what :attr:`Event.row` writes."""
    try:
        fields = read_json(row.body, f"event {row.number}")
        if set(fields) != {"number", "kind", "time", "content", "previous"} or not isinstance(fields["content"], dict):
            return None
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fields["time"], re.ASCII):
            return None
        event = Event(fields["number"], fields["kind"], fields["time"], fields["content"], fields["previous"], row.hash)
        return event if event.row == row else None
    except (ValueError, TypeError, RecursionError, DiscreetError):
        return None
