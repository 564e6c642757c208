"""Failures of a database in words of our own, and steps that are repeated.

A database's own message could quote the rows of its tables, so only the code of an error is read.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import DiscreetError, UnreadableFile

T = TypeVar("T")

#: Seconds to wait before each repetition of a step.
RETRY_DELAYS_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0)


class StoreUnavailable(UnreadableFile):
    """A store that cannot be reached now: in use, read-only, or on a full disk. It may be intact."""


class WriteConflict(StoreUnavailable):
    """A transaction that the database rolled back because of a concurrent one. Nothing was written."""


def write_with_retries(step: Callable[[], T]) -> T:
    """Run a step in its own transaction; repeat it, a few times, if the database rolls it back because of another.

    Other failures are not repeated, since the step may have been written.
    """
    for wait in RETRY_DELAYS_SECONDS:
        try:
            return step()
        except WriteConflict:
            time.sleep(wait * random.uniform(0.5, 1.5))  # random, so that two writers do not collide again
    return step()


#: A problem, after the name of the store, which may quote the {code}; and the advice.
Message = tuple[str, str]


@dataclass(frozen=True)
class Failures:
    """The messages of a store for the errors of its database, by the beginning of their codes.

    Attributes
    ----------
    unavailable
        Messages for temporary errors: :class:`StoreUnavailable`.
    unreadable
        Messages for a store that is damaged or is not a store.
    other
        The error for any other code, from the name of the store and the code.
    conflicts
        Codes of transactions that the database rolled back because of another one.
    """

    unavailable: Mapping[str, Message]
    unreadable: Mapping[str, Message]
    other: Callable[[str, str], DiscreetError]
    conflicts: Sequence[str] = ()

    def refusal(self, name: str, code: str) -> DiscreetError:
        """Return the error for a code of the database."""
        if code in self.conflicts:
            return WriteConflict(f"{name} was written by others at the same time.", "Nothing was written; try again.")
        for kind, table in ((StoreUnavailable, self.unavailable), (UnreadableFile, self.unreadable)):
            for start, (what, advice) in table.items():
                if code.startswith(start):
                    return kind(f"{name} {what.format(code=code)}", advice)
        return self.other(name, code)
