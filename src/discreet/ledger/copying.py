"""A ledger moved to another store, so that at no moment two of them can be spent from.

The old one is closed first, for good, by an event that names the new place; then the new one is made with everything in
one step. What stops in between leaves a closed ledger and no other, and copying to the same place goes on.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, UnreadableFile
from .books import Books
from .chain import Event
from .stores.base import Session, Store
from .stores.opening import create_store, open_store


def close_and_copy(old: Store, address: str | Path, time: str) -> Store:
    """Close a ledger and make its copy.

    Parameters
    ----------
    old
        The store to copy.
    address
        Where to; nothing may be there, or the copy that was made before.
    time
        Of the events that say so.

    Raises
    ------
    InvalidInput
        When something else is there, or the ledger was copied elsewhere.
    UnreadableFile
        When the old ledger does not hold: nothing is closed then.
    """
    new = open_store(address)
    place, there = _place(new), new.exists()

    def close(session: Session) -> None:
        books = Books(session)
        books.sound(old.name)
        if lost := books.lost_contents(session):
            raise UnreadableFile(f"{old.name} was altered or is damaged: {lost[0]}", "See: discreet ledger verify.")
        if books.closed is None:
            if there:
                raise InvalidInput(f"{new.name} exists already, and a ledger is never overwritten.", "Choose another.")
            books.append(session, "closed", {"to": place}, time)
        elif books.closed.content["to"] != place:
            raise InvalidInput(f"{old.name} was copied to {books.closed.content['to']} before.", "Use that one.")

    old.write(close)
    with old.reading() as session:
        books = Books(session)
        assert books.closed is not None
        if there:
            _refuse_another(new, books.events)
            return new
        kept = [event for event in books.events if event.number < books.closed.number]
        answers = session.answer_numbers() if books.version > 2 else {}

        def fill(copy: Session) -> None:
            for event in kept[1:]:
                copy.append(event.row)
            for event in kept:
                for name in ("request", "answer"):
                    if name in event.content:
                        content = session.content(str(event.content[name]))
                        assert content is not None  # the books are sound and whole
                        copy.keep(content)
            for key, number in answers.items():
                copy.record_answer(key, number)
            assert books.closed is not None
            Books(copy).append(copy, "copied", {"from": _place(old), "closed": books.closed.hash}, time)

        return create_store(address, kept[0].row, session.secret(), fill)


def _refuse_another(new: Store, events: list[Event]) -> None:
    with new.reading() as session:
        found = Books(session)
        found.sound(new.name)
        if found.events[0].hash != events[0].hash:
            raise InvalidInput(f"{new.name} is another ledger.", "Choose another place.")


def _place(store: Store) -> str:
    """Where a store is, whichever folder one asks from."""
    return store.name if store.folder is None else str(Path(store.name).absolute())
