"""Copy a ledger to another store, so that at no moment both can be spent from.

An event that names the new address closes the old ledger for good; then one step makes the new ledger with everything
in it. A stop in between leaves one closed ledger, and copying to the same address continues.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, UnreadableFile
from .books import Books
from .chain import Event
from .stores.base import Store, StoreSession
from .stores.open import create_store, open_store


def close_and_copy(old: Store, address: str | Path, time: str) -> Store:
    """Close a ledger and make its copy.

    Parameters
    ----------
    old
        The store to copy.
    address
        The new address: unused, or that of an earlier copy.
    time
        The time of the events that record the copy.

    Raises
    ------
    InvalidInput
        When the address is in use, or the ledger was copied elsewhere.
    UnreadableFile
        When the old ledger fails its check; then it is not closed.
    """
    new = open_store(address)
    new_address, there = _absolute_address(new), new.exists()

    def close(session: StoreSession) -> None:
        books = Books(session)
        books.checked_terms(old.name)
        if problems := books.lost_contents(session):
            raise UnreadableFile(f"{old.name} was altered or is damaged: {problems[0]}", "See: discreet ledger verify.")
        if books.closed is None:
            if there:
                raise InvalidInput(f"{new.name} exists already, and a ledger is never overwritten.", "Choose another.")
            books.append(session, "closed", {"to": new_address}, time)
        elif books.closed.content["to"] != new_address:
            raise InvalidInput(f"{old.name} was copied to {books.closed.content['to']} before.", "Use that one.")

    old.write(close)
    with old.reading() as session:
        books = Books(session)
        assert books.closed is not None
        if there:
            _refuse_another(new, books.events)
            return new
        events = [event for event in books.events if event.number < books.closed.number]
        answers = session.answer_numbers() if books.version > 2 else {}

        def fill(copy: StoreSession) -> None:
            for event in events[1:]:
                copy.append(event.row)
            for event in events:
                for name in ("request", "answer"):
                    if name in event.content:
                        content = session.content(str(event.content[name]))
                        assert content is not None  # lost_contents found every content in place
                        copy.keep(content)
            for key, number in answers.items():
                copy.record_answer(key, number)
            assert books.closed is not None
            Books(copy).append(copy, "copied", {"from": _absolute_address(old), "closed": books.closed.hash}, time)

        return create_store(address, events[0].row, session.secret(), fill)


def _refuse_another(new: Store, old_events: list[Event]) -> None:
    with new.reading() as session:
        books = Books(session)
        books.checked_terms(new.name)
        if books.events[0].hash != old_events[0].hash:
            raise InvalidInput(f"{new.name} is another ledger.", "Choose another place.")


def _absolute_address(store: Store) -> str:
    """Return the address of a store, independent of the working folder."""
    return store.name if store.folder is None else str(Path(store.name).absolute())
