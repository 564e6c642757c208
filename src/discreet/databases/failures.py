"""What a database says when it fails, in words of our own, and steps that are done again.

A database's own message could quote what its tables hold, so only the code of an error is read.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import DiscreetError, UnreadableFile

T = TypeVar("T")

#: Seconds before a step is done again.
WAITS = (0.01, 0.03, 0.1, 0.3, 1.0)


class StoreUnavailable(UnreadableFile):
    """A store that cannot be reached now: in use, read-only, or on a disk that is full. Nothing is known against it."""


class WriteConflict(StoreUnavailable):
    """A transaction that the database undid because of another one at the same time. Nothing of it was written."""


def write_patiently(step: Callable[[], T]) -> T:
    """Do a step in a transaction of its own; do it again, a few times, where another transaction undid it.

    Whatever else fails is not repeated: whether it was written may not be known.
    """
    for wait in WAITS:
        try:
            return step()
        except WriteConflict:
            time.sleep(wait * random.uniform(0.5, 1.5))  # not in step with the other
    return step()


#: A problem, which may quote the {code}, and what to do about it; the name of the store stands before them.
Words = tuple[str, str]


@dataclass(frozen=True)
class Failures:
    """What a store says of the errors of its database, by how their codes begin.

    Attributes
    ----------
    unavailable
        Of errors that pass: :class:`StoreUnavailable`.
    unreadable
        Of a store that is damaged or is something else.
    other
        What any other code makes, from the name of the store and the code.
    conflicts
        Codes of transactions that the database undid whole because of another one.
    """

    unavailable: Mapping[str, Words]
    unreadable: Mapping[str, Words]
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
