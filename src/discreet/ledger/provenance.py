"""The provenance of an entry of a ledger: who asked, why, and where the bundle was to be written. Never published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from ..errors import InvalidInput, arg
from ..report import Json
from ..system import system_user
from .stores.base import StoreSession

#: Maximum number of characters of a reason.
_MAX_REASON = 500

#: Maximum number of characters of a name or a path; the rest is cut.
_MAX_TEXT = 1000


_SEE = "See: discreet ledger verify."


@dataclass(frozen=True)
class Provenance:
    """Who asked a question, why, and where its bundle was to be written; None where the ledger does not say.

    Attributes
    ----------
    role
        The role of the database that keeps the ledger.
    user
        The user of the system, for a ledger in a file. The system states it; nobody proves it.
    because
        The reason that the user gave.
    bundle
        The folder that the bundle was to be written into.

    Examples
    --------
    >>> Provenance(user="ann", because="annual report").to_json()
    {'user': 'ann', 'because': 'annual report'}
    """

    role: str | None = None
    user: str | None = None
    because: str | None = None
    bundle: str | None = None

    @classmethod
    def of(cls, session: StoreSession, because: str | None, bundle: str | Path | None) -> Provenance:
        """Return the provenance of a question that is asked now, in this session."""
        role = session.role()
        return cls(
            None if role is None else _printable(role),
            _printable(system_user()) if role is None else None,
            because,
            None if bundle is None else _printable(str(Path(bundle).absolute())),
        )

    @property
    def by(self) -> str:
        """The role or the user in words; empty if the ledger does not say."""
        if self.role is not None:
            return f"role {self.role}"
        return "" if self.user is None else f"user {self.user}"

    def to_json(self) -> dict[str, Json]:
        """Return what is known, as the event has it."""
        return {name: value for name, value in self.all_json().items() if value is not None}

    def all_json(self) -> dict[str, Json]:
        """Return every field, None where it is not known."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, content: object) -> Provenance:
        """Read what :meth:`to_json` wrote, and nothing else."""
        names = {one.name for one in fields(cls)}
        if not isinstance(content, Mapping) or not set(content) <= names:
            raise InvalidInput("it states its provenance in another form.", _SEE)
        if not all(isinstance(text, str) and text and text.isprintable() for text in content.values()):
            raise InvalidInput("its provenance is not printable text.", _SEE)
        return cls(**content)


#: The provenance of entries of ledgers that do not record it.
UNKNOWN = Provenance()


def read_reason(text: object, purpose: str) -> str:
    """Read a reason: printable text. ``purpose`` says what it is the reason for."""
    if not isinstance(text, str) or not text.strip() or len(text) > _MAX_REASON or not text.isprintable():
        raise InvalidInput(
            f"say why {purpose}: {arg('because')}, a text of 1 to {_MAX_REASON} printable characters.", given=text
        )
    return text


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:_MAX_TEXT]
