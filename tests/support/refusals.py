"""Refusals, checked by their parts: what kind, which argument, what was given, what is allowed.

What they say in full is written in one place, ``house/sentences.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar

import pytest

from discreet.errors import DiscreetError

E = TypeVar("E", bound=DiscreetError)

#: Stands for a part that the test says nothing about.
ANYTHING: Any = object()

#: Words that a token may have: a command to type or a name with its value, but not a sentence.
MAX_TOKEN_WORDS = 3


class Parts(TypedDict, total=False):
    """Parts of a refusal in a table of cases: ``with refused(InvalidInput, **parts)``."""

    argument: str | None
    given: object
    allowed: str | None
    token: str


@contextmanager
def refused(
    kind: type[E] | tuple[type[E], ...],
    argument: str | None = ANYTHING,
    *,
    given: object = ANYTHING,
    allowed: str | None = ANYTHING,
    token: str = "",
) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of this kind, about this argument (None: about none), with these parts.

    ``token`` is for a refusal that no part tells from its neighbours: a file name, a number, a column, a command to
    type or a single word that its message has. Several are separated by `` ... ``, in their order.
    """
    tokens = token.split(" ... ")
    assert all(len(one.split()) <= MAX_TOKEN_WORDS for one in tokens), f"pin the sentence in sentences.toml: {token}"
    with pytest.raises(kind) as caught:
        yield caught
    stated = {"argument": argument, "given": given, "allowed": allowed}
    for part, expected in stated.items():
        if expected is not ANYTHING:
            assert getattr(caught.value, part) == expected, f"{part} of: {caught.value}"
    message, start = str(caught.value), 0
    for one in tokens:
        start = message.find(one, start)
        assert start >= 0, f"{one!r} is not in: {message}"
        start += len(one)
