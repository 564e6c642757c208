"""The diary of a device: its people's participations, their reports, and reports that wait to be sent.

It is a SQLite file on the device, for its owner alone. It holds true values (by their number), since an answer is drawn
once for each of them; anyone who can read the diary can read those. All data of one report is written in one step
before anything is sent.
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

from ...errors import BudgetExceeded, InvalidInput, UnreadableFile, arg
from ...exact.rationals import text_down, text_up
from ..keys import new_key

#: "dscD": marks a SQLite file as a diary.
_APPLICATION = 0x64736344

#: The version of the file's layout.
LAYOUT_VERSION = 1

_LAYOUT = (
    "CREATE TABLE taking_part (number INTEGER PRIMARY KEY, person TEXT NOT NULL, question TEXT NOT NULL, "
    "service TEXT NOT NULL, collection TEXT NOT NULL, mechanism TEXT NOT NULL, draws INTEGER NOT NULL, "
    "epsilon TEXT NOT NULL, radius TEXT, counted INTEGER NOT NULL DEFAULT 0, "
    "UNIQUE (person, service, collection, mechanism))",
    "CREATE TABLE answers (part INTEGER NOT NULL, value INTEGER NOT NULL, report INTEGER NOT NULL, "
    "fresh INTEGER NOT NULL, PRIMARY KEY (part, value)) WITHOUT ROWID",
    "CREATE TABLE waiting (number INTEGER PRIMARY KEY, part INTEGER NOT NULL, url TEXT NOT NULL, key TEXT NOT NULL, "
    "body BLOB NOT NULL)",
)


@dataclass(frozen=True)
class Participation:
    """A person's participation in a collection.

    Attributes
    ----------
    person, question
        The person whose privacy it costs, and the matter.
    service, collection, mechanism
        The destination of reports, and the digest of their mechanism.
    draws
        Number of values that get an answer of their own.
    epsilon
        The cost of each of these draws.
    radius
        For places: the distance in metres up to which two places are protected. Costs at different radii cannot be
        added, so all participations in one question have the same radius.
    """

    person: str
    question: str
    service: str
    collection: str
    mechanism: str
    draws: int
    epsilon: Fraction
    radius: Fraction | None = None

    @property
    def cost(self) -> Fraction:
        """The cost of taking part, the same for all values."""
        return self.draws * self.epsilon


class WaitingReport(NamedTuple):
    """An unacknowledged report: the bytes to send, and to send again until they are acknowledged."""

    number: int
    url: str
    key: str
    body: bytes


class Diary:
    """The memory of a device, in one SQLite file.

    Parameters
    ----------
    path
        The file, which is created if missing.
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
                connection.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")
            elif (application, version) != (_APPLICATION, LAYOUT_VERSION):
                raise UnreadableFile(f"{path} is not a diary that this program reads.", "Name another file.")

    def spent(self, person: str, question: str) -> Fraction:
        """Return the total cost of a person's participations in a question."""
        with self._writing() as connection:
            return _spent_epsilon(connection, person, question)

    def answer(
        self, part: Participation, maximum: Fraction, value: int, draw: Callable[[], int], request: Request, again: bool
    ) -> WaitingReport | None:
        """Find or draw the report for a value, and keep it to be sent, in one step.

        The first report pays for all draws at once, so that later answers never depend on how often values moved. A
        value that had a report before gets the same one. A new one gets a fresh draw while there are some left, and
        then one of the earlier reports, chosen once and without looking at the value: saying nothing would tell that
        it moved, and so would a choice that changes from one day to the next.

        Where an answer is drawn once, it is counted once: a report that waits is the one to send, and None says that
        this person's report was counted before, even if the value has changed. ``again`` counts it once more.

        Raises
        ------
        BudgetExceeded
            If taking part would cost more than is left of the maximum. Nothing was drawn.
        """
        with self._writing() as connection:
            earlier = _participation_number(connection, part)
            if part.draws == 1 and not again:
                if _was_counted(connection, part):
                    return None
                if (unsent := _unsent(connection, part)) is not None:
                    return unsent
            number = _take_part(connection, part, maximum) if earlier is None else earlier
            url, body = request(_report_of(connection, number, part.draws, value, draw))
            key = new_key()
            cursor = connection.execute(
                "INSERT INTO waiting (part, url, key, body) VALUES (?, ?, ?, ?)", (number, url, key, body)
            )
            assert cursor.lastrowid is not None
            return WaitingReport(cursor.lastrowid, url, key, body)

    def waiting_reports(self, beginning: str) -> list[WaitingReport]:
        """Return unacknowledged reports to a service (by the beginning of their address), oldest first."""
        with self._writing() as connection:
            rows = connection.execute("SELECT number, url, key, body FROM waiting ORDER BY number")
            return [one for one in map(WaitingReport._make, rows) if one.url.startswith(beginning)]

    def renew_key(self, one: WaitingReport, day: int) -> WaitingReport | None:
        """Give a waiting report a new key of a day, in place of one that the service never counts; the bytes stay.

        Of two processes that heard the refusal, the first renews the key and the other sends under that one. None says
        that the report does not wait any more.
        """
        with self._writing() as connection:
            sql = "UPDATE waiting SET key = ? WHERE number = ? AND key = ?"
            connection.execute(sql, (new_key(day), one.number, one.key))
            sql = "SELECT number, url, key, body FROM waiting WHERE number = ?"
            row = connection.execute(sql, (one.number,)).fetchone()
            return None if row is None else WaitingReport._make(row)

    def forget(self, one: WaitingReport, counted: bool) -> None:
        """Delete a waiting report that was acknowledged, or that will never be accepted."""
        with self._writing() as connection:
            if counted:
                connection.execute(
                    "UPDATE taking_part SET counted = 1 WHERE number = (SELECT part FROM waiting WHERE number = ?)",
                    (one.number,),
                )
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


#: A function from a report to the address and the body of the request that carries it.
Request = Callable[[int], tuple[str, bytes]]


def _spent_epsilon(connection: sqlite3.Connection, person: str, question: str) -> Fraction:
    sql = "SELECT draws, epsilon FROM taking_part WHERE person = ? AND question = ?"
    return sum(
        (draws * Fraction(epsilon) for draws, epsilon in connection.execute(sql, (person, question))), Fraction()
    )


def _was_counted(connection: sqlite3.Connection, part: Participation) -> bool:
    """Return whether a report of this person was counted in the collection, under any mechanism."""
    sql = "SELECT 1 FROM taking_part WHERE person = ? AND service = ? AND collection = ? AND counted = 1"
    return connection.execute(sql, (part.person, part.service, part.collection)).fetchone() is not None


def _unsent(connection: sqlite3.Connection, part: Participation) -> WaitingReport | None:
    """Return the report of this person that waits to be counted in the collection."""
    sql = (
        "SELECT w.number, w.url, w.key, w.body FROM waiting AS w JOIN taking_part AS t ON t.number = w.part "
        "WHERE t.person = ? AND t.service = ? AND t.collection = ? ORDER BY w.number LIMIT 1"
    )
    row = connection.execute(sql, (part.person, part.service, part.collection)).fetchone()
    return None if row is None else WaitingReport._make(row)


def _report_of(connection: sqlite3.Connection, number: int, draws: int, value: int, draw: Callable[[], int]) -> int:
    """Return the report of a value: its earlier one, a fresh one, or after the last draw a fixed earlier report."""
    sql = "SELECT value, report, fresh FROM answers WHERE part = ?"
    reports = {of: (report, fresh) for of, report, fresh in connection.execute(sql, (number,))}
    if value in reports:
        return int(reports[value][0])
    fresh_reports = [report for report, fresh in reports.values() if fresh]
    fresh = len(fresh_reports) < draws
    report = draw() if fresh else secrets.choice(fresh_reports)
    connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", (number, value, report, fresh))
    return int(report)


def _participation_number(connection: sqlite3.Connection, part: Participation) -> int | None:
    """Return the number of a paid participation; one with another question or number of draws is refused."""
    place = (part.person, part.service, part.collection, part.mechanism)
    sql = (
        "SELECT number, question, draws FROM taking_part "
        "WHERE person = ? AND service = ? AND collection = ? AND mechanism = ?"
    )
    row = connection.execute(sql, place).fetchone()
    if row is None:
        return None
    if (row[1], row[2]) != (part.question, part.draws):
        raise InvalidInput(
            "this person takes part already, under another question or with another number of draws.",
            "Ask with the same question and the same draws as before.",
            argument="draws",
        )
    return int(row[0])


def _take_part(connection: sqlite3.Connection, part: Participation, maximum: Fraction) -> int:
    """Pay for a new participation, and return its number."""
    radius = None if part.radius is None else str(part.radius)
    if radius is not None:
        sql = "SELECT radius FROM taking_part WHERE person = ? AND question = ? AND radius IS NOT NULL AND radius != ?"
        earlier = connection.execute(sql, (part.person, part.question, radius)).fetchone()
        if earlier is not None:
            raise InvalidInput(
                f"what was spent on this matter is between places up to {float(Fraction(earlier[0])):g} metres apart, "
                f"and cannot be added to costs at {float(Fraction(radius)):g}.",
                f"Use {arg('radius', float(Fraction(earlier[0])))}.",
                argument="radius",
            )
    budget = maximum - _spent_epsilon(connection, part.person, part.question)
    if part.cost > budget:
        raise BudgetExceeded(
            f"Not enough budget: taking part costs epsilon {text_up(float(part.cost), 4)}, and "
            f"{text_down(max(budget, Fraction()), 4)} of {text_down(maximum, 4)} is left for this question."
        )
    cursor = connection.execute(
        "INSERT INTO taking_part (person, question, service, collection, mechanism, draws, epsilon, radius) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            part.person,
            part.question,
            part.service,
            part.collection,
            part.mechanism,
            part.draws,
            str(part.epsilon),
            radius,
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid
