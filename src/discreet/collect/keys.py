"""Idempotency keys of batches: a batch that is sent twice is counted once.

A key is the day on which it was made (UTC) and 128 random bits: ``2026-11-16.9f86d081884c7d659a2feaa0c55ad015``. It is
made for one batch alone, so it reveals nothing about the sender. A store keeps traces of keys for :data:`KEY_DAYS`
days. A key of a day whose traces are deleted is refused, because it is no longer known whether its batch was counted.
The store decides which days those are (:class:`~discreet.collect.stores.base.KeyDays`), not a clock.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

#: Days for which an idempotency key stays valid.
KEY_DAYS = 14

#: Days by which the clock of a device may be ahead.
MAX_DAYS_AHEAD = 1

#: Pattern of a key.
PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.[0-9a-f]{32}"
_KEY = re.compile(PATTERN)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Key(NamedTuple):
    """A key as a store keeps it: its day, and a hash that identifies it."""

    day: int
    hash: bytes


def today() -> int:
    """Return the current day (UTC) as an ordinal."""
    return datetime.now(UTC).toordinal()


def new_key(day: int | None = None) -> str:
    """Return a key for one new batch: of today, or of the day that a service states.

    >>> new_key(739936)[:11]
    '2026-11-16.'
    """
    return f"{date.fromordinal(today() if day is None else day).isoformat()}.{secrets.token_hex(16)}"


def read_day(text: object) -> int | None:
    """Return the ordinal of a day such as ``2026-11-16``; None if it is not one.

    >>> read_day("2026-11-16"), read_day("2026-W47-1"), read_day(7)
    (739936, None, None)
    """
    return _ordinal(text) if isinstance(text, str) and _DAY.fullmatch(text) else None


def read_key(text: str) -> Key | None:
    """Parse a key; return None if it is not one.

    >>> read_key("2026-11-16.9f86d081884c7d659a2feaa0c55ad015").day
    739936
    >>> read_key("2026-11-31.9f86d081884c7d659a2feaa0c55ad015") is None
    True
    """
    if _KEY.fullmatch(text) is None:
        return None
    day = _ordinal(text[:10])
    if day is None:
        return None
    return Key(day, hashlib.blake2b(text.encode(), digest_size=16, person=b"discreet batch").digest())


def body_digest(text: str, collection: str, body: bytes) -> bytes:
    """Return a digest of a batch's body under its key, which reveals nothing without the key even for few reports.

    >>> len(body_digest("2026-11-16.9f86d081884c7d659a2feaa0c55ad015", "visits", b"{}"))
    16
    """
    keyed = hashlib.blake2b(collection.encode() + b"\0", key=text.encode(), digest_size=16)
    keyed.update(body)
    return keyed.digest()


@lru_cache(maxsize=64)
def _ordinal(day: str) -> int | None:
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError:
        return None
