"""Refusals, checked by their parts: what kind, which argument, what was given, what is allowed.

What they say in full is written in one place, ``house/sentences.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from discreet.errors import DiscreetError

E = TypeVar("E", bound=DiscreetError)

#: Stands for a part that the test says nothing about.
ANYTHING: Any = object()


@contextmanager
def refused(
    kind: type[E], argument: str | None = ANYTHING, *, given: object = ANYTHING, allowed: str | None = ANYTHING
) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of this kind, about this argument (None: about none), with these parts."""
    with pytest.raises(kind) as caught:
        yield caught
    stated = {"argument": argument, "given": given, "allowed": allowed}
    for part, expected in stated.items():
        if expected is not ANYTHING:
            assert getattr(caught.value, part) == expected, f"{part} of: {caught.value}"
