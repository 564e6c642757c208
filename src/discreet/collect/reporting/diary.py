"""The diary of a device: what its people take part in, the reports that were drawn, and reports that wait to be sent.

It is a SQLite file on the device, for its owner alone. It knows true values (by their number), since an answer is drawn
once for each of them; whoever can read the diary can read those. Everything that belongs to one report is written in
one step before anything is sent.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ...errors import BudgetExceeded, InvalidInput, UnreadableFile
from ...exact.rationals import text_down, text_up
from ..keys import new_key

#: "dscD": marks a SQLite file as a diary.
_APPLICATION = 0x64736344

#: The version of the file's layout.
FORMAT = 1

_LAYOUT = (
    "CREATE TABLE taking_part (number INTEGER PRIMARY KEY, person TEXT NOT NULL, question TEXT NOT NULL, "
    "service TEXT NOT NULL, collection TEXT NOT NULL, mechanism TEXT NOT NULL, draws INTEGER NOT NULL, "
    "epsilon TEXT NOT NULL, UNIQUE (person, service, collection, mechanism))",
    "CREATE TABLE answers (part INTEGER NOT NULL, value INTEGER NOT NULL, report INTEGER NOT NULL, "
    "PRIMARY KEY (part, value)) WITHOUT ROWID",
    "CREATE TABLE waiting (number INTEGER PRIMARY KEY, url TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL)",
)


@dataclass(frozen=True)
class Part:
    """What somebody takes part in.

    Attributes
    ----------
    person, question
        Whose privacy it costs, and about what.
    service, collection, mechanism
        Where reports go, and the digest of the mechanism that makes them.
    draws
        How many values get an answer of their own.
    epsilon
        What each of these draws costs.
    """

    person: str
    question: str
    service: str
    collection: str
    mechanism: str
    draws: int
    epsilon: Fraction

    @property
    def cost(self) -> Fraction:
        """What taking part costs, whatever the values are."""
        return self.draws * self.epsilon


class Waiting(NamedTuple):
    """A report that was drawn and is not acknowledged yet: the bytes to send, as often as it takes."""

    number: int
    url: str
    key: str
    body: bytes


class Diary:
    """What a device remembers, in one SQLite file.

    Parameters
    ----------
    path
        The file; it is made if there is none.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if not self._path.exists():
            try:
                os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            except OSError as problem:
                raise UnreadableFile(f"cannot create {path}: {problem.strerror or problem}.") from None
        with self._writing() as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if application == 0 and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _LAYOUT:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            elif (application, version) != (_APPLICATION, FORMAT):
                raise UnreadableFile(f"{path} is not a diary that this program reads.", "Name another file.")

    def spent(self, person: str, question: str) -> Fraction:
        """What somebody's parts about a question cost together."""
        with self._writing() as connection:
            return _spent(connection, person, question)

    def answer(self, part: Part, maximum: Fraction, value: int, draw: Callable[[], int], request: Request) -> Waiting:
        """Find or draw the report for a value, and keep it to be sent, in one step.

        The first report pays for all draws at once, so that later answers never depend on how often values moved. A
        value that had a report before gets the same one. A new one gets a fresh draw while there are some left, and
        then one of the earlier reports, chosen without looking at the value: saying nothing would tell that it moved.

        Raises
        ------
        BudgetExceeded
            When taking part would cost more than is left of the maximum. Nothing was drawn.
        """
        with self._writing() as connection:
            number = _take_part(connection, part, maximum)
            kept = dict(connection.execute("SELECT value, report FROM answers WHERE part = ?", (number,)))
            report = kept.get(value)
            if report is None and len(kept) < part.draws:
                report = draw()
                connection.execute("INSERT INTO answers VALUES (?, ?, ?)", (number, value, report))
            elif report is None:
                report = secrets.choice(list(kept.values()))
            url, body = request(report)
            key = new_key()
            made = connection.execute("INSERT INTO waiting (url, key, body) VALUES (?, ?, ?)", (url, key, body))
            assert made.lastrowid is not None
            return Waiting(made.lastrowid, url, key, body)

    def waiting(self, beginning: str) -> list[Waiting]:
        """Reports to a service (by how their address begins) that are not acknowledged yet, oldest first."""
        with self._writing() as connection:
            rows = connection.execute("SELECT number, url, key, body FROM waiting ORDER BY number")
            return [one for one in map(Waiting._make, rows) if one.url.startswith(beginning)]

    def forget(self, one: Waiting) -> None:
        """A report was acknowledged, or will never be taken."""
        with self._writing() as connection:
            connection.execute("DELETE FROM waiting WHERE number = ?", (one.number,))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        address = f"file:{quote(str(self._path.absolute()))}?mode=rw"
        try:
            connection = sqlite3.connect(address, uri=True, timeout=30.0, isolation_level=None)
        except sqlite3.Error:
            raise UnreadableFile(f"cannot open {self._path}.", "Look at its permissions.") from None
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error:
            raise UnreadableFile(f"{self._path} cannot be used as a diary.", "Name another file.") from None
        finally:
            connection.close()  # undoes an open transaction


#: Makes the address and the body of the request that carries a report.
Request = Callable[[int], tuple[str, bytes]]


def _spent(connection: sqlite3.Connection, person: str, question: str) -> Fraction:
    sql = "SELECT draws, epsilon FROM taking_part WHERE person = ? AND question = ?"
    return sum(
        (draws * Fraction(epsilon) for draws, epsilon in connection.execute(sql, (person, question))), Fraction()
    )


def _take_part(connection: sqlite3.Connection, part: Part, maximum: Fraction) -> int:
    """The number of a part; a new one is paid for first."""
    place = (part.person, part.service, part.collection, part.mechanism)
    sql = (
        "SELECT number, question, draws FROM taking_part "
        "WHERE person = ? AND service = ? AND collection = ? AND mechanism = ?"
    )
    found = connection.execute(sql, place).fetchone()
    if found is not None:
        if (found[1], found[2]) != (part.question, part.draws):
            raise InvalidInput(
                "this person takes part already, under another question or with another number of draws.",
                "Ask with the same question and the same draws as before.",
                argument="draws",
            )
        return int(found[0])
    left = maximum - _spent(connection, part.person, part.question)
    if part.cost > left:
        raise BudgetExceeded(
            f"Not enough budget: taking part costs epsilon {text_up(float(part.cost), 4)}, and "
            f"{text_down(max(left, Fraction()), 4)} of {text_down(maximum, 4)} is left for this question."
        )
    made = connection.execute(
        "INSERT INTO taking_part (person, question, service, collection, mechanism, draws, epsilon) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (part.person, part.question, *place[1:], part.draws, str(part.epsilon)),
    )
    assert made.lastrowid is not None
    return made.lastrowid
