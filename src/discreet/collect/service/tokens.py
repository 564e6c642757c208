"""Tokens: who may create collections, read estimates and report.

A token is ``discreet_NAME_SECRET``. The store keeps the name and SHA-256 of the secret, which has 256 random bits, so
that a reader of the store cannot use it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from typing import Literal

from ...errors import InvalidInput
from ..stores.base import ReportStore, StoredToken

Right = Literal["manage", "read", "report"]

#: Rights of a token: everything; estimates and counts; reports to collections that are not open.
RIGHTS: tuple[Right, ...] = ("manage", "read", "report")

_TOKEN = re.compile(r"discreet_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")

#: Seconds for which a token is cached; a removed token still works for as long.
TOKEN_CACHE_SECONDS = 10.0

#: Maximum number of cached tokens.
MAX_CACHED_TOKENS = 1000


def new_token(right: str, collection: str | None = None) -> tuple[str, StoredToken]:
    """Return a token, to be shown once, and its record for the store.

    >>> text, kept = new_token("read", "visits")
    >>> kept.right, text.startswith(f"discreet_{kept.name}_"), text[-43:].encode() in kept.secret_hash
    ('read', True, False)
    """
    if right not in RIGHTS:
        raise InvalidInput.must_be("right", f"one of {', '.join(RIGHTS)}", right)
    if right == "manage" and collection is not None:
        raise InvalidInput("a token that manages is for all collections.", "Leave the collection out.")
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return f"discreet_{name}_{secret}", StoredToken(name, _hash(secret), right, collection)


class Tokens:
    """The tokens of a store, as requests present them."""

    def __init__(self, store: ReportStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._cache: dict[bytes, tuple[float, StoredToken]] = {}

    def find_cached(self, text: str) -> StoredToken | None:
        """Return the token from the cache, without looking it up."""
        expiry, token = self._cache.get(_hash(text), (0.0, None))
        return token if self._clock() < expiry else None

    def find(self, text: str) -> StoredToken | None:
        """Return the token if it is one of the store's; the secret is compared in constant time, by its hash."""
        cached = self.find_cached(text)
        if cached is not None:
            return cached
        parts = _TOKEN.fullmatch(text)
        token = None if parts is None else self._store.token(parts[1])
        expected = token.secret_hash if token is not None else bytes(32)
        if not hmac.compare_digest(_hash("" if parts is None else parts[2]), expected) or token is None:
            return None
        if len(self._cache) >= MAX_CACHED_TOKENS:
            self._cache.clear()
        self._cache[_hash(text)] = (self._clock() + TOKEN_CACHE_SECONDS, token)
        return token


def permits(token: StoredToken, right: Right, collection: str | None) -> bool:
    """Return whether a token permits something; managing permits everything.

    >>> permits(StoredToken("a", b"", "read", "visits"), "read", "visits")
    True
    >>> permits(StoredToken("a", b"", "read", "visits"), "read", "places")
    False
    """
    if token.right == "manage":
        return True
    return token.right == right and token.collection in (None, collection)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
