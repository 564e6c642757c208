"""Keys of batches: a batch that is sent twice is counted once.

A key is the day on which it was made (UTC) and 128 random bits: ``2026-11-16.9f86d081884c7d659a2feaa0c55ad015``. It is
made for one batch alone, so it tells nothing about who sent it. A store keeps traces of keys for :data:`KEPT` days; an
older key is refused, because nobody knows any more whether its batch was counted.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

#: So many days after its own a key is still taken.
KEPT = 14

#: A clock may be ahead by so many days.
AHEAD = 1

#: What a key looks like.
PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.[0-9a-f]{32}"
_KEY = re.compile(PATTERN)


class Key(NamedTuple):
    """A key as a store sees it: its day, and a hash by which it is found again."""

    day: int
    hash: bytes


def today() -> int:
    """The day it is (UTC), as an ordinal."""
    return datetime.now(UTC).toordinal()


def new_key() -> str:
    """A key for one new batch."""
    return f"{date.fromordinal(today()).isoformat()}.{secrets.token_hex(16)}"


def read_key(text: str) -> Key | None:
    """What a key says; None if it is not a key.

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
    """A digest of what a batch reports, under its key: without the key it tells nothing, however few reports there are.

    >>> len(body_digest("2026-11-16.9f86d081884c7d659a2feaa0c55ad015", "visits", b"{}"))
    16
    """
    keyed = hashlib.blake2b(collection.encode() + b"\0", key=text.encode(), digest_size=16)
    keyed.update(body)
    return keyed.digest()


def is_ahead(day: int) -> bool:
    """Whether a key of this day was made by a clock that is wrong."""
    return day > today() + AHEAD


def is_expired(day: int) -> bool:
    """Whether a key of this day is no longer taken."""
    return day < today() - KEPT


def first_kept_day() -> int:
    """The first day whose keys stay in a store: one day longer than they are taken, for batches on their way."""
    return today() - KEPT - 1


@lru_cache(maxsize=64)
def _ordinal(day: str) -> int | None:
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError:
        return None
