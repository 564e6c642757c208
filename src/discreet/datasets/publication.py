"""What a curator states about a publication for its readers: title, publisher, source, contact.

These texts change no count and no key, and nothing proves them: they are the curator's statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ..errors import InvalidInput, InWords

#: Field of a publication -> its label for readers.
LABELS = {"title": "title", "publisher": "published by", "source": "source", "contact": "contact"}

#: Maximum number of characters of each text.
_MAX_CHARACTERS = 300


def read_publication_text(text: object, name: str) -> str:
    """Read one of the texts: printable characters on one line, or an empty text.

    >>> read_publication_text("Visits by site, 2026", "title")
    'Visits by site, 2026'
    """
    if not isinstance(text, str) or len(text) > _MAX_CHARACTERS or not text.isprintable():
        given = InWords(f"{len(text)} characters" if isinstance(text, str) else f"the type {type(text).__name__}")
        raise InvalidInput.must_be(name, f"one line of at most {_MAX_CHARACTERS} printable characters", given)
    return text.strip()


@dataclass(frozen=True)
class Publication:
    """The curator's statements about a publication; each may be empty.

    Attributes
    ----------
    title
        The heading of the published page.
    publisher, source, contact
        Who publishes, where the data comes from, and whom to ask.

    Examples
    --------
    >>> Publication(title="Visits by site", contact="stat@example.org").to_json()
    {'title': 'Visits by site', 'contact': 'stat@example.org'}
    """

    title: str = ""
    publisher: str = ""
    source: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        for name in LABELS:
            object.__setattr__(self, name, read_publication_text(getattr(self, name), name))

    def to_json(self) -> dict[str, str]:
        """Return the texts that are not empty."""
        return {name: text for name, text in asdict(self).items() if text}

    @classmethod
    def from_json(cls, content: object) -> Publication:
        """Read what :meth:`to_json` wrote, and nothing else."""
        if not isinstance(content, Mapping) or not content or set(content) - set(LABELS):
            raise InvalidInput("this publication is not title, publisher, source and contact.", argument="request")
        publication = cls(**content)
        if publication.to_json() != dict(content):
            raise InvalidInput("this publication is not written as this program writes it.", argument="request")
        return publication

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The texts under their labels, without the title."""
        return tuple((LABELS[name], text) for name, text in self.to_json().items() if name != "title")
